//! Frames between pixels: an object that is a known function of the position, and a probe of few
//! frequencies, so that the frames are exact at any position.

use super::*;
use crate::data::{PixelPositions, Propagation, Scan};
use crate::engines::cpu::CpuEngine;
use crate::engines::cuda::GpuEngine;
use crate::{
    Engine, EngineName, EngineSpec, PositionMethod, PositionOptions, Problem, Recipe, Step,
    UpdateVersion,
};
use ndarray::Array3;
use warpstride_cuda::gpu::EmulatedDevice;

const SHAPE: [usize; 2] = [16, 18];

/// The object at a row and a column, a function of low frequencies with the period of a frame.
fn object(row: f64, column: f64) -> Complex<f64> {
    let wave = |size: f64, [u, v]: [f64; 2], turn: f64| {
        let turns = u * row / SHAPE[0] as f64 + v * column / SHAPE[1] as f64 + turn;
        Complex::cis(TAU * turns) * size
    };
    wave(1.0, [0.0, 0.0], 0.0)
        + wave(0.3, [1.0, 0.0], 0.1)
        + wave(0.25, [0.0, -2.0], 0.3)
        + wave(0.2, [2.0, 1.0], 0.7)
        + wave(0.2, [-1.0, 2.0], 0.45)
}

/// Two modes of frequencies up to 3 (mode, row, column).
fn probe() -> Array3<Complex<f64>> {
    let [rows, columns] = SHAPE;
    let mut probe = Array3::zeros((2, rows, columns));
    for (mode, mut layer) in probe.outer_iter_mut().enumerate() {
        for u in -3_i32..=3 {
            for v in -3_i32..=3 {
                let n = f64::from(7 * u + 5 * v + 3) * (1.0 + mode as f64);
                let size = 30.0 * n.sin() / (1.0 + f64::from(u * u + v * v));
                for ((row, column), value) in layer.indexed_iter_mut() {
                    let turns = f64::from(u) * row as f64 / rows as f64
                        + f64::from(v) * column as f64 / columns as f64;
                    *value += Complex::cis(TAU * turns + 1.3 * n) * size;
                }
            }
        }
    }
    probe
}

/// Positions in pixels, whose fractions are all different.
fn positions(count: usize) -> Vec<[f64; 2]> {
    (0..count)
        .map(|n| {
            let fraction = |by: f64| (n as f64 * by).fract() - 0.5;
            let [row, column] = [n / 4, n % 4].map(|k| 2.0 * k as f64);
            [row + fraction(0.618), column + fraction(0.414)]
        })
        .collect()
}

/// The problem of frames at `positions`, with the true object and probe.
fn problem(positions: &[[f64; 2]], options: PositionOptions) -> Problem {
    let recipe = Recipe {
        probe_modes: 2,
        positions: options,
        ..Recipe::default()
    };
    let geometry = Geometry {
        wavelength: 1e-10,
        distance: 0.05,
        pixel_size: [1e-6; 2],
        propagation: Propagation::NearField {
            focus_to_sample: None,
        },
    };
    let metres = Array2::from_shape_fn((positions.len(), 2), |(n, axis)| 1e-6 * positions[n][axis]);
    let windows = PixelPositions::new(&metres, [1e-6; 2], SHAPE, recipe.margin()).unwrap();
    let [rows, columns] = SHAPE;
    let near = NearField::of(&geometry).unwrap();
    let mut propagator = Propagator::new(SHAPE, Some(&near));
    let mut frames = Array3::<f32>::zeros((positions.len(), rows, columns));
    let probe = probe();
    let pairs = windows.corners.iter().zip(&windows.fractions);
    for (mut frame, (corner, fraction)) in frames.outer_iter_mut().zip(pairs) {
        let [top, left] = [0, 1].map(|axis| f64::from(corner[axis]) + fraction[axis]);
        let mut intensity = Array2::<f64>::zeros(SHAPE);
        for mode in probe.outer_iter() {
            let mut wave = mode.to_owned();
            for ((row, column), value) in wave.indexed_iter_mut() {
                *value *= object(top + row as f64, left + column as f64);
            }
            propagator.propagate_to_detector(wave.as_slice_mut().unwrap(), [0.0; 2]);
            intensity.zip_mut_with(&wave, |sum, f| *sum += f.norm_sqr());
        }
        let placed = roll(&intensity, rows / 2, columns / 2);
        frame.zip_mut_with(&placed, |to, from| *to = *from as f32);
    }
    let start = Some(probe.clone());
    let scan = Scan::new(frames, None, metres, geometry, start).unwrap();
    let mut problem = Problem::prepare(&scan, &recipe).unwrap();
    assert_eq!(problem.positions.corners, windows.corners);
    let of_grid = |(row, column)| object(row as f64, column as f64);
    problem.object = Array2::from_shape_fn(problem.object.dim(), of_grid);
    problem.probe = probe;
    // As if the recipe began with an engine at exact positions.
    problem.exact_first = true;
    problem
}

/// Iterations that change neither object nor probe, at exact positions.
fn keep(engine: &mut dyn Engine, problem: &Problem, iterations: usize) {
    let spec = EngineSpec {
        update_object: false,
        update_probe: false,
        subpixel: Some(true),
        ..EngineSpec::new(EngineName::Lsqml, iterations)
    };
    for iteration in 1..=iterations {
        engine.step(&Step::new(&spec, problem, iteration)).unwrap();
    }
}

fn emulated(problem: &Problem) -> GpuEngine<EmulatedDevice> {
    GpuEngine::new(EmulatedDevice::new(), problem, UpdateVersion::Tiled).unwrap()
}

/// R of both kinds of CPU engine and of the emulated device.
fn r_factors(problem: &Problem) -> [f64; 3] {
    let mut wide = CpuEngine::<f64>::new(problem);
    let mut narrow = CpuEngine::<f32>::new(problem);
    let mut gpu = emulated(problem);
    let engines: [&mut dyn Engine; 3] = [&mut wide, &mut narrow, &mut gpu];
    engines.map(|engine| {
        keep(engine, problem, 1);
        engine.metrics().unwrap().r_factor
    })
}

#[test]
fn the_true_object_and_probe_explain_frames_between_pixels() {
    let problem = problem(&positions(7), PositionOptions::default());
    assert!(
        problem
            .positions
            .fractions
            .iter()
            .flatten()
            .any(|f| f.abs() > 0.3)
    );
    let [wide, narrow, gpu] = r_factors(&problem);
    assert!(wide < 1e-10, "{wide}");
    assert!(narrow < 1e-9 && gpu < 1e-9, "{narrow} {gpu}");
}

/// On both sides of half a pixel, where the window moves on by a whole one.
#[test]
fn the_model_is_continuous_at_half_a_pixel() {
    for beyond in [-1e-6, 1e-6] {
        let all: Vec<[f64; 2]> = (0..4)
            .map(|n| {
                [
                    2.0 * f64::from(n) + if n > 0 { 0.5 + beyond } else { 0.0 },
                    0.5 - beyond,
                ]
            })
            .chain([[0.0, 0.0]])
            .collect();
        let problem = problem(&all, PositionOptions::default());
        let at = problem.positions.fractions[2][0];
        assert!((at.abs() - 0.5).abs() < 1e-5, "{at}");
        let [wide, narrow, gpu] = r_factors(&problem);
        assert!(wide < 1e-10, "{wide}");
        assert!(narrow < 1e-9 && gpu < 1e-9, "{narrow} {gpu}");
    }
}

/// Every engine keeps the true object and probe, which no update of it can improve.
#[test]
fn every_engine_stays_at_the_true_object() {
    let problem = problem(&positions(8), PositionOptions::default());
    for name in EngineName::ALL {
        let mut spec = EngineSpec::new(name, 10);
        spec.subpixel = Some(true);
        spec.batch = spec.batch.map(|size| size.min(3));
        let mut wide = CpuEngine::<f64>::new(&problem);
        let mut gpu = emulated(&problem);
        let engines: [&mut dyn Engine; 2] = [&mut wide, &mut gpu];
        let found = engines.map(|engine| {
            for iteration in 1..=4 {
                engine.step(&Step::new(&spec, &problem, iteration)).unwrap();
            }
            engine.metrics().unwrap().r_factor
        });
        assert!(found[0] < 1e-8 && found[1] < 1e-6, "{name:?}: {found:?}");
    }
}

fn options(method: PositionMethod, iterations: usize) -> PositionOptions {
    PositionOptions {
        refine: vec![method],
        start: 1,
        stop: iterations,
        bound: 2.0,
        ..PositionOptions::default()
    }
}

/// Moves the start positions by up to `by` pixels on both axes, without a common shift; the true
/// positions.
fn displace(problem: &mut Problem, by: f64) -> Vec<[f64; 2]> {
    let positions = &mut problem.positions;
    let pairs = positions.corners.iter().zip(&positions.fractions);
    let exact: Vec<[f64; 2]> = pairs
        .map(|(corner, fraction)| [0, 1].map(|axis| f64::from(corner[axis]) + fraction[axis]))
        .collect();
    let shift = |n: usize, axis: usize| by * (2.6 * n as f64 + 1.9 * axis as f64).sin();
    let count = exact.len();
    let mean = [0, 1].map(|axis| (0..count).map(|n| shift(n, axis)).sum::<f64>() / count as f64);
    let moved = exact.iter().enumerate();
    let moved: Vec<[f64; 2]> = moved
        .map(|(n, p)| [0, 1].map(|axis| p[axis] + shift(n, axis) - mean[axis]))
        .collect();
    positions.corners = moved.iter().map(|p| p.map(|v| v.round() as u32)).collect();
    positions.fractions = moved.iter().map(|p| p.map(|v| v - v.round())).collect();
    exact
}

/// Root of the mean square distance, pixels.
fn rms(a: &[[f64; 2]], b: &[[f64; 2]]) -> f64 {
    let square = |(a, b): (&[f64; 2], &[f64; 2])| (a[0] - b[0]).powi(2) + (a[1] - b[1]).powi(2);
    (a.iter().zip(b).map(square).sum::<f64>() / a.len() as f64).sqrt()
}

#[test]
fn the_gradient_finds_the_positions() {
    let mut problem = problem(&positions(8), options(PositionMethod::Gradient, 20));
    let exact = displace(&mut problem, 0.6);
    let mut wide = CpuEngine::<f64>::new(&problem);
    let mut gpu = emulated(&problem);
    let engines: [&mut dyn Engine; 2] = [&mut wide, &mut gpu];
    let distances = engines.map(|engine| {
        keep(engine, &problem, 20);
        rms(&engine.frames().positions, &exact)
    });
    assert!(distances[0] < 1e-3 && distances[1] < 2e-3, "{distances:?}");
}

#[test]
fn annealing_approaches_the_positions() {
    let options = PositionOptions {
        amplitude: 1.0,
        ..options(PositionMethod::Annealing, 25)
    };
    let mut problem = problem(&positions(8), options);
    let exact = displace(&mut problem, 0.6);
    let before = rms(&CpuEngine::<f64>::new(&problem).frames().positions, &exact);
    let mut narrow = CpuEngine::<f32>::new(&problem);
    let mut gpu = emulated(&problem);
    keep(&mut narrow, &problem, 25);
    keep(&mut gpu, &problem, 6);
    let distance = rms(&narrow.frames().positions, &exact);
    assert!(distance < 0.15 * before.max(0.3), "{distance} of {before}");
    // Trials are the same on both back ends.
    let mut first = CpuEngine::<f32>::new(&problem);
    keep(&mut first, &problem, 6);
    let apart = rms(&first.frames().positions, &gpu.frames().positions);
    assert!(apart < 1e-4, "{apart}");
}
