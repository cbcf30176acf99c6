//! Steps never raise the objective; nothing is ever NaN; restored engines go on with the same bits.

use super::super::gradient::loss;
use crate::engines::cpu::CpuEngine;
use crate::engines::cpu::test_problem::ALL;
use crate::engines::likelihood::Noise;
use crate::{Engine, EngineName, EngineSpec, Problem, Recipe, SimulateOptions, Step, simulate};
use num_complex::Complex;

/// A scan, and its problem for a spec.
fn simulated(frames: usize, modes: usize) -> Problem {
    let options = SimulateOptions {
        frame: 32,
        positions: frames,
        probe_modes: modes,
        photons: 1e6,
        ..SimulateOptions::default()
    };
    let recipe = Recipe {
        probe_modes: modes,
        free_pixels: 0.02,
        ..Recipe::default()
    };
    Problem::prepare(&simulate(&options).unwrap(), &recipe).unwrap()
}

fn spec(noise: Noise) -> EngineSpec {
    let mut spec = EngineSpec::new(EngineName::Ml, 100);
    spec.noise = Some(noise);
    spec
}

#[test]
fn the_objective_never_rises() {
    for noise in ALL {
        for smooth in [false, true] {
            let problem = simulated(30, 2);
            let mut spec = spec(noise);
            if smooth {
                spec.smooth_gradient = Some(1.0);
                spec.smooth_gradient_decay = Some(0.9);
            }
            let mut engine = CpuEngine::<f64>::new(&problem);
            let mut last = f64::INFINITY;
            for iteration in 1..=30 {
                let step = Step::new(&spec, &problem, iteration);
                engine.step(&step).unwrap();
                let now = loss(&engine, &step, noise).unwrap();
                assert!(now <= last, "{noise:?} {iteration}: {last} {now}");
                last = now;
            }
            let errors = engine.errors(true).unwrap();
            let [first, end] = [errors[0], errors[29]].map(|e| e.start.unwrap().r_factor);
            assert!(end < 0.1 * first, "{noise:?} {first} {end}");
        }
    }
}

#[test]
fn degenerate_scans_stay_finite() {
    for noise in ALL {
        for case in 0..4 {
            let mut problem = simulated(if case == 1 { 1 } else { 4 }, 1);
            match case {
                0 => problem
                    .magnitudes
                    .in_memory_mut()
                    .unwrap()
                    .index_axis_mut(ndarray::Axis(0), 1)
                    .fill(0.0),
                2 => problem
                    .magnitudes
                    .in_memory_mut()
                    .unwrap()
                    .index_axis_mut(ndarray::Axis(0), 1)
                    .fill(-1.0),
                3 => problem.magnitudes.in_memory_mut().unwrap().fill(-1.0),
                _ => {}
            }
            let spec = spec(noise);
            let mut engine = CpuEngine::<f32>::new(&problem);
            for iteration in 1..=6 {
                engine.step(&Step::new(&spec, &problem, iteration)).unwrap();
            }
            let finite = |v: &Complex<f64>| v.re.is_finite() && v.im.is_finite();
            assert!(
                engine.object().unwrap().iter().all(finite),
                "{noise:?} {case}"
            );
            assert!(
                engine.probe().unwrap().iter().all(finite),
                "{noise:?} {case}"
            );
        }
    }
}

#[test]
fn a_restored_engine_goes_on_with_the_same_bits() {
    let problem = simulated(9, 2);
    let spec = spec(Noise::Poisson);
    let run = |engine: &mut CpuEngine<f32>, iterations: std::ops::RangeInclusive<usize>| {
        for iteration in iterations {
            engine.step(&Step::new(&spec, &problem, iteration)).unwrap();
        }
    };
    let mut whole = CpuEngine::<f32>::new(&problem);
    run(&mut whole, 1..=7);
    for end in [0, 1, 4] {
        let mut first = CpuEngine::<f32>::new(&problem);
        run(&mut first, 1..=end);
        let mut second = CpuEngine::<f32>::new(&problem);
        second.restore(&first.save().unwrap()).unwrap();
        run(&mut second, end + 1..=7);
        assert_eq!(second.save().unwrap(), whole.save().unwrap(), "{end}");
    }
}
