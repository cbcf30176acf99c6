//! Gradient engines in few launches at exact positions and with several modes, in the emulator:
//! they agree with double precision on the CPU, and with separate kernels where a block has too
//! little shared memory.

use crate::fused_step::{finished, metrics, on_emulator, relative};
use num_complex::Complex;
use warpstride::ptycho::cpu::CpuEngine;
use warpstride::ptycho::{
    Engine, EngineName, Noise, Problem, Recipe, Reconstructor, SimulateOptions, simulate,
};
use warpstride_tests::recipe;

/// Bytes of shared memory: enough for the modes of 128², for those of 64² but not of 128², and for
/// neither.
const SHARED_MEMORY: [usize; 3] = [163 << 10, 99 << 10, 12 << 10];

/// Engines by mini-batches; the last leaves the probe as it is.
const BATCHES: &[&str] = &["lsqml:2", "rpie:2", "lsqml:1"];

/// Frames whose recorded positions are half a pixel off, which have fractions of a pixel.
fn problem(
    engines: &[&str],
    noise: Noise,
    shape: (usize, usize),
    exact: bool,
) -> (Problem, Recipe) {
    let mut recipe = recipe(engines).unwrap();
    recipe.free_pixels = 0.02;
    recipe.probe_modes = shape.1;
    for (n, engine) in recipe.engines.iter_mut().enumerate() {
        engine.subpixel = Some(exact);
        if engine.name == EngineName::Ml {
            engine.noise = Some(noise);
        } else if !engine.name.projects() {
            engine.batch = Some(3 - n % 2);
            engine.update_probe = n < 2;
        }
    }
    let options = SimulateOptions {
        frame: shape.0,
        positions: 5,
        photons: 1e6,
        position_error: 0.5,
        seed: 11,
        ..SimulateOptions::default()
    };
    let problem = Problem::prepare(&simulate(&options).unwrap(), &recipe).unwrap();
    (problem, recipe)
}

/// Object, probe, and the metrics of all iterations.
type Finished = ([Vec<Complex<f64>>; 2], Vec<[Option<f64>; 5]>);

fn reconstructed(engine: Box<dyn Engine>, problem: &Problem, recipe: &Recipe) -> Finished {
    let mut run = finished(engine, problem, recipe);
    let history = run.progress().history.iter().map(metrics).collect();
    let engine = run.engine();
    let values = [
        engine.object().unwrap().into_iter().collect(),
        engine.probe().unwrap().into_iter().collect(),
    ];
    (values, history)
}

fn assert_close(found: &Finished, expected: &Finished, what: &str) {
    for (found, expected) in found.0.iter().zip(&expected.0) {
        let error = relative(found, expected);
        assert!(error < 1e-4, "{what}: {error}");
    }
    assert_eq!(found.1.len(), expected.1.len());
    for (found, expected) in found.1.iter().flatten().zip(expected.1.iter().flatten()) {
        assert_eq!(found.is_some(), expected.is_some(), "{what}");
        let (found, expected) = (found.unwrap_or(1.0), expected.unwrap_or(1.0));
        let error = (found / expected - 1.0).abs();
        assert!(error < 1e-3, "{what}: {found} {expected}");
    }
}

/// `shared_memory`: enough for few launches, and too little.
fn check((problem, recipe): &(Problem, Recipe), shared_memory: [usize; 2]) {
    let double = reconstructed(Box::new(CpuEngine::<f64>::new(problem)), problem, recipe);
    let [fused, separate] =
        shared_memory.map(|bytes| reconstructed(on_emulator(problem, bytes), problem, recipe));
    assert_close(&fused, &double, "in few launches");
    assert_close(&separate, &double, "separate");
    // They are other kernels, with other roundings.
    assert!(fused.0 != separate.0);
}

#[test]
fn one_mode_at_exact_positions() {
    let problem = problem(BATCHES, Noise::Amplitude, (64, 1), true);
    check(&problem, [SHARED_MEMORY[1], SHARED_MEMORY[2]]);
}

#[test]
fn conjugate_gradients_at_exact_positions() {
    for noise in [Noise::Amplitude, Noise::Poisson] {
        let problem = problem(&["ml:3"], noise, (64, 1), true);
        check(&problem, [SHARED_MEMORY[1], SHARED_MEMORY[2]]);
    }
}

#[test]
fn several_modes_at_exact_positions() {
    let problem = problem(BATCHES, Noise::Amplitude, (64, 3), true);
    check(&problem, [SHARED_MEMORY[1], SHARED_MEMORY[2]]);
}

#[test]
fn several_modes_at_whole_pixels() {
    let problem = problem(BATCHES, Noise::Amplitude, (64, 2), false);
    check(&problem, [SHARED_MEMORY[1], SHARED_MEMORY[2]]);
}

/// 99 KiB hold a frame of 128² of one mode, not the sums of several.
#[test]
fn several_modes_need_more_shared_memory() {
    let problem = problem(&["lsqml:2"], Noise::Amplitude, (128, 2), true);
    check(&problem, [SHARED_MEMORY[0], SHARED_MEMORY[1]]);
}

/// The modes are made orthogonal after the fourth iteration.
#[test]
fn several_modes_by_conjugate_gradients() {
    for (noise, modes, exact) in [
        (Noise::Amplitude, 2, true),
        (Noise::Poisson, 3, true),
        (Noise::Amplitude, 3, false),
        (Noise::Poisson, 2, false),
    ] {
        let problem = problem(&["ml:6"], noise, (64, modes), exact);
        check(&problem, [SHARED_MEMORY[1], SHARED_MEMORY[2]]);
    }
}

#[test]
fn several_modes_of_128_by_conjugate_gradients() {
    let problem = problem(&["ml:2"], Noise::Amplitude, (128, 2), true);
    check(&problem, [SHARED_MEMORY[0], SHARED_MEMORY[1]]);
}

#[test]
fn conjugate_gradients_of_several_modes_among_other_engines() {
    for exact in [true, false] {
        let engines = ["dm:2", "ml:3", "lsqml:1", "ml:2"];
        let problem = problem(&engines, Noise::Amplitude, (64, 2), exact);
        check(&problem, [SHARED_MEMORY[1], SHARED_MEMORY[2]]);
    }
}

/// Also after the fourth iteration, which has made the modes orthogonal.
#[test]
fn conjugate_gradients_of_several_modes_resume_with_the_same_bits() {
    for exact in [true, false] {
        let (problem, recipe) = problem(&["ml:6"], Noise::Poisson, (64, 2), exact);
        let on = || on_emulator(&problem, SHARED_MEMORY[1]);
        let whole = reconstructed(on(), &problem, &recipe).0;
        for saved_after in [3, 4, 5] {
            let mut run = Reconstructor::new(on(), &problem, &recipe);
            for _ in 0..saved_after {
                run.advance().unwrap();
            }
            run.flush().unwrap();
            let (progress, state) = (run.progress().clone(), run.engine().save().unwrap());
            let mut run = Reconstructor::new(on(), &problem, &recipe);
            run.resume(progress, &state).unwrap();
            while !run.finished() {
                run.advance().unwrap();
            }
            let object: Vec<_> = run.engine().object().unwrap().into_iter().collect();
            assert!(object == whole[0], "{exact}, {saved_after}");
        }
    }
}

/// Frames on whole pixels are not shifted. (The metrics of the end are: they come from separate
/// kernels.)
#[test]
fn frames_on_pixels_at_exact_positions_give_the_bits_of_whole_pixels() {
    on_pixels(&["lsqml:1", "rpie:1", "epie:1", "ml:2"], 1);
    on_pixels(&["ml:5"], 2);
}

fn on_pixels(engines: &[&str], modes: usize) {
    let [exact, whole] = [true, false].map(|exact| {
        let mut recipe = recipe(engines).unwrap();
        recipe.probe_modes = modes;
        for engine in &mut recipe.engines {
            engine.subpixel = Some(exact);
        }
        let options = SimulateOptions {
            frame: 64,
            positions: 4,
            photons: 1e6,
            seed: 3,
            ..SimulateOptions::default()
        };
        let problem = Problem::prepare(&simulate(&options).unwrap(), &recipe).unwrap();
        reconstructed(on_emulator(&problem, SHARED_MEMORY[1]), &problem, &recipe).0
    });
    assert!(exact == whole);
}
