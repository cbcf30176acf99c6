//! The parts of the model that several commands of `warpstride ptycho` take.

use crate::args::at_least_one::at_least_one;
use clap::Args;

/// Files that a scan leads to.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct LinkArgs {
    /// Follow links and virtual datasets of the scan to files outside its folder
    #[arg(long)]
    pub(crate) follow_links: bool,
}

/// How waves travel from the specimen to the detector.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct NearFieldArgs {
    /// Frames are near fields (Fresnel propagation), not far fields
    #[arg(long)]
    pub(crate) near_field: bool,
    /// Distance from the focus of a cone beam to the specimen, such as 3.65mm, or inf for a
    /// parallel beam, for near fields [default: as in the file, else a parallel beam]
    #[arg(long, value_name = "LENGTH", allow_hyphen_values = true)]
    pub(crate) focus_to_sample: Option<String>,
}

/// Object modes and fly scans.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct LayerArgs {
    /// Mutually incoherent modes of the object, for specimens that change or vibrate during an
    /// exposure [default: 1]
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pub(crate) object_modes: Option<usize>,
    /// Points of each exposure of a fly scan, about one for each object pixel of its path [default:
    /// 1, a step scan]
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pub(crate) fly_points: Option<usize>,
    /// Path during an exposure: ROWS,COLUMNS in the directions of the positions, such as 0,1.5um,
    /// or scan: from each position towards the next
    #[arg(long, value_name = "PATH", allow_hyphen_values = true)]
    pub(crate) fly_shift: Option<String>,
}

/// Blur and background of the detector.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct DetectorArgs {
    /// Standard deviation of the Gaussian by which the detector blurs intensities, in pixels, such
    /// as 0.7 [default: 0]
    #[arg(long, value_name = "PX", allow_negative_numbers = true)]
    pub(crate) blur: Option<f64>,
    /// Background of the detector: uniform (one number for all pixels, fitted), pixels (one for
    /// each, fitted), or known photons in a pixel, such as 2.0 [default: off]
    #[arg(
        long,
        value_name = "uniform|pixels|PHOTONS",
        allow_hyphen_values = true
    )]
    pub(crate) background: Option<String>,
}

/// The slices of a thick specimen.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct SliceArgs {
    /// Slices of a thick specimen, for lsqml and ml [default: 1]
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pub(crate) slices: Option<usize>,
    /// Distance between neighbouring slices, such as 20um or 30nm; one for all, or a list for each
    /// two, separated by commas
    #[arg(long, value_name = "LENGTH", allow_hyphen_values = true)]
    pub(crate) slice_distance: Option<String>,
}
