//! Whole iterations: the device's engine is compared with the CPU's, in single precision unless a
//! sequence says otherwise, on a simulated scan with masked pixels.
//!
//! The two sum in different orders, and rounding errors propagate from one iteration to the next;
//! over five iterations their effect stays far below that of a wrong formula.

mod case;
mod detector;
mod sequences;
mod streamed;

pub use case::EngineCaseError;
use case::{metrics, named};
use sequences::{StepSequence, base, fused_sequences, sequences};

use crate::engines::cpu::CpuEngine;
use crate::engines::cuda::GpuEngine;
use crate::{
    BackgroundFit, Engine, Method, PositionMethod, PositionOptions, Problem, Recipe,
    SimulateOptions, Step, UpdateVersion, simulate,
};
use ndarray::Array3;
use num_complex::Complex;
use warpstride_cuda::gpu::Device;
use warpstride_selftest::bench::{CaseCallback, CaseResult, Size};

/// Whole iterations of its engines.
///
/// # Errors
/// [`EngineCaseError`].
pub fn cases<M: Device>(
    device: &M,
    size: Size,
    on_case: CaseCallback<'_>,
) -> Result<Vec<CaseResult>, EngineCaseError> {
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
                // once. Only projections have versions.
                let selected = (modes == 1) == (version == UpdateVersion::Tiled);
                let differs = version == UpdateVersion::Tiled || sequence.projects();
                if sequence.plain || selected || (differs && size == Size::Device) {
                    note(agreement(device, &problem, version, &sequence)?);
                }
            }
        }
        note(closed_gate(device, &problem)?);
    }
    // A detector with blur and background.
    for (modes, seed, fit) in [
        (1, 5, BackgroundFit::Uniform),
        (3, 6, BackgroundFit::Pixels),
    ] {
        let problem = detector::detected(problem(frame, positions, modes, seed)?, fit);
        for sequence in detector::detector_sequences(&problem) {
            let version = UpdateVersion::Tiled;
            note(agreement(device, &problem, version, &sequence)?);
        }
    }
    // Counts and exit waves in host memory, for separate kernels and for few launches.
    let (frames, positions) = match size {
        Size::Small => (&[16, 64][..], 5),
        Size::Device => (&[64, 96, 128][..], 40),
    };
    for frame in frames {
        let problem = problem(*frame, positions, 1, 4)?;
        for (n, sequence) in streamed::streamed_sequences(&problem).iter().enumerate() {
            note(streamed::same_bits(device, &problem, sequence, n % 2 == 0)?);
        }
    }
    // Frames whose steps are fused.
    let (frames, positions) = match size {
        Size::Small => (&[64][..], 3),
        Size::Device => (&[64, 128][..], 40),
    };
    for frame in frames {
        let problem = problem(*frame, positions, 1, 3)?;
        let projects = |of: &StepSequence| {
            let whole = |step: &Step| step.method == Method::Projection && !step.subpixel;
            of.steps.iter().all(whole)
        };
        for sequence in sequences(&problem).into_iter().filter(projects) {
            note(agreement(
                device,
                &problem,
                UpdateVersion::Tiled,
                &sequence,
            )?);
        }
        let dm = base(&problem);
        for sequence in fused_sequences(dm) {
            note(agreement(
                device,
                &problem,
                UpdateVersion::Tiled,
                &sequence,
            )?);
        }
    }
    Ok(results)
}

/// A simulated scan whose start probe is off centre.
fn problem(
    frame: usize,
    positions: usize,
    probe_modes: usize,
    seed: u64,
) -> Result<Problem, EngineCaseError> {
    let options = SimulateOptions {
        frame,
        positions,
        probe_modes,
        seed,
        photons: 1e6,
        ..Default::default()
    };
    let scan = simulate(&options)?;
    let mut problem = Problem::prepare(
        &scan,
        &Recipe {
            probe_modes,
            seed,
            free_pixels: 0.02,
            positions: PositionOptions {
                refine: vec![PositionMethod::Gradient],
                bound: 2.0,
                ..PositionOptions::default()
            },
            ..Default::default()
        },
    )?;
    let magnitudes = problem.magnitudes.in_memory_mut().into_iter().flatten();
    for (i, magnitude) in magnitudes.enumerate() {
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

/// err_fourier, err_exit, err_phot and R of every iteration.
fn agreement<M: Device>(
    device: &M,
    problem: &Problem,
    version: UpdateVersion,
    sequence: &StepSequence,
) -> Result<CaseResult, EngineCaseError> {
    let mut cpu: Box<dyn Engine> = if sequence.double {
        Box::new(CpuEngine::<f64>::new(problem))
    } else {
        Box::new(CpuEngine::<f32>::new(problem))
    };
    let mut gpu = GpuEngine::new(device, problem, version)?;
    let reference = metrics(cpu.as_mut(), &sequence.steps)?;
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
    Ok(CaseResult::new(
        "iterations",
        name,
        worst,
        sequence.tolerance,
    ))
}

/// Alternations with a closed gate change nothing, bit for bit.
fn closed_gate<M: Device>(device: &M, problem: &Problem) -> Result<CaseResult, EngineCaseError> {
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
