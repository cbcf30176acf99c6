//! Sine and cosine in turns against double precision, over their whole range, and the stated
//! bounds.

use std::f64::consts::TAU;

use warpstride_device::Complex32;
use warpstride_device::phase::{
    sincos_fraction_accurate, sincos_fraction_fast, sincos_turns_accurate, sincos_turns_fast,
};

fn worst(of: fn(f32) -> Complex32, angles: impl Iterator<Item = f32>) -> f64 {
    angles
        .map(|t| {
            // Exact in double precision, however large the angle.
            let turns = f64::from(t) - f64::from(t).round();
            let (sin, cos) = (TAU * turns).sin_cos();
            let found = of(t);
            let error = (f64::from(found.re) - cos)
                .abs()
                .max((f64::from(found.im) - sin).abs());
            assert!(error.is_finite(), "{t}");
            error
        })
        .fold(0.0, f64::max)
}

/// All of −2 … 2 in steps of 2⁻²⁰, and large angles with a fraction.
fn angles() -> impl Iterator<Item = f32> {
    let near = (-(2 << 20)..=(2 << 20)).map(|k| k as f32 / (1 << 20) as f32);
    let far = (0..4096).map(|k| 65_536.0 + k as f32 / 128.0);
    let tiny = (0..100).map(|k| f32::from_bits(k * 0x0080_0000));
    near.chain(far).chain(tiny)
}

#[test]
fn accurate_is_within_its_bound() {
    let worst = worst(sincos_turns_accurate, angles());
    assert!(worst <= 1.2e-7, "{worst}");
}

#[test]
fn fast_is_within_its_bound_less_the_instructions() {
    // On the host sine and cosine are exact but rounded: what is left is the argument's rounding.
    // The device's instructions may add 2⁻²⁰·⁵.
    let worst = worst(sincos_turns_fast, angles());
    assert!(worst <= 9e-7 - 2.0_f64.powf(-20.5), "{worst}");
}

#[test]
fn quarter_turns_are_exact() {
    for k in -8_i32..8 {
        let expected = match k.rem_euclid(4) {
            0 => (1.0, 0.0),
            1 => (0.0, 1.0),
            2 => (-1.0, 0.0),
            _ => (0.0, -1.0),
        };
        let found = sincos_turns_accurate(k as f32 / 4.0);
        assert!(
            found == Complex32::new(expected.0, expected.1),
            "{k}: {found:?}"
        );
    }
}

#[test]
fn fractions_of_a_turn_are_within_their_bounds() {
    let edges =
        (0..32).flat_map(|bit| [0_u32, 1, u32::MAX].map(|d| (1_u32 << bit).wrapping_add(d)));
    let everywhere = (0..1_u32 << 20).map(|k| k.wrapping_mul(4099));
    let [mut accurate, mut fast] = [0.0_f64; 2];
    for fraction in edges.chain(everywhere) {
        let (sin, cos) = (TAU * f64::from(fraction) / 4_294_967_296.0).sin_cos();
        let error = |found: Complex32| {
            let [re, im] = [found.re, found.im].map(f64::from);
            (re - cos).abs().max((im - sin).abs())
        };
        accurate = accurate.max(error(sincos_fraction_accurate(fraction)));
        fast = fast.max(error(sincos_fraction_fast(fraction)));
    }
    assert!(accurate <= 1.2e-7, "{accurate}");
    // The fast ones take the argument in radians, with a rounding more than that of turns.
    assert!(fast <= 1e-6 - 2.0_f64.powf(-20.5), "{fast}");
}
