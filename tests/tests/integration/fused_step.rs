//! The fused step of projection engines, in the emulator: it agrees with the separate kernels over many iterations,
//! gives the same bits again, with metrics or without, and its state goes on elsewhere.

use num_complex::Complex;
use warpstride::gpu::EmulatedDevice;
use warpstride::ptycho::cpu::CpuEngine;
use warpstride::ptycho::cuda::GpuEngine;
use warpstride::ptycho::{
    Engine, GpuStep, Problem, Recipe, Reconstructor, SimulateOptions, UpdateVersion, WaveSpace,
    simulate,
};
use warpstride_tests::recipe;

/// Bytes of shared memory of a block: with the first the frame is kept there, with the second it is read twice.
const SHARED_MEMORY: [usize; 2] = [227 << 10, 48 << 10];

fn recipe_of(step: GpuStep, engines: &[&str]) -> Recipe {
    let mut recipe = recipe(engines).unwrap();
    recipe.gpu.step = step;
    recipe.metrics_every = 5;
    recipe.free_pixels = 0.02;
    recipe
}

fn problem(recipe: &Recipe) -> Problem {
    let options = SimulateOptions {
        frame: 64,
        positions: 8,
        photons: 1e6,
        seed: 5,
        ..SimulateOptions::default()
    };
    Problem::new(&simulate(&options).unwrap(), recipe).unwrap()
}

fn on_emulator(problem: &Problem, shared_memory: usize) -> Box<dyn Engine> {
    let device = EmulatedDevice::with_shared_memory(shared_memory);
    Box::new(GpuEngine::new(device, problem, UpdateVersion::Tiled).unwrap())
}

fn finished(engine: Box<dyn Engine>, problem: &Problem, recipe: &Recipe) -> Reconstructor {
    let mut run = Reconstructor::new(engine, problem, recipe);
    while !run.finished() {
        run.advance().unwrap();
    }
    run.flush().unwrap();
    run
}

fn close(a: Option<f64>, b: Option<f64>, what: &str) {
    match (a, b) {
        (Some(a), Some(b)) => assert!((a / b - 1.0).abs() < 1e-4, "{what}: {a} {b}"),
        (None, None) => (),
        other => panic!("{what}: {other:?}"),
    }
}

#[test]
fn fused_and_separate_kernels_agree_over_a_hundred_iterations() {
    let engines = ["dm:60", "raar:30", "ap:10"];
    let [fused, separate] = [GpuStep::Auto, GpuStep::Unfused].map(|step| {
        let recipe = recipe_of(step, &engines);
        let problem = problem(&recipe);
        let mut run = finished(on_emulator(&problem, SHARED_MEMORY[0]), &problem, &recipe);
        assert_eq!(
            run.engine().plan().unwrap().is_fused(),
            step == GpuStep::Auto
        );
        run.progress().history.clone()
    });
    assert_eq!(fused.len(), 100);
    for (a, b) in fused.iter().zip(&separate) {
        close(Some(a.err_fourier), Some(b.err_fourier), "err_fourier");
        close(a.err_exit, b.err_exit, "err_exit");
        close(a.err_phot, b.err_phot, "err_phot");
        close(a.r_factor, b.r_factor, "R");
        close(a.r_free, b.r_free, "R_free");
    }
    let last = fused.last().unwrap();
    assert!(last.r_free.is_some() && last.r_factor.unwrap() < fused[5].r_factor.unwrap_or(1.0));
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
        let problem = problem(&recipe);
        let mut run = finished(on_emulator(&problem, shared_memory), &problem, &recipe);
        objects.push(run.engine().object().unwrap().into_iter().collect());
    }
    assert!(objects.windows(2).all(|pair| pair[0] == pair[1]));
}

#[test]
fn a_saved_run_goes_on_with_the_same_bits_or_elsewhere() {
    let recipe = recipe_of(GpuStep::Auto, &["dm:8"]);
    let problem = problem(&recipe);
    let fused = || on_emulator(&problem, SHARED_MEMORY[0]);
    let separate = || {
        let recipe = recipe_of(GpuStep::Unfused, &["dm:8"]);
        let problem = self::problem(&recipe);
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
    let mut whole = finished(fused(), &problem, &recipe);
    let whole: Vec<_> = whole.engine().object().unwrap().into_iter().collect();
    let (space, same) = run_on(fused(), fused());
    assert_eq!((space, &same), (WaveSpace::Real, &whole));
    let power: f64 = whole.iter().map(Complex::norm_sqr).sum();
    for (name, first, second) in [
        ("fused to separate", fused(), separate()),
        ("separate to fused", separate(), fused()),
        ("fused to CPU", fused(), cpu()),
        ("CPU to fused", cpu(), fused()),
    ] {
        let (_, object) = run_on(first, second);
        let pairs = whole.iter().zip(&object);
        let difference: f64 = pairs.map(|(a, b)| (a - b).norm_sqr()).sum();
        assert!((difference / power).sqrt() < 1e-4, "{name}");
    }
}

#[test]
fn sums_beyond_their_range_are_an_error() {
    let recipe = recipe_of(GpuStep::Auto, &["dm:3"]);
    let mut problem = problem(&recipe);
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
