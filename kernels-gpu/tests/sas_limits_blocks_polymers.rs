//! What holds in theory of the shape-independent models, blocks and stacks: exact special cases, limits and sum rules.

#![cfg(feature = "sas")]

use std::f64::consts::PI;
use warpstride_kernels::sas::catalogue::model;
use warpstride_kernels::sas::model::Wave;

fn wave(a: f64, b: f64, c: f64) -> Wave<f64> {
    Wave {
        q: (a * a + b * b + c * c).sqrt(),
        across: a.hypot(b),
        along: c,
        a,
        b,
        c,
    }
}

fn at(q: f64) -> Wave<f64> {
    wave(0.0, 0.0, q)
}

fn intensity(name: &str, values: &[f64], wave: &Wave<f64>) -> f64 {
    model(name).expect(name).form(wave, values).intensity
}

fn amplitude(name: &str, values: &[f64], wave: &Wave<f64>) -> f64 {
    model(name).expect(name).form(wave, values).amplitude
}

#[track_caller]
fn near(found: f64, expected: f64, relative: f64) {
    assert!(
        (found - expected).abs() <= relative * expected.abs(),
        "{found} is not {expected}"
    );
}

/// Some directions without symmetry, times q.
fn directions(q: f64) -> impl Iterator<Item = Wave<f64>> {
    [
        (0.6, 0.3),
        (0.02, 1.2),
        (1.4, 0.7),
        (0.9, 1.5),
        (0.0, 0.0),
        (PI / 2.0, 0.0),
    ]
    .into_iter()
    .map(move |(theta, phi): (f64, f64)| {
        wave(
            q * theta.sin() * phi.cos(),
            q * theta.sin() * phi.sin(),
            q * theta.cos(),
        )
    })
}

const QS: [f64; 7] = [1e-6, 1e-3, 0.01, 0.05, 0.1, 0.3, 0.5];

#[test]
fn broad_peak_is_lorentz_and_dab() {
    for q in QS {
        let peak = |shape| {
            intensity(
                "broad_peak",
                &[0.0, 3.0, 1.0, 40.0, 0.0, 2.0, shape],
                &at(q),
            )
        };
        near(peak(1.0), intensity("lorentz", &[40.0], &at(q)), 1e-12);
        near(
            peak(2.0) * 40_f64.powi(3),
            intensity("dab", &[40.0], &at(q)),
            1e-12,
        );
    }
}

/// Without a period a microemulsion is a random two-phase system.
#[test]
fn teubner_strey_without_period_is_dab() {
    for q in QS {
        near(
            intensity("teubner_strey", &[0.3, 1.0, 4.0, 1e9, 50.0], &at(q)),
            8e-4 * PI * 0.3 * 0.7 * 9.0 * intensity("dab", &[50.0], &at(q)),
            1e-12,
        );
    }
}

/// Value and slope are continuous where the laws of Guinier and Porod meet.
#[test]
fn guinier_porod_is_smooth() {
    for (rg, s, m) in [(60.0, 1.0, 3.0), (20.0, 0.0, 4.0), (100.0, 2.0, 4.0)] {
        let end = ((m - s) * (3.0 - s) / 2.0_f64).sqrt() / rg;
        let at = |q: f64| intensity("guinier_porod", &[rg, s, m], &at(q));
        near(at(end * (1.0 - 1e-9)), at(end * (1.0 + 1e-9)), 1e-8);
        let slope = |q: f64| (at(q * 1.0001) / at(q * 0.9999)).ln() / 2e-4;
        near(slope(end * 0.999), slope(end * 1.001), 5e-3);
    }
    near(
        intensity("guinier_porod", &[60.0, 0.0, 4.0], &at(0.0)),
        1.0,
        1e-12,
    );
}

/// All coils agree with Debye's, and fall by Guinier's law.
#[test]
fn coils_agree() {
    for q in [0.0, 1e-6, 1e-4, 1e-3, 0.003, 0.01, 0.03, 0.1, 0.5] {
        let rg = 55.0;
        let debye = intensity("mono_gauss_coil", &[1.0, rg], &at(q));
        near(
            intensity("poly_gauss_coil", &[1.0, rg, 1.0], &at(q)),
            debye,
            1e-11,
        );
        near(
            intensity("polymer_excl_volume", &[rg, 2.0], &at(q)),
            debye,
            1e-11,
        );
        // U = 1: 2 (1/(1 + z) + z − 1)/(2 z²) = 1/(1 + z).
        near(
            intensity("poly_gauss_coil", &[1.0, rg, 2.0], &at(q)),
            1.0 / (1.0 + (q * rg).powi(2) / 3.0),
            1e-11,
        );
        if q < 1e-3 {
            for others in [1.5, 5.0 / 3.0, 3.0, 4.0, 10.0] {
                near(
                    intensity("polymer_excl_volume", &[rg, others], &at(q)),
                    intensity("guinier", &[rg], &at(q)),
                    1e-5,
                );
            }
        }
    }
}

/// The integral 2 ∫ (1 − x) exp(−U x^(2ν)) dx that the incomplete Γ functions stand for.
#[test]
fn excluded_volume_is_its_integral() {
    for m in [0.3, 1.0, 5.0 / 3.0, 2.5, 4.0, 12.0, 22.0] {
        for q in [1e-3, 0.01, 0.02, 0.04, 0.08] {
            let (rg, twice) = (60.0, 2.0 / m);
            let u: f64 = (q * rg * q * rg) * (twice + 1.0) * (twice + 2.0) / 6.0;
            // Substituting x = t⁸ smooths the start; Simpson's rule.
            let n = 20_000;
            let f = |t: f64| {
                let x = t.powi(8);
                2.0 * (1.0 - x) * (-u * x.powf(twice)).exp() * 8.0 * t.powi(7)
            };
            let sum: f64 = (0..n)
                .map(|i| {
                    let (t, h) = (f64::from(i) / f64::from(n), 1.0 / f64::from(n));
                    h / 6.0 * (f(t) + 4.0 * f(t + h / 2.0) + f(t + h))
                })
                .sum();
            near(
                intensity("polymer_excl_volume", &[rg, m], &at(q)),
                sum,
                1e-8,
            );
        }
    }
}

/// Without clusters the blocks of a fractal are single spheres; in the limit of D = 1 and at q = 0 nothing breaks.
#[test]
fn fractals() {
    for q in QS {
        let single = intensity("sphere", &[2.0, 6.4, 5.0], &at(q));
        near(
            intensity("fractal", &[0.05, 5.0, 2.0, 1e-9, 2.0, 6.4], &at(q)),
            0.05 * single,
            1e-12,
        );
        let d = |d: f64| intensity("fractal", &[0.05, 5.0, d, 100.0, 2.0, 6.4], &at(q));
        near(d(1.0), d(1.0 + 1e-9), 1e-7);
        near(d(1e-9), d(0.0), 1e-6);
        let d = |d: f64| intensity("mass_fractal", &[10.0, d, 100.0], &at(q));
        near(d(1.0), d(1.0 + 1e-9), 1e-7);
    }
    // S(0) − 1 = Γ(D + 1) (ξ/R)ᴰ; the form factor is V.
    let volume: f64 = 4.0 / 3.0 * PI * 125.0;
    near(
        intensity("fractal", &[0.05, 5.0, 2.0, 100.0, 2.0, 6.4], &at(0.0)),
        0.05 * (volume * 4.4).powi(2) * 1e-4 * (1.0 + 2.0 * 400.0),
        1e-12,
    );
    near(
        intensity("mass_fractal", &[10.0, 3.0, 100.0], &at(0.0)),
        2e6,
        1e-12,
    );
}

/// One layer without heads is a lone sheet of twice the tail, by its volume per spacing; many perfect layers have their first peak at 2π/d,
/// N times a lone one.
#[test]
fn lamellae() {
    for q in QS {
        let sheet = intensity("lamellar", &[20.0, 0.4, 6.0], &at(q));
        let stack = |n, head, d| {
            intensity(
                "lamellar_hg_stack_caille",
                &[10.0, head, n, d, 0.0, 0.4, 2.0, 6.0],
                &at(q),
            )
        };
        near(stack(1.0, 0.0, 40.0), 0.5 * sheet, 1e-11);
        let peak = |n| stack(n, 2.0, 2.0 * PI / q);
        near(peak(25.0), 25.0 * peak(1.0), 1e-9);
    }
}

#[test]
fn blocks() {
    for q in QS {
        for wave in directions(q) {
            let (a, b, c) = (30.0, 70.0, 210.0);
            let block = amplitude("parallelepiped", &[4.0, 1.0, a, b, c], &wave);
            near(
                amplitude("rectangular_prism", &[4.0, 1.0, a, b / a, c / a], &wave),
                block,
                1e-11,
            );
            let shell = |slds: [f64; 4], rims: [f64; 3]| {
                amplitude(
                    "core_shell_parallelepiped",
                    &[
                        slds[0], slds[1], slds[2], slds[3], 1.0, a, b, c, rims[0], rims[1], rims[2],
                    ],
                    &wave,
                )
            };
            // Rims of the solvent, rims without thickness, and one pair of slabs of the core's density.
            near(shell([4.0, 1.0, 1.0, 1.0], [5.0, 6.0, 7.0]), block, 1e-11);
            near(shell([4.0, 2.0, 3.0, 5.0], [0.0; 3]), block, 1e-11);
            for (i, rims) in [[5.0, 0.0, 0.0], [0.0, 5.0, 0.0], [0.0, 0.0, 5.0]]
                .into_iter()
                .enumerate()
            {
                let mut edges = [a, b, c];
                edges[i] += 10.0;
                let larger = amplitude(
                    "parallelepiped",
                    &[4.0, 1.0, edges[0], edges[1], edges[2]],
                    &wave,
                );
                let found = shell([4.0; 4], rims);
                assert!(
                    (found - larger).abs() < 1e-9 * (3.0 * a * b * c * 1e-2),
                    "{found} is not {larger}"
                );
            }
        }
    }
    let shell = model("core_shell_parallelepiped").expect("model");
    let values = [1.0, 2.0, 4.0, 2.0, 6.0, 35.0, 75.0, 400.0, 10.0, 10.0, 10.0];
    near(shell.volume(&values).material, 1_982_500.0, 1e-12);
}

/// A lone disc whose layers are of the core's density is a cylinder; perfect stacks interfere like a grating.
#[test]
fn stacks() {
    for q in QS {
        for wave in directions(q) {
            let cylinder = intensity("cylinder", &[4.0, 5.0, 15.0, 30.0], &wave);
            let stack = |n: f64| {
                intensity(
                    "stacked_disks",
                    &[10.0, 10.0, 15.0, n, 0.0, 4.0, 4.0, 5.0],
                    &wave,
                )
            };
            near(stack(1.0), cylinder, 1e-10);
            let half = wave.along * 15.0;
            let grating = if half.abs() < 1e-8 {
                49.0
            } else {
                ((7.0 * half).sin() / half.sin()).powi(2)
            };
            let found = stack(7.0);
            assert!(
                (found - grating * cylinder).abs() < 1e-9 * 49.0 * cylinder,
                "{found} is not {}",
                grating * cylinder
            );
        }
    }
}

/// Nothing is NaN at q = 0 and q = 1e-9, nor in any direction.
#[test]
fn finite_at_the_origin() {
    for of in warpstride_kernels::sas::catalogue::models() {
        let values: Vec<f64> = of
            .info()
            .parameters
            .iter()
            .filter(|row| row.kind != warpstride_kernels::sas::model::Kind::Orientation)
            .flat_map(|row| std::iter::repeat_n(row.default, row.length))
            .collect();
        for q in [0.0, 1e-9, 1e-4, 0.1] {
            for wave in directions(q) {
                let form = of.form(&wave, &values);
                assert!(
                    !form.intensity.is_nan() && !form.amplitude.is_nan(),
                    "{} at {wave:?}",
                    of.info().name
                );
            }
        }
    }
}

/// Numbers of the formulas by hand: a cylinder of the cross-section 35 · 75 along 400, the cross-section without
/// the empty edges, the circle of 35 · 75.
#[test]
fn radii() {
    let radius = |name: &str, values: &[f64], mode| {
        let of = model(name).expect(name);
        assert!(of.info().radius_modes.len() >= mode as usize);
        of.effective_radius(values, mode)
    };
    let block = |mode| radius("parallelepiped", &[4.0, 1.0, 75.0, 400.0, 35.0], mode);
    let prism = |mode| {
        radius(
            "rectangular_prism",
            &[4.0, 1.0, 35.0, 75.0 / 35.0, 400.0 / 35.0],
            mode,
        )
    };
    let circle = (35.0 * 75.0 / PI).sqrt();
    let pair = 2.0 * circle * 400.0 + (circle + 400.0) * (PI * circle + 400.0);
    let expected = 0.5 * (0.75 * circle * pair).cbrt();
    near(block(1), expected, 1e-12);
    near(prism(1), expected, 1e-12);
    near(prism(6), circle, 1e-12);
    let diagonal = 0.5 * (35_f64.powi(2) + 75_f64.powi(2) + 400_f64.powi(2)).sqrt();
    near(block(8), diagonal, 1e-12);
    near(prism(8), diagonal, 1e-12);
    let shell = [1.0, 2.0, 4.0, 2.0, 6.0, 35.0, 75.0, 400.0, 10.0, 10.0, 10.0];
    near(
        radius("core_shell_parallelepiped", &shell, 6),
        (4825.0 / PI).sqrt(),
        1e-12,
    );
    near(radius("core_shell_parallelepiped", &shell, 3), 27.5, 1e-12);
}

mod single {
    use super::directions;
    use warpstride_kernels::for_each_sas_model;
    use warpstride_kernels::sas::model::{Kind, Model, Values, Wave};
    use warpstride_kernels::sas::models;

    /// Largest deviation of single from double precision, over the largest intensity at the same q.
    fn deviation<M: Model>() -> f64 {
        let defaults: Vec<f64> = M::INFO
            .parameters
            .iter()
            .filter(|row| row.kind != Kind::Orientation)
            .flat_map(|row| std::iter::repeat_n(row.default, row.length))
            .collect();
        let double = M::prepare(&M::Values::<f64>::read(|i| defaults[i]));
        let single = M::prepare(&M::Values::<f32>::read(|i| defaults[i] as f32));
        let mut worst = 0_f64;
        for q in [1e-3, 0.01, 0.05, 0.2, 0.5] {
            let waves: Vec<Wave<f64>> = directions(q).collect();
            let pairs = waves.iter().map(|w| {
                let narrow = Wave {
                    q: w.q as f32,
                    across: w.across as f32,
                    along: w.along as f32,
                    a: w.a as f32,
                    b: w.b as f32,
                    c: w.c as f32,
                };
                (
                    M::form(w, &double).intensity,
                    f64::from(M::form(&narrow, &single).intensity),
                )
            });
            let pairs: Vec<(f64, f64)> = pairs.collect();
            // What single precision cannot hold counts as 0.
            let largest = pairs.iter().map(|p| p.0.abs()).fold(1e-30, f64::max);
            for (wide, narrow) in pairs {
                worst = worst.max(if narrow.is_nan() {
                    f64::INFINITY
                } else {
                    (wide - narrow).abs() / largest
                });
            }
        }
        worst
    }

    macro_rules! all {
        ($($file:ident $model:ident $symmetry:ident;)*) => {
            fn all() -> Vec<(&'static str, f64)> {
                vec![$((stringify!($file), deviation::<models::$file::$model>())),*]
            }
        };
    }
    for_each_sas_model!(all);

    /// Single precision follows: rounding only, also where terms cancel.
    #[test]
    fn precision() {
        let off: Vec<_> = all()
            .into_iter()
            // Caps and rods cancel in a barbell.
            .filter(|(_, worst)| *worst > 5e-4)
            .collect();
        assert!(off.is_empty(), "{off:?}");
    }
}
