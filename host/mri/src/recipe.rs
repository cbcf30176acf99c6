//! The parameters of a reconstruction.

use serde::Serialize;

/// The implementation of F.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum OperatorName {
    /// The exact sum.
    Direct,
    /// Spreading and FFT, to a tolerance.
    Nufft,
    /// FᴴWF by one convolution on the doubled grid; Fᴴ of the data by [`OperatorName::Nufft`].
    Toeplitz,
}

impl OperatorName {
    /// The name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Nufft => "nufft",
            Self::Toeplitz => "toeplitz",
        }
    }
}

/// The reconstruction method.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Method {
    /// EᴴWd, without iterations (divided by Σ|S|² with coil maps; root sum of squares without).
    Adjoint,
    /// Conjugate gradients on (EᴴWE + λ)ρ = EᴴWd.
    Cg,
    /// FISTA with total variation.
    Tv,
    /// FISTA with soft thresholding of orthonormal wavelet coefficients.
    Wavelet,
}

impl Method {
    /// The name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Adjoint => "adjoint",
            Self::Cg => "cg",
            Self::Tv => "tv",
            Self::Wavelet => "wavelet",
        }
    }
}

/// Sine and cosine of the direct operators in single precision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Trigonometry {
    /// Polynomials of the angle in cycles, accurate to rounding.
    #[default]
    Accurate,
    /// The device's own instructions (absolute error 2⁻²⁰·⁵), after reduction of the angle in
    /// cycles.
    Hardware,
}

impl Trigonometry {
    /// The name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Accurate => "accurate",
            Self::Hardware => "hardware",
        }
    }
}

/// The parameters of a reconstruction, with every `auto` resolved.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Recipe {
    /// The implementation of F.
    pub operator: OperatorName,
    /// The reconstruction method.
    pub method: Method,
    /// Number of iterations; 0 for [`Method::Adjoint`].
    pub iterations: usize,
    /// Weight of the regulariser: λ itself for [`Method::Cg`]; for [`Method::Tv`] and
    /// [`Method::Wavelet`] in units of the largest |EᴴWd|, so that it does not depend on the scale
    /// of the data.
    pub lambda: f64,
    /// |r|²/|b|² at which [`Method::Cg`] stops before all iterations are done; 0: never. Not
    /// used by the other methods.
    pub min_residual: f64,
    /// Iterations that [`Method::Cg`] does if the residual is above `rounding`.
    pub min_iterations: usize,
    /// |r|²/|b|² at which [`Method::Cg`] always stops, as what is left is rounding; 0: never.
    pub rounding: f64,
    /// Relative error for which the NUFFT is planned.
    pub tolerance: f64,
    /// Sine and cosine of the direct operators on GPUs.
    pub trigonometry: Trigonometry,
    /// Solves for ρ' = √Σ|S|² ρ, with the maps S/√Σ|S|².
    pub intensity_correction: bool,
}
