//! An image of magnetic resonance with its record.

use ndarray::{Array2, Array3, Array4};
use num_complex::Complex;

/// What a reconstruction gives, as results files, pictures and reports take it.
#[derive(Debug, Clone, PartialEq)]
pub struct MriImage {
    /// (slice, row, column); one slice for a plane.
    pub image: Array3<Complex<f64>>,
    /// Whether it is a volume: its file has three axes, even of one slice.
    pub volume: bool,
    /// Slices, rows, columns together, m; where it is known.
    pub field_of_view: Option<[f64; 3]>,
    /// (coil, slice, row, column), where maps were used.
    pub coil_maps: Option<Array4<Complex<f64>>>,
    /// |r|²/|b|² after each iteration.
    pub residuals: Vec<f64>,
    /// What was done, JSON.
    pub recipe: String,
    /// `direct`, `nufft` or `toeplitz`.
    pub operator: String,
    /// `adjoint`, `cg`, `tv` or `wavelet`.
    pub method: String,
    /// `cpu`, `cuda` or `emulator`.
    pub backend: String,
    /// Name of the device.
    pub device: String,
    /// `f32` or `f64`: of the arithmetic, and of what is stored.
    pub precision: String,
    /// Program version.
    pub version: String,
    /// The file of the samples, as given.
    pub source: String,
}

/// Phases of samples over a basis of fields: exp(−2πi Σ_b c_mb ψ_b(x)).
#[derive(Debug, Clone, PartialEq)]
pub struct FieldPhases {
    /// c, (sample, function).
    pub coefficients: Array2<f64>,
    /// ψ, (function, slice, row, column), turns for a coefficient of 1.
    pub maps: Array4<f64>,
}
