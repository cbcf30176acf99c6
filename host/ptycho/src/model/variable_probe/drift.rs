//! A probe that drifts: with variations the object is nearer to the truth.

use crate::data::{Reconstruction, Scan, VariableProbe};
use crate::engines::cpu::CpuEngine;
use crate::quality::{Reference, compare};
use crate::{
    EngineName, EngineSpec, Origin, Problem, Recipe, Reconstructor, SimulateOptions, predict,
    result, simulate,
};
use ndarray::{Array2, Array3};
use num_complex::Complex;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, Poisson};
use rand_pcg::Pcg64Mcg;
use warpstride_fft::Real;

/// Iterations with variations and without.
const ITERATIONS: usize = 200;

/// The result of a recipe, and the relative L2 of its object against the truth.
fn reconstructed<T: Real>(scan: &Scan, recipe: &Recipe) -> (Reconstruction, f64) {
    recipe.check().unwrap();
    let problem = Problem::prepare(scan, recipe).unwrap();
    let engine = Box::new(CpuEngine::<T>::new(&problem));
    let mut run = Reconstructor::new(engine, &problem, recipe);
    while !run.finished() {
        run.advance().unwrap();
    }
    let origin = Origin {
        source: String::new(),
        recipe: recipe.to_toml().unwrap(),
        trials: String::new(),
    };
    let found = result(&mut run, scan, &problem, recipe, &origin).unwrap();
    let truth = Reference::Truth {
        simulation: scan.simulation().unwrap(),
        pixel: scan.object_pixel(),
    };
    let distance = compare(&found, truth).unwrap().relative_l2;
    (found, distance)
}

fn lsqml(iterations: usize, modes: usize) -> Recipe {
    let mut spec = EngineSpec::new(EngineName::Lsqml, iterations);
    spec.batch = Some(10);
    Recipe {
        engines: vec![spec],
        opr_modes: modes,
        ..Recipe::default()
    }
}

/// The relative L2 of the object without variations, after as many iterations as with them, or
/// fewer if that is nearer to the truth: what the model does not have may drive the object away
/// from it.
fn without_variations(scan: &Scan) -> f64 {
    let after = [60, ITERATIONS].map(|iterations| {
        let (_, distance) = reconstructed::<f32>(scan, &lsqml(iterations, 0));
        distance
    });
    after[0].min(after[1])
}

fn drifting(frame: usize, positions: usize) -> Scan {
    let options = SimulateOptions {
        frame,
        positions,
        photons: 1e7,
        probe_drift: 0.05,
        overlap: 0.75,
        ..SimulateOptions::default()
    };
    simulate(&options).unwrap()
}

/// ±5 % of the width in four shapes: place in rows and columns, defocus, astigmatism.
#[test]
fn a_drifting_probe_costs_at_most_half_as_much_with_variations() {
    let scan = drifting(32, 60);
    let without = without_variations(&scan);
    let (found, with) = reconstructed::<f32>(&scan, &lsqml(ITERATIONS, 4));
    assert!(with < 0.47 * without, "{with} {without}");
    let power = found.parts.variable_probe.as_ref().unwrap().power();
    assert!(
        power.windows(2).into_iter().all(|pair| pair[0] >= pair[1]),
        "{power}"
    );
    // The prediction has the variations: it is the model.
    let predicted = predict(&found, &scan).unwrap().r_factor.unwrap();
    let last = found.history.last().unwrap().r_factor.unwrap();
    assert!((predicted / last - 1.0).abs() < 1e-3, "{predicted} {last}");
}

/// A scan of `plain`'s object whose first probe modes have `shapes` (in units of the probe) with
/// coefficients uniform within ±1.
fn with_shapes(plain: &Scan, shapes: [fn(f64, f64) -> Complex<f64>; 4], seed: u64) -> Scan {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    // Windows and pixels of the truth's object.
    let (mut truth, _) = reconstructed::<f32>(plain, &lsqml(1, 0));
    let simulation = plain.simulation().unwrap();
    truth.object.clone_from(&simulation.object);
    truth.probe.clone_from(&simulation.probe);
    let (_, rows, columns) = truth.probe.dim();
    let place = |i: usize, n: usize| i as f64 / n as f64 - 0.5;
    let value = |(k, r, c): (usize, usize, usize)| {
        truth.probe[(0, r, c)] * shapes[k](place(r, rows), place(c, columns))
    };
    truth.parts.variable_probe = Some(VariableProbe {
        shapes: Array3::from_shape_fn((4, rows, columns), value),
        coefficients: Array2::from_shape_fn((plain.shape()[0], 4), |_| {
            2.0 * random.random::<f64>() - 1.0
        }),
    });
    let clean = predict(&truth, plain).unwrap().scan;
    let counts = clean
        .frames()
        .unwrap()
        .mapv(|expected| match expected > 0.0 {
            true => Poisson::new(f64::from(expected))
                .unwrap()
                .sample(&mut random) as f32,
            false => 0.0,
        });
    let positions = plain.positions().clone();
    let start = plain.probe().cloned();
    let scan = Scan::new(counts, None, positions, *plain.geometry(), start).unwrap();
    scan.with_simulation(simulation.clone())
}

/// Smooth changes of phase and modulus, across a beam of a third of the frame.
const SMOOTH: [fn(f64, f64) -> Complex<f64>; 4] = [
    |y, x| Complex::new(0.0, 0.5 * (9.0 * y + 5.0 * x).sin()),
    |y, x| Complex::new(0.3 * (13.0 * x - 4.0 * y).cos(), 0.3 * (8.0 * x).sin()),
    |y, _| Complex::new(0.4 * (11.0 * y).sin(), 0.0),
    |y, x| Complex::new(0.2 * (17.0 * y * x).sin(), 0.4 * (15.0 * (x + y)).cos()),
];

#[test]
fn smooth_changes_of_phase_and_modulus_are_found_too() {
    let options = SimulateOptions {
        frame: 32,
        positions: 60,
        photons: 1e7,
        noise: false,
        overlap: 0.75,
        ..SimulateOptions::default()
    };
    let scan = with_shapes(&simulate(&options).unwrap(), SMOOTH, 3);
    let without = without_variations(&scan);
    let (_, with) = reconstructed::<f32>(&scan, &lsqml(ITERATIONS, 4));
    assert!(with < 0.47 * without, "{with} {without}");
}
