//! What a simulated scan was made from, under `/simulation`.

use super::probe;
use super::window::Window;
use crate::data::Simulation;
use crate::io::IoError;
use crate::io::source::Source;
use ndarray::Ix2;

pub(super) const GROUP: &str = "/simulation";

/// Reads the truth; `None` where the file has no `/simulation`.
pub(super) fn read(source: &Source, window: &Window) -> Result<Option<Simulation>, IoError> {
    if !source.has(GROUP)? {
        return Ok(None);
    }
    let part = |name: &str| format!("{GROUP}/{name}");
    let object = source.require("true object", &[&part("object")])?;
    let object = object
        .complex()?
        .into_dimensionality::<Ix2>()
        .map_err(|_| object.bad_shape("(row, column)"))?;
    let true_probe = probe(&source.require("true probe", &[&part("probe")])?)?;
    let positions = source.require("true positions", &[&part("positions")])?;
    let wrong = || positions.bad_shape("(frame, 2), row and column in metres,");
    let all = positions
        .reals()?
        .into_dimensionality::<Ix2>()
        .map_err(|_| wrong())?;
    if all.ncols() != 2 || all.nrows() < window.frames.end {
        return Err(wrong());
    }
    let origin = source.require("true origin", &[&part("origin")])?;
    if origin.shape() != [2] {
        return Err(origin.bad_shape("two numbers, row and column in metres,"));
    }
    let origin_values = origin.reals()?;
    let seed = source.require("seed", &[&part("seed")])?;
    let values = seed.unsigned()?;
    let Some(value) = values.first() else {
        return Err(seed.bad_shape("one number"));
    };
    Ok(Some(Simulation {
        object,
        probe: true_probe,
        positions: window.select(&all),
        origin: [origin_values[[0]], origin_values[[1]]],
        seed: *value,
    }))
}
