//! Intensities of a fit beside those of its data.

use super::Measured;

/// A fit's intensities beside the data's, for pictures and tables.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// The data.
    pub measured: Measured,
    /// The model's intensities at the same points, 1/cm.
    pub model: Vec<f64>,
}

impl Comparison {
    /// (data − model)/σ.
    #[must_use]
    pub fn residuals(&self) -> Vec<f64> {
        let data = self.measured.intensity.iter().zip(&self.measured.sigma);
        data.zip(&self.model)
            .map(|((data, sigma), model)| (data - model) / sigma)
            .collect()
    }
}
