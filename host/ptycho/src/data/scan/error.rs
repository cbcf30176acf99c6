//! Why data are not a valid scan.

use warpstride_core::system::ScratchError;
use warpstride_core::text::count;

/// `each of 12 frames`, `the only frame`.
pub(crate) fn each_frame(frames: usize) -> String {
    match frames {
        1 => "the only frame".to_owned(),
        _ => format!("each of {frames} frames"),
    }
}

/// Why data are not a valid scan. A reader adds the file and the dataset.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ScanError {
    /// There are no frames, or the frames have no pixels.
    #[error("expected at least one frame of at least one pixel, found shape {0} x {1} x {2}")]
    Empty(usize, usize, usize),
    /// The numbers of frames and positions differ.
    #[error("expected one position for {}, found {}", each_frame(*.frames), count(*.positions, ["position", "positions"]))]
    PositionCount {
        /// Frames found.
        frames: usize,
        /// Positions found.
        positions: usize,
    },
    /// A position is NaN or infinite.
    #[error("position {frame}: expected finite values in metres, found ({row}, {column})")]
    Position {
        /// Index of the frame.
        frame: usize,
        /// Row coordinate found.
        row: f64,
        /// Column coordinate found.
        column: f64,
    },
    /// A valid pixel is NaN, infinite or negative.
    #[error(
        "frame {frame}, row {row}, column {column}: expected a finite count >= 0 (at most 3.4e38, the f32 range) on every unmasked pixel, found {found}"
    )]
    Count {
        /// Index of the frame.
        frame: usize,
        /// Row of the pixel.
        row: usize,
        /// Column of the pixel.
        column: usize,
        /// Count found.
        found: f32,
    },
    /// All valid pixels of the scan are zero.
    #[error("expected at least one photon, found 0 in every valid pixel of {}", match *.frames {
        1 => "the frame".to_owned(),
        frames => format!("all {frames} frames"),
    })]
    Dark {
        /// Number of frames.
        frames: usize,
    },
    /// The mask has the wrong shape.
    #[error(
        "the mask: expected one (row, column), or one for each frame, of frames of shape {frames:?}, found shape {found:?}"
    )]
    MaskShape {
        /// Shape of the mask.
        found: Vec<usize>,
        /// Shape of the frames.
        frames: [usize; 3],
    },
    /// Every pixel is masked.
    #[error("expected at least one valid pixel, found all masked as bad")]
    AllMasked,
    /// The start probe has the wrong shape.
    #[error("the start probe: expected shape (mode, {rows}, {columns}), found {found:?}")]
    ProbeShape {
        /// Shape found.
        found: Vec<usize>,
        /// Rows of a frame.
        rows: usize,
        /// Columns of a frame.
        columns: usize,
    },
    /// The start probe has NaN or infinite values, or no power.
    #[error(
        "the start probe: expected finite values with power > 0, found 0 everywhere or values that are not finite"
    )]
    Probe,
    /// A length is NaN, infinite, zero or negative.
    #[error("{name}: expected a finite length > 0 m, found {found}")]
    Length {
        /// The length.
        name: &'static str,
        /// Value found.
        found: f64,
    },
    /// The counts are in a temporary file that cannot be read.
    #[error(transparent)]
    Scratch(#[from] ScratchError),
}
