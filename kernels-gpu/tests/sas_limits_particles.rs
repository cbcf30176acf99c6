//! Particles that are another particle in a limit: a shell of the core's density, an ellipsoid of equal radii, one
//! shell of many. Both sides are written apart, so a wrong factor, radius or sign shows. Amplitudes are compared in
//! single directions, where no average hides anything.

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

#[test]
fn shells_of_one_model_are_those_of_another() {
    let contrast = [("sld", 0.4), ("sld_solvent", 6.4)];
    let vesicle: Particle<'_> = (
        "vesicle",
        &[
            ("radius", 60.0),
            ("thickness", 15.0),
            ("volfraction", 1.0),
            contrast[0],
            contrast[1],
        ],
    );
    same(
        vesicle,
        (
            "core_shell_sphere",
            &[
                ("radius", 60.0),
                ("thickness", 15.0),
                ("sld_core", 6.4),
                ("sld_shell", 0.4),
                ("sld_solvent", 6.4),
            ],
        ),
        1e-12,
    );
    same(
        (
            "multilayer_vesicle",
            &[
                ("radius", 60.0),
                ("thick_shell", 15.0),
                ("n_shells", 1.0),
                ("volfraction", 1.0),
            ],
        ),
        vesicle,
        1e-12,
    );
    let layers: &[(&str, f64)] = &[
        ("n", 3.0),
        ("radius", 60.0),
        ("sld_core", 6.4),
        ("sld1", 0.4),
        ("sld2", 6.4),
        ("sld3", 0.4),
        ("thickness1", 15.0),
        ("thickness2", 9.0),
        ("thickness3", 15.0),
    ];
    same_particle(
        (
            "multilayer_vesicle",
            &[
                ("radius", 60.0),
                ("thick_shell", 15.0),
                ("thick_solvent", 9.0),
                ("n_shells", 2.0),
                ("volfraction", 1.0),
            ],
        ),
        ("core_multi_shell", layers),
        1e-12,
    );
    // Exponents do not matter where the density is the same inside and outside, nor the outside where they are 0.
    same_particle(
        (
            "onion",
            &[
                ("n_shells", 3.0),
                ("radius_core", 60.0),
                ("sld_core", 6.4),
                ("sld_in1", 0.4),
                ("sld_out1", 0.4),
                ("A1", -3.0),
                ("sld_in2", 6.4),
                ("sld_out2", 1.0),
                ("A2", 0.0),
                ("sld_in3", 0.4),
                ("sld_out3", 0.4),
                ("thickness1", 15.0),
                ("thickness2", 9.0),
                ("thickness3", 15.0),
            ],
        ),
        ("core_multi_shell", layers),
        1e-11,
    );
}

/// 4π ∫ (ρ − ρ solvent) r² sin(q r)/(q r) dr by Simpson's rule, of shells from flat to steep.
#[test]
fn an_onion_is_the_integral_of_its_density() {
    for (exponent, width) in [
        (1e-12, 30.0),
        (-1e-5, 30.0),
        (0.4, 3.0),
        (-0.9, 60.0),
        (2.5, 30.0),
        (-40.0, 30.0),
        (800.0, 2.0),
    ] {
        let particle: Particle<'_> = (
            "onion",
            &[
                ("radius_core", 50.0),
                ("sld_core", 6.4),
                ("sld_in1", 1.0),
                ("sld_out1", 4.0),
                ("thickness1", width),
                ("A1", exponent),
            ],
        );
        for q in WAVES {
            let steps = 20_000;
            let mut integral = 0.0;
            for i in 0..=steps {
                let x = f64::from(i) / f64::from(steps);
                let rise = (exponent * x - exponent.max(0.0)).exp() - (-exponent.max(0.0)).exp();
                let rise = if exponent.abs() < 1e-9 {
                    x
                } else if exponent.abs() < 1.0 {
                    (exponent * x).exp_m1() / exponent.exp_m1()
                } else {
                    rise / ((exponent - exponent.max(0.0)).exp() - (-exponent.max(0.0)).exp())
                };
                let r = 50.0 + width * x;
                let weight = if i == 0 || i == steps {
                    1.0
                } else {
                    f64::from(2 + 2 * (i % 2))
                };
                integral += weight * (1.0 + 3.0 * rise - 6.4) * r * (q * r).sin() / q;
            }
            let expected =
                1e-2 * 4.0 * std::f64::consts::PI * integral * width / (3.0 * f64::from(steps));
            let (found, volume) = scattered(particle, q, 1.0);
            let off = (found.amplitude - expected).abs() / (1e-2 * volume.material);
            // Below an exponent of 1e-7 the shell is bent by it: 3 · 1e-7/12 off a line on average.
            assert!(off < 3e-8, "A = {exponent}, q = {q}: {found:?}, {expected}");
        }
    }
}

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

/// f32 and f64 of the defaults, to 10⁻⁵ of the scattering forward.
fn single_is_double<M: warpstride_kernels::sas::model::Model>() {
    use warpstride_kernels::sas::model::Values;
    let mut defaults = Vec::new();
    for row in M::INFO.parameters {
        defaults.extend(std::iter::repeat_n(row.default, row.length));
    }
    let double = M::prepare(&M::Values::<f64>::read(|i| defaults[i]));
    let single = M::prepare(&M::Values::<f32>::read(|i| defaults[i] as f32));
    let wave = |q: f64, cos: f64| {
        let across = q * (1.0 - cos * cos).sqrt();
        [q, across, q * cos, 0.6 * across, 0.8 * across, q * cos]
    };
    let in_double = |[q, across, along, a, b, c]: [f64; 6]| {
        let wave = Wave {
            q,
            across,
            along,
            a,
            b,
            c,
        };
        M::form(&wave, &double).intensity
    };
    let forward = in_double(wave(0.0, 1.0));
    for q in [0.0, 1e-6, 1e-4].into_iter().chain(WAVES) {
        for cos in DIRECTIONS {
            let expected = in_double(wave(q, cos));
            let [q, across, along, a, b, c] = wave(q, cos).map(|x| x as f32);
            let found = M::form(
                &Wave {
                    q,
                    across,
                    along,
                    a,
                    b,
                    c,
                },
                &single,
            );
            assert!(
                (f64::from(found.intensity) - expected).abs() <= 1e-5 * forward,
                "{} at q = {q}, cos α = {cos}: {found:?}, {expected} of {forward}",
                M::INFO.name
            );
        }
    }
}

#[test]
fn single_precision_suffices() {
    use warpstride_kernels::sas::models as m;
    single_is_double::<m::core_shell_sphere::CoreShellSphere>();
    single_is_double::<m::fuzzy_sphere::FuzzySphere>();
    single_is_double::<m::vesicle::Vesicle>();
    single_is_double::<m::ellipsoid::Ellipsoid>();
    single_is_double::<m::core_shell_cylinder::CoreShellCylinder>();
    single_is_double::<m::hollow_cylinder::HollowCylinder>();
    single_is_double::<m::elliptical_cylinder::EllipticalCylinder>();
    single_is_double::<m::triaxial_ellipsoid::TriaxialEllipsoid>();
    single_is_double::<m::core_shell_ellipsoid::CoreShellEllipsoid>();
    single_is_double::<m::core_multi_shell::CoreMultiShell>();
    single_is_double::<m::multilayer_vesicle::MultilayerVesicle>();
    single_is_double::<m::linear_pearls::LinearPearls>();
    single_is_double::<m::pearl_necklace::PearlNecklace>();
    single_is_double::<m::raspberry::Raspberry>();
    single_is_double::<m::capped_cylinder::CappedCylinder>();
    single_is_double::<m::barbell::Barbell>();
    single_is_double::<m::flexible_cylinder::FlexibleCylinder>();
    single_is_double::<m::onion::Onion>();
}
