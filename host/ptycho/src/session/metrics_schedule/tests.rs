//! Histories with metrics in some iterations: which ones, and that nothing else depends on them.

use crate::data::{HistoryEntry, Scan};
use crate::engines::cpu::CpuEngine;
use crate::engines::cuda::GpuEngine;
use crate::{
    EngineSpec, Problem, Recipe, Reconstructor, SimulateOptions, StopRule, UpdateVersion, simulate,
};
use ndarray::{Array2, Array3};
use num_complex::Complex;

/// Engines of 22 iterations that leave metrics out, then 3 that have all.
const ENGINES: [&str; 3] = ["dm:13", "raar:9", "lsqml:3"];
/// Their iterations with all metrics, if those are computed every 5 iterations.
const EVERY_5: [usize; 11] = [1, 5, 10, 13, 14, 15, 20, 22, 23, 24, 25];

fn scan() -> Scan {
    let options = SimulateOptions {
        frame: 16,
        positions: 7,
        photons: 1e5,
        ..SimulateOptions::default()
    };
    simulate(&options).unwrap()
}

fn recipe(engines: &[&str], every: usize) -> Recipe {
    let spec = |text: &&str| EngineSpec::parse(text).unwrap();
    Recipe {
        engines: engines.iter().map(spec).collect(),
        free_pixels: 0.05,
        metrics_every: every,
        ..Recipe::default()
    }
}

/// A run on the CPU, or on the emulator.
fn reconstructor(problem: &Problem, recipe: &Recipe, emulated: bool) -> Reconstructor {
    if emulated {
        let device = warpstride_cuda::gpu::EmulatedDevice::new();
        let engine = GpuEngine::new(device, problem, UpdateVersion::Tiled).unwrap();
        return Reconstructor::new(Box::new(engine), problem, recipe);
    }
    Reconstructor::new(Box::new(CpuEngine::<f32>::new(problem)), problem, recipe)
}

/// Object and probe, and the history without its times.
type Result = (
    Array2<Complex<f64>>,
    Array3<Complex<f64>>,
    Vec<HistoryEntry>,
);

fn finish(mut run: Reconstructor) -> Result {
    while !run.finished() {
        run.advance().unwrap();
    }
    let history = run.progress().history.iter().map(|entry| HistoryEntry {
        seconds: 0.0,
        ..entry.clone()
    });
    let history = history.collect();
    let engine = run.engine();
    (engine.object().unwrap(), engine.probe().unwrap(), history)
}

fn run(recipe: &Recipe, emulated: bool) -> Result {
    let problem = Problem::prepare(&scan(), recipe).unwrap();
    finish(reconstructor(&problem, recipe, emulated))
}

/// Whether an entry has all metrics besides the Fourier error; it may not have only some of them.
fn has_all(entry: &HistoryEntry) -> bool {
    let metrics = [entry.err_exit, entry.err_phot, entry.r_factor, entry.r_free];
    let known = metrics.iter().flatten().count();
    assert!(known == 0 || known == metrics.len(), "{entry:?}");
    known > 0
}

fn complete(history: &[HistoryEntry]) -> Vec<usize> {
    let entries = history.iter().filter(|entry| has_all(entry));
    entries.map(|entry| entry.iteration).collect()
}

#[test]
fn metrics_are_those_of_a_run_that_has_all_and_at_the_promised_iterations() {
    for emulated in [false, true] {
        let (object, probe, all) = run(&recipe(&ENGINES, 1), emulated);
        assert_eq!(complete(&all), (1..=25).collect::<Vec<_>>());
        let first_and_last = [1, 13, 14, 22, 23, 24, 25];
        for (every, expected) in [(5, &EVERY_5[..]), (1000, &first_and_last)] {
            let found = run(&recipe(&ENGINES, every), emulated);
            assert_eq!((&found.0, &found.1), (&object, &probe));
            assert_eq!(complete(&found.2), expected);
            for (found, all) in found.2.iter().zip(&all) {
                if has_all(found) {
                    assert_eq!(found, all);
                }
                assert_eq!(found.err_fourier, all.err_fourier);
            }
        }
    }
}

#[test]
fn a_resumed_run_has_the_metrics_of_an_uninterrupted_one() {
    for emulated in [false, true] {
        let recipe = recipe(&ENGINES, 5);
        let whole = run(&recipe, emulated);
        let problem = Problem::prepare(&scan(), &recipe).unwrap();
        // Before and after iterations with metrics, and between engines.
        for saved_after in [1, 3, 4, 5, 9, 10, 12, 13, 14, 22, 23] {
            let mut first = reconstructor(&problem, &recipe, emulated);
            for _ in 0..saved_after {
                first.advance().unwrap();
            }
            first.flush().unwrap();
            let (progress, state) = (first.progress().clone(), first.engine().save().unwrap());
            let mut second = reconstructor(&problem, &recipe, emulated);
            second.resume(progress, &state).unwrap();
            assert_eq!(finish(second), whole, "{saved_after}");
        }
    }
}

#[test]
fn the_result_of_an_interrupted_run_ends_with_r() {
    let recipe = recipe(&["dm:40"], 10);
    let problem = Problem::prepare(&scan(), &recipe).unwrap();
    let mut run = reconstructor(&problem, &recipe, false);
    for _ in 0..7 {
        run.advance().unwrap();
    }
    run.complete().unwrap();
    let history = &run.progress().history;
    assert!(history[5].r_factor.is_none() && history[6].r_free.is_some());
    assert!(history[6].err_exit.is_none());
}

#[test]
fn an_engine_that_stops_early_ends_with_all_metrics_and_with_the_same_iteration() {
    let stopping = |every| {
        let mut recipe = recipe(&["dm:60", "raar:15"], every);
        // No error falls by as much within ten iterations.
        recipe.engines[0].stop_below_change = Some(0.999_999);
        run(&recipe, false)
    };
    let (object, probe, all) = stopping(1);
    let found = stopping(7);
    assert_eq!((found.0, found.1), (object, probe));
    assert_eq!(found.2.len(), all.len());
    let last = found.2.iter().rfind(|entry| entry.engine == "dm").unwrap();
    assert_eq!(last.iteration, 20);
    let expected = [1, 7, 10, 14, 20, 21, 28, 35];
    assert_eq!(complete(&found.2), expected);
}

#[test]
fn the_rule_of_r_free_sees_every_iteration() {
    let mut recipe = recipe(&["dm:12"], 10);
    recipe.stop = StopRule::Auto;
    let (_, _, history) = run(&recipe, false);
    assert_eq!(complete(&history), (1..=12).collect::<Vec<_>>());
}
