//! What a reconstruction says of itself in JSON.

mod of_images;

use crate::data::ImageIndex;
use serde::Serialize;
use warpstride_core::run::RunRecord;

/// What `--summary` writes. Numbers that are not finite are `null` in JSON.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MriSummary {
    /// What the summaries of all sciences have: where it was computed, files, times, notes.
    #[serde(flatten)]
    pub record: RunRecord,
    /// Doubtful properties of the samples, as `mri info` finds them.
    pub problems: Vec<String>,
    /// `direct`, `nufft` or `toeplitz`.
    pub operator: String,
    /// `adjoint`, `cg`, `tv` or `wavelet`.
    pub method: String,
    /// Iterations done.
    pub iterations: usize,
    /// |r|²/|b|² after each of them.
    pub residuals: Vec<f64>,
    /// Σ w |d − Eρ|²/Σ w |d|² at the end; none for the adjoint.
    pub data_residual: Option<f64>,
    /// Mean time of an iteration, ms.
    pub ms_per_iteration: Option<f64>,
    /// Slices, rows, columns.
    pub matrix: [usize; 3],
    /// Coils.
    pub coils: usize,
    /// Readouts.
    pub readouts: usize,
    /// Samples of a coil.
    pub samples: usize,
    /// `espirit`, `low-pass`, `walsh`, `none` or a file.
    pub coil_maps: String,
    /// Sets of coil maps; `null` without maps.
    pub coil_map_sets: Option<usize>,
    /// `none`, `ramp` or `pipe`.
    pub density: String,
    /// Weight of the regulariser.
    pub lambda: f64,
    /// |r|²/|b|² at which conjugate gradients stop; 0: never, and for other methods.
    pub min_residual: f64,
    /// Relative error that the NUFFT was planned for; none for the direct operator.
    pub tolerance: Option<f64>,
    /// `accurate` or `hardware`.
    pub trigonometry: String,
    /// Whether √Σ|S|² ρ was solved for.
    pub intensity_correction: bool,
    /// ‖a ρ − reference‖ / ‖reference‖, a the best complex factor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nrmse: Option<f64>,
    /// The same of the moduli: ‖a |ρ| − |reference|‖ / ‖reference‖, a the best real factor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub magnitude_nrmse: Option<f64>,
    /// 20 log₁₀(max|reference|/√MSE), dB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub psnr: Option<f64>,
    /// Mean structural similarity of the moduli.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ssim: Option<f64>,
    /// Each of several images; empty for a single one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<ImageSummary>,
}

/// One of several images, as `--summary` describes it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ImageSummary {
    /// Its counters.
    #[serde(flatten)]
    pub index: ImageIndex,
    /// Iterations done.
    pub iterations: usize,
    /// |r|²/|b|² after each of them.
    pub residuals: Vec<f64>,
    /// Σ w |d − Eρ|²/Σ w |d|² at the end; none for the adjoint.
    pub data_residual: Option<f64>,
    /// Readouts.
    pub readouts: usize,
    /// Samples of a coil.
    pub samples: usize,
    /// Sets of coil maps; `null` without maps.
    pub coil_map_sets: Option<usize>,
    /// Wall-clock seconds of the iterations.
    pub seconds: f64,
    /// As in [`MriSummary`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nrmse: Option<f64>,
    /// As in [`MriSummary`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub magnitude_nrmse: Option<f64>,
    /// As in [`MriSummary`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub psnr: Option<f64>,
    /// As in [`MriSummary`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ssim: Option<f64>,
}

impl MriSummary {
    /// As JSON, indented, with a newline at the end.
    ///
    /// # Errors
    /// The encoder's.
    pub fn to_json(&self) -> serde_json::Result<String> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }
}
