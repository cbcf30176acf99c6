//! The fused step of projection engines, in the emulator: it agrees with the separate kernels over
//! many iterations, gives the same bits again, with metrics or without, and its state goes on
//! elsewhere.

use num_complex::Complex;
use warpstride::gpu::EmulatedDevice;
use warpstride::ptycho::cpu::CpuEngine;
use warpstride::ptycho::cuda::GpuEngine;
use warpstride::ptycho::data::HistoryEntry;
use warpstride::ptycho::{
    Engine, GpuStep, ProbeSource, Problem, Recipe, Reconstructor, SimulateOptions, UpdateVersion,
    WaveSpace, simulate,
};
use warpstride_tests::recipe;

/// Bytes of shared memory of a block: with the first the probe of 128² is kept there, with the
/// second it is read from L2.
pub(crate) const SHARED_MEMORY: [usize; 2] = [227 << 10, 99 << 10];

pub(crate) fn recipe_of(step: GpuStep, engines: &[&str]) -> Recipe {
    let mut recipe = recipe(engines).unwrap();
    recipe.gpu.step = step;
    recipe.metrics_every = 5;
    recipe.free_pixels = 0.02;
    recipe
}

pub(crate) fn problem(recipe: &Recipe, seed: u64) -> Problem {
    problem_of(recipe, seed, [64, 8])
}

/// A scan of so many rows and columns a frame, and positions.
pub(crate) fn problem_of(recipe: &Recipe, seed: u64, [frame, positions]: [usize; 2]) -> Problem {
    let options = SimulateOptions {
        frame,
        positions,
        photons: 1e6,
        seed,
        ..SimulateOptions::default()
    };
    Problem::prepare(&simulate(&options).unwrap(), recipe).unwrap()
}

pub(crate) fn on_emulator(problem: &Problem, shared_memory: usize) -> Box<dyn Engine> {
    let device = EmulatedDevice::with_shared_memory(shared_memory);
    Box::new(GpuEngine::new(device, problem, UpdateVersion::Tiled).unwrap())
}

pub(crate) fn finished(
    engine: Box<dyn Engine>,
    problem: &Problem,
    recipe: &Recipe,
) -> Reconstructor {
    let mut run = Reconstructor::new(engine, problem, recipe);
    while !run.finished() {
        run.advance().unwrap();
    }
    run.flush().unwrap();
    run
}

/// ‖found − expected‖/‖expected‖
pub(crate) fn relative(found: &[Complex<f64>], expected: &[Complex<f64>]) -> f64 {
    let power: f64 = expected.iter().map(Complex::norm_sqr).sum();
    let pairs = found.iter().zip(expected);
    let difference: f64 = pairs.map(|(a, b)| (a - b).norm_sqr()).sum();
    (difference / power).sqrt()
}

/// The metrics of an iteration.
pub(crate) fn metrics(entry: &HistoryEntry) -> [Option<f64>; 5] {
    [
        Some(entry.err_fourier),
        entry.err_exit,
        entry.err_phot,
        entry.r_factor,
        entry.r_free,
    ]
}

/// The largest relative difference of each metric in the iterations that have it.
fn differences(history: &[HistoryEntry], reference: &[HistoryEntry]) -> [f64; 5] {
    assert_eq!(history.len(), reference.len());
    let mut largest = [0.0; 5];
    for (entry, reference) in history.iter().zip(reference) {
        for ((largest, found), expected) in
            (largest.iter_mut().zip(metrics(entry))).zip(metrics(reference))
        {
            assert_eq!(found.is_some(), expected.is_some());
            if let (Some(found), Some(expected)) = (found, expected) {
                *largest = f64::max(*largest, (found / expected - 1.0).abs());
            }
        }
    }
    largest
}

/// Rounding grows from one iteration to the next, so that over a hundred of them single precision
/// differs from double precision by more than 1e-4, by how much is chance. So the bounds are those
/// of means over several scans. Fixed-point sums must not add to that.
#[test]
fn the_fused_step_is_as_close_to_double_precision_as_separate_kernels() {
    let engines = ["dm:60", "raar:30", "ap:10"];
    let recipe = recipe_of(GpuStep::Auto, &engines);
    let mut logarithms = Vec::new();
    // Of each metric, added up over the scans: between the two in ten iterations, and from double
    // precision in all.
    let (mut early, mut far) = ([0.0; 5], [[0.0; 2]; 5]);
    let scans = 1..4;
    for seed in scans.clone() {
        let problem = problem(&recipe, seed);
        let double = Box::new(CpuEngine::<f64>::new(&problem));
        let double = finished(double, &problem, &recipe)
            .progress()
            .history
            .clone();
        let [fused, separate] = [GpuStep::Auto, GpuStep::Unfused].map(|step| {
            let recipe = recipe_of(step, &engines);
            let problem = self::problem(&recipe, seed);
            let mut run = finished(on_emulator(&problem, SHARED_MEMORY[0]), &problem, &recipe);
            assert_eq!(
                run.engine().plan().unwrap().is_fused(),
                step == GpuStep::Auto
            );
            run.progress().history.clone()
        });
        // In the first iterations rounding has not grown much yet.
        let first = differences(&fused[..5], &separate[..5]);
        assert!(
            first.iter().all(|difference| *difference < 2e-4),
            "{first:?}"
        );
        let ten = differences(&fused[..10], &separate[..10]);
        let [fused, separate] = [&fused, &separate].map(|history| differences(history, &double));
        for metric in 0..5 {
            early[metric] += ten[metric];
            far[metric][0] += fused[metric];
            far[metric][1] += separate[metric];
            logarithms.push((fused[metric] / separate[metric]).ln());
        }
    }
    let scans = scans.count() as f64;
    assert!(early.iter().all(|sum| sum / scans < 1e-3), "{early:?}");
    for [fused, separate] in far {
        assert!(fused < 3.0 * separate + 1e-4 * scans, "{far:?}");
    }
    let mean = logarithms.iter().sum::<f64>() / logarithms.len() as f64;
    assert!(mean.exp() < 1.5, "{}", mean.exp());
}

#[test]
fn shared_memory_and_metrics_change_no_bit() {
    let mut objects: Vec<Vec<Complex<f64>>> = Vec::new();
    for (shared_memory, every) in [
        (SHARED_MEMORY[0], 5),
        (SHARED_MEMORY[0], 1),
        (SHARED_MEMORY[1], 3),
    ] {
        let mut recipe = recipe_of(GpuStep::Auto, &["dm:4", "raar:3"]);
        recipe.metrics_every = every;
        let problem = problem_of(&recipe, 5, [128, 3]);
        let mut run = finished(on_emulator(&problem, shared_memory), &problem, &recipe);
        objects.push(run.engine().object().unwrap().into_iter().collect());
    }
    assert!(objects.windows(2).all(|pair| pair[0] == pair[1]));
}

#[test]
fn a_saved_run_goes_on_with_the_same_bits_or_elsewhere() {
    let recipe = recipe_of(GpuStep::Auto, &["dm:8"]);
    let problem = problem(&recipe, 5);
    let fused = || on_emulator(&problem, SHARED_MEMORY[0]);
    let separate = || {
        let recipe = recipe_of(GpuStep::Unfused, &["dm:8"]);
        let problem = self::problem(&recipe, 5);
        on_emulator(&problem, SHARED_MEMORY[0])
    };
    let cpu = || -> Box<dyn Engine> { Box::new(CpuEngine::<f32>::new(&problem)) };
    let run_on = |first: Box<dyn Engine>, second: Box<dyn Engine>| {
        let mut run = Reconstructor::new(first, &problem, &recipe);
        for _ in 0..4 {
            run.advance().unwrap();
        }
        run.flush().unwrap();
        let (progress, state) = (run.progress().clone(), run.engine().save().unwrap());
        let mut run = Reconstructor::new(second, &problem, &recipe);
        run.resume(progress, &state).unwrap();
        while !run.finished() {
            run.advance().unwrap();
        }
        let object: Vec<_> = run.engine().object().unwrap().into_iter().collect();
        (state.exit_space, object)
    };
    let alone = |engine: Box<dyn Engine>| -> Vec<Complex<f64>> {
        let mut run = finished(engine, &problem, &recipe);
        run.engine().object().unwrap().into_iter().collect()
    };
    let whole = alone(fused());
    let (space, same) = run_on(fused(), fused());
    assert_eq!((space, &same), (WaveSpace::Real, &whole));
    for (name, first, second) in [
        ("fused to separate", fused(), separate()),
        ("fused to CPU", fused(), cpu()),
        ("separate to fused", separate(), fused()),
        ("CPU to fused", cpu(), fused()),
    ] {
        // Rounding in the first iterations is as without the change, so only that of the last four
        // differs.
        let reference = match name {
            "separate to fused" => alone(separate()),
            "CPU to fused" => alone(cpu()),
            _ => whole.clone(),
        };
        let (_, object) = run_on(first, second);
        let error = relative(&object, &reference);
        // A lost state would differ by tenths.
        assert!(error < 2e-4, "{name}: {error}");
    }
}

#[test]
fn sums_beyond_their_range_are_an_error() {
    let recipe = recipe_of(GpuStep::Auto, &["dm:3"]);
    let mut problem = problem(&recipe, 5);
    // An object a thousand times too bright for the counts.
    problem.object.mapv_inplace(|v| v * 1e3);
    let mut run = Reconstructor::new(on_emulator(&problem, SHARED_MEMORY[0]), &problem, &recipe);
    let error = loop {
        assert!(!run.finished());
        if let Err(error) = run.advance().and_then(|_| run.flush()) {
            break error.to_string();
        }
    };
    assert!(
        error.contains("iteration 1:") && error.contains("gpu.step=unfused"),
        "{error}"
    );
}

/// A start probe with a narrow peak lights most of the object a millionth as strongly as the peak
/// does.
#[test]
fn a_start_probe_with_a_peak_loses_no_precision() {
    let mut recipe = recipe_of(GpuStep::Auto, &["raar:30"]);
    recipe.probe.source = ProbeSource::Aperture;
    recipe.probe.aperture = 1.0;
    let problem = problem(&recipe, 5);
    let last = |engine| {
        let run = finished(engine, &problem, &recipe);
        run.progress().history.last().unwrap().err_fourier
    };
    let fused = last(on_emulator(&problem, SHARED_MEMORY[0]));
    let cpu = last(Box::new(CpuEngine::<f32>::new(&problem)));
    assert!((fused / cpu - 1.0).abs() < 5e-3, "{fused} {cpu}");
}
