//! A magnetic resonance image and how it was made.

use super::{ImageIndex, Placement};
use ndarray::{Array2, Array3, Array4, Array5};
use num_complex::Complex;

/// Result of an MRI reconstruction, as written to results files and drawn in pictures and reports.
#[derive(Debug, Clone, PartialEq)]
pub struct MriImage {
    /// (slice, row, column); a planar image has one slice.
    pub image: Array3<Complex<f64>>,
    /// Whether the image is a volume: its file then has three axes, even for a single slice.
    pub volume: bool,
    /// The place among several images; the file then has an axis of images, even for a single one.
    pub index: Option<ImageIndex>,
    /// Position and orientation, if known.
    pub placement: Option<Placement>,
    /// Extent along slices, rows and columns, m, if known.
    pub field_of_view: Option<[f64; 3]>,
    /// (set, coil, slice, row, column), if coil maps were used. Their file has the axis of sets
    /// only if there are several.
    pub coil_maps: Option<Array5<Complex<f64>>>,
    /// |r|²/|b|² after each iteration.
    pub residuals: Vec<f64>,
    /// Options of the reconstruction, JSON.
    pub recipe: String,
    /// `direct`, `nufft` or `toeplitz`.
    pub operator: String,
    /// `adjoint`, `cg`, `tv` or `wavelet`.
    pub method: String,
    /// `cpu`, `cuda` or `emulator`.
    pub backend: String,
    /// Name of the device.
    pub device: String,
    /// `f32` or `f64`: precision of the arithmetic and of the stored arrays.
    pub precision: String,
    /// Program version.
    pub version: String,
    /// Path of the file with the samples, as given.
    pub source: String,
}

/// Phases of the samples in a basis of field maps: exp(−2πi Σ_b c_mb ψ_b(x)).
#[derive(Debug, Clone, PartialEq)]
pub struct FieldPhases {
    /// Coefficients c, (sample, function).
    pub coefficients: Array2<f64>,
    /// Field maps ψ, (function, slice, row, column), in turns for a coefficient of 1.
    pub maps: Array4<f64>,
}
