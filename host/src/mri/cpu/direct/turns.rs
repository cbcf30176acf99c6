//! Cosine and sine of angles in turns, many at a time.

/// 1.5·2⁵²: added to a number below 2⁵¹ and subtracted again it leaves the nearest integer, without
/// an instruction that the baseline lacks.
const TO_INTEGER: f64 = 6_755_399_441_055_744.0;

/// Coefficients of sin x/x in x², x in radians: (−1)ⁿ/(2n+1)!. Up to π/4 the next one adds 5·10⁻¹⁷.
const SINE: [f64; 8] = [
    1.0,
    -1.0 / 6.0,
    1.0 / 120.0,
    -1.0 / 5_040.0,
    1.0 / 362_880.0,
    -1.0 / 39_916_800.0,
    1.0 / 6_227_020_800.0,
    -1.0 / 1_307_674_368_000.0,
];

/// Coefficients of cos x in x²: (−1)ⁿ/(2n)!. Up to π/4 the next one adds 2·10⁻¹⁸.
const COSINE: [f64; 9] = [
    1.0,
    -1.0 / 2.0,
    1.0 / 24.0,
    -1.0 / 720.0,
    1.0 / 40_320.0,
    -1.0 / 3_628_800.0,
    1.0 / 479_001_600.0,
    -1.0 / 87_178_291_200.0,
    1.0 / 20_922_789_888_000.0,
];

/// `turns` without its nearest integer: within −1/2 … 1/2.
#[inline(always)]
pub(super) fn reduced(turns: f64) -> f64 {
    turns - ((turns + TO_INTEGER) - TO_INTEGER)
}

/// cos 2πt and sin 2πt of a reduced angle, |t| ≤ 1/2: to two roundings.
///
/// The nearest quarter q/4 is split off; what is left is within π/4.
#[inline(always)]
pub(super) fn cos_sin(turns: f64) -> (f64, f64) {
    let quarter = (4.0 * turns + TO_INTEGER) - TO_INTEGER;
    let x = (turns - 0.25 * quarter) * std::f64::consts::TAU;
    let square = x * x;
    let sine = x * SINE.iter().rev().fold(0.0, |sum, c| sum * square + c);
    let cosine = COSINE.iter().rev().fold(0.0, |sum, c| sum * square + c);
    // q = ±2: both turn their sign; q = ±1: (cos, sin) becomes (∓sin, ±cos).
    let odd = quarter.abs() == 1.0;
    let half = if quarter.abs() == 2.0 { -1.0 } else { 1.0 };
    if odd {
        (-quarter * sine, quarter * cosine)
    } else {
        (half * cosine, half * sine)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::TAU;

    #[test]
    fn a_turn_has_exact_quarters_and_the_library_s_values() {
        for (turns, expected) in [
            (0.0, (1.0, 0.0)),
            (0.25, (0.0, 1.0)),
            (-0.25, (0.0, -1.0)),
            (0.5, (-1.0, 0.0)),
            (-0.5, (-1.0, 0.0)),
        ] {
            assert_eq!(cos_sin(turns), expected, "{turns}");
        }
        for i in -5_000..=5_000 {
            let turns = f64::from(i) / 10_000.0;
            let (cosine, sine) = cos_sin(turns);
            let (s, c) = (turns * TAU).sin_cos();
            assert!((cosine - c).abs() < 4e-16 && (sine - s).abs() < 4e-16);
        }
    }

    #[test]
    fn hundreds_of_turns_are_reduced_before_they_are_radians() {
        // 12 345 678 whole turns more change nothing but the last bits of the argument.
        for i in 0..1000 {
            let turns = f64::from(i) / 1024.0;
            let (near, far) = (reduced(turns), reduced(turns + 12_345_678.0));
            assert!(near.abs() <= 0.5 && near == far, "{turns}");
        }
    }
}
