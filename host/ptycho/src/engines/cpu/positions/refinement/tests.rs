//! Refinement with the true object and probe of a simulated scan, from wrong positions.

use super::*;
use crate::engines::cpu::model::all_errors;
use crate::positions::affine::AffineFit;
use crate::{
    Engine, EngineName, EngineSpec, PositionMethod, PositionOptions, Problem, Recipe,
    SimulateOptions, Step, simulate,
};
use ndarray::s;
use num_complex::Complex;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// A scan with 10⁸ photons an exposure whose object and probe are the true ones, and the true
/// positions, object pixels.
fn truth(positions: PositionOptions) -> (Problem, Vec<[f64; 2]>) {
    let scan = simulate(&SimulateOptions {
        frame: 32,
        positions: 24,
        photons: 1e8,
        seed: 3,
        ..SimulateOptions::default()
    })
    .unwrap();
    let margin = positions.margin();
    let recipe = Recipe {
        positions,
        seed: 11,
        ..Recipe::default()
    };
    let mut problem = Problem::prepare(&scan, &recipe).unwrap();
    let simulation = scan.simulation().unwrap();
    let (rows, columns) = simulation.object.dim();
    problem.object.fill(Complex::new(1.0, 0.0));
    problem
        .object
        .slice_mut(s![margin..margin + rows, margin..margin + columns])
        .assign(&simulation.object);
    problem.probe.assign(&simulation.probe);
    let positions = &problem.positions;
    let pairs = positions.corners.iter().zip(&positions.fractions);
    let exact = pairs
        .map(|(corner, fraction)| [0, 1].map(|axis| f64::from(corner[axis]) + fraction[axis]))
        .collect();
    (problem, exact)
}

/// Moves the start positions to `to`.
fn start_at(problem: &mut Problem, to: &[[f64; 2]]) {
    let positions = &mut problem.positions;
    positions.corners = to.iter().map(|p| p.map(|v| v.round() as u32)).collect();
    positions.fractions = to.iter().map(|p| p.map(|v| v - v.round())).collect();
}

/// The positions, each up to a pixel away on both axes, without a common shift.
fn displaced(positions: &[[f64; 2]]) -> Vec<[f64; 2]> {
    let mut random = Pcg64Mcg::seed_from_u64(8);
    let shifts: Vec<[f64; 2]> = positions
        .iter()
        .map(|_| [0, 1].map(|_| 2.0 * random.random::<f64>() - 1.0))
        .collect();
    let mean = [0, 1].map(|axis| shifts.iter().map(|s| s[axis]).sum::<f64>() / 24.0);
    let pairs = positions.iter().zip(&shifts);
    pairs
        .map(|(p, s)| [0, 1].map(|axis| p[axis] + s[axis] - mean[axis]))
        .collect()
}

/// Root of the mean square distance, without the common shift.
fn rms(a: &[[f64; 2]], b: &[[f64; 2]]) -> f64 {
    let count = a.len() as f64;
    let difference = |axis: usize| -> f64 {
        let all = || a.iter().zip(b).map(|(a, b)| a[axis] - b[axis]);
        let mean = all().sum::<f64>() / count;
        all().map(|d| (d - mean).powi(2)).sum::<f64>() / count
    };
    (difference(0) + difference(1)).sqrt()
}

fn error<T: Real>(engine: &CpuEngine<T>) -> f64 {
    all_errors(engine, true)
        .unwrap()
        .iter()
        .map(|f| f.residual)
        .sum()
}

/// An engine with the frames at their exact positions.
fn engine<T: Real>(problem: &Problem) -> CpuEngine<T> {
    let mut engine = CpuEngine::new(problem);
    engine.layout.fractions = problem.positions.fractions.clone();
    engine
}

/// Refines in iterations 1 to `iterations`, with object and probe as they are.
fn refine<T: Real>(engine: &mut CpuEngine<T>, problem: &Problem, iterations: usize) {
    let spec = EngineSpec {
        update_object: false,
        update_probe: false,
        ..EngineSpec::new(EngineName::Lsqml, iterations)
    };
    for iteration in 1..=iterations {
        engine.step(&Step::new(&spec, problem, iteration)).unwrap();
    }
}

fn options(refine: &[PositionMethod]) -> PositionOptions {
    PositionOptions {
        refine: refine.to_vec(),
        start: 1,
        bound: 3.0,
        ..PositionOptions::default()
    }
}

#[test]
fn gradient_finds_the_positions_to_a_fiftieth_of_a_pixel() {
    let (mut problem, exact) = truth(options(&[PositionMethod::Gradient]));
    start_at(&mut problem, &displaced(&exact));
    let mut engine = engine::<f32>(&problem);
    refine(&mut engine, &problem, 15);
    let distance = rms(&engine.frames().positions, &exact);
    assert!(distance < 0.02, "{distance}");
}

#[test]
fn annealing_approaches_the_positions_and_the_seed_decides() {
    let annealing = PositionOptions {
        stop: 25,
        amplitude: 1.5,
        ..options(&[PositionMethod::Annealing])
    };
    let (mut problem, exact) = truth(annealing);
    let start = displaced(&exact);
    start_at(&mut problem, &start);
    let run = |problem: &Problem| {
        let mut engine = engine::<f32>(problem);
        let before = error(&engine);
        refine(&mut engine, problem, 25);
        (engine.frames().positions, error(&engine) / before)
    };
    let (positions, fallen) = run(&problem);
    let distance = rms(&positions, &exact);
    assert!(distance < 0.15 * rms(&start, &exact), "{distance}");
    assert!(fallen < 0.05, "{fallen}");
    assert_eq!(run(&problem).0, positions);
    problem.seed += 1;
    assert_ne!(run(&problem).0, positions);
}

#[test]
fn no_frame_leaves_the_bound() {
    for method in [PositionMethod::Annealing, PositionMethod::Gradient] {
        let (mut problem, exact) = truth(PositionOptions {
            bound: 0.3,
            ..options(&[method])
        });
        let start = displaced(&exact);
        start_at(&mut problem, &start);
        let mut engine = engine::<f32>(&problem);
        refine(&mut engine, &problem, 6);
        let found = engine.frames().positions;
        let moved = found
            .iter()
            .zip(&start)
            .flat_map(|(a, b)| [a[0] - b[0], a[1] - b[1]]);
        let largest = moved.map(f64::abs).fold(0.0, f64::max);
        assert!((0.25..=0.3 + 1e-9).contains(&largest), "{largest}");
    }
}

/// The annealing's trials find the valley from further away, the steps its bottom.
#[test]
fn methods_work_together() {
    let all = [
        PositionMethod::Affine,
        PositionMethod::Annealing,
        PositionMethod::Gradient,
    ];
    let (mut problem, exact) = truth(options(&all));
    start_at(&mut problem, &displaced(&exact));
    let mut engine = engine::<f32>(&problem);
    refine(&mut engine, &problem, 15);
    let distance = rms(&engine.frames().positions, &exact);
    assert!(distance < 0.02, "{distance}");
}

/// A scan whose recorded positions are stretched, turned and sheared, and jitter by half a pixel:
/// the map is found, the jitter stays.
#[test]
fn affine_finds_the_map_of_distorted_positions() {
    let (mut problem, exact) = truth(options(&[PositionMethod::Affine]));
    let mean = [0, 1].map(|axis| exact.iter().map(|p| p[axis]).sum::<f64>() / 24.0);
    let distorted: Vec<[f64; 2]> = exact
        .iter()
        .map(|p| {
            let [r, c] = [p[0] - mean[0], p[1] - mean[1]];
            [mean[0] + 1.03 * r - 0.04 * c, mean[1] + 0.03 * r + 0.98 * c]
        })
        .collect();
    start_at(&mut problem, &distorted);
    let mut engine = engine::<f32>(&problem);
    let before = rms(&distorted, &exact);
    refine(&mut engine, &problem, 15);
    let found = engine.frames().positions;
    let distance = rms(&found, &exact);
    assert!(distance < 0.02 && before > 0.3, "{distance} of {before}");
    let map = AffineFit::fit(&distorted, &found).unwrap();
    let expected = AffineFit::fit(&distorted, &exact).unwrap();
    for n in 0..4 {
        let [a, b] = [map, expected].map(|m| m.matrix[n / 2][n % 2]);
        assert!((a - b).abs() < 1e-3, "{map} {expected}");
    }
}

/// The equations' right-hand side is the derivative of −½ Σ w (√I_model − √I)².
#[test]
fn the_right_hand_side_is_the_derivative_of_the_error() {
    let (mut problem, exact) = truth(options(&[PositionMethod::Gradient]));
    start_at(&mut problem, &displaced(&exact));
    for (n, magnitude) in problem
        .magnitudes
        .in_memory_mut()
        .unwrap()
        .iter_mut()
        .enumerate()
    {
        if n % 17 == 3 {
            *magnitude = -1.0;
        }
    }
    let mut engine = engine::<f64>(&problem);
    for (n, scale) in engine.layout.scales.iter_mut().enumerate() {
        *scale = 0.8 + 0.02 * n as f64;
    }
    let equations = normal_equations(&engine, true).unwrap();
    let errors = |engine: &CpuEngine<f64>| -> Vec<f64> {
        let frames = all_errors(engine, true).unwrap();
        frames.iter().map(|frame| -0.5 * frame.residual).collect()
    };
    // Fourth-order differences, whose error is that of rounding.
    const H: f64 = 1e-3;
    for axis in 0..3 {
        let layout = engine.layout.clone();
        let mut shifted = |by: f64| {
            engine.layout = layout.clone();
            for frame in 0..24 {
                match axis {
                    2 => engine.layout.scales[frame] *= by.exp(),
                    _ => engine.layout.fractions[frame][axis] += by,
                }
            }
            let errors = errors(&engine);
            engine.layout = layout.clone();
            errors
        };
        let at = [-2.0 * H, -H, H, 2.0 * H].map(&mut shifted);
        for (frame, equations) in equations.iter().enumerate() {
            let [a, b, c, d] = [0, 1, 2, 3].map(|n| at[n][frame]);
            let found = (a - 8.0 * b + 8.0 * c - d) / (12.0 * H);
            let expected = equations[6 + axis];
            let scale = (equations[[0, 2, 5][axis]] * -2.0 * at[1][frame]).sqrt();
            let error = (found - expected).abs() / scale;
            assert!(error < 1e-6, "{axis} {frame}: {found} {expected} {error}");
        }
    }
}

/// Object and probe are reconstructed at the wrong positions and adapt to them, and the map is
/// found all the same, but for what the rim of the small object leaves open.
#[test]
fn affine_finds_the_map_while_object_and_probe_are_reconstructed() {
    let (mut problem, exact) = truth(PositionOptions {
        start: 5,
        ..options(&[PositionMethod::Affine])
    });
    let distorted: Vec<[f64; 2]> = exact.iter().map(|p| [1.03 * p[0], 0.97 * p[1]]).collect();
    start_at(&mut problem, &distorted);
    problem.object.fill(Complex::new(1.0, 0.0));
    let mut engine = engine::<f32>(&problem);
    let spec = EngineSpec::new(EngineName::Lsqml, 60);
    for iteration in 1..=60 {
        engine.step(&Step::new(&spec, &problem, iteration)).unwrap();
    }
    let before = rms(&distorted, &exact);
    let distance = rms(&engine.frames().positions, &exact);
    assert!(distance < 0.3 * before, "{distance} of {before}");
}
