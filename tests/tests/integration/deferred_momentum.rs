//! Momentum that reaches a tile of the object when a batch comes to it, in the emulator: after each
//! iteration object, probe, momentum and metrics have the bits of passes over the whole object in
//! each batch, which devices make whose multiprocessors are many for so small an object; and they
//! agree with double precision on the CPU.

use crate::fused_step::{finished, metrics, relative};
use num_complex::Complex;
use warpstride::gpu::EmulatedDevice;
use warpstride::ptycho::cpu::CpuEngine;
use warpstride::ptycho::cuda::GpuEngine;
use warpstride::ptycho::{
    BatchOrder, Engine, EngineName, Pattern, Problem, Recipe, Reconstructor, SimulateOptions,
    StreamPlan, UpdateVersion, simulate,
};
use warpstride_tests::recipe;

/// Multiprocessors for which the objects here are large enough, and for which they are too small.
const FEW: u32 = 1;
const MANY: u32 = 1000;

/// The kernel that lets tiles catch up.
const KERNEL: &str = "ptycho_deferred_momentum";

struct Scan {
    frame: usize,
    positions: usize,
    overlap: f64,
    modes: usize,
    /// Whether frames are at their exact positions, which are half a pixel off.
    exact: bool,
    batch: usize,
}

/// Frames of which a block has all values in its registers.
const FUSED: Scan = Scan {
    frame: 64,
    positions: 14,
    overlap: 0.1,
    modes: 1,
    exact: false,
    batch: 2,
};

/// Frames for separate kernels.
const SEPARATE: Scan = Scan {
    frame: 24,
    positions: 90,
    overlap: 0.0,
    modes: 1,
    exact: true,
    batch: 9,
};

impl Scan {
    fn problem(&self, engines: &[&str], change: impl Fn(&mut Recipe)) -> (Problem, Recipe) {
        let mut recipe = recipe(engines).unwrap();
        recipe.free_pixels = 0.02;
        recipe.probe_modes = self.modes;
        for engine in &mut recipe.engines {
            engine.subpixel = Some(self.exact);
            engine.batch = Some(self.batch);
            if engine.name == EngineName::Lsqml {
                engine.batch_order = Some(BatchOrder::Compact);
            }
        }
        change(&mut recipe);
        let options = SimulateOptions {
            frame: self.frame,
            positions: self.positions,
            pattern: Pattern::Raster,
            overlap: self.overlap,
            photons: 1e6,
            position_error: 0.5,
            seed: 7,
            ..SimulateOptions::default()
        };
        let problem = Problem::prepare(&simulate(&options).unwrap(), &recipe).unwrap();
        let [rows, columns] = problem.positions.object_shape;
        assert!(rows * columns >= 8192 * FEW as usize, "{rows} × {columns}");
        (problem, recipe)
    }

    fn plans(&self, problem: &Problem) -> Vec<StreamPlan> {
        let codes = problem.magnitudes.codes();
        let all = [self.positions, self.frame * self.frame];
        // Blocks of one batch, and of several.
        let plan = |block, slots| StreamPlan::new(all, block, slots, codes);
        vec![plan(self.batch, 2), plan(2 * self.batch + 1, 3)]
    }
}

/// Whether tiles have caught up; the states after all iterations, and the metrics, as text, in
/// which every bit is seen.
fn bits(
    problem: &Problem,
    recipe: &Recipe,
    multiprocessors: u32,
    plan: Option<StreamPlan>,
) -> (bool, Vec<String>) {
    let device = EmulatedDevice::new().with_multiprocessors(multiprocessors);
    let engine = GpuEngine::streamed(device, problem, UpdateVersion::Tiled, plan).unwrap();
    let mut run = Reconstructor::new(Box::new(engine), problem, recipe);
    run.engine().start_profile().unwrap();
    let mut texts = Vec::new();
    while !run.finished() {
        run.advance().unwrap();
        texts.push(format!("{:?}", run.engine().save().unwrap()));
    }
    run.flush().unwrap();
    let history: Vec<_> = run.progress().history.iter().map(metrics).collect();
    texts.push(format!("{history:?}"));
    let spans = run.engine().take_profile().unwrap();
    (spans.iter().any(|span| span.name == KERNEL), texts)
}

fn check((problem, recipe): &(Problem, Recipe), plans: &[StreamPlan]) {
    let (defers, expected) = bits(problem, recipe, MANY, None);
    assert!(!defers);
    let every = [None].into_iter().chain(plans.iter().copied().map(Some));
    for plan in every {
        let (defers, found) = bits(problem, recipe, FEW, plan);
        assert!(defers);
        assert_eq!(found.len(), expected.len());
        for (iteration, (found, expected)) in found.iter().zip(&expected).enumerate() {
            assert!(found == expected, "{plan:?}, iteration {iteration}");
        }
    }
}

/// Three momenta, the last with limits of the object's modulus; another engine between them.
fn several(recipe: &mut Recipe) {
    let momenta = [0.5, 0.0, 0.9, 0.7];
    for (engine, momentum) in recipe.engines.iter_mut().zip(momenta) {
        if engine.name == EngineName::Lsqml {
            engine.momentum = Some(momentum);
        }
    }
    recipe.engines[3].clip_object = Some([0.4, 0.95]);
}

const SEVERAL: &[&str] = &["lsqml:2", "rpie:1", "lsqml:1", "lsqml:2"];

#[test]
fn separate_kernels() {
    let scan = SEPARATE;
    let problem = scan.problem(SEVERAL, several);
    check(&problem, &scan.plans(&problem.0));
}

#[test]
fn few_launches() {
    let scan = FUSED;
    let problem = scan.problem(SEVERAL, several);
    check(&problem, &scan.plans(&problem.0));
}

#[test]
fn few_launches_between_pixels_and_with_two_modes() {
    for (modes, exact) in [(1, true), (2, false)] {
        let scan = Scan {
            modes,
            exact,
            ..FUSED
        };
        let problem = scan.problem(&["lsqml:2"], |recipe| {
            recipe.engines[0].clip_object = Some([0.4, 0.95]);
        });
        check(&problem, &scan.plans(&problem.0)[1..]);
    }
}

#[test]
fn it_agrees_with_double_precision() {
    for scan in [SEPARATE, FUSED] {
        for limits in [None, Some([0.4, 0.95])] {
            let (problem, recipe) = scan.problem(&["lsqml:3"], |recipe| {
                recipe.engines[0].momentum = Some(0.6);
                recipe.engines[0].clip_object = limits;
            });
            let device = EmulatedDevice::new().with_multiprocessors(FEW);
            let engine = GpuEngine::new(device, &problem, UpdateVersion::Tiled).unwrap();
            let engines: [Box<dyn Engine>; 2] =
                [Box::new(engine), Box::new(CpuEngine::<f64>::new(&problem))];
            let [found, expected] = engines.map(|engine| -> Vec<Complex<f64>> {
                let mut run = finished(engine, &problem, &recipe);
                run.engine().object().unwrap().into_iter().collect()
            });
            let error = relative(&found, &expected);
            assert!(error < 1e-4, "{} {limits:?}: {error}", scan.frame);
        }
    }
}

/// No momentum, a regulariser, an object that stays, one batch, and batches all over the object:
/// passes over all of it, or over none.
#[test]
fn other_steps_are_not_deferred() {
    let changes: [fn(&mut Recipe); 5] = [
        |recipe| recipe.engines[0].momentum = Some(0.0),
        |recipe| recipe.engines[0].regulariser = Some(0.1),
        |recipe| recipe.engines[0].update_object = false,
        |recipe| recipe.engines[0].batch = Some(90),
        |recipe| recipe.engines[0].batch_order = Some(warpstride::ptycho::BatchOrder::Spread),
    ];
    for (n, change) in changes.into_iter().enumerate() {
        let (problem, recipe) = SEPARATE.problem(&["lsqml:1"], change);
        assert!(!bits(&problem, &recipe, FEW, None).0, "{n}");
    }
}
