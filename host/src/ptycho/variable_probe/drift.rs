//! A probe that drifts: with variations the object is nearer to the truth.

use crate::data::Reconstruction;
use crate::data::Scan;
use crate::fft::Real;
use crate::ptycho::cpu::CpuEngine;
use crate::ptycho::quality::{Reference, compare};
use crate::ptycho::{
    EngineName, EngineSpec, Origin, Problem, Recipe, Reconstructor, SimulateOptions, predict,
    result, simulate,
};

/// The result of a recipe, and the relative L2 of its object against the truth.
fn reconstructed<T: Real>(scan: &Scan, recipe: &Recipe) -> (Reconstruction, f64) {
    recipe.check().unwrap();
    let problem = Problem::new(scan, recipe).unwrap();
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
    let (_, without) = reconstructed::<f32>(&scan, &lsqml(60, 0));
    let (found, with) = reconstructed::<f32>(&scan, &lsqml(120, 4));
    println!("relative L2 {without} without, {with} with four variations");
    assert!(with < 0.5 * without, "{with} {without}");
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

/// Prints what docs/ptychography.md has.
#[test]
#[ignore = "minutes; its figures are in docs/ptychography.md"]
fn relative_l2_with_and_without_variations() {
    for seed in [0, 1] {
        let options = SimulateOptions {
            frame: 64,
            positions: 120,
            photons: 1e7,
            probe_drift: 0.05,
            seed,
            ..SimulateOptions::default()
        };
        let scan = simulate(&options).unwrap();
        for (iterations, modes) in [(200, 0), (200, 2), (200, 4), (200, 6), (400, 4)] {
            for momentum in [0.0, 0.5] {
                let mut recipe = lsqml(iterations, modes);
                recipe.engines[0].batch = Some(15);
                recipe.engines[0].momentum = Some(momentum);
                let (found, distance) = reconstructed::<f32>(&scan, &recipe);
                let r = found.history.last().unwrap().r_factor.unwrap();
                let power = found
                    .parts
                    .variable_probe
                    .map(|of| of.power() / options.photons);
                println!(
                    "seed {seed}, lsqml:{iterations}, momentum {momentum}, {modes} variations: relative L2 {distance:.5}, R {r:.6}, power {power:.4?}"
                );
            }
        }
    }
}
