//! What the reader of a format finds in the files of a scan.

use super::MaskPolarity;
use super::cutoff::Cutoff;
use super::geometry::Resolved;
use super::mask_light::MaskLight;
use super::units::Measure;
use super::window::Window;
use crate::data::{Frames, Mask, Scan, Simulation};
use ndarray::{Array2, Array3, Axis, Ix2, Ix3};
use num_complex::Complex;
use warpstride_files::IoError;
use warpstride_files::source::Numbers;

/// A scan and the notes of its reader.
#[derive(Debug, Clone, PartialEq)]
pub struct ScanFile {
    /// The scan.
    pub scan: Scan,
    /// Decisions of the reader that the user should know about, one sentence each.
    pub notes: Vec<String>,
    /// Number of frames of the file, and the raster (slow, fast) that they are stored as, if they
    /// are.
    pub stored: (usize, Option<[usize; 2]>),
}

/// Data found by the reader of a format: cut to the window, positions not yet flipped.
pub(super) struct Parts {
    /// Path and counts (frame, row, column).
    pub(super) frames: (String, Frames),
    pub(super) mask: Option<(String, Mask)>,
    /// The pixels that the format marks in a mask, and what the mask hides.
    pub(super) mask_marks: MaskPolarity,
    pub(super) mask_light: Option<MaskLight>,
    /// Path and positions (frame, (row, column)), m.
    pub(super) positions: (String, Array2<f64>),
    pub(super) geometry: Resolved,
    /// Path and probe (mode, row, column).
    pub(super) probe: Option<(String, Array3<Complex<f64>>)>,
    /// Why the illumination in the file cannot be the start probe.
    pub(super) unusable_probe: Option<String>,
    pub(super) simulation: Option<Simulation>,
    /// Where frames and mask are in the file.
    pub(super) window: Window,
    /// From which count on a pixel has no data.
    pub(super) cutoff: Option<Cutoff>,
    /// The kinds of numbers that have been read whose unit the options may state.
    pub(super) measures: Vec<Measure>,
    pub(super) notes: Vec<String>,
}

/// A probe (mode, row, column), or why the illumination in the file cannot be one.
type ProbeOrReason = Result<Array3<Complex<f64>>, String>;

/// Reads a probe (row, column) or (mode, row, column) as (mode, row, column). One whose rows and
/// columns are not those of the frames in the file is not read, as another start probe may be
/// wanted.
pub(super) fn probe(
    numbers: &Numbers<'_>,
    [rows, columns]: [usize; 2],
) -> Result<ProbeOrReason, IoError> {
    let wrong = || {
        numbers.bad_shape(&format!(
            "shape ({rows}, {columns}) or (mode, {rows}, {columns}), as for the frames"
        ))
    };
    if let [r, c] | [_, r, c] = *numbers.shape()
        && [r, c] != [rows, columns]
    {
        return Ok(Err(format!(
            "{} has {r} x {c} pixels, and the frames have {rows} x {columns}",
            numbers.path()
        )));
    }
    let probe = match numbers.shape().len() {
        2 => numbers
            .complex()?
            .into_dimensionality::<Ix2>()
            .map_err(|_| wrong())?
            .insert_axis(Axis(0)),
        3 => numbers
            .complex()?
            .into_dimensionality::<Ix3>()
            .map_err(|_| wrong())?,
        _ => return Err(wrong()),
    };
    Ok(Ok(probe))
}
