//! The detector's operators against their definitions, and whole runs with it.

use super::*;
use crate::engines::cpu::CpuEngine;
use crate::model::detector::blur;
use crate::{Background, BackgroundFit as Fit};
use crate::{
    Blur, DetectorOptions, Engine, EngineName, EngineSpec, Problem, Ranks, Recipe, SimulateOptions,
    simulate,
};

fn random(n: usize, seed: usize) -> Vec<f64> {
    let value = |i: usize| ((i * 7919 + seed * 104_729 + i * i * 31) % 1009) as f64 / 1009.0;
    (0..n).map(value).collect()
}

fn detector(shape: [usize; 2], sigmas: [f64; 2]) -> CpuDetector<f64> {
    let [rows, columns] = shape;
    CpuDetector::new(&Detector {
        blur: sigmas,
        background: Array2::from_shape_fn((rows, columns), |(r, c)| (r * columns + c) as f64),
        fit: BackgroundFit::Pixels,
        from: 1,
        floor: 0.01,
        has_background: true,
    })
}

/// ⟨G x, y⟩ = ⟨x, G y⟩ to 1e-12, and G is the blur of the definition, on arrays (column, row); a
/// blur wider than the frame too.
#[test]
fn the_blur_is_its_definition_and_its_own_adjoint() {
    for (shape, sigmas) in [
        ([8, 12], [0.7, 0.7]),
        ([9, 5], [0.0, 2.0]),
        ([7, 16], [3.5, 0.4]),
        ([4, 6], [30.0, 9.0]),
    ] {
        let detector = detector(shape, sigmas);
        let pixels = shape[0] * shape[1];
        let (x, y) = (random(pixels, 1), random(pixels, 2));
        let (mut gx, mut gy) = (x.clone(), y.clone());
        detector.blur(&mut gx);
        detector.blur(&mut gy);
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        assert!((dot(&gx, &y) / dot(&x, &gy) - 1.0).abs() < 1e-12);
        let mut expected = transposed(&x, shape);
        let kernels = [
            Kernel::new(sigmas[0], shape[0]),
            Kernel::new(sigmas[1], shape[1]),
        ];
        blur(&mut expected, shape, &kernels);
        for (found, expected) in transposed(&gx, shape).iter().zip(&expected) {
            assert!((found - expected).abs() < 1e-14);
        }
        // Constants stay.
        let mut one = vec![1.0; pixels];
        detector.measure(&mut one);
        for (found, row_column) in transposed(&one, shape).iter().zip(0..) {
            assert!((found - 1.0 - f64::from(row_column)).abs() < 1e-11);
        }
    }
}

/// A scan of frames of 32² with a background of 2 photons, blurred.
fn problem(background: Background, sigma: f64, modes: usize) -> Problem {
    let options = SimulateOptions {
        frame: 32,
        positions: 40,
        photons: 1e5,
        overlap: 0.75,
        blur: sigma,
        background: 2.0,
        ..SimulateOptions::default()
    };
    of_scan(&options, background, modes)
}

fn of_scan(options: &SimulateOptions, background: Background, modes: usize) -> Problem {
    let sigma = options.blur;
    let recipe = Recipe {
        probe_modes: modes,
        free_pixels: 0.05,
        detector: DetectorOptions {
            blur: Blur::Same(sigma),
            background,
            background_from: 2,
        },
        ..Recipe::default()
    };
    Problem::prepare(&simulate(options).unwrap(), &recipe).unwrap()
}

fn spec(name: EngineName) -> EngineSpec {
    let mut spec = EngineSpec::new(name, 100);
    spec.batch = spec.batch.map(|size| size.clamp(2, 10));
    spec
}

fn run(engine: &mut dyn Engine, spec: &EngineSpec, problem: &Problem, from: usize, to: usize) {
    for iteration in from..=to {
        engine
            .step(&crate::Step::new(spec, problem, iteration))
            .unwrap();
    }
}

fn background(engine: &mut dyn Engine) -> Array2<f64> {
    let parts = engine.model_parts().unwrap();
    parts.detector.unwrap().background.unwrap()
}

/// The scan is small: 2000 values of free pixels, which alone leave 3 % of noise.
#[test]
fn a_background_of_two_photons_is_found_by_engines_of_every_kind() {
    for fit in [Fit::Uniform, Fit::Pixels] {
        for (names, iterations) in [
            (vec![EngineName::Lsqml], 60),
            (vec![EngineName::Rpie], 60),
            (vec![EngineName::Lsqml, EngineName::Ml], 30),
        ] {
            let problem = problem(Background::Fit(fit), 0.7, 1);
            let mut engine = CpuEngine::<f64>::new(&problem);
            for (n, name) in names.iter().enumerate() {
                let from = n * iterations + 1;
                run(
                    &mut engine,
                    &spec(*name),
                    &problem,
                    from,
                    from + iterations - 1,
                );
            }
            let found = background(&mut engine).mean().unwrap();
            assert!(
                (found / 2.0 - 1.0).abs() < 0.1,
                "{fit:?} {names:?}: {found}"
            );
        }
    }
}

/// With the known detector every engine explains the frames, up to their noise, and without it none
/// does.
#[test]
fn every_engine_explains_the_frames_with_the_known_detector() {
    for name in EngineName::ALL {
        let error = |known: bool| {
            let options = SimulateOptions {
                frame: 32,
                positions: 30,
                photons: 1e6,
                overlap: 0.75,
                blur: 0.8,
                background: 30.0,
                noise: false,
                ..SimulateOptions::default()
            };
            let mut problem = of_scan(&options, Background::Known(30.0), 1);
            if !known {
                problem.detector = None;
            }
            let mut spec = spec(name);
            spec.subpixel = Some(false);
            let mut engine = CpuEngine::<f32>::new(&problem);
            run(&mut engine, &spec, &problem, 1, 60);
            engine.metrics().unwrap().r_factor
        };
        let (with, without) = (error(true), error(false));
        assert!(with < 0.6 * without, "{name:?}: {with} {without}");
    }
}

#[test]
fn saved_runs_and_ranks_have_the_same_bits() {
    let problem = problem(Background::Fit(Fit::Pixels), 0.7, 2);
    for name in EngineName::ALL {
        let spec = spec(name);
        let mut whole = CpuEngine::<f32>::new(&problem);
        run(&mut whole, &spec, &problem, 1, 6);
        let mut first = CpuEngine::<f32>::new(&problem);
        run(&mut first, &spec, &problem, 1, 3);
        let state = first.save().unwrap();
        assert_eq!(state.added.len(), 1);
        let mut second = CpuEngine::<f32>::new(&problem);
        second.restore(&state).unwrap();
        run(&mut second, &spec, &problem, 4, 6);
        let expected = whole.save().unwrap();
        assert_eq!(second.save().unwrap(), expected, "{name:?}");
        let results: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = (warpstride_ranks::threads(3).into_iter())
                .map(|rank| {
                    let (problem, spec) = (&problem, &spec);
                    scope.spawn(move || {
                        let ranks = Ranks::of(std::sync::Arc::new(rank));
                        let mut engine = CpuEngine::<f32>::among(problem, ranks).unwrap();
                        run(&mut engine, spec, problem, 1, 6);
                        let state = engine.save().unwrap();
                        (state.object, state.probe, state.added)
                    })
                })
                .collect();
            threads.into_iter().map(|t| t.join().unwrap()).collect()
        });
        for of_rank in results {
            let expected = &expected;
            assert_eq!(
                of_rank,
                (
                    expected.object.clone(),
                    expected.probe.clone(),
                    expected.added.clone()
                )
            );
        }
    }
}

/// A frame without counts, a masked one, dead pixels in another place in each frame, one frame, and
/// many iterations.
#[test]
fn nothing_becomes_nan_on_odd_scans() {
    for (fit, frames) in [(Fit::Uniform, 30), (Fit::Pixels, 30), (Fit::Pixels, 1)] {
        let mut problem = problem(Background::Fit(fit), 0.7, 1);
        let counts = problem.magnitudes.in_memory_mut().unwrap();
        for (n, mut frame) in counts.outer_iter_mut().enumerate() {
            for (i, m) in frame.iter_mut().enumerate() {
                let dead = (i * 31 + n * 17) % 101 == 0 || n == 4 || n >= frames;
                *m = match dead {
                    true => -1.0,
                    false if n == 2 => 0.0,
                    false => *m,
                };
            }
        }
        for name in EngineName::ALL {
            let mut engine = CpuEngine::<f32>::new(&problem);
            run(&mut engine, &spec(name), &problem, 1, 40);
            let finite = |v: &Complex<f64>| v.re.is_finite() && v.im.is_finite();
            assert!(engine.object().unwrap().iter().all(finite), "{name:?}");
            assert!(engine.probe().unwrap().iter().all(finite), "{name:?}");
            let found = background(&mut engine);
            assert!(found.iter().all(|b| b.is_finite() && *b >= 0.0), "{name:?}");
        }
    }
}
