use super::*;
use crate::engines::cpu::CpuEngine;
use crate::engines::cuda::GpuEngine;
use crate::{
    Engine, EngineName, EngineSpec, Problem, Recipe, SimulateOptions, Step, UpdateVersion, simulate,
};
use warpstride_cuda::gpu::EmulatedDevice;

fn refusal(assignments: &[&str]) -> String {
    let mut recipe = Recipe {
        engines: vec![EngineSpec::parse("lsqml:20").unwrap()],
        ..Recipe::default()
    };
    for assignment in assignments {
        recipe.set(assignment).unwrap();
    }
    recipe
        .check()
        .map_or_else(|e| e.to_string(), |()| "accepted".to_owned())
}

#[test]
fn options_of_annealing_are_accepted_only_with_it() {
    let anneal = "positions.refine=[\"annealing\"]";
    assert_eq!(
        refusal(&[anneal, "positions.trials=12", "positions.amplitude=0.5"]),
        "accepted"
    );
    for (assignments, expected) in [
        (
            vec!["positions.trials=12"],
            "positions.trials: expected the default unless positions.refine has annealing, which uses it, found 12",
        ),
        (
            vec!["positions.refine=[\"gradient\"]", "positions.amplitude=0.5"],
            "positions.amplitude: expected the default unless positions.refine has annealing, which uses it, found 0.5",
        ),
        (
            vec!["positions.trials_start=40"],
            "positions.trials_start: expected the default unless positions.refine has annealing, which uses it, found 40",
        ),
        (
            vec![anneal, "positions.trials=0"],
            "positions.trials: expected 4 to 1000, found 0",
        ),
        (
            vec![anneal, "positions.amplitude=0"],
            "positions.amplitude: expected more than 0, at most 100 (object pixels), found 0",
        ),
        (
            vec!["positions.refine=[\"gradient\", \"gradient\"]"],
            "positions.refine: expected each method at most once, found gradient, gradient",
        ),
        (
            vec!["positions.stop=3"],
            "positions.stop: expected 0, or at least positions.start, found 3",
        ),
    ] {
        assert_eq!(refusal(&assignments), expected);
    }
}

/// At whole pixels, projections ignore the scales that an engine before them has fitted.
#[test]
fn fitted_scales_are_refused_where_a_later_projection_ignores_them() {
    let check = |engines: &[&str], subpixel| {
        let mut recipe = Recipe {
            engines: engines
                .iter()
                .map(|e| EngineSpec::parse(e).unwrap())
                .collect(),
            fit_frame_scales: true,
            ..Recipe::default()
        };
        if subpixel {
            recipe.set("dm.subpixel=true").unwrap();
        }
        recipe.check().map_err(|e| e.to_string())
    };
    check(&["dm:5", "ml:5"], false).unwrap();
    check(&["lsqml:5", "dm:5"], true).unwrap();
    let error = check(&["lsqml:5", "dm:5"], false).unwrap_err();
    assert!(
        error.contains("fit_frame_scales: expected projection engines")
            && error.contains("dm later"),
        "{error}"
    );
}

#[test]
fn the_amplitude_falls_to_zero_after_the_last_iteration_or_by_a_fixed_factor() {
    let options = PositionOptions {
        start: 5,
        stop: 8,
        amplitude: 2.0,
        ..PositionOptions::default()
    };
    let found = [5, 6, 7, 8].map(|n| options.amplitude_at(n));
    assert_eq!(found, [2.0, 1.5, 1.0, 0.5]);
    let endless = PositionOptions { stop: 0, ..options };
    assert_eq!(endless.amplitude_at(5), 2.0);
    assert!((endless.amplitude_at(15) - 2.0 * DECAY.powi(10)).abs() < 1e-12);
}

#[test]
fn methods_move_frames_in_their_order_and_the_map_acts_last() {
    let stages = |refine: &[PositionMethod], scales| -> Vec<String> {
        let options = PositionOptions {
            refine: refine.to_vec(),
            start: 1,
            ..PositionOptions::default()
        };
        let how = options.at(1, scales).unwrap();
        let name = |stage: &Stage| match stage {
            Stage::Equations(positions) => format!("{positions:?}"),
            Stage::Trials(trials) => format!("{} trials", trials.count),
            Stage::DrawIn => "draw in".to_owned(),
        };
        how.stages(0, 1).iter().map(name).collect()
    };
    use PositionMethod::{Affine, Annealing, Gradient};
    assert_eq!(stages(&[Affine], true), ["[true, true]"]);
    assert_eq!(stages(&[], true), ["[false, false]"]);
    assert_eq!(stages(&[Annealing], true), ["[false, false]", "8 trials"]);
    assert_eq!(
        stages(&[Affine, Gradient], false),
        stages(&[Gradient, Affine], false)
    );
    assert_eq!(
        stages(&[Annealing, Affine, Gradient], false),
        ["8 trials", "[true, false]", "draw in"]
    );
    assert_eq!(stages(&[Annealing, Affine], false), ["8 trials", "draw in"]);
}

/// With gradient, trials begin where they are asked for, and must be convincing.
#[test]
fn trials_begin_at_their_own_iteration_with_the_whole_amplitude() {
    let trials = |refine: &[PositionMethod], iteration| {
        let options = PositionOptions {
            refine: refine.to_vec(),
            start: 5,
            trials_start: 20,
            amplitude: 4.0,
            ..PositionOptions::default()
        };
        let how = options.at(iteration, false).unwrap();
        let stages = how.stages(0, iteration);
        let trials = stages.into_iter().find_map(|stage| match stage {
            Stage::Trials(trials) => Some((trials.amplitude, trials.part)),
            _ => None,
        });
        (how.stages(0, iteration).len(), trials)
    };
    use PositionMethod::{Annealing, Gradient};
    assert_eq!(trials(&[Annealing, Gradient], 19), (1, None));
    assert_eq!(trials(&[Annealing, Gradient], 20), (2, Some((4.0, 0.9))));
    assert_eq!(trials(&[Annealing], 20), (1, Some((4.0, 1.0))));
}

/// Both back ends take the same trials, and a saved run resumes with the same bits, as random
/// numbers depend on the seed, the frame, the iteration and the trial only.
#[test]
fn back_ends_take_the_same_trials_and_resumed_runs_the_same_bits() {
    let scan = simulate(&SimulateOptions {
        frame: 16,
        positions: 6,
        position_error: 0.7,
        ..SimulateOptions::default()
    })
    .unwrap();
    let recipe = Recipe {
        positions: PositionOptions {
            refine: vec![PositionMethod::Annealing, PositionMethod::Affine],
            start: 1,
            bound: 2.0,
            trials: 5,
            ..PositionOptions::default()
        },
        engines: vec![EngineSpec::new(EngineName::Lsqml, 6)],
        ..Recipe::default()
    };
    let problem = Problem::prepare(&scan, &recipe).unwrap();
    let gpu = || -> Box<dyn Engine> {
        let version = UpdateVersion::Tiled;
        Box::new(GpuEngine::new(EmulatedDevice::new(), &problem, version).unwrap())
    };
    let cpu = || -> Box<dyn Engine> { Box::new(CpuEngine::<f32>::new(&problem)) };
    let advance = |engine: &mut dyn Engine, iterations: std::ops::RangeInclusive<usize>| {
        for iteration in iterations {
            let step = Step::new(&recipe.engines[0], &problem, iteration);
            engine.step(&step).unwrap();
        }
        engine.frames().positions
    };
    let mut ends = Vec::new();
    for new in [&cpu as &dyn Fn() -> Box<dyn Engine>, &gpu] {
        let whole = advance(&mut *new(), 1..=6);
        let mut first = new();
        advance(&mut *first, 1..=3);
        let mut second = new();
        second.restore(&first.save().unwrap()).unwrap();
        assert_eq!(advance(&mut *second, 4..=6), whole);
        ends.push(whole);
    }
    assert_ne!(ends[0], cpu().frames().positions);
    for (a, b) in ends[0].iter().zip(&ends[1]) {
        assert!(
            (a[0] - b[0]).abs() < 1e-4 && (a[1] - b[1]).abs() < 1e-4,
            "{a:?} {b:?}"
        );
    }
}
