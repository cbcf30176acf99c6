//! Frames divided among ranks: object, probe, positions and metrics have the same bits as with one.

use num_complex::Complex;
use std::sync::Arc;
use std::thread;
use warpstride::gpu::EmulatedDevice;
use warpstride::ptycho::cpu::CpuEngine;
use warpstride::ptycho::cuda::GpuEngine;
use warpstride::ptycho::data::HistoryEntry;
use warpstride::ptycho::{
    BatchOrder, Engine, EngineError, GpuStep, GpuWaves, PositionMethod, Problem, Progress, Ranks,
    Recipe, Reconstructor, SimulateOptions, StreamPlan, UpdateVersion, simulate,
};
use warpstride::ranks::threads;
use warpstride_tests::recipe;

/// What a run ends with.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Ended {
    pub(crate) object: Vec<Complex<f64>>,
    pub(crate) probe: Vec<Complex<f64>>,
    pub(crate) positions: Vec<[f64; 2]>,
    pub(crate) scales: Vec<f64>,
    pub(crate) history: Vec<HistoryEntry>,
}

/// Runs to the end; the state after `saved_after` iterations is restored in a new engine.
pub(crate) fn run(
    engine: &dyn Fn() -> Box<dyn Engine>,
    problem: &Problem,
    recipe: &Recipe,
    saved_after: usize,
) -> Result<Ended, EngineError> {
    let mut run = Reconstructor::new(engine(), problem, recipe);
    while run.progress().total < saved_after {
        run.advance()?;
    }
    run.flush()?;
    let progress: Progress = run.progress().clone();
    let state = run.engine().save()?;
    let mut run = Reconstructor::new(engine(), problem, recipe);
    run.resume(progress, &state)?;
    while !run.finished() {
        run.advance()?;
    }
    run.complete()?;
    let frames = run.engine().frames();
    let mut history = run.progress().history.clone();
    history.iter_mut().for_each(|entry| entry.seconds = 0.0);
    Ok(Ended {
        object: run.engine().object()?.into_iter().collect(),
        probe: run.engine().probe()?.into_iter().collect(),
        positions: frames.positions,
        scales: frames.scales,
        history,
    })
}

/// What `each` rank of `size` returns; all of them must be equal.
pub(crate) fn on_ranks<R: Send + PartialEq + std::fmt::Debug>(
    size: usize,
    each: impl Fn(Ranks) -> R + Sync,
) -> R {
    let each = &each;
    let mut all: Vec<R> = thread::scope(|scope| {
        let started: Vec<_> = (threads(size).into_iter())
            .map(|rank| scope.spawn(move || each(Ranks::of(Arc::new(rank)))))
            .collect();
        let joined = started.into_iter().map(|rank| rank.join().unwrap());
        joined.collect()
    });
    let first = all.swap_remove(0);
    assert!(all.iter().all(|other| *other == first));
    first
}

/// A simulated scan and its recipe, with metrics of every iteration.
pub(crate) fn prepared(
    [frame, positions, modes]: [usize; 3],
    engines: &[&str],
    change: impl Fn(&mut Recipe),
) -> (Problem, Recipe) {
    let options = SimulateOptions {
        frame,
        positions,
        probe_modes: modes,
        ..SimulateOptions::default()
    };
    let mut recipe = recipe(engines).unwrap();
    recipe.probe_modes = modes;
    recipe.free_pixels = 0.02;
    recipe.metrics_every = 1;
    change(&mut recipe);
    let problem = Problem::prepare(&simulate(&options).unwrap(), &recipe).unwrap();
    (problem, recipe)
}

fn check(positions: usize, modes: usize, engines: &[&str], change: fn(&mut Recipe)) {
    let (problem, recipe) = prepared([24, positions, modes], engines, change);
    let ended = |size: usize| {
        on_ranks(size, |ranks| {
            let engine = || -> Box<dyn Engine> {
                match recipe.precision {
                    warpstride::ptycho::Precision::F32 => {
                        Box::new(CpuEngine::<f32>::among(&problem, ranks.clone()).unwrap())
                    }
                    warpstride::ptycho::Precision::F64 => {
                        Box::new(CpuEngine::<f64>::among(&problem, ranks.clone()).unwrap())
                    }
                }
            };
            run(&engine, &problem, &recipe, 3).unwrap()
        })
    };
    let expected = ended(1);
    assert!(expected.history.iter().all(|e| e.r_free.is_some()));
    for size in [2, 3, 5, 7] {
        assert!(ended(size) == expected, "{size} ranks");
    }
}

#[test]
fn projections_on_pixels() {
    check(49, 2, &["dm:3", "raar:2", "ap:1"], |recipe| {
        recipe.engines[0].overlap_loops = Some(3);
        recipe.engines[1].probe_centre_tolerance = Some(0.5);
    });
}

#[test]
fn projections_between_pixels_with_refinement() {
    check(50, 1, &["dm:4", "raar:2"], |recipe| {
        recipe.precision = warpstride::ptycho::Precision::F64;
        for engine in &mut recipe.engines {
            engine.subpixel = Some(true);
        }
        refine(recipe);
    });
}

#[test]
fn batches() {
    check(52, 2, &["lsqml:3", "rpie:3", "lsqml:2"], |recipe| {
        for engine in &mut recipe.engines {
            engine.batch = Some(17);
            engine.subpixel = Some(true);
        }
        recipe.engines[2].batch_order = Some(warpstride::ptycho::BatchOrder::Spread);
        refine(recipe);
    });
}

#[test]
fn batches_of_regions() {
    check(53, 2, &["lsqml:3", "rpie:2"], |recipe| {
        for engine in &mut recipe.engines {
            engine.regions = Some(4);
            engine.batch = Some(5);
        }
        refine(recipe);
    });
}

#[test]
fn conjugate_gradients() {
    check(49, 1, &["dm:2", "ml:4"], |recipe| {
        recipe.engines[1].subpixel = Some(true);
    });
}

/// Some ranks have no frames.
#[test]
fn fewer_frames_than_ranks() {
    check(4, 1, &["dm:2", "lsqml:1", "epie:1", "ml:2"], |_| ());
}

fn refine(recipe: &mut Recipe) {
    recipe.positions.refine = vec![PositionMethod::Gradient, PositionMethod::Annealing];
    recipe.positions.start = 1;
    recipe.fit_frame_scales = true;
}

/// Runs on emulated devices that divide the frames.
pub(crate) fn on_devices(
    size: usize,
    problem: &Problem,
    recipe: &Recipe,
    shared_memory: usize,
    block: Option<usize>,
) -> Ended {
    on_ranks(size, |ranks| {
        let engine = || -> Box<dyn Engine> {
            // Of one multiprocessor, so that momentum is deferred.
            let device = EmulatedDevice::with_shared_memory(shared_memory).with_multiprocessors(1);
            let [frames, modes, rows, columns] = problem.shape();
            let plan = block.map(|block| {
                let own = [frames.div_ceil(size), rows * columns];
                let codes = problem.magnitudes.codes();
                StreamPlan::new(own, block, 2, codes).with_waves(modes, recipe.gpu.waves, 2)
            });
            let version = UpdateVersion::Tiled;
            let ranks = (ranks.clone(), None);
            let engine = GpuEngine::among(device, problem, version, plan, ranks).unwrap();
            Box::new(engine.with_divided_batches())
        };
        run(&engine, problem, recipe, 2).unwrap()
    })
}

fn check_devices(
    size: [usize; 3],
    engines: &[&str],
    (shared_memory, block): (usize, Option<usize>),
    change: fn(&mut Recipe),
) {
    let (problem, recipe) = prepared(size, engines, change);
    let expected = on_devices(1, &problem, &recipe, shared_memory, None);
    let alternates = recipe
        .engines
        .iter()
        .any(|e| e.overlap_loops.is_some_and(|n| n > 1));
    let exact = recipe.gpu.step != GpuStep::Unfused && !alternates;
    // Three divide most numbers of frames unevenly; the small scans are divided in other ways too.
    let sizes: &[usize] = if problem.shape()[0] < 32 {
        &[2, 3, 4]
    } else {
        &[3]
    };
    for &size in sizes {
        let found = on_devices(size, &problem, &recipe, shared_memory, block);
        if exact {
            assert!(found == expected, "{size} devices");
            continue;
        }
        let norm: f64 = expected.object.iter().map(Complex::norm_sqr).sum();
        let pairs = found.object.iter().zip(&expected.object);
        let difference: f64 = pairs.map(|(a, b)| (a - b).norm_sqr()).sum();
        assert!((difference / norm).sqrt() < 1e-5, "{size} devices");
    }
}

/// Bytes of shared memory with which a frame of 64² or 128² is projected by one kernel.
pub(crate) const LARGE: usize = 227 * 1024;
/// Bytes with which it takes three.
pub(crate) const SMALL: usize = 48 * 1024;

#[test]
fn devices_project_in_one_kernel() {
    check_devices([64, 31, 1], &["dm:3", "raar:2"], (LARGE, None), |recipe| {
        recipe.engines[1].probe_centre_tolerance = Some(0.5);
    });
}

#[test]
fn devices_project_in_three_kernels() {
    check_devices([64, 26, 2], &["dm:2", "ap:2"], (SMALL, None), |recipe| {
        recipe.gpu.waves = GpuWaves::Bf16;
    });
}

#[test]
fn devices_project_in_blocks() {
    check_devices([64, 61, 1], &["dm:3", "raar:1"], (LARGE, Some(12)), |_| ());
}

/// Their sums are in floating point, so that the last bits depend on the division.
#[test]
fn devices_project_by_separate_kernels() {
    check_devices([24, 31, 2], &["dm:3", "raar:1"], (LARGE, None), |recipe| {
        recipe.gpu.step = GpuStep::Unfused;
    });
}

/// So have the alternations of object and probe after the first one.
#[test]
fn devices_alternate_object_and_probe() {
    check_devices([64, 31, 1], &["dm:3"], (LARGE, None), |recipe| {
        recipe.engines[0].overlap_loops = Some(3);
    });
}

/// Each device computes all frames of the steps between those that are divided.
#[test]
fn devices_do_the_same_where_they_do_not_divide() {
    let engines = ["dm:2", "lsqml:2", "raar:2", "raar:1", "dm:1", "ml:2"];
    check_devices([64, 26, 1], &engines, (LARGE, None), |recipe| {
        recipe.engines[1].subpixel = Some(true);
        recipe.engines[3].subpixel = Some(true);
        recipe.positions.refine = vec![PositionMethod::Gradient];
        recipe.positions.start = 1;
    });
}

/// Batches of 20 frames beside each other, 17 all over the scan, and all frames.
fn in_batches(recipe: &mut Recipe) {
    let sizes = [
        (20, BatchOrder::Compact),
        (17, BatchOrder::Spread),
        (100, BatchOrder::Spread),
    ];
    for (engine, (size, order)) in recipe.engines.iter_mut().zip(sizes) {
        engine.batch = Some(size);
        engine.batch_order = Some(order);
    }
}

fn in_batches_between_pixels(recipe: &mut Recipe) {
    in_batches(recipe);
    for engine in &mut recipe.engines {
        engine.subpixel = Some(true);
    }
}

const IN_BATCHES: [&str; 3] = ["lsqml:3", "rpie:2", "lsqml:2"];

#[test]
fn devices_divide_batches_in_few_launches() {
    check_devices([64, 37, 1], &IN_BATCHES, (LARGE, None), |recipe| {
        in_batches(recipe);
        recipe.engines[0].momentum = Some(0.5);
        recipe.engines[1].batch_order = Some(BatchOrder::Compact);
    });
    check_devices([64, 32, 2], &IN_BATCHES, (LARGE, None), in_batches);
}

#[test]
fn devices_divide_batches_between_pixels() {
    check_devices(
        [64, 37, 1],
        &IN_BATCHES,
        (LARGE, None),
        in_batches_between_pixels,
    );
    check_devices(
        [64, 32, 2],
        &IN_BATCHES,
        (LARGE, None),
        in_batches_between_pixels,
    );
}

#[test]
fn devices_divide_batches_in_separate_launches() {
    check_devices([24, 61, 1], &IN_BATCHES, (LARGE, None), |recipe| {
        in_batches(recipe);
        recipe.engines[0].momentum = Some(0.5);
        recipe.engines[1].update_probe = false;
    });
    check_devices(
        [24, 30, 2],
        &IN_BATCHES,
        (LARGE, None),
        in_batches_between_pixels,
    );
}

/// The state goes from one kind of step to the other on each device.
#[test]
fn devices_divide_batches_and_projections_in_turn() {
    let engines = ["lsqml:2", "dm:2", "rpie:2", "raar:1"];
    check_devices([64, 37, 1], &engines, (LARGE, None), |recipe| {
        recipe.engines[0].batch = Some(16);
        recipe.engines[2].batch = Some(25);
    });
}

/// Some batches have no frames of some devices.
#[test]
fn devices_divide_batches_of_few_frames() {
    check_devices([64, 17, 1], &["lsqml:5"], (LARGE, None), |recipe| {
        recipe.engines[0].batch = Some(16);
    });
    check_devices([24, 17, 1], &["lsqml:5"], (LARGE, None), |recipe| {
        recipe.engines[0].batch = Some(16);
    });
}

/// Equal results alone do not show this: they would be the same if each device computed all frames.
#[test]
fn devices_exchange_sums_of_batches() {
    let (problem, recipe) = prepared([24, 40, 1], &["lsqml:1"], |recipe| {
        recipe.engines[0].batch = Some(20);
    });
    let launched = |size: usize| {
        on_ranks(size, |ranks| {
            let device = EmulatedDevice::with_shared_memory(LARGE);
            let (version, ranks) = (UpdateVersion::Tiled, (ranks, None));
            let engine = GpuEngine::among(device, &problem, version, None, ranks).unwrap();
            let engine: Box<dyn Engine> = Box::new(engine.with_divided_batches());
            let mut run = Reconstructor::new(engine, &problem, &recipe);
            run.engine().start_profile().unwrap();
            run.advance().unwrap();
            let spans = run.engine().take_profile().unwrap();
            let sums = spans
                .iter()
                .filter(|span| span.name.contains("ptycho_add_sums"));
            sums.count()
        })
    };
    assert_eq!([1, 2, 4].map(launched), [0, 2, 2]);
}
