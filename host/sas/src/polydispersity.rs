//! Polydispersity: distributions of parameters.

/// A distribution about a centre c with standard deviation σ.
#[derive(Debug, Clone, PartialEq)]
pub enum Distribution {
    /// exp(−½ ((x − c)/σ)²); by default 35 points to ±3 σ, and for sizes wider than 0.25 more of
    /// both.
    Gaussian,
    /// Constant to ±√3 σ; by default 35 points. σ is the standard deviation. With a longer reach,
    /// mesh points beyond ±√3 σ are dropped.
    Rectangle,
    /// Constant to ±σ; by default 35 points.
    Uniform,
    /// exp(−½ ((ln x − ln c)/s)²)/(x s) with s = σ/c; by default 80 points to 8 σ, and
    /// above s = 0.2 even steps of ln x up to the largest particles that scatter.
    LogNormal,
    /// Schulz distribution with z = (c/σ)²; by default 80 points to 8 σ, and above σ/c = 0.3 even
    /// steps up to the largest particles that scatter.
    Schulz,
    /// exp(−|x − c|/σ); by default 35 points to ±3 σ.
    Boltzmann,
    /// Values and weights from a file; the width has no effect.
    Array(Vec<(f64, f64)>),
}

/// The distribution of one parameter. Its width is in each [`Vector`](super::Vector), because it
/// can be fitted.
#[derive(Debug, Clone, PartialEq)]
pub struct Polydispersity {
    /// Index of the parameter in the definition's table.
    pub parameter: usize,
    /// Shape of the distribution.
    pub distribution: Distribution,
    /// Number of mesh points.
    pub points: usize,
    /// Reach of the mesh in standard deviations; no effect for `Uniform` and `Array`.
    pub nsigma: f64,
    /// Whether points or reach were asked for. If not, they are those of
    /// [`Distribution::default_mesh`], and the mesh of a wide distribution of sizes follows its
    /// width.
    pub is_given: bool,
}

impl Distribution {
    /// Number of points and reach in standard deviations of the default mesh of a narrow
    /// distribution.
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
