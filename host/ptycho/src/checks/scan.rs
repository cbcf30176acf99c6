//! What is checked of a scan before anything is made of it: `ptycho info` and `ptycho import` say
//! the same.

use crate::data::{PixelPositions, Scan};
use crate::{Overlap, ProblemError, Recipe, detector_problems, diagnose, slices_note};
use warpstride_core::system::ScratchError;

/// What [`check_scan`] finds.
#[derive(Debug, Clone, PartialEq)]
pub struct ScanChecks {
    /// Overlap of neighbouring illuminations; `None` for a single frame.
    pub overlap: Option<Overlap>,
    /// One sentence for each doubtful property, first the reason why the scan cannot be
    /// reconstructed, if there is one.
    pub problems: Vec<String>,
    /// Rows and columns of the object, or the reason why the scan cannot be reconstructed.
    pub object_shape: Result<[usize; 2], ProblemError>,
}

/// Looks for everything that often explains a poor or meaningless reconstruction of `scan` with
/// `recipe`.
///
/// # Errors
/// The counts are in a temporary file that cannot be read.
pub fn check_scan(scan: &Scan, recipe: &Recipe) -> Result<ScanChecks, ScratchError> {
    let [_, rows, columns] = scan.shape();
    let positions = scan.positions();
    let object_shape = PixelPositions::new(
        positions,
        scan.object_pixel(),
        [rows, columns],
        recipe.margin(),
    )
    .map(|positions| positions.object_shape)
    .map_err(|error| ProblemError::of_positions(error, scan));
    let diagnosis = diagnose(scan, &recipe.engines)?;
    let fatal = object_shape.as_ref().err().map(ToString::to_string);
    let problems = (fatal.into_iter())
        .chain(diagnosis.problems)
        .chain(slices_note(scan, recipe))
        .chain(detector_problems(scan, &recipe.detector));
    Ok(ScanChecks {
        problems: problems.collect(),
        overlap: diagnosis.overlap,
        object_shape,
    })
}
