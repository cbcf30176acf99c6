//! Whole iterations: the device's engine is compared with the CPU's, both in single precision, on a
//! simulated scan with masked pixels.
//!
//! The two sum in different orders, and rounding errors propagate from one iteration to the next;
//! over five iterations their effect stays far below that of a wrong formula.

use super::{CaseCallback, CaseResult, SelftestError, Size};
use crate::gpu::Device;
use crate::ptycho::cpu::CpuEngine;
use crate::ptycho::cuda::GpuEngine;
use crate::ptycho::{
    Coefficients, Engine, Problem, Recipe, SimulateOptions, Step, StepErrors, UpdateVersion,
    simulate,
};
use ndarray::Array3;
use num_complex::Complex;

/// Relative tolerance of every metric of every iteration.
const TOLERANCE: f64 = 1e-4;

const ITERATIONS: usize = 5;

/// Alternations of the cases that alternate.
const LOOPS: usize = 3;

pub(crate) fn cases<M: Device>(
    device: &M,
    size: Size,
    on_case: CaseCallback<'_>,
) -> Result<Vec<CaseResult>, SelftestError> {
    let (frame, positions) = match size {
        Size::Small => (16, 5),
        Size::Device => (96, 40),
    };
    let mut results = Vec::new();
    let mut note = |result| {
        on_case(&result);
        results.push(result);
    };
    for (modes, seed) in [(1, 1), (3, 2)] {
        let problem = problem(frame, positions, modes, seed)?;
        for version in [UpdateVersion::Tiled, UpdateVersion::Atomic] {
            for sequence in sequences(&problem) {
                // Options hardly depend on version and number of modes, so small sizes test each
                // once.
                let selected = (modes == 1) == (version == UpdateVersion::Tiled);
                if sequence.plain || selected || size == Size::Device {
                    note(agreement(device, &problem, version, &sequence)?);
                }
            }
        }
        note(closed_gate(device, &problem)?);
    }
    Ok(results)
}

/// A simulated scan whose start probe is off centre.
fn problem(
    frame: usize,
    positions: usize,
    probe_modes: usize,
    seed: u64,
) -> Result<Problem, SelftestError> {
    let options = SimulateOptions {
        frame,
        positions,
        probe_modes,
        seed,
        photons: 1e6,
        ..Default::default()
    };
    let scan = simulate(&options)?;
    let mut problem = Problem::new(
        &scan,
        &Recipe {
            probe_modes,
            seed,
            free_pixels: 0.02,
            ..Default::default()
        },
    )?;
    for (i, magnitude) in problem.magnitudes.iter_mut().enumerate() {
        if i % 29 == 7 {
            *magnitude = -1.0;
        }
    }
    let start = &problem.probe;
    problem.probe = Array3::from_shape_fn(start.dim(), |(mode, row, column)| {
        start[[mode, (row + frame - 3) % frame, (column + 2) % frame]]
    });
    Ok(problem)
}

/// A named sequence of steps.
struct StepSequence {
    name: &'static str,
    plain: bool,
    steps: Vec<Step>,
}

impl StepSequence {
    fn new(name: &'static str, step: Step) -> Self {
        let steps = (1..=ITERATIONS)
            .map(|i| Step {
                update_probe: i > 1,
                ..step
            })
            .collect();
        Self {
            name,
            plain: false,
            steps,
        }
    }
}

fn sequences(problem: &Problem) -> Vec<StepSequence> {
    let dm = Step {
        coefficients: Coefficients::dm(1.0),
        bound: 0.25 * problem.poisson_bound,
        update_object: true,
        update_probe: true,
        overlap_loops: 1,
        overlap_tolerance: 0.0,
        object_weight: 1e-4 * problem.mean_power,
        probe_weight: 1e-9 * problem.shape()[0] as f64,
        clip_object: None,
        probe_support: None,
        probe_fourier_support: None,
        centre_tolerance: None,
    };
    let raar = Step {
        coefficients: Coefficients::raar(0.75),
        ..dm
    };
    let ap = Step {
        coefficients: Coefficients::ap(),
        ..dm
    };
    let bounded = Step {
        clip_object: Some([0.3, 1.05]),
        probe_support: Some(0.8),
        ..dm
    };
    let alternating = Step {
        overlap_loops: LOOPS,
        probe_fourier_support: Some(0.7),
        ..raar
    };
    let mut all = vec![
        StepSequence {
            plain: true,
            ..StepSequence::new("dm", dm)
        },
        StepSequence {
            plain: true,
            ..StepSequence::new("raar", raar)
        },
        StepSequence {
            plain: true,
            ..StepSequence::new("ap", ap)
        },
        StepSequence::new("dm, no power bound", Step { bound: 0.0, ..dm }),
        StepSequence::new("dm, |O| clipped, probe support", bounded),
        StepSequence::new(
            "dm, centred",
            Step {
                centre_tolerance: Some(0.6),
                ..dm
            },
        ),
        StepSequence::new("raar, 3 alternations, Fourier support", alternating),
    ];
    // The first alternation always suffices; the last iterations do not alternate.
    let mut converging = StepSequence::new(
        "raar, alternations end, both supports",
        Step {
            overlap_tolerance: 1e3,
            probe_support: Some(0.9),
            ..alternating
        },
    );
    converging
        .steps
        .iter_mut()
        .skip(3)
        .for_each(|step| step.overlap_loops = 1);
    all.push(converging);
    all
}

fn named(problem: &Problem, version: UpdateVersion, sequence: &str) -> String {
    let [frames, modes, rows, columns] = problem.shape();
    let version = match version {
        UpdateVersion::Tiled => "tiled",
        UpdateVersion::Atomic => "atomic",
    };
    format!("{sequence}, {version}, {frames} × {modes} × {rows} × {columns}")
}

/// err_fourier, err_exit, err_phot and R of every iteration.
fn agreement<M: Device>(
    device: &M,
    problem: &Problem,
    version: UpdateVersion,
    sequence: &StepSequence,
) -> Result<CaseResult, SelftestError> {
    let mut cpu = CpuEngine::<f32>::new(problem);
    let mut gpu = GpuEngine::new(device, problem, version)?;
    let reference = metrics(&mut cpu, &sequence.steps)?;
    let found = metrics(&mut gpu, &sequence.steps)?;
    // Missing metrics must not pass.
    let mut worst = if found.len() == reference.len() {
        0.0
    } else {
        f64::INFINITY
    };
    for (found, reference) in found.iter().zip(&reference) {
        let error = ((found - reference) / reference).abs();
        worst = if error.is_nan() {
            f64::INFINITY
        } else {
            error.max(worst)
        };
    }
    let name = named(problem, version, sequence.name);
    Ok(CaseResult::new("iterations", name, worst, TOLERANCE))
}

fn metrics(engine: &mut dyn Engine, steps: &[Step]) -> Result<Vec<f64>, SelftestError> {
    for step in steps {
        engine.step(step)?;
    }
    let each = |errors: StepErrors| {
        [
            errors.fourier,
            errors.exit,
            errors.start.photon,
            errors.start.r_factor,
            // Every problem of these has free pixels.
            errors.start.r_free.unwrap_or(f64::NAN),
        ]
    };
    Ok(engine.errors(true)?.into_iter().flat_map(each).collect())
}

/// Alternations with a closed gate change nothing, bit for bit.
fn closed_gate<M: Device>(device: &M, problem: &Problem) -> Result<CaseResult, SelftestError> {
    let version = UpdateVersion::Tiled;
    let name = "alternations with a closed gate";
    let converging = sequences(problem)
        .into_iter()
        .next_back()
        .map(|sequence| sequence.steps);
    let converging = converging.unwrap_or_default();
    let once: Vec<Step> = converging
        .iter()
        .map(|step| Step {
            overlap_loops: 1,
            ..*step
        })
        .collect();
    let mut ends = Vec::new();
    for steps in [&converging, &once] {
        let mut engine = GpuEngine::new(device, problem, version)?;
        metrics(&mut engine, steps)?;
        ends.push((engine.object()?, engine.probe()?));
    }
    let [(object, probe), (object_once, probe_once)] = &ends[..] else {
        unreachable!("two runs")
    };
    let pairs = object
        .iter()
        .zip(object_once)
        .chain(probe.iter().zip(probe_once));
    let [difference, norm] = pairs.fold(
        [0.0, 0.0],
        |[difference, norm], (a, b): (&Complex<f64>, _)| {
            [difference + (a - b).norm_sqr(), norm + b.norm_sqr()]
        },
    );
    let error = (difference / norm).sqrt();
    let error = if error.is_nan() { f64::INFINITY } else { error };
    Ok(CaseResult::new(
        "iterations",
        named(problem, version, name),
        error,
        0.0,
    ))
}
