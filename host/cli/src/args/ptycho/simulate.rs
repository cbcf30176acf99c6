//! The options of `warpstride ptycho simulate`.

use crate::args::at_least_one::at_least_one;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(crate) struct SimulateArgs {
    /// Scan file to write (CXI)
    #[arg(value_name = "OUT.cxi")]
    pub(crate) out: PathBuf,
    /// Rows and columns of each frame
    #[arg(long, value_name = "PIXELS", default_value_t = 128)]
    pub(crate) frame: usize,
    /// Number of frames
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub(crate) positions: usize,
    /// Scan pattern
    #[arg(long, value_enum, default_value_t = PatternArg::Fermat)]
    pub(crate) pattern: PatternArg,
    /// Linear overlap of neighbouring positions, as a fraction
    #[arg(
        long,
        value_name = "FRACTION",
        default_value_t = 0.7,
        allow_negative_numbers = true
    )]
    pub(crate) overlap: f64,
    /// Photons per exposure
    #[arg(
        long,
        value_name = "N",
        default_value = "1e8",
        allow_negative_numbers = true
    )]
    pub(crate) photons: f64,
    /// Mutually incoherent probe modes
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) probe_modes: usize,
    /// Mutually incoherent states of the specimen, each half as long as the one before
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) object_modes: usize,
    /// Fly scan: path during each exposure, in object pixels, such as 0,3 [default: a step scan]
    #[arg(long, value_name = "ROWS,COLUMNS", allow_hyphen_values = true)]
    pub(crate) fly_shift: Option<String>,
    /// Points of the path at which frames are computed [default: 4 for each pixel, at least 8]
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pub(crate) fly_points: Option<usize>,
    /// Change of the beam from frame to frame, as a fraction of its width: its place, its defocus
    /// and its astigmatism vary by up to as much
    #[arg(
        long,
        value_name = "FRACTION",
        default_value_t = 0.0,
        allow_negative_numbers = true
    )]
    pub(crate) probe_drift: f64,
    /// Standard deviation of the error of the recorded positions, in object pixels
    #[arg(
        long,
        value_name = "PX",
        default_value_t = 0.0,
        allow_negative_numbers = true
    )]
    pub(crate) position_error: f64,
    /// Store expected counts without Poisson noise
    #[arg(long)]
    pub(crate) no_noise: bool,
    /// Frames are near fields (Fresnel propagation), not far fields
    #[arg(long)]
    pub(crate) near_field: bool,
    /// Distance from the focus of a cone beam to the specimen, such as 4mm, with --near-field
    /// [default: none, a parallel beam]
    #[arg(long, value_name = "LENGTH", allow_hyphen_values = true)]
    pub(crate) focus_to_sample: Option<String>,
    /// Slices of a thick specimen [default: 1, a thin one]
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pub(crate) slices: Option<usize>,
    /// Distance between neighbouring slices, one for all, such as 30um, with --slices [default:
    /// 20um, or 30nm with --electrons]
    #[arg(long, value_name = "LENGTH", allow_hyphen_values = true)]
    pub(crate) slice_distance: Option<String>,
    /// 300 kV electrons instead of 10 keV X-rays, with --slices
    #[arg(long)]
    pub(crate) electrons: bool,
    /// Standard deviation of the Gaussian by which the detector blurs intensities, in pixels
    #[arg(
        long,
        value_name = "PX",
        default_value_t = 0.0,
        allow_negative_numbers = true
    )]
    pub(crate) blur: f64,
    /// Background of the detector, photons in each pixel of each frame
    #[arg(
        long,
        value_name = "PHOTONS",
        default_value_t = 0.0,
        allow_negative_numbers = true
    )]
    pub(crate) background: f64,
    /// Seed of the random number generator
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PatternArg {
    /// Fermat spiral
    Fermat,
    /// Rectangular grid
    Raster,
    /// Concentric rings
    Round,
}
