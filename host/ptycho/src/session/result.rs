//! The present state of a run as a [`Reconstruction`]: what files, pictures and comparisons take.

use crate::data::{ObjectModes, Reconstruction, Scan, VariableProbe};
use crate::model::fluence::fluence;
use crate::model::intensity_ramp::remove_intensity_ramp;
use crate::model::object_modes::orthogonalise_objects;
use crate::model::quadratic_phase::quadratic_phase;
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
