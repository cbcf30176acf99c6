//! Counts that stay in host memory: with blocks of frames on the device, results have the same bits
//! as with all counts there.

use crate::fused_step::{finished, metrics, relative};
use num_complex::Complex;
use warpstride::gpu::EmulatedDevice;
use warpstride::ptycho::cuda::GpuEngine;
use warpstride::ptycho::{
    BatchOrder, Engine, EngineName, Noise, PositionMethod, Problem, Recipe, SimulateOptions,
    StreamPlan, UpdateVersion, simulate,
};
use warpstride_tests::recipe;

/// Frames of the scans: 5 × 5.
pub(crate) const FRAMES: usize = 25;

pub(crate) struct Scan {
    pub(crate) frame: usize,
    pub(crate) modes: usize,
    /// Whether frames are at their exact positions, which are half a pixel off.
    pub(crate) exact: bool,
    pub(crate) engines: &'static [&'static str],
    pub(crate) batch: usize,
    pub(crate) order: BatchOrder,
}

impl Scan {
    pub(crate) fn problem(&self, change: fn(&mut Recipe)) -> (Problem, Recipe) {
        let mut recipe = recipe(self.engines).unwrap();
        recipe.free_pixels = 0.02;
        recipe.probe_modes = self.modes;
        for engine in &mut recipe.engines {
            engine.subpixel = Some(self.exact);
            if engine.name != EngineName::Ml {
                engine.batch = Some(self.batch);
                engine.batch_order = Some(self.order);
            }
        }
        change(&mut recipe);
        let options = SimulateOptions {
            frame: self.frame,
            positions: FRAMES,
            photons: 1e6,
            position_error: 0.5,
            seed: 5,
            ..SimulateOptions::default()
        };
        let problem = Problem::prepare(&simulate(&options).unwrap(), &recipe).unwrap();
        (problem, recipe)
    }
}

/// Object, probe, frames and metrics, as text, in which every bit is seen.
fn bits(problem: &Problem, recipe: &Recipe, plan: Option<StreamPlan>) -> String {
    bits_of(problem, recipe, UpdateVersion::Tiled, plan)
}

pub(crate) fn bits_of(
    problem: &Problem,
    recipe: &Recipe,
    version: UpdateVersion,
    plan: Option<StreamPlan>,
) -> String {
    let device = EmulatedDevice::new();
    let engine = GpuEngine::streamed(device, problem, version, plan).unwrap();
    assert_eq!(engine.streaming(), plan);
    let mut run = finished(Box::new(engine), problem, recipe);
    let history: Vec<_> = run.progress().history.iter().map(metrics).collect();
    let engine = run.engine();
    let object: Vec<Complex<f64>> = engine.object().unwrap().into_iter().collect();
    let probe: Vec<Complex<f64>> = engine.probe().unwrap().into_iter().collect();
    let frames = engine.frames();
    format!(
        "{history:?} {object:?} {probe:?} {:?} {:?}",
        frames.corners, frames.scales
    )
}

/// The object, and the metrics of all iterations.
pub(crate) type Ended = (Vec<Complex<f64>>, Vec<[Option<f64>; 5]>);

fn ended(problem: &Problem, recipe: &Recipe, plan: Option<StreamPlan>) -> Ended {
    ended_with(problem, recipe, UpdateVersion::Tiled, plan)
}

pub(crate) fn ended_with(
    problem: &Problem,
    recipe: &Recipe,
    version: UpdateVersion,
    plan: Option<StreamPlan>,
) -> Ended {
    let device = EmulatedDevice::new();
    let engine = GpuEngine::streamed(device, problem, version, plan).unwrap();
    let mut run = finished(Box::new(engine), problem, recipe);
    let history = run.progress().history.iter().map(metrics).collect();
    let object = run.engine().object().unwrap().into_iter().collect();
    (object, history)
}

pub(crate) fn assert_close(found: &Ended, expected: &Ended) {
    let error = relative(&found.0, &expected.0);
    assert!(error < 1e-4, "{error}");
    assert_eq!(found.1.len(), expected.1.len());
    for (found, expected) in found.1.iter().flatten().zip(expected.1.iter().flatten()) {
        assert_eq!(found.is_some(), expected.is_some());
        let (found, expected) = (found.unwrap_or(1.0), expected.unwrap_or(1.0));
        assert!((found / expected - 1.0).abs() < 1e-3, "{found} {expected}");
    }
}

/// Blocks of `block` frames in `slots` slots, with counts in 16 bits and in 32.
fn check(scan: &Scan, blocks: &[[usize; 2]], change: fn(&mut Recipe)) {
    let (problem, recipe) = scan.problem(change);
    let expected = bits(&problem, &recipe, None);
    let codes = problem.magnitudes.codes();
    assert!(codes.is_some());
    let all = [FRAMES, scan.frame * scan.frame];
    for [block, slots] in blocks {
        for codes in [codes, None] {
            let plan = StreamPlan::new(all, *block, *slots, codes);
            let found = bits(&problem, &recipe, Some(plan));
            assert!(found == expected, "{plan}");
        }
    }
}

#[test]
fn separate_kernels() {
    let scan = Scan {
        frame: 20,
        modes: 2,
        exact: true,
        engines: &["lsqml:2", "rpie:1"],
        batch: 4,
        order: BatchOrder::Compact,
    };
    check(&scan, &[[4, 2], [9, 3], [25, 2]], |_| ());
}

#[test]
fn few_launches() {
    for (modes, exact, order) in [
        (1, false, BatchOrder::Spread),
        (1, true, BatchOrder::Compact),
        (2, true, BatchOrder::Spread),
    ] {
        let scan = Scan {
            frame: 64,
            modes,
            exact,
            engines: &["lsqml:2", "rpie:1"],
            batch: 5,
            order,
        };
        check(&scan, &[[5, 2], [11, 4]], |_| ());
    }
}

#[test]
fn a_pass_in_one_launch_becomes_one_a_block() {
    for (frame, exact) in [(64, false), (128, true)] {
        let scan = Scan {
            frame,
            modes: 1,
            exact,
            engines: &["epie:1"],
            batch: 1,
            order: BatchOrder::Spread,
        };
        check(&scan, &[[7, 2]], |_| ());
        check(&scan, &[[9, 3]], |recipe| {
            recipe.engines[0].clip_object = Some([0.5, 0.9]);
        });
    }
}

#[test]
fn refined_positions_scales_and_a_regulariser() {
    let scan = Scan {
        frame: 32,
        modes: 1,
        exact: true,
        engines: &["lsqml:3"],
        batch: 6,
        order: BatchOrder::Compact,
    };
    check(&scan, &[[6, 2], [13, 2]], |recipe| {
        recipe.positions.refine = vec![PositionMethod::Gradient, PositionMethod::Annealing];
        recipe.positions.start = 1;
        recipe.fit_frame_scales = true;
        recipe.engines[0].regulariser = Some(0.1);
    });
}

#[test]
fn conjugate_gradients_by_separate_kernels() {
    for (modes, exact, noise) in [(1, true, Noise::Gaussian), (2, false, Noise::Poisson)] {
        let scan = Scan {
            frame: 20,
            modes,
            exact,
            engines: &["ml:5"],
            batch: 1,
            order: BatchOrder::Compact,
        };
        let change: fn(&mut Recipe) = match noise {
            Noise::Gaussian => |recipe| recipe.engines[0].noise = Some(Noise::Gaussian),
            _ => |recipe| recipe.engines[0].noise = Some(Noise::Poisson),
        };
        // A block has at least as many frames as there is memory for together, here all.
        check(&scan, &[[25, 2]], change);
        // Smaller ones regroup the sums.
        let (problem, recipe) = scan.problem(change);
        let expected = ended(&problem, &recipe, None);
        for [block, slots] in [[9, 2], [4, 3]] {
            let plan = StreamPlan::new([FRAMES, 20 * 20], block, slots, None);
            assert_close(&ended(&problem, &recipe, Some(plan)), &expected);
        }
    }
}

/// With all counts there are launches for all frames, whose results differ by rounding.
#[test]
fn conjugate_gradients_of_frames_that_a_block_holds() {
    let scan = Scan {
        frame: 64,
        modes: 1,
        exact: true,
        engines: &["ml:3"],
        batch: 1,
        order: BatchOrder::Compact,
    };
    let (problem, recipe) = scan.problem(|_| ());
    let codes = problem.magnitudes.codes();
    let blocks = StreamPlan::new([FRAMES, 64 * 64], 10, 2, codes);
    let found = ended(&problem, &recipe, Some(blocks));
    assert_close(&found, &ended(&problem, &recipe, None));
}
