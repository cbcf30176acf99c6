//! Result of a ptychographic reconstruction.

use super::{ModelParts, Propagation};
use ndarray::{Array2, Array3};
use num_complex::Complex;
use serde::{Deserialize, Serialize};

/// Metrics of one iteration. The Fourier error is known for every iteration, the others for those
/// for which they were computed (`metrics_every` of a recipe).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HistoryEntry {
    /// Number of the iteration in the whole run, from 1.
    pub iteration: usize,
    /// Name of the engine, such as `dm`.
    pub engine: String,
    /// Mean over frames of Σ w (af − √I)² / Σ w.
    pub err_fourier: f64,
    /// Mean |Δψ|², if computed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub err_exit: Option<f64>,
    /// Mean Σ w (I_model − I)²/(I+1)/N, if computed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub err_phot: Option<f64>,
    /// Σ w (√I_model − √I)² / Σ w I, if computed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub r_factor: Option<f64>,
    /// The same over the free pixels, if computed and if there are any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub r_free: Option<f64>,
    /// Seconds spent in this iteration and those before it, without set-up and saving.
    pub seconds: f64,
}

/// Result of a run, as stored in results files, drawn in pictures and compared with others.
#[derive(Debug, Clone, PartialEq)]
pub struct Reconstruction {
    /// Complex transmission (row, column).
    pub object: Array2<Complex<f64>>,
    /// Probe modes (mode, row, column), √photons; orthogonal, strongest first.
    pub probe: Array3<Complex<f64>>,
    /// Fraction of the probe's power in each mode.
    pub mode_power: Vec<f64>,
    /// Object pixel (row, column), m.
    pub pixel: [f64; 2],
    /// Positions (frame, (row, column)), m; the refined ones if they were refined.
    pub positions: Array2<f64>,
    /// Positions as recorded in the scan (frame, (row, column)), m.
    pub recorded_positions: Array2<f64>,
    /// First row and column of each frame's window on the object.
    pub corners: Vec<[u32; 2]>,
    /// Shift (rows, columns) of the probe within each frame's window, object pixels.
    pub fractions: Vec<[f64; 2]>,
    /// Factor on the model intensities of each frame; 1 unless the scales were fitted.
    pub frame_scales: Vec<f64>,
    /// Position (row, column), m, of a window that starts at object pixel (0, 0).
    pub origin: [f64; 2],
    /// Fluence of each object pixel (row, column), photons: Σ|P|² over frames and modes.
    pub fluence: Array2<f64>,
    /// One entry per iteration.
    pub history: Vec<HistoryEntry>,
    /// The resolved recipe, TOML.
    pub recipe: String,
    /// `cpu`, `cuda` or `emulator`.
    pub backend: String,
    /// Name of the device.
    pub device: String,
    /// How a GPU computed the last projection; empty on a CPU, without projections, and in results
    /// of earlier versions.
    pub plan: String,
    /// Program version.
    pub version: String,
    /// What the automatic recipe tried and kept, JSON; empty if the recipe was given, and in
    /// results of earlier versions.
    pub trials: String,
    /// Path of the scan file, as given.
    pub source: String,
    /// Wavelength, m.
    pub wavelength: f64,
    /// Voltage that has accelerated the electrons, V; `None` if the waves are photons, or not known
    /// to be electrons.
    pub voltage: Option<f64>,
    /// Distance from the specimen to the detector, m.
    pub distance: f64,
    /// How waves travelled to the detector.
    pub propagation: Propagation,
    /// Whether the arrays are stored in double precision.
    pub double_precision: bool,
    /// What the model has beyond object, probe and frames.
    pub parts: ModelParts,
}
