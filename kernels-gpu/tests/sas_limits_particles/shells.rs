//! Shells: those of one model by another, and an onion by its density.

use super::*;

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
