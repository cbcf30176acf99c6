//! The functions that form factors are made of, against `libm` over dense grids and against reference points from
//! 40-digit arithmetic. Errors of what oscillates are measured against its envelope: relative ones near a zero say
//! nothing. A bound is about twice the error that is found; rounding x itself shifts f32 references, so those are
//! taken at the rounded x in f64.

#![cfg(feature = "sas")]

use warpstride_kernels::sas::functions::{
    bessel_j0, bessel_j1, j1c, sinc, sine_integral, sphere_form,
};
use warpstride_kernels::sas::real::Real;

/// x, sin x, cos x, J₀(x), J₁(x), 3 (sin x − x cos x)/x³, Si(x).
const POINTS: [[f64; 7]; 16] = [
    [
        1e-6,
        9.999999999998333e-7,
        0.9999999999995,
        0.99999999999975,
        4.999999999999375e-7,
        0.9999999999999,
        9.999999999999445e-7,
    ],
    [
        0.03125,
        0.03124491398532608,
        0.9995117584851364,
        0.999755874275757,
        0.015623092728975822,
        0.9999023471559181,
        0.03124830462866277,
    ],
    [
        0.75,
        0.6816387600233341,
        0.7316888688738209,
        0.8642422751666486,
        0.34924360217486217,
        0.9448683261722205,
        0.7269542471500869,
    ],
    [
        1.999,
        0.9097131189441955,
        -0.41523733119846545,
        0.2244675361180832,
        0.5767890792130258,
        0.6533943054979149,
        1.604958110393613,
    ],
    [
        2.001,
        0.9088808254098169,
        -0.41705592574901745,
        0.22331408663600552,
        0.5766601359929543,
        0.6527989616892454,
        1.6058674078140216,
    ],
    [
        3.75,
        -0.5715613187423437,
        -0.8205593573395608,
        -0.4014060549361743,
        0.03322934912967973,
        0.1425371745439863,
        1.801228726765879,
    ],
    [
        7.9999,
        0.9893727916799471,
        -0.14540109725661615,
        0.17167427006059147,
        0.23462211348375298,
        0.012613170427176768,
        1.5741744545606473,
    ],
    [
        8.0001,
        0.989343691673234,
        -0.14559896890561058,
        0.1716273427913037,
        0.23465057773647316,
        0.01262149936060182,
        1.5741991885167745,
    ],
    [
        11.999,
        -0.537416503532088,
        0.8433169639769765,
        0.04746583057345667,
        -0.22351330619483203,
        -0.018505280021801695,
        1.50501599295449,
    ],
    [
        12.001,
        -0.5357287958959086,
        0.8443901096341192,
        0.04791272471031449,
        -0.22338068641687703,
        -0.018518381306389074,
        1.5049265641456142,
    ],
    [
        23.0,
        -0.8462204041751706,
        -0.5328330203333975,
        -0.16241278131348655,
        -0.03951932188370151,
        0.002813085985902763,
        1.5954594323131568,
    ],
    [
        100.5,
        -0.030959966783271346,
        0.9995206253283515,
        0.054436573814413594,
        -0.05779112399693202,
        -0.0002969714664585518,
        1.5608558784061177,
    ],
    [
        1234.5,
        0.14539565052293643,
        -0.989373592132422,
        -0.013550379618035721,
        0.0182175083373925,
        1.947830117194801e-6,
        1.5715976670275842,
    ],
    [
        98765.4321,
        0.04224386964079158,
        0.9991073293084041,
        0.0018694734249184702,
        -0.001717792709691443,
        -3.0727220536701654e-10,
        1.5707862108288588,
    ],
    [
        1000000000.5,
        0.8807272059732143,
        0.47362388945091793,
        2.4163304505708252e-5,
        7.26322845497747e-6,
        -1.4208716642897005e-18,
        1.5707963263212728,
    ],
    [
        750000000000.0,
        -0.473463295116495,
        0.8808135490428328,
        2.6537647639012086e-7,
        -8.822707571574764e-7,
        -4.6976722615651414e-24,
        1.5707963267937222,
    ],
];

/// Greatest |f(x) − g(x)|/envelope(x) and where, over points in equal ratios and points in equal steps.
fn greatest(range: (f64, f64), error: impl Fn(f64) -> f64) -> (f64, f64) {
    let (low, high) = range;
    let n = 200_000;
    let ratio = (high / low).ln() / f64::from(n);
    let points = (0..=n).flat_map(|i| {
        let i = f64::from(i);
        // Steps that share no period with π.
        [low * (i * ratio).exp(), low + i * 0.000_731]
    });
    let mut worst = (0.0, 0.0);
    for x in points.filter(|x| *x <= high) {
        for x in [x, -x] {
            let found = error(x);
            assert!(!found.is_nan(), "NaN at {x}");
            if found > worst.0 {
                worst = (found, x);
            }
        }
    }
    worst
}

struct Limits {
    name: &'static str,
    range: (f64, f64),
    double: f64,
    single: f64,
}

/// Both precisions of a function against a reference in f64.
fn check(
    limits: &Limits,
    double: impl Fn(f64) -> f64,
    single: impl Fn(f32) -> f32,
    reference: impl Fn(f64) -> f64,
    envelope: impl Fn(f64) -> f64,
) {
    let of_double = greatest(limits.range, |x| {
        (double(x) - reference(x)).abs() / envelope(x)
    });
    let (low, high) = limits.range;
    let single_range = (low, high.min(1e5));
    let of_single = greatest(single_range, |x| {
        let x = x as f32;
        let exact = f64::from(x);
        (f64::from(single(x)) - reference(exact)).abs() / envelope(exact)
    });
    assert!(
        of_double.0 < limits.double && of_single.0 < limits.single,
        "{}: {of_double:?}, single {of_single:?}",
        limits.name
    );
}

fn limits(name: &'static str, range: (f64, f64), double: f64, single: f64) -> Limits {
    Limits {
        name,
        range,
        double,
        single,
    }
}

#[test]
fn sines() {
    let l = |name| limits(name, (1e-9, 1e9), 5e-16, 3e-7);
    let one = |_: f64| 1.0;
    check(
        &l("sin_cos, sin"),
        |x| x.sin_cos_ours().0,
        |x| x.sin_cos_ours().0,
        libm::sin,
        one,
    );
    check(
        &l("sin_cos, cos"),
        |x| x.sin_cos_ours().1,
        |x| x.sin_cos_ours().1,
        libm::cos,
        one,
    );
    check(&l("sin"), Real::sin, Real::sin, libm::sin, one);
    check(&l("cos"), Real::cos, Real::cos, libm::cos, one);
}

/// `f64::sin_cos` of `std` would take precedence.
trait Ours: Real {
    fn sin_cos_ours(self) -> (Self, Self) {
        Real::sin_cos(self)
    }
}
impl Ours for f64 {}
impl Ours for f32 {}

/// Beyond its range a sine stays one.
#[test]
fn sines_are_bounded() {
    for x in [1.1e12, 1e15, -1e18, 1e30, 1e300] {
        assert!(
            Real::sin(x).abs() <= 1.0
                && Real::cos(x).abs() <= 1.0
                && Real::sin_cos(x).0.abs() <= 1.0
        );
        assert!(bessel_j0(x).abs() < 1e-5 && j1c(x).abs() < 1e-15 && sinc(x).abs() < 1e-11);
    }
    for x in [2e6_f32, 1e9, -3e20, 1e37] {
        assert!(Real::sin(x).abs() <= 1.0 && Real::cos(x).abs() <= 1.0);
        assert!(bessel_j1(x).abs() < 1e-3 && sphere_form(x).abs() < 1e-11);
    }
    assert!(Real::sin(f64::NAN).is_nan() && Real::cos(f64::INFINITY).is_nan());
}

#[test]
fn exponentials() {
    let l = |name, range, single| limits(name, range, 4e-16, single);
    check(
        &l("exp, relative", (1e-9, 80.0), 3e-7),
        Real::exp,
        Real::exp,
        libm::exp,
        libm::exp,
    );
    let range = (1e-300, 1e300);
    let worst = greatest(range, |x| {
        let x = x.abs();
        (Real::ln(x) - libm::log(x)).abs() / libm::log(x).abs().max(1e-300)
    });
    assert!(worst.0 < 4e-16, "ln: {worst:?}");
    let worst = greatest((1e-37, 1e37), |x| {
        let x = x.abs() as f32;
        let exact = libm::log(f64::from(x));
        (f64::from(Real::ln(x)) - exact).abs() / exact.abs().max(1e-30)
    });
    assert!(worst.0 < 3e-7, "ln: {worst:?}");
    // The edges.
    assert_eq!(Real::exp(0.0), 1.0);
    assert_eq!(Real::exp(-1e5), 0.0);
    assert_eq!(Real::exp(f64::NEG_INFINITY), 0.0);
    assert_eq!(Real::exp(720.0), f64::INFINITY);
    assert!((Real::exp(-740.0) - libm::exp(-740.0)).abs() <= 5e-324);
    assert!((Real::exp(709.7) / libm::exp(709.7) - 1.0).abs() < 4e-16);
    assert!(
        Real::exp(f64::NAN).is_nan() && Real::ln(f64::NAN).is_nan() && Real::ln(-1.0_f64).is_nan()
    );
    assert_eq!(Real::ln(1.0), 0.0);
    assert_eq!(Real::ln(0.0), f64::NEG_INFINITY);
    assert_eq!(Real::ln(f64::INFINITY), f64::INFINITY);
    assert_eq!(Real::exp(100_f32), f32::INFINITY);
    assert_eq!(Real::exp(-110_f32), 0.0);
    assert_eq!(Real::ln(0_f32), f32::NEG_INFINITY);
    assert_eq!(Real::powf(0.0, 2.0), 0.0);
    assert!((Real::powf(7.0, 11.0) / 1_977_326_743.0 - 1.0).abs() < 1e-14);
}

#[test]
fn bessel_functions() {
    let range = (1e-9, 1e6);
    let envelope = |x: f64| 1.0 / (1.0 + x.abs()).sqrt();
    check(
        &limits("J0", range, 3e-15, 1.2e-6),
        bessel_j0,
        bessel_j0,
        libm::j0,
        envelope,
    );
    check(
        &limits("J1", range, 3e-15, 1.2e-6),
        bessel_j1,
        bessel_j1,
        libm::j1,
        envelope,
    );
    check(
        &limits("2 J1/x", range, 6e-15, 1.5e-6),
        j1c,
        j1c,
        |x| 2.0 * libm::j1(x) / x,
        |x| (1.0 + x * x).powf(-0.75),
    );
    // No digit of a small J₁ is lost.
    check(
        &limits("J1, relative", (1e-9, 1.0), 2e-15, 8e-7),
        bessel_j1,
        bessel_j1,
        libm::j1,
        |x| libm::j1(x).abs(),
    );
    assert_eq!(bessel_j1(0.0), 0.0);
    assert!((j1c(0.0) - 1.0).abs() < 1e-15);
}

#[test]
fn waves() {
    check(
        &limits("sinc", (1e-9, 1e6), 6e-16, 4e-7),
        sinc,
        sinc,
        |x| libm::sin(x) / x,
        |x| 1.0 / x.abs().max(1.0),
    );
    // The reference cancels below 1, where the series is its own reference.
    check(
        &limits("sphere_form", (0.5, 1e6), 6e-15, 8e-7),
        sphere_form,
        sphere_form,
        |x| 3.0 * (libm::sin(x) - x * libm::cos(x)) / (x * x * x),
        |x| 1.0 / (1.0 + x * x / 3.0),
    );
    check(
        &limits("sphere_form near 0", (1e-9, 0.1), 4e-16, 3e-7),
        sphere_form,
        sphere_form,
        |x| {
            let z = x * x;
            1.0 - z / 10.0 * (1.0 - z / 28.0 * (1.0 - z / 54.0 * (1.0 - z / 88.0)))
        },
        |_| 1.0,
    );
    assert_eq!(sinc(0.0), 1.0);
    assert_eq!(sphere_form(0.0), 1.0);
}

#[test]
fn reference_points() {
    for [x, sin, cos, j0, j1, sphere, si] in POINTS {
        let near = |name: &str, found: f64, expected: f64, scale: f64| {
            let error = (found - expected).abs() / scale;
            assert!(
                error < 2e-15,
                "{name}({x}): {found}, expected {expected}, error {error}"
            );
        };
        let bessel = 1.0 / (1.0 + x).sqrt();
        near("sin", Real::sin(x), sin, 1.0);
        near("cos", Real::cos(x), cos, 1.0);
        near("J0", bessel_j0(x), j0, bessel);
        near("J1", bessel_j1(x), j1, bessel);
        near(
            "sphere_form",
            sphere_form(x),
            sphere,
            1.0 / (1.0 + x * x / 3.0),
        );
        near("Si", sine_integral(x), si, x.min(1.0));
        near("Si", sine_integral(-x), -si, x.min(1.0));
        if x < 1e5 {
            let rounded = x as f32;
            // The derivative of Si is at most 1.
            let error = f64::from(sine_integral(rounded)) - si - (f64::from(rounded) - x) * sin / x;
            assert!(error.abs() < 4e-7, "Si({x}): {error}");
        }
    }
}
