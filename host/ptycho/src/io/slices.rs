//! The slices of a thick specimen, in files.

use crate::MOST_SLICES;
use crate::data::SliceStack;
use ndarray::{Ix1, Ix3};
use warpstride_files::IoError;
use warpstride_files::source::{Numbers, Source};

/// Reads the slices in `group`, of an object of `shape` (rows, columns): `slices`,
/// `slice_distances` and, if the distances have changed, `slice_start_distances`; `None` if there
/// are none.
pub(super) fn read_slices(
    source: &Source,
    group: &str,
    [rows, columns]: [usize; 2],
) -> Result<Option<SliceStack>, IoError> {
    let Some(slices) = source.first(&[&format!("{group}/slices")])? else {
        return Ok(None);
    };
    let expected = format!(
        "shape (slice, {rows}, {columns}), as for the object, with 2 to {MOST_SLICES} slices"
    );
    let count = match slices.shape() {
        [n, r, c] if (2..=MOST_SLICES).contains(n) && [*r, *c] == [rows, columns] => *n,
        _ => return Err(slices.bad_shape(&expected)),
    };
    let values = (slices.complex()?.into_dimensionality::<Ix3>())
        .map_err(|_| slices.bad_shape(&expected))?;
    if values.iter().any(|v| !v.is_finite()) {
        return Err(slices.bad_value("NaN or infinity", "finite values"));
    }
    let distances = source.require("slice distances", &[&format!("{group}/slice_distances")])?;
    let distances = read_distances(&distances, count - 1)?;
    let start = source.first(&[&format!("{group}/slice_start_distances")])?;
    let start_distances = match start {
        Some(start) => read_distances(&start, count - 1)?,
        None => distances.clone(),
    };
    Ok(Some(SliceStack {
        slices: values,
        distances,
        start_distances,
    }))
}

fn read_distances(numbers: &Numbers<'_>, count: usize) -> Result<Vec<f64>, IoError> {
    let expected = format!("shape ({count}), one distance from each slice to the next");
    if numbers.shape() != [count] {
        return Err(numbers.bad_shape(&expected));
    }
    let values = (numbers.reals()?.into_dimensionality::<Ix1>())
        .map_err(|_| numbers.bad_shape(&expected))?;
    match values.iter().find(|v| !(v.is_finite() && **v > 0.0)) {
        Some(wrong) => Err(numbers.bad_value(wrong, "finite distances above 0, in metres")),
        None => Ok(values.to_vec()),
    }
}
