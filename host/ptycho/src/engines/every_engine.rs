//! Tests that every engine must pass: free pixels are unseen, odd scans give finite numbers, a
//! saved run goes on with the same bits, and metrics change none of them.

use super::cpu::CpuEngine;
use super::cuda::GpuEngine;
use crate::quality::free_pixels::FREE;
use crate::{
    Engine, EngineName, EngineSpec, PositionMethod, PositionOptions, Problem, Recipe,
    SimulateOptions, Step, StepErrors, StepMetrics, UpdateVersion, simulate,
};
use num_complex::Complex;
use warpstride_cuda::gpu::EmulatedDevice;

/// Frames of 16 × 16 with two modes, positions and scales refined, 5 % of the pixels free.
fn problem(positions: usize) -> Problem {
    let options = SimulateOptions {
        frame: 16,
        positions,
        photons: 1e5,
        probe_modes: 2,
        position_error: 0.5,
        ..SimulateOptions::default()
    };
    let recipe = Recipe {
        free_pixels: 0.05,
        probe_modes: 2,
        fit_frame_scales: true,
        positions: PositionOptions {
            refine: vec![PositionMethod::Gradient, PositionMethod::Affine],
            start: 2,
            ..PositionOptions::default()
        },
        ..Recipe::default()
    };
    Problem::prepare(&simulate(&options).unwrap(), &recipe).unwrap()
}

/// Every engine, small batches, also at the other kind of positions.
fn specs() -> Vec<EngineSpec> {
    let mut specs = Vec::new();
    for name in EngineName::ALL {
        for subpixel in [true, false] {
            let mut spec = EngineSpec::new(name, 4);
            spec.subpixel = Some(subpixel);
            spec.batch = spec.batch.map(|size| size.min(3));
            specs.push(spec);
        }
    }
    specs
}

/// The scan with variations of the probe from the second iteration on, for engines that update
/// them.
fn varied(problem: &Problem, modes: usize) -> Problem {
    Problem {
        opr_modes: modes,
        opr_from: 2,
        ..problem.clone()
    }
}

/// Every engine, and those that update variations of the probe once more with these.
fn cases(problem: &Problem) -> Vec<(EngineSpec, Problem)> {
    let batched = |spec: &EngineSpec| spec.batch.is_some();
    let plain = specs().into_iter().map(|spec| (spec, problem.clone()));
    let more = specs().into_iter().filter(batched);
    plain
        .chain(more.map(|spec| (spec, varied(problem, 2))))
        .collect()
}

fn run(engine: &mut dyn Engine, spec: &EngineSpec, problem: &Problem, from: usize, to: usize) {
    for iteration in from..=to {
        let step = Step::new(spec, problem, iteration);
        engine.step(&step).unwrap();
    }
}

#[test]
fn updates_see_free_pixels_no_more_than_masked_ones() {
    let free = problem(7);
    let mut masked = free.clone();
    masked
        .magnitudes
        .in_memory_mut()
        .unwrap()
        .mapv_inplace(|m| m.max(-1.0));
    masked.free_counts = 0.0;
    let mut other = free.clone();
    let brighter = |m: f32| if m <= FREE { FREE - 30.0 } else { m };
    other
        .magnitudes
        .in_memory_mut()
        .unwrap()
        .mapv_inplace(brighter);
    for spec in specs() {
        let result = |problem: &Problem| {
            let mut engine = CpuEngine::<f64>::new(problem);
            run(&mut engine, &spec, problem, 1, 4);
            let frames = engine.frames();
            (engine.object().unwrap(), engine.probe().unwrap(), frames)
        };
        let expected = result(&masked);
        assert_eq!(result(&free), expected, "{spec:?}");
        assert_eq!(result(&other), expected, "{spec:?}");
    }
}

/// A frame without counts, dead pixels in another place in each frame, a frame that is all masked,
/// a single frame; a thousand iterations; a probe that lights the whole object.
#[test]
fn nothing_becomes_nan() {
    for (frames, iterations, wide_probe) in [(1, 40, false), (6, 1000, false), (6, 100, true)] {
        let mut problem = problem(frames);
        if wide_probe {
            // Light everywhere, also where no frame but one has it.
            let power = problem.probe.iter().map(|p| p.norm_sqr()).sum::<f64>();
            let even = (power / problem.probe.len() as f64).sqrt();
            problem.probe.fill(Complex::new(even, 0.0));
        }
        for (n, mut frame) in problem
            .magnitudes
            .in_memory_mut()
            .unwrap()
            .outer_iter_mut()
            .enumerate()
        {
            for (i, m) in frame.iter_mut().enumerate() {
                let dead = (i * 31 + n * 17) % 101 == 0 || n == 4;
                let dark = n == 2 && *m >= 0.0;
                *m = if dead {
                    -1.0
                } else if dark {
                    0.0
                } else {
                    *m
                };
            }
        }
        for (spec, problem) in cases(&problem) {
            let mut engine = CpuEngine::<f32>::new(&problem);
            run(&mut engine, &spec, &problem, 1, iterations);
            let parts = engine.model_parts().unwrap();
            assert_eq!(parts.variable_probe.is_some(), problem.opr_modes > 0);
            assert!(
                parts.variable_probe.is_none_or(|of| of.is_finite()),
                "{spec:?}"
            );
            let mut values = engine
                .object()
                .unwrap()
                .into_iter()
                .chain(engine.probe().unwrap());
            assert!(
                values.all(|v| v.re.is_finite() && v.im.is_finite()),
                "{spec:?}"
            );
            let of = engine.frames();
            assert!(
                of.scales.iter().all(|s| s.is_finite() && *s > 0.0),
                "{spec:?}"
            );
            assert!(of.positions.iter().flatten().all(|p| p.is_finite()));
            for errors in engine.errors(true).unwrap() {
                assert!(errors.fourier.is_finite() && errors.start.unwrap().r_factor.is_finite());
            }
        }
    }
}

/// The metrics that are asked for have the values that they have among all metrics.
#[test]
fn metrics_change_no_bit() {
    let problem = problem(7);
    let cpu = || -> Box<dyn Engine> { Box::new(CpuEngine::<f32>::new(&problem)) };
    let gpu = || -> Box<dyn Engine> {
        let device = EmulatedDevice::new();
        Box::new(GpuEngine::new(device, &problem, UpdateVersion::Tiled).unwrap())
    };
    let asked = [(false, true), (false, false), (true, true), (true, false)];
    let asked = asked.map(|(exit, start)| StepMetrics { exit, start });
    let makers: [&dyn Fn() -> Box<dyn Engine>; 2] = [&cpu, &gpu];
    for make in makers {
        for spec in specs() {
            let (mut whole, mut part) = (make(), make());
            run(whole.as_mut(), &spec, &problem, 1, asked.len());
            for (iteration, metrics) in (1..).zip(asked) {
                let step = Step {
                    metrics,
                    ..Step::new(&spec, &problem, iteration)
                };
                part.step(&step).unwrap();
            }
            assert_eq!(part.object().unwrap(), whole.object().unwrap(), "{spec:?}");
            assert_eq!(part.probe().unwrap(), whole.probe().unwrap(), "{spec:?}");
            assert_eq!(part.frames(), whole.frames(), "{spec:?}");
            let all = whole.errors(true).unwrap().into_iter().zip(asked);
            let expected: Vec<StepErrors> = all
                .map(|(all, asked)| StepErrors {
                    fourier: all.fourier,
                    exit: all.exit.filter(|_| asked.exit),
                    start: all.start.filter(|_| asked.start),
                })
                .collect();
            assert_eq!(part.errors(true).unwrap(), expected, "{spec:?}");
        }
    }
}

#[test]
fn a_saved_run_goes_on_with_the_same_bits() {
    let problem = problem(7);
    let cpu = || -> Box<dyn Engine> { Box::new(CpuEngine::<f32>::new(&problem)) };
    let gpu = || -> Box<dyn Engine> {
        let device = EmulatedDevice::new();
        Box::new(GpuEngine::new(device, &problem, UpdateVersion::Tiled).unwrap())
    };
    let makers: [&dyn Fn() -> Box<dyn Engine>; 2] = [&cpu, &gpu];
    for make in makers {
        for spec in specs() {
            let mut whole = make();
            run(whole.as_mut(), &spec, &problem, 1, 6);
            let mut first = make();
            run(first.as_mut(), &spec, &problem, 1, 4);
            let state = first.save().unwrap();
            let mut second = make();
            second.restore(&state).unwrap();
            run(second.as_mut(), &spec, &problem, 5, 6);
            assert_eq!(
                second.object().unwrap(),
                whole.object().unwrap(),
                "{spec:?}"
            );
            assert_eq!(second.probe().unwrap(), whole.probe().unwrap(), "{spec:?}");
            assert_eq!(second.frames(), whole.frames(), "{spec:?}");
        }
    }
}

/// So does one with variations of the probe, which `ml` keeps.
#[test]
fn a_saved_run_with_a_variable_probe_goes_on_with_the_same_bits() {
    let problem = varied(&problem(7), 2);
    let make = || -> Box<dyn Engine> { Box::new(CpuEngine::<f32>::new(&problem)) };
    let ml = EngineSpec::new(EngineName::Ml, 2);
    for spec in specs().iter().filter(|spec| spec.batch.is_some()) {
        let run_from = |engine: &mut dyn Engine, from: usize| {
            run(engine, spec, &problem, from, 6);
            run(engine, &ml, &problem, 7, 8);
        };
        let mut whole = make();
        run_from(whole.as_mut(), 1);
        let parts = whole.model_parts().unwrap();
        assert!(parts.variable_probe.as_ref().unwrap().power()[0] > 0.0);
        for saved in [1, 2, 4] {
            let mut first = make();
            run(first.as_mut(), spec, &problem, 1, saved);
            let state = first.save().unwrap();
            let mut second = make();
            second.restore(&state).unwrap();
            run_from(second.as_mut(), saved + 1);
            assert_eq!(
                second.object().unwrap(),
                whole.object().unwrap(),
                "{spec:?}"
            );
            assert_eq!(second.probe().unwrap(), whole.probe().unwrap(), "{spec:?}");
            assert_eq!(second.model_parts().unwrap(), parts, "{spec:?}");
        }
    }
}

/// A projection engine at exact positions has memory for batches of another size.
#[test]
fn momentum_is_saved_and_goes_on() {
    let [dm, mut lsqml] = [EngineName::Dm, EngineName::Lsqml].map(|name| {
        let mut spec = EngineSpec::new(name, 4);
        spec.subpixel = Some(true);
        spec
    });
    lsqml.batch = Some(3);
    let recipe = Recipe {
        engines: vec![dm.clone(), lsqml.clone()],
        probe_modes: 2,
        ..Recipe::default()
    };
    let options = SimulateOptions {
        frame: 16,
        positions: 7,
        photons: 1e5,
        position_error: 0.5,
        ..SimulateOptions::default()
    };
    let problem = Problem::prepare(&simulate(&options).unwrap(), &recipe).unwrap();
    let make = || GpuEngine::new(EmulatedDevice::new(), &problem, UpdateVersion::Tiled).unwrap();
    let mut whole = make();
    run(&mut whole, &dm, &problem, 1, 2);
    run(&mut whole, &lsqml, &problem, 3, 6);
    let mut first = make();
    run(&mut first, &dm, &problem, 1, 2);
    run(&mut first, &lsqml, &problem, 3, 4);
    let state = first.save().unwrap();
    let mut second = make();
    second.restore(&state).unwrap();
    // A state that is saved before a step is the same.
    let state = second.save().unwrap();
    second.restore(&state).unwrap();
    run(&mut second, &lsqml, &problem, 5, 6);
    assert_eq!(second.object().unwrap(), whole.object().unwrap());
    assert_eq!(second.probe().unwrap(), whole.probe().unwrap());
}
