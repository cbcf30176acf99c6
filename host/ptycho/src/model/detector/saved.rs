//! The background in saved states.

use crate::{EngineError, EngineState, Values};
use ndarray::Array2;
use num_complex::Complex;

/// Name of the background in saved states: (row, column), zero frequency at (0, 0).
const BACKGROUND: &str = "background";

/// Adds a background (row, column) to `state`.
pub(crate) fn save_background(background: &Array2<f64>, state: &mut EngineState) {
    let values = background.iter().map(|b| Complex::new(*b, 0.0)).collect();
    let added = (BACKGROUND.to_owned(), Values::F64(values));
    state.added.extend([added]);
}

/// The background (row, column) of `state`, which must have so many pixels.
pub(crate) fn saved_background(
    state: &EngineState,
    pixels: usize,
) -> Result<Option<Vec<f64>>, EngineError> {
    let Some(values) = state.added.get(BACKGROUND) else {
        return Ok(None);
    };
    let values: &[Complex<f64>] = values.as_slice("background", pixels)?;
    Ok(Some(values.iter().map(|b| b.re).collect()))
}
