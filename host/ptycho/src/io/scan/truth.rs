//! The ground truth of a simulated scan, stored under `/simulation`.

use super::parts::probe;
use super::window::Window;
use crate::data::{PixelPositions, PositionError, Simulation};
use crate::io::slices::read_slices;
use ndarray::{Array2, Ix2};
use num_complex::Complex;
use warpstride_files::IoError;
use warpstride_files::source::Numbers;
use warpstride_files::source::Source;

pub(super) const GROUP: &str = "/simulation";

/// Rows and columns of an object that are accepted for any scan.
const ALWAYS_ACCEPTED: usize = 1024;
/// Largest accepted object, per side, in units of the object that the scan needs.
const LARGEST: usize = 2;
/// Most modes of the probe, as many as a reconstruction may have.
const MOST_MODES: usize = 64;

/// The scan that the truth belongs to, before any frames are left out.
pub(super) struct ScanGrid {
    /// (frame, (row, column)), m.
    pub(super) positions: Array2<f64>,
    /// Rows and columns of a frame.
    pub(super) frame: [usize; 2],
    /// Object pixel (row, column), m.
    pub(super) pixel: [f64; 2],
}

impl ScanGrid {
    /// Largest rows and columns of a true object; `None` if the positions are not plausible.
    fn largest_object(&self) -> Option<[usize; 2]> {
        let needed = match PixelPositions::new(&self.positions, self.pixel, self.frame, 0) {
            Ok(positions) => positions.object_shape,
            Err(PositionError::NoMovement { .. }) => self.frame,
            Err(_) => return None,
        };
        Some(needed.map(|side| side.saturating_mul(LARGEST).max(ALWAYS_ACCEPTED)))
    }
}

/// Reads the truth of `scan`; `None` if the file has no `/simulation`, or if the positions are not
/// plausible. Shapes are compared with the scan before memory is taken.
pub(super) fn read(
    source: &Source,
    window: &Window,
    scan: &ScanGrid,
    notes: &mut Vec<String>,
) -> Result<Option<Simulation>, IoError> {
    if !source.has(GROUP)? {
        return Ok(None);
    }
    let part = |name: &str| format!("{GROUP}/{name}");
    let object = source.require("true object", &[&part("object")])?;
    let Some([most_rows, most_columns]) = scan.largest_object() else {
        notes.push("the truth is ignored: the positions are not plausible".to_owned());
        return Ok(None);
    };
    let [rows, columns] = scan.frame;
    let fits = matches!(object.shape(), [r, c]
        if (rows..=most_rows).contains(r) && (columns..=most_columns).contains(c));
    if !fits {
        return Err(object.bad_shape(&format!(
            "shape (row, column) of {rows} x {columns}, a frame, to {most_rows} x {most_columns} pixels for the positions of this scan"
        )));
    }
    let true_object = object
        .complex()?
        .into_dimensionality::<Ix2>()
        .map_err(|_| object.bad_shape("shape (row, column)"))?;
    let modes = source.require("true probe", &[&part("probe")])?;
    let fits = match modes.shape() {
        [r, c] => [*r, *c] == scan.frame,
        [n, r, c] => (1..=MOST_MODES).contains(n) && [*r, *c] == scan.frame,
        _ => false,
    };
    if !fits {
        return Err(modes.bad_shape(&format!(
            "shape (mode, {rows}, {columns}), as for the frames, with 1 to {MOST_MODES} modes"
        )));
    }
    // Its shape has been found to be that of the frames.
    let Ok(true_probe) = probe(&modes, scan.frame)? else {
        return Ok(None);
    };
    let positions = source.require("true positions", &[&part("positions")])?;
    let frames = scan.positions.nrows();
    let expected = format!("shape ({frames}, 2), row and column in metres for each frame");
    let wrong = || positions.bad_shape(&expected);
    if positions.shape() != [frames, 2] {
        // The truth of another scan: this one can do without.
        notes.push(format!("the truth is ignored: {}", wrong()));
        return Ok(None);
    }
    let all = positions
        .reals()?
        .into_dimensionality::<Ix2>()
        .map_err(|_| wrong())?;
    let origin = source.require("true origin", &[&part("origin")])?;
    if origin.shape() != [2] {
        return Err(origin.bad_shape("two numbers (row and column in metres)"));
    }
    let origin_values = origin.reals()?;
    let seed = source.require("seed", &[&part("seed")])?;
    if seed.shape().iter().any(|side| *side != 1) {
        return Err(seed.bad_shape("one number"));
    }
    let values = seed.unsigned()?;
    let Some(value) = values.first() else {
        return Err(seed.bad_shape("one number"));
    };
    let selected = window.select(&all);
    let complex = |v: &Complex<f64>| v.is_finite();
    finite(&object, true_object.iter().all(complex))?;
    finite(&modes, true_probe.iter().all(complex))?;
    let [height, width] = [true_object.nrows(), true_object.ncols()];
    let slices = read_slices(source, GROUP, [height, width])?;
    finite(&positions, selected.iter().all(|v| v.is_finite()))?;
    finite(&origin, origin_values.iter().all(|v| v.is_finite()))?;
    Ok(Some(Simulation {
        object: true_object,
        probe: true_probe,
        positions: selected,
        origin: [origin_values[[0]], origin_values[[1]]],
        seed: *value,
        slices,
    }))
}

fn finite(numbers: &Numbers<'_>, all: bool) -> Result<(), IoError> {
    if all {
        return Ok(());
    }
    Err(numbers.bad_value("NaN or infinity", "finite values"))
}
