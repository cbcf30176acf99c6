//! Exit waves that stay in host memory: with blocks of frames on the device, results have the same
//! bits as with all of them there.

use crate::streamed_counts::{FRAMES, Scan, assert_close, bits_of, ended_with};
use warpstride::gpu::EmulatedDevice;
use warpstride::ptycho::cuda::GpuEngine;
use warpstride::ptycho::{
    BatchOrder, Engine, GpuOptions, GpuWaves, Problem, Recipe, Reconstructor, StreamPlan,
    UpdateVersion,
};

/// A plan for blocks of `block` frames in `slots` slots.
fn plan(
    scan: &Scan,
    (problem, recipe): (&Problem, &Recipe),
    [block, slots]: [usize; 2],
) -> StreamPlan {
    let all = [FRAMES, scan.frame * scan.frame];
    let codes = problem.magnitudes.codes();
    StreamPlan::new(all, block, slots, codes).with_waves(scan.modes, recipe.gpu.waves, slots)
}

/// The same bits, and with atomic additions, whose order changes with the blocks, nearly so.
fn check(scan: &Scan, blocks: &[[usize; 2]], change: fn(&mut Recipe)) {
    let (problem, recipe) = scan.problem(change);
    let (tiled, atomic) = (UpdateVersion::Tiled, UpdateVersion::Atomic);
    let expected = bits_of(&problem, &recipe, tiled, None);
    for block in blocks {
        let plan = plan(scan, (&problem, &recipe), *block);
        assert!(
            plan.wave_blocks()
                .is_some_and(|[frames, _]| frames < FRAMES)
        );
        let found = bits_of(&problem, &recipe, tiled, Some(plan));
        assert!(found == expected, "{plan}");
    }
    let plan = plan(scan, (&problem, &recipe), blocks[0]);
    let found = ended_with(&problem, &recipe, atomic, Some(plan));
    assert_close(&found, &ended_with(&problem, &recipe, atomic, None));
}

fn projections(frame: usize, modes: usize, engines: &'static [&'static str]) -> Scan {
    Scan {
        frame,
        modes,
        exact: false,
        engines,
        batch: 1,
        order: BatchOrder::Compact,
    }
}

/// More frames than a probe update sums apart, so that there are several blocks.
#[test]
fn fused_projections() {
    let scan = projections(128, 1, &["dm:2", "raar:1"]);
    check(&scan, &[[12, 2], [12, 3]], |_| ());
    check(&scan, &[[12, 2]], |recipe| {
        recipe.gpu.waves = GpuWaves::Bf16;
        recipe.engines[0].update_probe = false;
    });
}

#[test]
fn projections_in_three_kernels() {
    let scan = projections(128, 2, &["dm:2", "ap:1"]);
    check(&scan, &[[5, 2], [9, 5]], |recipe| {
        recipe.engines[1].overlap_loops = Some(3);
    });
}

#[test]
fn projections_by_separate_kernels() {
    let scan = projections(96, 2, &["dm:3", "raar:2"]);
    check(&scan, &[[11, 2], [11, 4]], |recipe| {
        recipe.engines[0].overlap_loops = Some(2);
        recipe.engines[1].probe_centre_tolerance = Some(0.5);
        recipe.engines[1].update_probe = false;
    });
}

/// Fused steps, separate kernels at exact positions, and engines without exit waves, one after the
/// other; exit waves in bf16 become single precision between them. At exact positions the sums on
/// the probe are those of the frames of a block.
#[test]
fn projections_that_change_into_each_other() {
    for waves in [GpuWaves::F32, GpuWaves::Bf16] {
        let scan = projections(128, 1, &["dm:2", "raar:1", "dm:1", "lsqml:1", "ap:1"]);
        let (problem, recipe) = scan.problem(|recipe| {
            recipe.engines[1].subpixel = Some(true);
            recipe.engines[3].batch = Some(7);
        });
        let recipe = Recipe {
            gpu: GpuOptions {
                waves,
                ..recipe.gpu
            },
            ..recipe
        };
        let mut problem = problem;
        problem.gpu_waves = waves;
        let tiled = UpdateVersion::Tiled;
        let several = plan(&scan, (&problem, &recipe), [12, 2]);
        let found = ended_with(&problem, &recipe, tiled, Some(several));
        let expected = ended_with(&problem, &recipe, tiled, None);
        // The first iteration at exact positions has the same exit waves; from then on the probes
        // differ by rounding.
        assert_eq!(found.1[..2], expected.1[..2]);
        assert_eq!(found.1[2][0], expected.1[2][0]);
        for (found, expected) in found.1.iter().zip(&expected.1) {
            let (found, expected) = (found[0].unwrap_or(0.0), expected[0].unwrap_or(0.0));
            assert!(
                (found - expected).abs() < 1e-3 * expected,
                "{found} {expected}"
            );
        }
    }
}

#[test]
fn a_saved_run_goes_on_in_blocks_or_without_them() {
    for (frame, engine) in [(128, &["dm:4"]), (96, &["raar:4"])] {
        let scan = projections(frame, 1, engine);
        let (problem, recipe) = scan.problem(|_| ());
        let in_blocks = Some(plan(&scan, (&problem, &recipe), [12, 2]));
        let on_emulator = |plan| -> Box<dyn Engine> {
            let device = EmulatedDevice::new();
            Box::new(GpuEngine::streamed(device, &problem, UpdateVersion::Tiled, plan).unwrap())
        };
        let mut run = Reconstructor::new(on_emulator(in_blocks), &problem, &recipe);
        run.advance().unwrap();
        run.advance().unwrap();
        run.flush().unwrap();
        let (progress, state) = (run.progress().clone(), run.engine().save().unwrap());
        let ended = |run: &mut Reconstructor| {
            while !run.finished() {
                run.advance().unwrap();
            }
            run.engine().save().unwrap()
        };
        let expected = ended(&mut run);
        for plan in [in_blocks, None] {
            let mut again = Reconstructor::new(on_emulator(plan), &problem, &recipe);
            again.resume(progress.clone(), &state).unwrap();
            assert!(again.engine().save().unwrap() == state, "{plan:?}");
            assert!(ended(&mut again) == expected, "{plan:?}");
        }
    }
}

/// Separate kernels at whole pixels and then at exact positions, and a run that is saved there.
#[test]
fn exact_positions_after_whole_pixels_and_after_a_saved_state() {
    let scan = projections(96, 1, &["dm:2", "raar:3"]);
    let (problem, recipe) = scan.problem(|recipe| recipe.engines[1].subpixel = Some(true));
    let tiled = UpdateVersion::Tiled;
    let several = plan(&scan, (&problem, &recipe), [12, 2]);
    let found = ended_with(&problem, &recipe, tiled, Some(several));
    assert_close(&found, &ended_with(&problem, &recipe, tiled, None));
    let on_emulator = || -> Box<dyn Engine> {
        let device = EmulatedDevice::new();
        Box::new(GpuEngine::streamed(device, &problem, tiled, Some(several)).unwrap())
    };
    let mut run = Reconstructor::new(on_emulator(), &problem, &recipe);
    for _ in 0..3 {
        run.advance().unwrap();
    }
    run.flush().unwrap();
    let (progress, state) = (run.progress().clone(), run.engine().save().unwrap());
    let mut again = Reconstructor::new(on_emulator(), &problem, &recipe);
    again.resume(progress, &state).unwrap();
    for run in [&mut run, &mut again] {
        while !run.finished() {
            run.advance().unwrap();
        }
    }
    assert!(again.engine().save().unwrap() == run.engine().save().unwrap());
}

#[test]
fn projections_without_blocks_of_exit_waves_are_refused() {
    let (problem, recipe) = projections(32, 1, &["dm:1"]).problem(|_| ());
    let plan = StreamPlan::new([FRAMES, 32 * 32], 2, 2, None);
    let device = EmulatedDevice::new();
    let engine = GpuEngine::streamed(device, &problem, UpdateVersion::Tiled, Some(plan));
    let mut run = Reconstructor::new(Box::new(engine.unwrap()), &problem, &recipe);
    let error = run.advance().unwrap_err().to_string();
    assert!(error.contains("with_waves"), "{error}");
}
