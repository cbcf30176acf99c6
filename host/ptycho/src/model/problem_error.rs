//! Why a scan cannot be reconstructed with a recipe.

use super::near_field::NearFieldMisfit;
use crate::data::{PositionError, Scan};
use crate::positions::units::PositionRemedy;
use crate::start::StartError;
use warpstride_core::system::ScratchError;
use warpstride_core::text::significant;

/// Why a scan cannot be reconstructed with a recipe.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ProblemError {
    /// The positions are not plausible.
    #[error("{error}{remedy}")]
    Positions {
        /// Why they are not.
        error: PositionError,
        /// What can be done about it.
        remedy: PositionRemedy,
    },
    /// The geometry of a near field does not suit the positions.
    #[error(transparent)]
    NearPositions(#[from] NearFieldMisfit),
    /// The start probe cannot be made.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The start probe belongs to another scan or recipe.
    #[error(
        "the start probe (mode, row, column): expected {expected:?}, as scan and recipe have, found {found:?}"
    )]
    StartProbe {
        /// Modes of the recipe, rows and columns of the frames.
        expected: [usize; 3],
        /// Those of the start probe.
        found: [usize; 3],
    },
    /// An array has too many elements for 32-bit indices.
    #[error("the {what}: expected at most {limit} elements, found {elements}")]
    TooMany {
        /// The array.
        what: &'static str,
        /// Number of elements.
        elements: usize,
        /// Largest number of elements.
        limit: usize,
    },
    /// Object and probe would be moved together, but frames of near fields show where the beam is.
    #[error(
        "probe_centre_tolerance: expected none in the near field, where the beam's place on the detector is measured, found {0}"
    )]
    Centring(f64),
    /// Slices of frames that are near fields.
    #[error("slices.count: expected 1 in the near field, found {0}")]
    NearSlices(usize),
    /// The specimen moves further during an exposure than the window of a frame.
    #[error(
        "the path of an exposure (fly.shift in metres, or fly.path = \"scan\"): expected at most the window of a frame, {} x {} pixels, found {} x {} pixels",
        .window[0], .window[1], significant(.found[0], 3), significant(.found[1], 3)
    )]
    LongPath {
        /// Window of a frame (row, column), pixels.
        window: [usize; 2],
        /// Path (row, column), pixels.
        found: [f64; 2],
    },
    /// The counts are in a temporary file that cannot be read or written.
    #[error(transparent)]
    Scratch(#[from] ScratchError),
}

impl ProblemError {
    /// That of positions of `scan` which are refused.
    #[must_use]
    pub fn of_positions(error: PositionError, scan: &Scan) -> Self {
        match NearFieldMisfit::new(&error, scan.geometry()) {
            Some(misfit) => Self::NearPositions(misfit),
            None => Self::Positions {
                remedy: PositionRemedy::new(&error, scan),
                error,
            },
        }
    }
}
