//! What structure factors must obey in theory: the compressibility at q = 0, no pairs within a core (h = −1) and the
//! closure beyond it (c = −U/kT), both by a Fourier transform of S, and the fluids that are limits of one another.

#![cfg(feature = "sas")]

use std::f64::consts::PI;
use warpstride_kernels::sas::model::{Model, Values, Wave};
use warpstride_kernels::sas::models::hardsphere::HardSphere;
use warpstride_kernels::sas::models::hayter_msa::HayterMsa;
use warpstride_kernels::sas::models::squarewell::SquareWell;
use warpstride_kernels::sas::models::stickyhardsphere::StickyHardSphere;
use warpstride_kernels::sas::real::Real;

/// S(q) of parameter values in the order of the table.
fn structure<M: Model, R: Real>(values: &[f64]) -> impl Fn(R) -> R + use<M, R> {
    let state = M::prepare(&M::Values::<R>::read(|i| R::of(values[i])));
    move |q| {
        let zero = R::zero();
        let wave = Wave {
            q,
            across: zero,
            along: zero,
            a: zero,
            b: zero,
            c: zero,
        };
        M::form(&wave, &state).intensity
    }
}

fn close(what: &str, found: f64, expected: f64, tolerance: f64) {
    assert!(
        (found - expected).abs() <= tolerance * expected.abs(),
        "{what}: {found}, expected {expected}"
    );
}

/// Wave vectors from far below any structure to far above, for radii of 10 … 100 Å.
fn waves() -> impl Iterator<Item = f64> {
    (0..120).map(|i| 1e-8 * 10_f64.powf(f64::from(i) * 0.065))
}

/// 1/(2π² n r) ∫ q f(q) sin qr dq, f damped so that g is smeared over 1 % of a diameter.
fn transform(f: impl Fn(f64) -> f64, diameter: f64, density: f64, r: f64) -> f64 {
    let step = 0.03 / diameter;
    let sum: f64 = (0..30_000)
        .map(|i| {
            let q = (f64::from(i) + 0.5) * step;
            let damping = (-(q * diameter / 200.0).powi(2)).exp();
            q * f(q) * (q * r).sin() * damping
        })
        .sum();
    sum * step / (2.0 * PI * PI * density * r)
}

/// h(r) = −1 in a core of that diameter.
fn no_pairs_within(s: &impl Fn(f64) -> f64, diameter: f64, density: f64) {
    for share in [0.1, 0.3, 0.5, 0.7, 0.9] {
        let r = share * diameter;
        let h = transform(|q| s(q) - 1.0, diameter, density, r);
        close(&format!("h({share} σ)"), h, -1.0, 1e-7);
    }
}

fn density(phi: f64, radius: f64) -> f64 {
    phi / (4.0 / 3.0 * PI * radius.powi(3))
}

#[test]
fn hard_spheres() {
    for phi in [1e-6, 0.01, 0.1, 0.3, 0.5, 0.7] {
        let s = structure::<HardSphere, f64>(&[40.0, phi]);
        let expected = (1.0 - phi).powi(4) / (1.0 + 2.0 * phi).powi(2);
        for q in [0.0, 1e-12, 1e-10, 2.5e-9] {
            close("S(0)", s(q), expected, 1e-13);
        }
        close("S(∞)", s(1e4), 1.0, 1e-4);
        if phi > 0.005 {
            no_pairs_within(&s, 80.0, density(phi, 40.0));
        }
    }
    close(
        "no spheres",
        structure::<HardSphere, f64>(&[40.0, 0.0])(0.05),
        1.0,
        1e-15,
    );
    close(
        "no radius",
        structure::<HardSphere, f64>(&[0.0, 0.2])(0.05),
        0.8_f64.powi(4) / 1.96,
        1e-14,
    );
}

#[test]
fn sticky_spheres() {
    for phi in [0.01, 0.2, 0.45] {
        // Without a well, and with one that holds nothing.
        let hard = structure::<HardSphere, f64>(&[40.0, phi]);
        let sticky = structure::<StickyHardSphere, f64>(&[40.0, phi, 0.0, 1e12]);
        for q in waves() {
            close("not sticky", sticky(q), hard(q), 1e-10);
        }
        // Within the core no pairs, whatever the well.
        let (perturb, diameter) = (0.05, 80.0 / 0.95);
        let sticky = structure::<StickyHardSphere, f64>(&[40.0, phi, perturb, 0.3]);
        no_pairs_within_but_edge(&sticky, diameter, density(phi, 40.0));
    }
    // Below the critical stickiness there is a range of volume fractions without a solution.
    close(
        "no solution",
        structure::<StickyHardSphere, f64>(&[40.0, 0.15, 0.05, 0.05])(0.01),
        -1.0,
        0.0,
    );
}

/// As [`no_pairs_within`], away from the edge, where the pairs in the well are smeared into the core.
fn no_pairs_within_but_edge(s: &impl Fn(f64) -> f64, diameter: f64, density: f64) {
    for share in [0.1, 0.3, 0.5, 0.7] {
        let h = transform(|q| s(q) - 1.0, diameter, density, share * diameter);
        close(&format!("h({share} σ)"), h, -1.0, 1e-6);
    }
}

#[test]
fn square_wells() {
    for phi in [0.01_f64, 0.08, 0.4] {
        // The compressibility of Carnahan and Starling without a well, and the mean field's with one.
        let hard = ((1.0 + 2.0 * phi).powi(2) + phi.powi(3) * (phi - 4.0)) / (1.0 - phi).powi(4);
        for (depth, width) in [(0.0, 1.7), (1.2, 1.0), (0.7, 1.3)] {
            let s = structure::<SquareWell, f64>(&[40.0, phi, depth, width]);
            let expected = 1.0 / (hard - 8.0 * phi * depth * (width.powi(3) - 1.0));
            for q in [0.0, 1e-12, 1e-8] {
                close("S(0)", s(q), expected, 1e-12);
            }
            // Across the ends of the series nothing jumps: the second difference is that of a smooth function.
            for edge in [1.0, 1.5, 2.0 / width, 3.0] {
                let at = |share: f64| s(edge / 80.0 * share);
                let jump = at(1.0 + 1e-9) - at(1.0 - 1e-9);
                assert!(jump.abs() < 1e-7, "a jump of {jump} at y = {edge}");
            }
        }
    }
    // The direct correlation function beyond the core is the well.
    let (phi, depth, width) = (0.3, 0.8, 1.5);
    let s = structure::<SquareWell, f64>(&[40.0, phi, depth, width]);
    let n = density(phi, 40.0);
    for (r, expected) in [(90.0, depth), (110.0, depth), (130.0, 0.0), (170.0, 0.0)] {
        let c = transform(|q| 1.0 - 1.0 / s(q), 80.0, n, r);
        assert!((c - expected).abs() < 1e-5, "c({r}) = {c}");
    }
}

/// radius, volume fraction, charge, temperature, salt, dielectric constant.
const CHARGED: [[f64; 6]; 7] = [
    // As they are:
    [50.0, 0.4, 10.0, 298.0, 0.1, 78.0],
    [30.0, 0.5, 50.0, 298.0, 0.0, 78.0],
    [160.0, 0.18, 12.0, 294.0, 0.15, 28.0],
    [150.0, 0.53, 7.5, 298.0, 0.0, 24.0],
    // Rescaled:
    [20.75, 0.0192, 19.0, 298.0, 0.0, 78.0],
    [40.0, 0.0017, 70.0, 326.0, 1e-4, 28.0],
    [13.0, 0.13, 198.0, 278.0, 0.0, 27.0],
];

#[test]
fn charged_spheres_obey_their_closure() {
    let (e, boltzmann, permittivity, avogadro) = (
        1.602_176_634e-19,
        1.380_649e-23,
        8.854_187_812_8e-12,
        6.022_140_76e23,
    );
    for values in CHARGED {
        let [radius, phi, charge, temperature, salt, dielectric] = values;
        let s = structure::<HayterMsa, f64>(&values);
        let (sigma, n) = (2.0 * radius, density(phi, radius));
        no_pairs_within(&s, sigma, n);
        let bjerrum =
            e * e / (4.0 * PI * permittivity * dielectric * boltzmann * temperature) * 1e10;
        let kappa = (4.0 * PI * bjerrum * (charge * n + 2e-27 * salt * avogadro)).sqrt();
        // Far enough for every rescaled core.
        let far = if phi < 0.005 { 6.0 } else { 2.3 };
        for r in [far * sigma, 1.2 * far * sigma, 1.5 * far * sigma] {
            let potential = bjerrum * charge.powi(2) / (1.0 + kappa * radius).powi(2)
                * (-kappa * (r - sigma)).exp()
                / r;
            // What the transform's damping makes of an exponential.
            let potential = potential * (kappa * sigma / 200.0).powi(2).exp();
            let c = transform(|q| 1.0 - 1.0 / s(q), sigma, n, r);
            assert!(
                (c + potential).abs() < 2e-6 * potential + 1e-7 / (6.0 * phi),
                "{values:?}: c({r}) = {c}, −U/kT = {}",
                -potential
            );
        }
    }
}

#[test]
fn charged_spheres_without_charge_are_hard() {
    for (phi, charge, salt) in [
        (0.2, 1e-6, 0.0),
        (0.2, 0.0, 0.0),
        (0.45, 1e-3, 0.3),
        (0.001, 0.0, 1.0),
    ] {
        let charged = structure::<HayterMsa, f64>(&[30.0, phi, charge, 298.0, salt, 78.0]);
        let hard = structure::<HardSphere, f64>(&[30.0, phi]);
        for q in waves() {
            close("uncharged", charged(q), hard(q), 1e-6);
        }
    }
    // Nor do a few spheres know of each other.
    let few = structure::<HayterMsa, f64>(&[30.0, 0.0, 10.0, 298.0, 0.01, 78.0]);
    close("no spheres", few(0.01), 1.0, 1e-5);
}

/// Single precision gives four digits everywhere, and nothing is wild as q → 0.
#[test]
fn single_precision() {
    fn compare<M: Model>(name: &str, values: &[f64]) {
        let double = structure::<M, f64>(values);
        let single = structure::<M, f32>(values);
        let at_zero = double(0.0);
        for q in waves() {
            let q = q as f32;
            close(
                &format!("{name} {values:?} at {q}"),
                f64::from(single(q)),
                double(f64::from(q)),
                1e-4,
            );
            if q < 1e-6 {
                close(
                    &format!("{name} {values:?} at {q}"),
                    double(f64::from(q)),
                    at_zero,
                    1e-5,
                );
            }
        }
    }
    compare::<HardSphere>("hardsphere", &[50.0, 0.2]);
    compare::<HardSphere>("hardsphere", &[20.0, 0.5]);
    compare::<StickyHardSphere>("stickyhardsphere", &[50.0, 0.2, 0.05, 0.2]);
    compare::<SquareWell>("squarewell", &[50.0, 0.04, 1.5, 1.2]);
    compare::<SquareWell>("squarewell", &[30.0, 0.08, 1.0, 2.2]);
    for values in CHARGED {
        compare::<HayterMsa>("hayter_msa", &values);
    }
}
