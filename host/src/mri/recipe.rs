//! What to do with the samples.

use serde::Serialize;

/// How F is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum OperatorName {
    /// The sum itself.
    Direct,
    /// Spreading and FFT, to a tolerance.
    Nufft,
    /// FᴴWF by one convolution on the doubled grid; Fᴴ of the data by [`OperatorName::Nufft`].
    Toeplitz,
}

impl OperatorName {
    /// As typed.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Nufft => "nufft",
            Self::Toeplitz => "toeplitz",
        }
    }
}

/// How the image is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Method {
    /// EᴴWd, without iterations (divided by Σ|S|² with coil maps; root sum of squares without).
    Adjoint,
    /// Conjugate gradients on (EᴴWE + λ)ρ = EᴴWd.
    Cg,
    /// FISTA with total variation.
    Tv,
    /// FISTA with soft thresholds of orthogonal wavelets.
    Wavelet,
}

impl Method {
    /// As typed.
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
    /// Polynomials in turns: to rounding.
    #[default]
    Accurate,
    /// The device's own instructions (2⁻²⁰·⁵ absolute), after reduction in turns.
    Hardware,
}

impl Trigonometry {
    /// As typed.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Accurate => "accurate",
            Self::Hardware => "hardware",
        }
    }
}

/// What to do, resolved: nothing is left to `auto`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Recipe {
    /// How F is computed.
    pub operator: OperatorName,
    /// How the image is found.
    pub method: Method,
    /// Iterations; 0 for [`Method::Adjoint`].
    pub iterations: usize,
    /// Weight of the regulariser. [`Method::Cg`]: λ itself. [`Method::Tv`], [`Method::Wavelet`]: in units of
    /// the largest |EᴴWd|, so that it does not depend on the scale of the data.
    pub lambda: f64,
    /// Relative error that the NUFFT is planned for.
    pub tolerance: f64,
    /// Sine and cosine of the direct operators on GPUs.
    pub trigonometry: Trigonometry,
    /// Divides by √Σ|S|² (ρ' = √Σ|S|² ρ is solved for, with S/√Σ|S|²).
    pub intensity_correction: bool,
}
