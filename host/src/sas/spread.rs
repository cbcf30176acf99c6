//! Polydispersity: which parameters have a distribution, and which.

/// A distribution about a centre c with standard deviation σ.
#[derive(Debug, Clone, PartialEq)]
pub enum Distribution {
    /// exp(−½ ((x − c)/σ)²), 35 points to ±3 σ.
    Gaussian,
    /// Constant to ±√3 σ, 35 points; σ is its standard deviation. Points that a longer reach sets beyond are dropped.
    Rectangle,
    /// Constant to ±σ, 35 points.
    Uniform,
    /// exp(−½ ((ln x − ln c)/s)²)/(x s) with s = σ/c, 80 points to 8 σ.
    LogNormal,
    /// Schulz's, z = (c/σ)², 80 points to 8 σ.
    Schulz,
    /// exp(−|x − c|/σ), 35 points to ±3 σ.
    Boltzmann,
    /// Values and weights from a file; the width does not matter.
    Array(Vec<(f64, f64)>),
}

/// The polydispersity of one parameter. Its width is in each [`Vector`](super::Vector), because it can be fitted.
#[derive(Debug, Clone, PartialEq)]
pub struct Spread {
    /// Place of the parameter in the definition's table.
    pub parameter: usize,
    /// Its distribution.
    pub distribution: Distribution,
    /// Points of the mesh.
    pub points: usize,
    /// Reach of the mesh in standard deviations; without meaning for uniform and array.
    pub nsigma: f64,
}

impl Distribution {
    /// Points and reach that are used when none are given.
    #[must_use]
    pub fn default_mesh(&self) -> (usize, f64) {
        match self {
            Self::LogNormal | Self::Schulz => (80, 8.0),
            Self::Rectangle => (35, 3.0_f64.sqrt()),
            Self::Uniform => (35, 1.0),
            Self::Gaussian | Self::Boltzmann => (35, 3.0),
            Self::Array(pairs) => (pairs.len(), 0.0),
        }
    }
}
