//! Forward scattering, worms, and effective radii.

use super::*;

/// F(0) = ∫ (ρ − ρ solvent) dV, and no step between q = 0 and the smallest q that is measured.
#[test]
fn forward_scattering_is_finite_and_continuous() {
    for of in warpstride_kernels::sas::catalogue::models() {
        let name = of.info().name;
        let shape = of.info().category.starts_with("shape:") && of.has_amplitude();
        if !shape {
            continue;
        }
        let (at_zero, volume) = scattered((name, &[]), 0.0, 1.0);
        let (near, _) = scattered((name, &[]), 1e-7, 0.6);
        assert!(
            (near.intensity / at_zero.intensity - 1.0).abs() < 1e-6 && volume.material > 0.0,
            "{name}: {at_zero:?}, {near:?}"
        );
    }
}

/// At small q a short worm is a rod of its length (Rg² = L²/12), and at large q any worm is: π/(q L) of its mass.
#[test]
fn a_stiff_worm_is_a_rod() {
    let scattering = |length: f64, kuhn: f64, q: f64| {
        let set: &[(&str, f64)] = &[("length", length), ("kuhn_length", kuhn), ("radius", 1e-3)];
        let (form, _) = scattered(("flexible_cylinder", set), q, 1.0);
        let contrast = 1.0 - 6.3;
        form.intensity / (1e-4 * contrast * contrast * std::f64::consts::PI * 1e-6 * length)
    };
    assert!((scattering(100.0, 1e6, 0.0) - 1.0).abs() < 1e-12);
    let fall = 1.0 - scattering(100.0, 1e4, 1e-4);
    assert!((fall / (1e-8 * 100.0 * 100.0 / 36.0) - 1.0).abs() < 1e-2);
    for (length, kuhn) in [(100.0, 400.0), (1000.0, 100.0)] {
        let thin = scattering(length, kuhn, 2.0);
        assert!((thin / (std::f64::consts::PI / (2.0 * length)) - 1.0).abs() < 1e-5);
    }
}

/// No step where the powers take over, in value or slope.
#[test]
fn worms_are_smooth_at_the_joint() {
    for (length, joint) in [(1000.0, 3.1), (10_000.0, 3.1), (390.0, 3.0), (30.0, 3.0)] {
        let near = |step: f64| {
            let set: &[(&str, f64)] = &[("length", length)];
            scattered(("flexible_cylinder", set), joint * 1e-2 + step, 1.0)
                .0
                .intensity
        };
        let (left, right) = (near(-1e-12), near(1e-12));
        assert!(
            (left / right - 1.0).abs() < 1e-8,
            "{length}: {left}, {right}"
        );
        let h = 1e-8;
        let (below, above) = (near(0.0) - near(-h), near(h) - near(0.0));
        assert!(
            (below / above - 1.0).abs() < 1e-3,
            "{length}: {below}, {above}"
        );
    }
}

#[test]
fn spheroids_have_the_radii_of_isihara() {
    use warpstride_kernels::sas::radii::spheroid;
    // Continuous at the sphere.
    for mode in 1..=4 {
        assert!((spheroid(50.0, 50.0, mode) - 50.0).abs() < 1e-12);
        assert!((spheroid(50.0, 50.001, mode) - 50.0).abs() < 2e-3);
        assert!((spheroid(50.001, 50.0, mode) - 50.0).abs() < 2e-3);
    }
    let per_volume = |polar: f64, equatorial: f64| {
        spheroid(polar, equatorial, 1).powi(3) / (polar * equatorial * equatorial)
    };
    // The same for prolate and oblate.
    assert!((per_volume(10.0, 70.0) / per_volume(70.0, 10.0) - 1.0).abs() < 1e-12);
    // Onsager: a long ellipsoid's 2nd virial coefficient per volume grows as 3π/32 a/b.
    let ratio = 1e5;
    let grows = 3.0 * std::f64::consts::PI / 32.0 * ratio;
    assert!((per_volume(ratio, 1.0) / grows - 1.0).abs() < 1e-3);
}
