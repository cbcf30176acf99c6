//! The present state of a run as a [`Reconstruction`]: what files, pictures and comparisons take.

use super::quality::orthogonalise;
use super::{EngineError, Precision, Problem, Recipe, Reconstructor};
use crate::data::{Reconstruction, Scan};
use ndarray::{Array2, s};
use num_complex::Complex;

/// Where a run came from, for the record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// The scan's file, as given.
    pub source: String,
    /// The resolved recipe, TOML.
    pub recipe: String,
}

/// Takes object, probe and history out of `run`; the modes are orthogonal, strongest first.
///
/// # Errors
/// The machine's.
pub fn outcome(
    run: &mut Reconstructor,
    scan: &Scan,
    problem: &Problem,
    recipe: &Recipe,
    origin: &Origin,
) -> Result<Reconstruction, EngineError> {
    run.complete()?;
    let object = run.engine().object()?;
    let raw = run.engine().probe()?;
    let modes = orthogonalise(&raw);
    let power = raw.map(Complex::norm_sqr).sum_axis(ndarray::Axis(0));
    let (rows, columns) = power.dim();
    let mut fluence = Array2::zeros(object.dim());
    for corner in &problem.positions.corners {
        let [top, left] = corner.map(|v| v as usize);
        let mut window = fluence.slice_mut(s![top..top + rows, left..left + columns]);
        window += &power;
    }
    Ok(Reconstruction {
        object,
        probe: modes.probe,
        mode_power: modes.power,
        pixel: problem.pixel,
        positions: scan.positions().clone(),
        corners: problem.positions.corners.clone(),
        origin: problem.positions.origin,
        fluence,
        history: run.place().history.clone(),
        recipe: origin.recipe.clone(),
        backend: run.engine().backend().into(),
        device: run.engine().device(),
        version: env!("CARGO_PKG_VERSION").into(),
        source: origin.source.clone(),
        wavelength: scan.geometry().wavelength,
        distance: scan.geometry().distance,
        double_precision: recipe.precision == Precision::F64,
    })
}
