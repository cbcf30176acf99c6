//! What a reconstruction gives.

use ndarray::{Array2, Array3};
use num_complex::Complex;
use serde::{Deserialize, Serialize};

/// Figures of one iteration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HistoryEntry {
    /// Counted through all engines, from 1.
    pub iteration: usize,
    /// `dm`, `raar`.
    pub engine: String,
    /// Mean over frames of Σ w (af − √I)² / Σ w.
    pub err_fourier: f64,
    /// Mean |Δψ|².
    pub err_exit: f64,
    /// Mean Σ w (I_model − I)²/(I+1)/N, where it was computed.
    pub err_phot: Option<f64>,
    /// Σ w (√I_model − √I)² / Σ w I, where it was computed.
    pub r_factor: Option<f64>,
    /// Seconds since the start, this iteration included.
    pub seconds: f64,
}

/// The outcome of a run, as results files, pictures and comparisons take it.
#[derive(Debug, Clone, PartialEq)]
pub struct Reconstruction {
    /// (row, column), transmission.
    pub object: Array2<Complex<f64>>,
    /// (mode, row, column), √photons; orthogonal modes, strongest first.
    pub probe: Array3<Complex<f64>>,
    /// Share of each mode in the probe's power.
    pub mode_power: Vec<f64>,
    /// Object pixel (row, column), m.
    pub pixel: [f64; 2],
    /// (frame, (row, column)), m.
    pub positions: Array2<f64>,
    /// First row and column of each frame's window on the object.
    pub corners: Vec<[u32; 2]>,
    /// Position of a window that begins at object pixel (0, 0), (row, column), m.
    pub origin: [f64; 2],
    /// Illumination of each object pixel, Σ|P|² over frames and modes (row, column), photons.
    pub fluence: Array2<f64>,
    /// One entry an iteration.
    pub history: Vec<HistoryEntry>,
    /// The resolved recipe, TOML.
    pub recipe: String,
    /// `cpu`, `cuda` or `emulator`.
    pub backend: String,
    /// Name of the device.
    pub device: String,
    /// Program version.
    pub version: String,
    /// The scan's file, as given.
    pub source: String,
    /// Wavelength, m.
    pub wavelength: f64,
    /// Specimen to detector, m.
    pub distance: f64,
    /// Whether results are stored in double precision.
    pub double_precision: bool,
}
