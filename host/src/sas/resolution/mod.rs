//! Resolution: measured intensities are averages over nearby wave vectors, so a matrix times the intensities at a
//! finer set of points.

use super::Points;

/// A matrix whose rows are stretches of a finer set of points.
#[derive(Debug, Clone, PartialEq)]
pub struct Resolution {
    /// Where the model is computed.
    pub fine: Points,
    /// First fine point of each row.
    pub first: Vec<u32>,
    /// Fine points of each row.
    pub count: Vec<u32>,
    /// Weights, row after row.
    pub weights: Vec<f64>,
}

impl Resolution {
    /// The matrix times intensities at the fine points.
    #[must_use]
    pub fn apply(&self, fine: &[f64]) -> Vec<f64> {
        let mut weights = self.weights.as_slice();
        let rows = self.first.iter().zip(&self.count);
        rows.map(|(first, count)| {
            let (row, rest) = weights.split_at(*count as usize);
            weights = rest;
            let values = &fine[*first as usize..];
            row.iter()
                .zip(values)
                .map(|(weight, value)| weight * value)
                .sum()
        })
        .collect()
    }
}
