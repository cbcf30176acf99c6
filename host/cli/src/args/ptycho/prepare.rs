//! How the frames of a scan are prepared, for several commands of `warpstride ptycho`.

use crate::args::at_least_one::at_least_one;
use clap::Args;

/// Selection, corrections and pixels of the frames.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "How frames are prepared")]
pub(crate) struct PrepareArgs {
    /// Name of the frames where a file has several: an array of an .npz file, or a dataset of a
    /// NeXus file or of HDF5 without a layout
    #[arg(long, value_name = "NAME")]
    pub(crate) dataset: Option<String>,
    /// Use one of every N frames
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pub(crate) every: Option<usize>,
    /// Leave out frames with these numbers in the file, from 0, such as 3,17,100-120
    #[arg(long, value_name = "LIST")]
    pub(crate) exclude: Option<String>,
    /// Frames without beam, or far too bright: mask leaves them out, keep uses them, error stops
    /// [default: mask]
    #[arg(long, value_name = "mask|keep|error")]
    pub(crate) bad_frames: Option<String>,
    /// Subtract the mean of these frames without beam: a dataset of the scan, FILE:/DATASET of
    /// another, or a file of frames
    #[arg(long, value_name = "[FILE:]/DATASET")]
    pub(crate) dark: Option<String>,
    /// Divide by the mean of these frames of a uniform illumination, whose own mean is set to 1
    #[arg(long, value_name = "[FILE:]/DATASET")]
    pub(crate) flat: Option<String>,
    /// Mask pixels that are not 0 in this image too
    #[arg(long, value_name = "[FILE:]/DATASET")]
    pub(crate) mask: Option<String>,
    /// What pixels other than 0 are in the image of --mask [default: bad]
    #[arg(long, value_name = "bad|valid")]
    pub(crate) mask_marks: Option<String>,
    /// What pixels other than 0 are in the mask of the scan's file [default: as its format says]
    #[arg(long, value_name = "bad|valid")]
    pub(crate) file_mask_marks: Option<String>,
    /// Counts that mean that a pixel has no data, such as -9999,nan, which are masked; auto knows
    /// those of detectors [default: auto]
    #[arg(long, value_name = "LIST|auto|off", allow_hyphen_values = true)]
    pub(crate) no_data: Option<String>,
    /// Negative counts, as a subtracted dark measurement leaves them: refuse the file, or set them
    /// to 0 [default: error]
    #[arg(long, value_name = "error|clip")]
    pub(crate) negative: Option<String>,
    /// Pixels that count without light: report, mask, or mask those with so many times the counts
    /// of their neighbours; those that hardly ever count are masked unless it is keep, and with
    /// mask also those that may be a central stop's shadow [default: report]
    #[arg(
        long,
        value_name = "keep|report|mask|TIMES",
        allow_negative_numbers = true
    )]
    pub(crate) hot_pixels: Option<String>,
    /// Saturated pixels: report, mask, or mask pixels with so many counts in the frames that have
    /// them [default: report]
    #[arg(long, value_name = "report|mask|COUNTS", allow_negative_numbers = true)]
    pub(crate) saturation: Option<String>,
    /// Divide each frame by its number in this dataset, the brightness of the beam, over the mean
    /// of all
    #[arg(long, value_name = "[FILE:]/DATASET")]
    pub(crate) monitor: Option<String>,
    /// Turn the frames: transpose, flip-rows, flip-columns, rotate=90, rotate=180, rotate=270
    /// (counterclockwise), separated by commas
    #[arg(long, value_name = "LIST")]
    pub(crate) transform_frames: Option<String>,
    /// Row and column of the zero frequency in the turned frames, such as 61.5,66; auto: where the
    /// mean pattern is symmetric; shifted: at the first pixel, from which frames are shifted
    /// cyclically to the middle [default: rows/2,columns/2]
    #[arg(
        long,
        alias = "center",
        value_name = "ROW,COLUMN|auto|shifted",
        allow_hyphen_values = true
    )]
    pub(crate) centre: Option<String>,
    /// Rows and columns to keep around the zero frequency, such as 256x256
    #[arg(long, value_name = "ROWSxCOLUMNS")]
    pub(crate) crop: Option<String>,
    /// Add masked pixels around, up to so many rows and columns: object pixels get smaller
    #[arg(long, value_name = "ROWSxCOLUMNS")]
    pub(crate) pad: Option<String>,
    /// Add the counts of N x N pixels: the window of the probe gets smaller
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pub(crate) bin: Option<usize>,
}
