//! The present state of a run as a [`Reconstruction`]: what files, pictures and comparisons take.

use crate::data::{Geometry, ObjectModes, Propagation, Reconstruction, Scan, VariableProbe};
use crate::model::intensity_ramp::remove_intensity_ramp;
use crate::model::object_modes::orthogonalise_objects;
use crate::quality::{orthogonalise, orthogonalise_others};
use crate::{EngineError, Frames, Precision, Problem, Recipe, Reconstructor};
use ndarray::{Array2, Array3, Axis, s};
use num_complex::Complex;

/// Where a run came from, for the record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// The scan's file, as given.
    pub source: String,
    /// The resolved recipe, TOML.
    pub recipe: String,
    /// What the automatic recipe tried and kept, JSON; empty if the recipe was given.
    pub trials: String,
}

/// Takes object, probe and history out of `run`; the modes are orthogonal, strongest first.
///
/// # Errors
/// The object or the probe cannot be read from the device.
pub fn result(
    run: &mut Reconstructor,
    scan: &Scan,
    problem: &Problem,
    recipe: &Recipe,
    origin: &Origin,
) -> Result<Reconstruction, EngineError> {
    run.complete()?;
    let setup = run.engine().setup();
    let plan = run.engine().plan();
    let mut frames = run.engine().frames();
    let mut layers = run.engine().object_layers()?;
    let mut raw = run.engine().probe()?;
    let (_, height, width) = layers.dim();
    let shape = (height, width);
    let mut parts = run.engine().model_parts()?;
    let varies = parts.variable_probe.is_some();
    let mut lit = match &parts.variable_probe {
        None => fluence(shape, &raw, &frames),
        Some(variable) => varied_fluence(shape, &raw, variable, &frames),
    };
    let mut history = run.progress().history.clone();
    let fitted = frames.scales.iter().any(|scale| *scale != 1.0);
    // The ramp of a variable probe stays: its variations would not be orthonormal.
    if fitted
        && !varies
        && parts.slices.is_none()
        && remove_intensity_ramp(&mut layers, &mut raw, &mut frames, &lit)
    {
        lit = fluence(shape, &raw, &frames);
        // The probe is shifted in a periodic window, in which a ramp has a step at the border.
        let model = run.metrics_of(&layers, &raw, &frames.scales)?;
        if let Some(last) = history.last_mut() {
            (last.err_phot, last.r_factor) = (Some(model.photon), Some(model.r_factor));
            last.r_free = model.r_free;
        }
    }
    let object_power = match parts.slices {
        Some(_) => Vec::new(),
        None => orthogonalise_objects(&mut layers, &lit),
    };
    let modes = match varies {
        true => orthogonalise_others(&raw),
        false => orthogonalise(&raw),
    };
    let mut probe = modes.probe;
    if recipe.physical_probe {
        quadratic_phase(&mut probe, problem.pixel, scan.geometry(), -1.0);
        if let Some(variable) = &mut parts.variable_probe {
            quadratic_phase(&mut variable.shapes, problem.pixel, scan.geometry(), -1.0);
        }
    }
    if object_power.len() > 1 {
        parts.object_modes = Some(ObjectModes {
            further: layers.slice(s![1.., .., ..]).to_owned(),
            power: object_power,
        });
    }
    parts.exposures = problem.fly.exposures();
    Ok(Reconstruction {
        object: match &parts.slices {
            Some(stack) => stack.product(),
            None => layers.index_axis_move(Axis(0), 0),
        },
        probe,
        mode_power: modes.power,
        pixel: problem.pixel,
        positions: positions(scan, problem, &frames),
        recorded_positions: scan.positions().clone(),
        corners: frames.corners,
        fractions: frames.fractions,
        frame_scales: frames.scales,
        origin: problem.positions.origin,
        fluence: lit,
        history,
        recipe: origin.recipe.clone(),
        backend: setup.backend.into(),
        device: setup.device,
        plan: plan.map_or_else(String::new, |plan| plan.to_string()),
        trials: origin.trials.clone(),
        version: env!("CARGO_PKG_VERSION").into(),
        source: origin.source.clone(),
        wavelength: scan.geometry().wavelength,
        voltage: scan.voltage(),
        distance: scan.geometry().distance,
        propagation: scan.geometry().propagation,
        double_precision: recipe.precision == Precision::F64,
        parts,
    })
}

/// Σ_j Σ_m |P_m|² on an object of the given shape, photons.
pub(crate) fn fluence(
    shape: (usize, usize),
    probe: &Array3<Complex<f64>>,
    frames: &Frames,
) -> Array2<f64> {
    let power = probe.map(Complex::norm_sqr).sum_axis(Axis(0));
    let (rows, columns) = power.dim();
    let mut fluence = Array2::zeros(shape);
    for corner in &frames.corners {
        let [top, left] = corner.map(|v| v as usize);
        let mut window = fluence.slice_mut(s![top..top + rows, left..left + columns]);
        window += &power;
    }
    fluence
}

/// [`fluence`] of frames whose first probe modes differ.
fn varied_fluence(
    shape: (usize, usize),
    probe: &Array3<Complex<f64>>,
    variable: &VariableProbe,
    frames: &Frames,
) -> Array2<f64> {
    let others = probe.slice(s![1.., .., ..]);
    let others = others.map(Complex::norm_sqr).sum_axis(ndarray::Axis(0));
    let (rows, columns) = others.dim();
    let mut fluence = Array2::zeros(shape);
    for (frame, corner) in frames.corners.iter().enumerate() {
        let [top, left] = corner.map(|v| v as usize);
        let mut window = fluence.slice_mut(s![top..top + rows, left..left + columns]);
        window += &others;
        let own = variable.of_frame(frame, probe.index_axis(ndarray::Axis(0), 0));
        window.zip_mut_with(&own, |sum, p| *sum += p.norm_sqr());
    }
    fluence
}

/// Positions (frame, (row, column)), m. The refined displacements are added to the recorded
/// positions, so that a frame that was not moved keeps its position exactly.
fn positions(scan: &Scan, problem: &Problem, frames: &Frames) -> Array2<f64> {
    let mut positions = scan.positions().clone();
    let start = &problem.positions;
    for (frame, refined) in frames.positions.iter().enumerate() {
        for axis in 0..2 {
            let before = f64::from(start.corners[frame][axis]) + start.fractions[frame][axis];
            positions[[frame, axis]] += (refined[axis] - before) * problem.pixel[axis];
        }
    }
    positions
}

/// Times exp(sign · iπ(x² + y²)/(λz)), x and y from the middle of the window: sign −1 makes the
/// model's probe the physical one, +1 the opposite.
///
/// Fresnel's kernel exp(+iπ(x − u)²/(λz)) is exp(+iπx²/(λz)) · exp(−2πi x u/(λz)) times a phase at
/// the detector; the first factor is what the model's bare transform leaves to the probe. In the
/// near field of a cone beam the physical probe has the factor exp(+iπ(x² + y²)/(λz1)) of the
/// spherical wave besides, which the model with its effective distance leaves out; in that of a
/// parallel beam both are the same.
pub(crate) fn quadratic_phase(
    probe: &mut Array3<Complex<f64>>,
    pixel: [f64; 2],
    geometry: &Geometry,
    sign: f64,
) {
    let (_, rows, columns) = probe.dim();
    let inverse_radius = match geometry.propagation {
        Propagation::FarField => 1.0 / geometry.distance,
        Propagation::NearField {
            focus_to_sample: Some(z1),
        } => -1.0 / z1,
        Propagation::NearField {
            focus_to_sample: None,
        } => return,
    };
    let curvature = std::f64::consts::PI * inverse_radius / geometry.wavelength;
    for ((_, row, column), value) in probe.indexed_iter_mut() {
        let y = (row as f64 - (rows / 2) as f64) * pixel[0];
        let x = (column as f64 - (columns / 2) as f64) * pixel[1];
        *value *= Complex::cis(sign * curvature * (x * x + y * y));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The detector's magnitudes, computed from the physical probe by Fresnel's sum, are those of
    /// the bare transform of the model's probe.
    #[test]
    fn the_physical_probe_gives_the_same_pattern_by_fresnels_sum() {
        let (rows, columns) = (6, 5);
        let geometry = Geometry {
            wavelength: 1e-10,
            distance: 2.0,
            pixel_size: [75e-6, 60e-6],
            propagation: Propagation::FarField,
        };
        let pixel = geometry.object_pixel(rows, columns);
        let model = Array3::from_shape_fn((1, rows, columns), |(_, r, c)| {
            Complex::new((r * 3 + c) as f64 % 7.0 - 2.0, (r + 2 * c) as f64 % 5.0)
        });
        let mut physical = model.clone();
        quadratic_phase(&mut physical, pixel, &geometry, -1.0);
        let mut bare: Vec<_> = model.iter().copied().collect();
        warpstride_fft::Fft2::new(rows, columns).forward(&mut bare);
        let place = |i: usize, n: usize| i as f64 - (n / 2) as f64;
        for (k, expected) in bare.iter().enumerate() {
            // Frequencies and detector pixels, zero in the middle.
            let v = place((k / columns + rows / 2) % rows, rows) * geometry.pixel_size[0];
            let u = place((k % columns + columns / 2) % columns, columns) * geometry.pixel_size[1];
            let wave: Complex<f64> = physical
                .indexed_iter()
                .map(|((_, r, c), p)| {
                    let y = place(r, rows) * pixel[0] - v;
                    let x = place(c, columns) * pixel[1] - u;
                    let scale = geometry.wavelength * geometry.distance;
                    p * Complex::cis(std::f64::consts::PI * (x * x + y * y) / scale)
                })
                .sum();
            let norm = wave.norm() / ((rows * columns) as f64).sqrt();
            assert!((norm - expected.norm()).abs() < 1e-9 * (1.0 + norm), "{k}");
        }
    }

    /// In a cone beam, the physical probe at the distance z2 gives the magnitudes that the model's
    /// probe gives at the effective distance on a detector that is smaller by the magnification,
    /// both by Fresnel's sum.
    #[test]
    fn the_physical_probe_of_a_cone_beam_gives_the_same_magnified_pattern() {
        let geometry = Geometry {
            wavelength: 1e-10,
            distance: 1.5,
            pixel_size: [75e-6, 60e-6],
            propagation: Propagation::NearField {
                focus_to_sample: Some(4e-3),
            },
        };
        let (rows, columns) = (5, 6);
        let pixel = geometry.object_pixel(rows, columns);
        let model = Array3::from_shape_fn((1, rows, columns), |(_, r, c)| {
            Complex::new((r * 3 + c) as f64 % 7.0 - 2.0, (r + 2 * c) as f64 % 5.0)
        });
        let mut physical = model.clone();
        quadratic_phase(&mut physical, pixel, &geometry, -1.0);
        let place = |i: usize, n: usize| i as f64 - (n / 2) as f64;
        let sum = |probe: &Array3<Complex<f64>>, distance: f64, v: f64, u: f64| -> f64 {
            let wave: Complex<f64> = probe
                .indexed_iter()
                .map(|((_, r, c), p)| {
                    let y = place(r, rows) * pixel[0] - v;
                    let x = place(c, columns) * pixel[1] - u;
                    let scale = geometry.wavelength * distance;
                    p * Complex::cis(std::f64::consts::PI * (x * x + y * y) / scale)
                })
                .sum();
            wave.norm()
        };
        for k in 0..rows * columns {
            let v = place(k / columns, rows) * geometry.pixel_size[0];
            let u = place(k % columns, columns) * geometry.pixel_size[1];
            let m = geometry.magnification();
            let found = sum(&physical, geometry.distance, v, u);
            let expected = sum(&model, geometry.effective_distance(), v / m, u / m);
            assert!((found - expected).abs() < 1e-6 * (1.0 + expected), "{k}");
        }
        let mut back = physical;
        quadratic_phase(&mut back, pixel, &geometry, 1.0);
        assert!(back.iter().zip(&model).all(|(a, b)| (a - b).norm() < 1e-12));
    }
}
