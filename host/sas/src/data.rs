//! Measured small-angle scattering: curves and detector images.

/// Instrumental smearing of a curve.
#[derive(Debug, Clone, PartialEq)]
pub enum Smearing {
    /// Standard deviation of q at each point, 1/Å.
    Pinhole(Vec<f64>),
    /// Slit, 1/Å, in the convention of SasView and NIST (`dQl`, `dQw`): the intensity at q is the
    /// average of I(√((q + v)² + u²)) over 0 ≤ u ≤ length and −width ≤ v ≤ width, so both are half
    /// the slit's extent.
    Slit {
        /// Half length along the slit, perpendicular to q, at each point.
        length: Vec<f64>,
        /// Half width along q, at each point.
        width: Vec<f64>,
    },
}

/// A curve I(q) of finite numbers, with q positive and ascending.
#[derive(Debug, Clone, PartialEq)]
pub struct Curve {
    /// Scattering vectors, 1/Å.
    pub q: Vec<f64>,
    /// Intensities, 1/cm (or arbitrary units).
    pub intensity: Vec<f64>,
    /// Standard deviations of the intensities, positive.
    pub sigma: Option<Vec<f64>>,
    /// Resolution, if the file has one.
    pub smearing: Option<Smearing>,
    /// Title in the file, or the file's name.
    pub title: String,
    /// Notes of the reader: omitted rows, converted units, …
    pub notes: Vec<String>,
}

/// A detector image as a list of points, all values finite.
#[derive(Debug, Clone, PartialEq)]
pub struct ScatteringImage {
    /// Horizontal component of q, positive to the right, 1/Å.
    pub qx: Vec<f64>,
    /// Vertical component of q, positive upwards, 1/Å.
    pub qy: Vec<f64>,
    /// Intensities.
    pub intensity: Vec<f64>,
    /// Standard deviations.
    pub sigma: Option<Vec<f64>>,
    /// Standard deviations of q parallel and perpendicular to q, 1/Å.
    pub resolution: Option<(Vec<f64>, Vec<f64>)>,
    /// Title in the file, or the file's name.
    pub title: String,
    /// Notes of the reader.
    pub notes: Vec<String>,
}

/// Contents of a small-angle scattering file.
#[derive(Debug, Clone, PartialEq)]
pub enum Scattering {
    /// One-dimensional data.
    Curve(Curve),
    /// Two-dimensional data.
    Image(ScatteringImage),
}
