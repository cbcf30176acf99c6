//! Particles that become simpler ones: shells without contrast, equal radii, models without what they add.

use super::*;

#[test]
fn a_shell_of_the_cores_density_is_no_shell() {
    same_particle(
        (
            "core_shell_sphere",
            &[
                ("radius", 50.0),
                ("thickness", 20.0),
                ("sld_core", 2.0),
                ("sld_shell", 2.0),
                ("sld_solvent", 5.0),
            ],
        ),
        SPHERE,
        1e-12,
    );
    same_particle(
        (
            "core_shell_cylinder",
            &[
                ("radius", 30.0),
                ("thickness", 8.0),
                ("length", 100.0),
                ("sld_core", 2.0),
                ("sld_shell", 2.0),
                ("sld_solvent", 5.0),
            ],
        ),
        (
            "cylinder",
            &[
                ("radius", 38.0),
                ("length", 116.0),
                ("sld", 2.0),
                ("sld_solvent", 5.0),
            ],
        ),
        1e-12,
    );
    same_particle(
        (
            "core_shell_ellipsoid",
            &[
                ("radius_equat_core", 40.0),
                ("x_core", 1.5),
                ("thick_shell", 10.0),
                ("x_polar_shell", 0.5),
                ("sld_core", 2.0),
                ("sld_shell", 2.0),
                ("sld_solvent", 5.0),
            ],
        ),
        (
            "ellipsoid",
            &[
                ("radius_polar", 65.0),
                ("radius_equatorial", 50.0),
                ("sld", 2.0),
                ("sld_solvent", 5.0),
            ],
        ),
        1e-12,
    );
}

#[test]
fn equal_radii_make_bodies_rounder() {
    let contrast = [("sld", 2.0), ("sld_solvent", 5.0)];
    same_particle(
        (
            "ellipsoid",
            &[
                ("radius_polar", 70.0),
                ("radius_equatorial", 70.0),
                contrast[0],
                contrast[1],
            ],
        ),
        SPHERE,
        1e-12,
    );
    same_particle(
        (
            "triaxial_ellipsoid",
            &[
                ("radius_equat_minor", 40.0),
                ("radius_equat_major", 40.0),
                ("radius_polar", 90.0),
                contrast[0],
                contrast[1],
            ],
        ),
        (
            "ellipsoid",
            &[
                ("radius_equatorial", 40.0),
                ("radius_polar", 90.0),
                contrast[0],
                contrast[1],
            ],
        ),
        1e-12,
    );
    same_particle(
        (
            "elliptical_cylinder",
            &[
                ("radius_minor", 25.0),
                ("axis_ratio", 1.0),
                ("length", 80.0),
                contrast[0],
                contrast[1],
            ],
        ),
        (
            "cylinder",
            &[("radius", 25.0), ("length", 80.0), contrast[0], contrast[1]],
        ),
        1e-12,
    );
    same_particle(
        (
            "core_shell_ellipsoid",
            &[
                ("radius_equat_core", 40.0),
                ("x_core", 1.0),
                ("thick_shell", 12.0),
                ("x_polar_shell", 1.0),
            ],
        ),
        (
            "core_shell_sphere",
            &[
                ("radius", 40.0),
                ("thickness", 12.0),
                ("sld_core", 2.0),
                ("sld_shell", 1.0),
                ("sld_solvent", 6.3),
            ],
        ),
        1e-12,
    );
}

/// An ellipse of 2 : 1 seen along either axis is a circle of that radius.
#[test]
fn the_minor_axis_of_an_elliptical_cylinder_is_a() {
    let (of, values) = built(("elliptical_cylinder", &[("axis_ratio", 2.0)]));
    let (round, circle) = built(("cylinder", &[("radius", 20.0), ("length", 800.0)]));
    let wave = |a, b, across| Wave {
        q: 0.1,
        across,
        along: 0.0,
        a,
        b,
        c: 0.0,
    };
    let expected = |across| round.form(&wave(0.0, 0.0, across), &circle).amplitude;
    let found = |a, b| of.form(&wave(a, b, 0.0), &values).amplitude;
    assert!((found(0.1, 0.0) / expected(0.1) - 1.0).abs() < 1e-12);
    assert!((found(0.0, 0.1) / expected(0.2) - 1.0).abs() < 1e-12);
}

#[test]
fn without_what_they_add_models_are_the_simpler_one() {
    same_particle(
        (
            "fuzzy_sphere",
            &[
                ("radius", 70.0),
                ("fuzziness", 0.0),
                ("sld", 2.0),
                ("sld_solvent", 5.0),
            ],
        ),
        SPHERE,
        1e-12,
    );
    same_particle(
        (
            "hollow_cylinder",
            &[
                ("radius", 0.0),
                ("thickness", 30.0),
                ("length", 90.0),
                ("sld", 2.0),
            ],
        ),
        (
            "cylinder",
            &[("radius", 30.0), ("length", 90.0), ("sld", 2.0)],
        ),
        1e-12,
    );
    for (name, count) in [("core_multi_shell", "n"), ("onion", "n_shells")] {
        let radius = if name == "onion" {
            "radius_core"
        } else {
            "radius"
        };
        same_particle(
            (
                name,
                &[
                    (count, 0.0),
                    (radius, 70.0),
                    ("sld_core", 2.0),
                    ("sld_solvent", 5.0),
                ],
            ),
            SPHERE,
            1e-12,
        );
    }
    // Flat caps.
    same_particle(
        (
            "capped_cylinder",
            &[("radius", 20.0), ("radius_cap", 1e9), ("length", 90.0)],
        ),
        ("cylinder", &[("radius", 20.0), ("length", 90.0)]),
        1e-7,
    );
}
