//! The detector together with several object modes and with a variable probe: both parts explain
//! the frames better than either alone, runs resume with the same bits, and nothing becomes NaN in
//! many iterations past convergence. Derivatives and adjoints of these models are those of
//! `likelihood/tests`.

use super::CpuEngine;
use crate::{
    Background, BackgroundFit, Blur, DetectorOptions, Engine, EngineName, EngineSpec, Problem,
    Recipe, SimulateOptions, Step, simulate,
};
use num_complex::Complex;

/// Blur of the detector, pixels.
const BLUR: f64 = 0.8;

/// Part of the model beside the detector.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Part {
    ObjectModes,
    VariableProbe,
}

/// Frames that are blurred, of two states of the specimen or of a beam that drifts.
fn options(part: Part) -> SimulateOptions {
    let (object_modes, probe_drift) = match part {
        Part::ObjectModes => (2, 0.0),
        Part::VariableProbe => (1, 0.05),
    };
    SimulateOptions {
        frame: 32,
        positions: 40,
        overlap: 0.75,
        photons: 1e6,
        noise: false,
        blur: BLUR,
        object_modes,
        probe_drift,
        ..SimulateOptions::default()
    }
}

/// The recipe with the part, with the blur, or both.
fn recipe(part: Part, [has_part, blurs]: [bool; 2]) -> Recipe {
    let mut recipe = Recipe::default();
    if has_part {
        match part {
            Part::ObjectModes => recipe.object_modes = 2,
            Part::VariableProbe => recipe.opr_modes = 4,
        }
    }
    if blurs {
        recipe.detector.blur = Blur::Same(BLUR);
    }
    recipe
}

fn spec(name: EngineName, batch: usize) -> EngineSpec {
    let mut spec = EngineSpec::new(name, 100);
    spec.batch = spec.batch.map(|_| batch);
    spec
}

fn run(engine: &mut dyn Engine, spec: &EngineSpec, problem: &Problem, from: usize, to: usize) {
    for iteration in from..=to {
        engine.step(&Step::new(spec, problem, iteration)).unwrap();
        engine.errors(false).unwrap();
    }
}

#[test]
fn both_parts_explain_the_frames_better_than_either_alone() {
    for part in [Part::ObjectModes, Part::VariableProbe] {
        let scan = simulate(&options(part)).unwrap();
        let r_factor = |parts: [bool; 2]| {
            let problem = Problem::prepare(&scan, &recipe(part, parts)).unwrap();
            let mut engine = CpuEngine::<f32>::new(&problem);
            run(&mut engine, &spec(EngineName::Lsqml, 10), &problem, 1, 30);
            run(&mut engine, &spec(EngineName::Ml, 10), &problem, 31, 60);
            engine.metrics().unwrap().r_factor
        };
        let both = r_factor([true; 2]);
        for alone in [[true, false], [false, true]] {
            let one = r_factor(alone);
            assert!(both < 0.8 * one, "{part:?} {alone:?}: {both} {one}");
        }
    }
}

#[test]
fn runs_with_both_parts_resume_with_the_same_bits() {
    for part in [Part::ObjectModes, Part::VariableProbe] {
        let small = SimulateOptions {
            frame: 16,
            positions: 12,
            ..options(part)
        };
        let mut recipe = recipe(part, [true; 2]);
        recipe.opr_from = 2;
        let problem = Problem::prepare(&simulate(&small).unwrap(), &recipe).unwrap();
        for name in [EngineName::Lsqml, EngineName::Rpie, EngineName::Ml] {
            let spec = spec(name, 4);
            let mut whole = CpuEngine::<f32>::new(&problem);
            run(&mut whole, &spec, &problem, 1, 6);
            let mut first = CpuEngine::<f32>::new(&problem);
            run(&mut first, &spec, &problem, 1, 3);
            let mut second = CpuEngine::<f32>::new(&problem);
            second.restore(&first.save().unwrap()).unwrap();
            run(&mut second, &spec, &problem, 4, 6);
            let expected = whole.save().unwrap();
            assert_eq!(second.save().unwrap(), expected, "{part:?} {name:?}");
        }
    }
}

/// 10³ iterations on frames of 8² without noise, which converge in far fewer, and some with noise.
#[test]
fn a_thousand_iterations_stay_finite() {
    for (noise, iterations) in [(false, 1000), (true, 300)] {
        let small = SimulateOptions {
            frame: 8,
            positions: 12,
            photons: 1e5,
            overlap: 0.75,
            noise,
            blur: 0.7,
            background: 2.0,
            ..SimulateOptions::default()
        };
        let recipe = Recipe {
            free_pixels: 0.05,
            detector: DetectorOptions {
                blur: Blur::Same(0.7),
                background: Background::Fit(BackgroundFit::Uniform),
                ..DetectorOptions::default()
            },
            ..Recipe::default()
        };
        let problem = Problem::prepare(&simulate(&small).unwrap(), &recipe).unwrap();
        for name in EngineName::ALL {
            let mut engine = CpuEngine::<f32>::new(&problem);
            run(&mut engine, &spec(name, 4), &problem, 1, iterations);
            let finite = |v: &Complex<f64>| v.re.is_finite() && v.im.is_finite();
            assert!(engine.object().unwrap().iter().all(finite), "{name:?}");
            assert!(engine.probe().unwrap().iter().all(finite), "{name:?}");
            let metrics = engine.metrics().unwrap();
            let all = [metrics.r_factor, metrics.photon];
            assert!(all.iter().all(|v| v.is_finite()), "{name:?}: {all:?}");
            let detector = engine.model_parts().unwrap().detector.unwrap();
            let found = detector.background.unwrap();
            assert!(found.iter().all(|b| b.is_finite() && *b >= 0.0), "{name:?}");
        }
    }
}
