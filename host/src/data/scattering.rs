//! Measured scattering: curves and detector images.

/// What smeared a curve.
#[derive(Debug, Clone, PartialEq)]
pub enum Smearing {
    /// Standard deviation of q at each point, 1/Å.
    Pinhole(Vec<f64>),
    /// Slit, 1/Å, in SasView's and NIST's convention (`dQl`, `dQw`): intensities at q are the averages of
    /// I(√((q + v)² + u²)) over 0 ≤ u ≤ length and −width ≤ v ≤ width, so both are half of the slit's extent.
    Slit {
        /// Across q, along the slit; at each point.
        length: Vec<f64>,
        /// Along q; at each point.
        width: Vec<f64>,
    },
}

/// A curve I(q): finite numbers, q positive and ascending.
#[derive(Debug, Clone, PartialEq)]
pub struct Curve {
    /// Scattering vectors, 1/Å.
    pub q: Vec<f64>,
    /// Intensities, 1/cm (or arbitrary units).
    pub intensity: Vec<f64>,
    /// Standard deviations of the intensities, positive.
    pub sigma: Option<Vec<f64>>,
    /// Resolution, where the file has one.
    pub smearing: Option<Smearing>,
    /// Title in the file, or its name.
    pub title: String,
    /// What was noticed when it was read: rows left out, units converted, ….
    pub notes: Vec<String>,
}

/// A detector's image as points: finite numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct ScatteringImage {
    /// Component to the right, 1/Å.
    pub qx: Vec<f64>,
    /// Component upwards, 1/Å.
    pub qy: Vec<f64>,
    /// Intensities.
    pub intensity: Vec<f64>,
    /// Standard deviations.
    pub sigma: Option<Vec<f64>>,
    /// Standard deviations of q along and across the direction of q, 1/Å.
    pub resolution: Option<(Vec<f64>, Vec<f64>)>,
    /// Title in the file, or its name.
    pub title: String,
    /// What was noticed when it was read.
    pub notes: Vec<String>,
}

/// What a file of small-angle scattering holds.
#[derive(Debug, Clone, PartialEq)]
pub enum Scattering {
    /// One dimension.
    Curve(Curve),
    /// Two dimensions.
    Image(ScatteringImage),
}
