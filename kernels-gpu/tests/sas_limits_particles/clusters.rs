//! Pearls, necklaces, droplets with particles on them, caps.

use super::*;

#[test]
fn pearls_alone_are_spheres_and_two_are_debyes_pair() {
    for (name, scale) in [("linear_pearls", 1.0), ("pearl_necklace", 1.0)] {
        let alone: &[(&str, f64)] = &[
            ("num_pearls", 1.0),
            ("radius", 70.0),
            ("sld", 2.0),
            ("sld_solvent", 5.0),
        ];
        for q in WAVES {
            let (found, volume) = scattered((name, alone), q, 1.0);
            let (sphere, of_sphere) = scattered(SPHERE, q, 1.0);
            let (forward, _) = scattered(SPHERE, 0.0, 1.0);
            assert!((found.intensity - scale * sphere.intensity).abs() < 1e-12 * forward.intensity);
            assert!((volume.material / of_sphere.material - 1.0).abs() < 1e-12);
        }
        // Strings of no volume do not scatter.
        let mut pair = vec![
            ("num_pearls", 2.0),
            ("radius", 70.0),
            ("edge_sep", 30.0),
            ("sld", 2.0),
            ("sld_solvent", 5.0),
        ];
        if name == "pearl_necklace" {
            pair.push(("thick_string", 0.0));
        }
        for q in WAVES {
            let (found, _) = scattered((name, &pair), q, 1.0);
            let (sphere, _) = scattered(SPHERE, q, 1.0);
            let expected = sphere.intensity * (2.0 + 2.0 * (q * 170.0).sin() / (q * 170.0));
            let (forward, _) = scattered(SPHERE, 0.0, 1.0);
            assert!(
                (found.intensity - expected).abs() < 1e-11 * forward.intensity,
                "{name} at {q}: {found:?}, {expected}"
            );
        }
    }
}

/// (contrast times volume of everything)² at q = 0, of pearls and strings of many sizes.
#[test]
fn a_necklace_scatters_forward_by_its_mass() {
    for pearls in [1.0, 2.0, 7.0, 300.0] {
        let (form, _) = scattered(
            (
                "pearl_necklace",
                &[("num_pearls", pearls), ("sld_string", 3.0)],
            ),
            0.0,
            1.0,
        );
        let pearl = (1.0 - 6.3) * 4.0 / 3.0 * std::f64::consts::PI * 80_f64.powi(3);
        let string = (3.0 - 6.3) * std::f64::consts::PI * 1.25 * 1.25 * 350.0;
        let mass = pearls * pearl + (pearls - 1.0) * string;
        assert!((form.intensity / (1e-4 * mass * mass) - 1.0).abs() < 1e-12);
    }
}

#[test]
fn droplets_without_particles_on_them_are_two_kinds_of_spheres() {
    for q in WAVES {
        let (found, _) = scattered(("raspberry", &[("surface_fraction", 0.0)]), q, 1.0);
        let kind = |radius, sld, share: f64| {
            let (form, volume) = scattered(
                (
                    "sphere",
                    &[("radius", radius), ("sld", sld), ("sld_solvent", 6.36)],
                ),
                q,
                1.0,
            );
            share * form.intensity / volume.material
        };
        let expected = kind(5000.0, -0.4, 0.05) + kind(100.0, 3.5, 0.005);
        assert!((found.intensity / expected - 1.0).abs() < 1e-9);
    }
}

#[test]
fn caps_are_parts_of_spheres() {
    // Without a bar, half spheres make one sphere.
    let contrast = [("sld", 2.0), ("sld_solvent", 5.0)];
    for (name, cap) in [
        ("capped_cylinder", "radius_cap"),
        ("barbell", "radius_bell"),
    ] {
        same_particle(
            (
                name,
                &[
                    ("radius", 70.0),
                    (cap, 70.0),
                    ("length", 0.0),
                    contrast[0],
                    contrast[1],
                ],
            ),
            SPHERE,
            1e-10,
        );
    }
    // A bar of no width: two spheres side by side, which along their axis have the phase ± q (length/2 + radius).
    for q in WAVES {
        for cos in DIRECTIONS {
            let (found, _) = scattered(
                (
                    "barbell",
                    &[
                        ("radius", 0.0),
                        ("radius_bell", 70.0),
                        ("length", 50.0),
                        contrast[0],
                        contrast[1],
                    ],
                ),
                q,
                cos,
            );
            let (sphere, _) = scattered(SPHERE, q, 1.0);
            let (forward, _) = scattered(SPHERE, 0.0, 1.0);
            let expected = 2.0 * sphere.amplitude * (q * cos * 95.0).cos();
            assert!(
                (found.amplitude - expected).abs() < 1e-10 * forward.amplitude.abs(),
                "q = {q}, cos α = {cos}: {found:?}, {expected}"
            );
        }
    }
}
