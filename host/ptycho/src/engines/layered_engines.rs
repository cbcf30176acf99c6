//! Every engine with several modes of the object and several points of each exposure: it goes on
//! with the same bits after it was saved, any ranks have the same bits, odd scans stay finite,
//! states and fly scans are found.

use super::cpu::CpuEngine;
use super::cuda::GpuEngine;
use crate::data::Propagation;
use crate::model::fly::FlyPaths;
use crate::model::object_modes::orthogonalise_objects;
use crate::quality::orthogonalise;
use crate::{
    Engine, EngineName, EngineSpec, FlyOptions, FlyPath, FlyPositions, Origin, Pattern,
    PositionMethod, PositionOptions, Problem, Ranks, Recipe, Reconstructor, SimulateOptions, Step,
    StepErrors, UpdateVersion, predict, result, simulate,
};
use ndarray::{Array3, Axis};
use num_complex::Complex;
use warpstride_cuda::gpu::EmulatedDevice;
use warpstride_ranks::threads;

/// Frames of 15 or 16 pixels with two probe modes, three object modes, and two points of each
/// exposure.
fn problem(positions: usize, object_modes: usize, points: usize) -> Problem {
    problem_of(Propagation::FarField, positions, object_modes, points)
}

fn problem_of(
    propagation: Propagation,
    positions: usize,
    object_modes: usize,
    points: usize,
) -> Problem {
    let options = SimulateOptions {
        frame: 16,
        positions,
        photons: 1e5,
        probe_modes: 2,
        object_modes: 2,
        fly_shift: [0.7, 1.3],
        position_error: 0.3,
        propagation,
        ..SimulateOptions::default()
    };
    let scan = simulate(&options).unwrap();
    let pixel = scan.object_pixel();
    let recipe = Recipe {
        free_pixels: 0.05,
        probe_modes: 2,
        object_modes,
        fly: FlyOptions {
            points,
            shift: Some([0.7 * pixel[0], 1.3 * pixel[1]]),
            ..FlyOptions::default()
        },
        fit_frame_scales: true,
        positions: PositionOptions {
            refine: vec![
                PositionMethod::Gradient,
                PositionMethod::Affine,
                PositionMethod::Annealing,
            ],
            start: 2,
            ..PositionOptions::default()
        },
        ..Recipe::default()
    };
    recipe.check().unwrap_or_else(|error| {
        // The engines are those of the tests.
        assert!(error.to_string().contains("positions.refine"), "{error}");
    });
    let mut problem = Problem::prepare(&scan, &recipe).unwrap();
    if points > 1 && object_modes > 1 {
        // A path of its own for each frame.
        let path = |n: usize| [0.7 - 0.2 * n as f64, 1.3 + 0.1 * n as f64];
        problem.fly = FlyPaths::given(points, (0..positions).map(path).collect());
    }
    problem
}

/// Object modes and points.
const SHAPES: [[usize; 2]; 3] = [[3, 1], [1, 3], [2, 2]];

fn specs() -> Vec<EngineSpec> {
    let mut specs = Vec::new();
    for name in EngineName::ALL {
        for subpixel in [true, false] {
            let mut spec = EngineSpec::new(name, 6);
            spec.subpixel = Some(subpixel);
            spec.batch = spec.batch.map(|size| size.min(3));
            specs.push(spec);
        }
    }
    specs
}

fn run(engine: &mut dyn Engine, spec: &EngineSpec, problem: &Problem, from: usize, to: usize) {
    for iteration in from..=to {
        engine.step(&Step::new(spec, problem, iteration)).unwrap();
    }
}

#[test]
fn a_restored_engine_goes_on_with_the_same_bits() {
    for [modes, points] in SHAPES {
        let problem = problem(7, modes, points);
        for spec in specs() {
            let mut whole = CpuEngine::<f32>::new(&problem);
            run(&mut whole, &spec, &problem, 1, 6);
            let mut first = CpuEngine::<f32>::new(&problem);
            run(&mut first, &spec, &problem, 1, 3);
            let mut second = CpuEngine::<f32>::new(&problem);
            second.restore(&first.save().unwrap()).unwrap();
            run(&mut second, &spec, &problem, 4, 6);
            assert_eq!(
                second.save().unwrap(),
                whole.save().unwrap(),
                "{spec:?} {modes} {points}"
            );
        }
    }
}

#[test]
fn ranks_have_the_bits_of_one() {
    for [modes, points] in SHAPES {
        let problem = problem(13, modes, points);
        for spec in specs() {
            let mut alone = CpuEngine::<f32>::new(&problem);
            run(&mut alone, &spec, &problem, 1, 3);
            let expected = alone.object_layers().unwrap();
            std::thread::scope(|scope| {
                for communicator in threads(3) {
                    let (problem, spec, expected) = (&problem, &spec, &expected);
                    scope.spawn(move || {
                        let ranks = Ranks::of(std::sync::Arc::new(communicator));
                        let mut engine = CpuEngine::<f32>::among(problem, ranks).unwrap();
                        run(&mut engine, spec, problem, 1, 3);
                        let found = engine.object_layers().unwrap();
                        assert_eq!(&found, expected, "{spec:?} {modes} {points}");
                    });
                }
            });
        }
    }
}

/// A frame without counts, a frame that is all masked, a single frame.
#[test]
fn nothing_becomes_nan() {
    for frames in [1, 6] {
        let mut problem = problem(frames, 2, 2);
        let magnitudes = problem.magnitudes.in_memory_mut().unwrap();
        for (n, mut frame) in magnitudes.outer_iter_mut().enumerate() {
            match n {
                2 => frame.mapv_inplace(|m| m.min(0.0)),
                4 => frame.fill(-1.0),
                _ => {}
            }
        }
        for spec in specs() {
            let mut engine = CpuEngine::<f32>::new(&problem);
            run(&mut engine, &spec, &problem, 1, 60);
            let object = engine.object_layers().unwrap();
            let probe = engine.probe().unwrap();
            let mut values = object.iter().chain(&probe);
            assert!(
                values.all(|v| v.re.is_finite() && v.im.is_finite()),
                "{spec:?}"
            );
            assert!(engine.metrics().unwrap().r_factor.is_finite());
        }
    }
}

/// Metrics of all iterations, then object and probe, of the emulated device against the CPU in
/// single precision.
#[test]
fn the_emulated_device_takes_the_steps_of_the_cpu() {
    let near = Propagation::NearField {
        focus_to_sample: None,
    };
    for (field, [modes, points]) in [
        (Propagation::FarField, [3, 1]),
        (Propagation::FarField, [1, 3]),
        (Propagation::FarField, [2, 2]),
        (near, [2, 2]),
    ] {
        let problem = problem_of(field, 5, modes, points);
        for mut spec in specs() {
            spec.regulariser = spec.regulariser.map(|_| 0.5);
            let case = format!("{field:?} {modes} {points} {spec:?}");
            let problem = Problem {
                exact_first: Step::new(&spec, &problem, 1).subpixel,
                ..problem.clone()
            };
            let mut cpu = CpuEngine::<f32>::new(&problem);
            let mut gpu = emulated(&problem);
            run(&mut cpu, &spec, &problem, 1, 4);
            run(&mut gpu, &spec, &problem, 1, 4);
            let each = |e: &StepErrors| {
                let start = e.start.unwrap();
                [e.fourier, e.exit.unwrap(), start.photon, start.r_factor]
            };
            let (expected, found) = (cpu.errors(true).unwrap(), gpu.errors(true).unwrap());
            for (expected, found) in expected.iter().zip(&found) {
                for (expected, found) in each(expected).into_iter().zip(each(found)) {
                    let error = (found / expected - 1.0).abs();
                    assert!(error < 3e-3, "{case}: {found} {expected}");
                }
            }
            let objects = [cpu.object_layers().unwrap(), gpu.object_layers().unwrap()];
            let norm =
                |of: &Array3<Complex<f64>>| -> f64 { of.iter().map(Complex::norm_sqr).sum() };
            let distance = (norm(&(&objects[0] - &objects[1])) / norm(&objects[0])).sqrt();
            assert!(distance < 3e-3, "{case}: {distance}");
        }
    }
}

#[test]
fn the_emulated_device_goes_on_with_the_same_bits() {
    let problem = problem(5, 2, 2);
    for spec in specs() {
        let mut whole = emulated(&problem);
        run(&mut whole, &spec, &problem, 1, 5);
        let mut first = emulated(&problem);
        run(&mut first, &spec, &problem, 1, 3);
        let mut second = emulated(&problem);
        second.restore(&first.save().unwrap()).unwrap();
        run(&mut second, &spec, &problem, 4, 5);
        assert_eq!(second.save().unwrap(), whole.save().unwrap(), "{spec:?}");
    }
}

fn emulated(problem: &Problem) -> GpuEngine<EmulatedDevice> {
    GpuEngine::new(EmulatedDevice::new(), problem, UpdateVersion::Tiled).unwrap()
}

/// A scan with the true probe and object as its start, with which R is that of the noise.
fn true_start(options: &SimulateOptions, recipe: &Recipe) -> Problem {
    let scan = simulate(options).unwrap();
    let mut problem = Problem::prepare(&scan, recipe).unwrap();
    let truth = scan.simulation().unwrap();
    problem.probe.assign(&truth.probe);
    let shares = crate::simulate::state_shares(options.object_modes);
    let states = crate::simulate::states(&truth.object, options);
    problem.object = truth.object.mapv(|v| v * shares[0].sqrt());
    for (n, state) in states.iter().enumerate() {
        let state = state.mapv(|v| v * shares[n + 1].sqrt());
        problem
            .more_layers
            .index_axis_mut(Axis(0), n)
            .assign(&state);
    }
    problem
}

/// With the true object, probe and paths, the model has the counts, and no engine moves away from
/// them.
#[test]
fn every_engine_stays_at_the_truth() {
    for (states, path) in [(2, [0.0; 2]), (1, [1.5, -2.0]), (2, [0.0, 2.0])] {
        let options = SimulateOptions {
            frame: 16,
            positions: 9,
            object_modes: states,
            fly_shift: path,
            fly_points: if path == [0.0; 2] { 0 } else { 3 },
            noise: false,
            ..SimulateOptions::default()
        };
        let pixel = simulate(&options).unwrap().object_pixel();
        let moves = path != [0.0; 2];
        let recipe = Recipe {
            object_modes: states,
            precision: crate::Precision::F64,
            fly: FlyOptions {
                points: if moves { 3 } else { 1 },
                shift: Some([path[0] * pixel[0], path[1] * pixel[1]]),
                ..FlyOptions::default()
            },
            ..Recipe::default()
        };
        let problem = true_start(&options, &recipe);
        for mut spec in specs() {
            spec.probe_from = 1;
            spec.power_bound = None;
            let mut engine = CpuEngine::<f64>::new(&problem);
            let first = engine.metrics().unwrap().r_factor;
            assert!(first < 1e-13, "{spec:?} {states} {path:?}: {first}");
            run(&mut engine, &spec, &problem, 1, 6);
            let last = engine.metrics().unwrap().r_factor;
            assert!(last < 1e-8, "{spec:?} {states} {path:?}: {last}");
        }
    }
}

/// A result predicts its scan with the R of its run, is read as it was written, and starts another
/// run where it ended.
#[test]
fn results_have_the_whole_model() {
    let options = SimulateOptions {
        frame: 16,
        positions: 12,
        pattern: Pattern::Raster,
        photons: 1e6,
        object_modes: 2,
        fly_shift: [0.0, 2.0],
        ..SimulateOptions::default()
    };
    let scan = simulate(&options).unwrap();
    let mut spec = EngineSpec::new(EngineName::Lsqml, 6);
    spec.batch = Some(4);
    let recipe = Recipe {
        object_modes: 2,
        precision: crate::Precision::F64,
        fly: FlyOptions {
            points: 3,
            path: FlyPath::Scan,
            exposure: 0.5,
            ..FlyOptions::default()
        },
        engines: vec![spec],
        ..Recipe::default()
    };
    recipe.check().unwrap();
    let problem = Problem::prepare(&scan, &recipe).unwrap();
    let engine = Box::new(CpuEngine::<f64>::new(&problem));
    let mut run = Reconstructor::new(engine, &problem, &recipe);
    while !run.finished() {
        run.advance().unwrap();
    }
    let origin = Origin {
        source: "scan.cxi".to_owned(),
        recipe: recipe.to_toml().unwrap(),
        trials: String::new(),
    };
    let found = result(&mut run, &scan, &problem, &recipe, &origin).unwrap();
    let r_factor = found.history.last().unwrap().r_factor.unwrap();
    let predicted = predict(&found, &scan).unwrap().r_factor.unwrap();
    assert!(
        (predicted / r_factor - 1.0).abs() < 1e-6,
        "{predicted} {r_factor}"
    );
    let power = &found.parts.object_modes.as_ref().unwrap().power;
    assert!(power.len() == 2 && power[0] > power[1] && power[1] > 0.0);

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("result.h5");
    crate::io::results::write(&path, &found).unwrap();
    let read = crate::io::results::read(&path).unwrap();
    assert_eq!(read.parts, found.parts);
    assert_eq!(Recipe::from_toml(&read.recipe).unwrap().fly, recipe.fly);

    let at_start = |modes: usize| {
        let recipe = Recipe {
            object_modes: modes,
            ..recipe.clone()
        };
        let mut next = Problem::prepare(&scan, &recipe).unwrap();
        next.start_from(&read, &scan, &recipe).unwrap();
        assert_eq!(next.object_layers(), modes);
        CpuEngine::<f64>::new(&next).metrics().unwrap().r_factor
    };
    assert!((at_start(2) / r_factor - 1.0).abs() < 1e-6);
    // Further modes are weak.
    assert!(at_start(3) > r_factor && at_start(1) > r_factor);
}

/// A frame whose recorded position is the start of its path is where it goes on average.
#[test]
fn recorded_positions_may_be_the_start_of_the_path() {
    let options = SimulateOptions {
        frame: 16,
        positions: 9,
        pattern: Pattern::Raster,
        ..SimulateOptions::default()
    };
    let scan = simulate(&options).unwrap();
    let pixel = scan.object_pixel();
    let at = |positions: FlyPositions| {
        let recipe = Recipe {
            fly: FlyOptions {
                points: 2,
                shift: Some([2.0 * pixel[0], -3.0 * pixel[1]]),
                positions,
                ..FlyOptions::default()
            },
            ..Recipe::default()
        };
        Problem::prepare(&scan, &recipe).unwrap().positions.origin
    };
    let [middle, start, end] =
        [FlyPositions::Middle, FlyPositions::Start, FlyPositions::End].map(at);
    for (axis, by) in [(0, 1.0), (1, -1.5)] {
        let moved = |to: [f64; 2]| (to[axis] - middle[axis]) / pixel[axis];
        // The origin is that of whole pixels.
        assert!((moved(start) - by).abs() <= 0.5 && (moved(end) + by).abs() <= 0.5);
    }
}

/// Relative distance of `found` (mode, row, column) from `truth`, whatever their mixture, after the
/// best linear mixture of the found ones, with the weight `lit`.
fn distances(
    found: &Array3<Complex<f64>>,
    truth: &Array3<Complex<f64>>,
    lit: &ndarray::Array2<f64>,
) -> Vec<f64> {
    let count = found.dim().0;
    let inner = |a: ndarray::ArrayView2<'_, Complex<f64>>,
                 b: ndarray::ArrayView2<'_, Complex<f64>>| {
        let pairs = a.iter().zip(b).zip(lit);
        pairs
            .map(|((a, b), w)| a.conj() * b * *w)
            .sum::<Complex<f64>>()
    };
    let of = |n: usize| found.index_axis(Axis(0), n);
    let gram = nalgebra::DMatrix::from_fn(count, count, |a, b| inner(of(a), of(b)));
    truth
        .outer_iter()
        .map(|state| {
            let right = nalgebra::DVector::from_fn(count, |a, _| inner(of(a), state));
            let Some(share) = gram.clone().lu().solve(&right) else {
                return f64::INFINITY;
            };
            let mut rest = state.to_owned();
            for n in 0..count {
                rest.scaled_add(-share[n], &of(n));
            }
            let norm = |v: ndarray::ArrayView2<'_, Complex<f64>>| inner(v, v).re;
            (norm(rest.view()) / norm(state)).sqrt()
        })
        .collect()
}

/// Two states of the specimen are found, and one mode does not explain the frames.
#[test]
fn two_states_are_found() {
    let options = SimulateOptions {
        frame: 32,
        positions: 60,
        object_modes: 2,
        photons: 1e8,
        overlap: 0.75,
        ..SimulateOptions::default()
    };
    let scan = simulate(&options).unwrap();
    let reconstructed = |modes: usize| {
        let recipe = Recipe {
            object_modes: modes,
            free_pixels: 0.02,
            ..Recipe::default()
        };
        let problem = Problem::prepare(&scan, &recipe).unwrap();
        let mut engine = CpuEngine::<f32>::new(&problem);
        let mut spec = EngineSpec::new(EngineName::Lsqml, 60);
        spec.batch = Some(20);
        run(&mut engine, &spec, &problem, 1, 60);
        run(
            &mut engine,
            &EngineSpec::new(EngineName::Ml, 60),
            &problem,
            61,
            120,
        );
        let metrics = engine.metrics().unwrap();
        let frames = engine.frames();
        let probe = orthogonalise(&engine.probe().unwrap()).probe;
        let mut object = engine.object_layers().unwrap();
        let (_, rows, columns) = object.dim();
        let fluence = crate::model::fluence::fluence((rows, columns), &probe, &frames);
        let power = orthogonalise_objects(&mut object, &fluence);
        (metrics.r_free.unwrap(), object, power, fluence)
    };
    let (one, ..) = reconstructed(1);
    let (two, object, power, fluence) = reconstructed(2);
    assert!(two < 0.2 * one, "{one} {two}");
    let truth = &scan.simulation().unwrap().object;
    let states = crate::simulate::states(truth, &options);
    let truth = ndarray::stack![Axis(0), truth.view(), states[0].view()];
    let most = fluence.iter().copied().fold(0.0, f64::max);
    let lit = fluence.mapv(|v| f64::from(u8::from(v > 0.2 * most)));
    let found = distances(&object, &truth, &lit);
    assert!(
        found.iter().all(|d| *d < 0.1),
        "{found:?}, powers {power:?}"
    );
}
