//! Particles that are another particle in a limit: a shell of the core's density, an ellipsoid of equal radii, one
//! shell of many. Both sides are written apart, so a wrong factor, radius or sign shows. Amplitudes are compared in
//! single directions, where no average hides anything.

#![cfg(feature = "sas")]

mod clusters;
mod forward;
mod precision;
mod rounder;
mod shells;

use warpstride_kernels::sas::catalogue::{AnyModel, model};
use warpstride_kernels::sas::model::{Form, Kind, Symmetry, Volume, Wave};

/// A model and what differs from its defaults.
type Particle<'a> = (&'a str, &'a [(&'a str, f64)]);

fn built((name, set): Particle<'_>) -> (&'static dyn AnyModel, Vec<f64>) {
    let of = model(name).expect("a model");
    let mut values = Vec::new();
    let mut used = 0;
    for row in of.info().parameters {
        if row.kind == Kind::Orientation {
            continue;
        }
        for i in 1..=row.length {
            let full = if row.length == 1 {
                row.name.to_owned()
            } else {
                format!("{}{i}", row.name)
            };
            let found = set.iter().find(|(key, _)| *key == full);
            used += usize::from(found.is_some());
            values.push(found.map_or(row.default, |(_, value)| *value));
        }
    }
    assert_eq!(used, set.len(), "{name} has all of {set:?}");
    (of, values)
}

/// Scattering and volume where q has the direction (sin α cos ψ, sin α sin ψ, cos α), ψ = 0.7.
fn scattered(particle: Particle<'_>, q: f64, cos: f64) -> (Form<f64>, Volume<f64>) {
    let (of, values) = built(particle);
    let across = q * (1.0 - cos * cos).sqrt();
    let (mut wave, along) = (
        Wave {
            q,
            across: 0.0,
            along: 0.0,
            a: 0.0,
            b: 0.0,
            c: 0.0,
        },
        q * cos,
    );
    match of.symmetry() {
        Symmetry::Isotropic => {}
        Symmetry::Axial => (wave.across, wave.along) = (across, along),
        Symmetry::Triaxial => {
            (wave.a, wave.b, wave.c) = (across * 0.7_f64.cos(), across * 0.7_f64.sin(), along);
        }
    }
    (of.form(&wave, &values), of.volume(&values))
}

const WAVES: [f64; 6] = [1e-5, 0.003, 0.02, 0.07, 0.21, 0.5];
const DIRECTIONS: [f64; 4] = [0.0, 0.33, 0.8, 1.0];

/// Same amplitude and intensity to `tolerance` of the value at q = 0.
fn same(one: Particle<'_>, other: Particle<'_>, tolerance: f64) {
    for q in WAVES {
        for cos in DIRECTIONS {
            let (found, _) = scattered(one, q, cos);
            let (expected, _) = scattered(other, q, cos);
            let (forward, _) = scattered(other, 0.0, 1.0);
            assert!(
                (found.amplitude - expected.amplitude).abs() <= tolerance * forward.amplitude.abs()
                    && (found.intensity - expected.intensity).abs()
                        <= tolerance * forward.intensity,
                "{one:?} and {other:?} at q = {q}, cos α = {cos}: {found:?}, {expected:?}"
            );
        }
    }
}

/// The same, and the same volumes.
fn same_particle(one: Particle<'_>, other: Particle<'_>, tolerance: f64) {
    same(one, other, tolerance);
    let ((_, found), (_, expected)) = (scattered(one, 0.0, 1.0), scattered(other, 0.0, 1.0));
    assert!(
        (found.material / expected.material - 1.0).abs() <= tolerance
            && (found.outline / expected.outline - 1.0).abs() <= tolerance,
        "{one:?} and {other:?}: {found:?}, {expected:?}"
    );
}

const SPHERE: Particle<'_> = (
    "sphere",
    &[("radius", 70.0), ("sld", 2.0), ("sld_solvent", 5.0)],
);
