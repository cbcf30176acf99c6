//! The present state of a run as a [`Reconstruction`]: what files, pictures and comparisons take.

use super::quality::orthogonalise;
use super::{EngineError, Precision, Problem, Recipe, Reconstructor};
use crate::data::{Geometry, Reconstruction, Scan};
use ndarray::{Array2, Array3, s};
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
    let mut probe = modes.probe;
    if recipe.physical_probe {
        add_quadratic_phase(&mut probe, problem.pixel, scan.geometry());
    }
    Ok(Reconstruction {
        object,
        probe,
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

/// Times exp(+iπ(x² + y²)/(λz)), x and y from the middle of the window.
fn add_quadratic_phase(probe: &mut Array3<Complex<f64>>, pixel: [f64; 2], geometry: &Geometry) {
    let (_, rows, columns) = probe.dim();
    let curvature = std::f64::consts::PI / (geometry.wavelength * geometry.distance);
    for ((_, row, column), value) in probe.indexed_iter_mut() {
        let y = (row as f64 - (rows / 2) as f64) * pixel[0];
        let x = (column as f64 - (columns / 2) as f64) * pixel[1];
        *value *= Complex::cis(curvature * (x * x + y * y));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quadratic_phase_is_that_of_a_distant_source() {
        let geometry = Geometry {
            wavelength: 1e-10,
            distance: 2.0,
            pixel_size: [75e-6; 2],
        };
        let mut probe = Array3::from_elem((1, 5, 7), Complex::new(1.0, 0.0));
        add_quadratic_phase(&mut probe, [1e-6, 2e-6], &geometry);
        assert_eq!(probe[[0, 2, 3]], Complex::new(1.0, 0.0));
        // x = 4 µm: the path to a point at distance z is longer by x²/2z = 4 pm, 0.04 turns.
        let expected = Complex::cis(std::f64::consts::TAU * 0.04);
        assert!((probe[[0, 2, 5]] - expected).norm() < 1e-12);
    }
}
