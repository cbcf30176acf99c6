//! The ground truth of a simulated scan, stored under `/simulation`.

use super::probe;
use super::window::Window;
use crate::data::Simulation;
use crate::io::IoError;
use crate::io::source::Numbers;
use crate::io::source::Source;
use ndarray::Ix2;
use num_complex::Complex;

pub(super) const GROUP: &str = "/simulation";

/// Reads the truth of frames of `rows` × `columns`; `None` if the file has no `/simulation`.
pub(super) fn read(
    source: &Source,
    window: &Window,
    [rows, columns]: [usize; 2],
) -> Result<Option<Simulation>, IoError> {
    if !source.has(GROUP)? {
        return Ok(None);
    }
    let part = |name: &str| format!("{GROUP}/{name}");
    let object = source.require("true object", &[&part("object")])?;
    let true_object = object
        .complex()?
        .into_dimensionality::<Ix2>()
        .map_err(|_| object.bad_shape("shape (row, column)"))?;
    if true_object.is_empty() {
        return Err(object.bad_shape("shape (row, column) with at least one pixel"));
    }
    let modes = source.require("true probe", &[&part("probe")])?;
    let true_probe = probe(&modes)?;
    if true_probe.is_empty() || true_probe.shape()[1..] != [rows, columns] {
        return Err(modes.bad_shape(&format!(
            "shape (mode, {rows}, {columns}), as for the frames"
        )));
    }
    let positions = source.require("true positions", &[&part("positions")])?;
    let wrong = || positions.bad_shape("shape (frame, 2) with row and column in metres");
    let all = positions
        .reals()?
        .into_dimensionality::<Ix2>()
        .map_err(|_| wrong())?;
    if all.ncols() != 2 || all.nrows() < window.frames.end {
        return Err(wrong());
    }
    let origin = source.require("true origin", &[&part("origin")])?;
    if origin.shape() != [2] {
        return Err(origin.bad_shape("two numbers (row and column in metres)"));
    }
    let origin_values = origin.reals()?;
    let seed = source.require("seed", &[&part("seed")])?;
    let values = seed.unsigned()?;
    let Some(value) = values.first() else {
        return Err(seed.bad_shape("one number"));
    };
    let selected = window.select(&all);
    let complex = |v: &Complex<f64>| v.is_finite();
    finite(&object, true_object.iter().all(complex))?;
    finite(&modes, true_probe.iter().all(complex))?;
    finite(&positions, selected.iter().all(|v| v.is_finite()))?;
    finite(&origin, origin_values.iter().all(|v| v.is_finite()))?;
    Ok(Some(Simulation {
        object: true_object,
        probe: true_probe,
        positions: selected,
        origin: [origin_values[[0]], origin_values[[1]]],
        seed: *value,
    }))
}

fn finite(numbers: &Numbers<'_>, all: bool) -> Result<(), IoError> {
    if all {
        return Ok(());
    }
    Err(numbers.bad_value("NaN or infinity", "finite values"))
}
