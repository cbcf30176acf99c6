//! Simulation, reconstruction and comparison together: the simulated object is recovered.

use warpstride::ptycho::quality::{Reference, compare};
use warpstride::ptycho::{Pattern, SimulateOptions, simulate};
use warpstride_tests::{on_cpu, recipe};

/// Relative distance ‖w(O − truth)‖/‖w truth‖ without the ambiguities.
fn distance(options: &SimulateOptions) -> f64 {
    let scan = simulate(options).unwrap();
    let mut recipe = recipe(&["dm:80", "raar:60"]).unwrap();
    recipe.probe_modes = options.probe_modes;
    let result = on_cpu(&scan, &recipe).unwrap();
    let reference = Reference::Truth {
        simulation: scan.simulation().unwrap(),
        pixel: scan.object_pixel(),
    };
    compare(&result, reference).unwrap().relative_l2
}

fn small() -> SimulateOptions {
    SimulateOptions {
        frame: 64,
        positions: 60,
        ..SimulateOptions::default()
    }
}

#[test]
fn every_pattern_recovers_the_truth() {
    for pattern in [Pattern::Fermat, Pattern::Round] {
        let found = distance(&SimulateOptions { pattern, ..small() });
        assert!(found < 0.03, "{pattern:?}: {found}");
    }
}

#[test]
fn fewer_photons_give_a_larger_but_bounded_distance() {
    let bright = distance(&small());
    let dim = distance(&SimulateOptions {
        photons: 1e4,
        ..small()
    });
    assert!(dim > 2.0 * bright && dim < 0.3, "{bright} {dim}");
}

#[test]
fn an_object_lit_by_several_modes_is_recovered_with_as_many() {
    let modes = SimulateOptions {
        probe_modes: 2,
        ..small()
    };
    let found = distance(&modes);
    assert!(found < 0.1, "{found}");
}
