//! Whole iterations: the machine's engine against the CPU's, both in single precision, on a
//! simulated scan with masked pixels.
//!
//! The two add up in different orders, and an iteration hands its rounding on to the next one; over
//! five iterations that stays far below what a wrong formula would do.

use super::{CaseResult, Seen, SelftestError, Size};
use crate::gpu::Machine;
use crate::ptycho::cpu::CpuEngine;
use crate::ptycho::cuda::GpuEngine;
use crate::ptycho::{
    Coefficients, Engine, Problem, Recipe, SimulateOptions, Step, StepErrors, UpdateVersion,
    simulate,
};
use ndarray::Array3;
use num_complex::Complex;

/// Relative, of every figure of every iteration.
const FIGURES: f64 = 1e-4;

const ITERATIONS: usize = 5;

/// Loops of those that alternate.
const LOOPS: usize = 3;

pub(super) fn cases<M: Machine>(
    machine: &M,
    size: Size,
    seen: Seen<'_>,
) -> Result<Vec<CaseResult>, SelftestError> {
    let (frame, positions) = match size {
        Size::Small => (16, 5),
        Size::Device => (96, 40),
    };
    let mut results = Vec::new();
    let mut note = |result| {
        seen(&result);
        results.push(result);
    };
    for (modes, seed) in [(1, 1), (3, 2)] {
        let problem = problem(frame, positions, modes, seed)?;
        for version in [UpdateVersion::Tiled, UpdateVersion::Atomic] {
            for course in courses(&problem) {
                // Which version and how many modes matters little to the options; each is seen once.
                let its_turn = (modes == 1) == (version == UpdateVersion::Tiled);
                if course.plain || its_turn || size == Size::Device {
                    note(agreement(machine, &problem, version, &course)?);
                }
            }
        }
        note(shut_gate(machine, &problem)?);
    }
    Ok(results)
}

/// A simulated scan, its start probe off the centre.
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

/// Steps with a name.
struct Course {
    name: &'static str,
    plain: bool,
    steps: Vec<Step>,
}

impl Course {
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

fn courses(problem: &Problem) -> Vec<Course> {
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
        Course {
            plain: true,
            ..Course::new("dm", dm)
        },
        Course {
            plain: true,
            ..Course::new("raar", raar)
        },
        Course::new("dm, no power bound", Step { bound: 0.0, ..dm }),
        Course::new("dm, |O| clipped, probe support", bounded),
        Course::new(
            "dm, centred",
            Step {
                centre_tolerance: Some(0.6),
                ..dm
            },
        ),
        Course::new("raar, 3 alternations, Fourier support", alternating),
    ];
    // The first alternation is always enough; after it come iterations that do not alternate.
    let mut rests = Course::new(
        "raar, alternations end, both supports",
        Step {
            overlap_tolerance: 1e3,
            probe_support: Some(0.9),
            ..alternating
        },
    );
    rests
        .steps
        .iter_mut()
        .skip(3)
        .for_each(|step| step.overlap_loops = 1);
    all.push(rests);
    all
}

fn named(problem: &Problem, version: UpdateVersion, course: &str) -> String {
    let [frames, modes, rows, columns] = problem.shape();
    let version = match version {
        UpdateVersion::Tiled => "tiled",
        UpdateVersion::Atomic => "atomic",
    };
    format!("{course}, {version}, {frames} × {modes} × {rows} × {columns}")
}

/// err_fourier, err_exit, err_phot and R of every iteration.
fn agreement<M: Machine>(
    machine: &M,
    problem: &Problem,
    version: UpdateVersion,
    course: &Course,
) -> Result<CaseResult, SelftestError> {
    let mut cpu = CpuEngine::<f32>::new(problem);
    let mut gpu = GpuEngine::new(machine, problem, version)?;
    let reference = figures(&mut cpu, &course.steps)?;
    let found = figures(&mut gpu, &course.steps)?;
    // Missing figures must not pass.
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
    let name = named(problem, version, course.name);
    Ok(CaseResult::new("iterations", name, worst, FIGURES))
}

fn figures(engine: &mut dyn Engine, steps: &[Step]) -> Result<Vec<f64>, SelftestError> {
    for step in steps {
        engine.step(step)?;
    }
    let each = |errors: StepErrors| {
        [
            errors.fourier,
            errors.exit,
            errors.start.photon,
            errors.start.r_factor,
        ]
    };
    Ok(engine.errors(true)?.into_iter().flat_map(each).collect())
}

/// Alternations behind a shut gate change nothing, to the last bit.
fn shut_gate<M: Machine>(machine: &M, problem: &Problem) -> Result<CaseResult, SelftestError> {
    let version = UpdateVersion::Tiled;
    let name = "alternations behind a shut gate";
    let rests = courses(problem)
        .into_iter()
        .next_back()
        .map(|course| course.steps);
    let rests = rests.unwrap_or_default();
    let once: Vec<Step> = rests
        .iter()
        .map(|step| Step {
            overlap_loops: 1,
            ..*step
        })
        .collect();
    let mut ends = Vec::new();
    for steps in [&rests, &once] {
        let mut engine = GpuEngine::new(machine, problem, version)?;
        figures(&mut engine, steps)?;
        ends.push((engine.object()?, engine.probe()?));
    }
    let [(object, probe), (object_once, probe_once)] = &ends[..] else {
        unreachable!("two runs")
    };
    let pairs = object
        .iter()
        .zip(object_once)
        .chain(probe.iter().zip(probe_once));
    let [away, norm] = pairs.fold([0.0, 0.0], |[away, norm], (a, b): (&Complex<f64>, _)| {
        [away + (a - b).norm_sqr(), norm + b.norm_sqr()]
    });
    let error = (away / norm).sqrt();
    let error = if error.is_nan() { f64::INFINITY } else { error };
    Ok(CaseResult::new(
        "iterations",
        named(problem, version, name),
        error,
        0.0,
    ))
}
