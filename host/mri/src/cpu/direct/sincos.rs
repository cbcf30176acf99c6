//! Cosine and sine of angles in cycles, vectorised.

/// 1.5·2⁵²: adding it to a number below 2⁵¹ and subtracting it again leaves the nearest integer,
/// without an instruction that the baseline lacks.
const TO_INTEGER: f64 = 6_755_399_441_055_744.0;

/// Coefficients of sin x/x in x², with x in radians: (−1)ⁿ/(2n+1)!. Up to π/4 the next term adds
/// 5·10⁻¹⁷.
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

/// Coefficients of cos x in x²: (−1)ⁿ/(2n)!. Up to π/4 the next term adds 2·10⁻¹⁸.
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

/// `cycles` minus its nearest integer: within −1/2 … 1/2.
#[inline(always)]
pub(super) fn reduced(cycles: f64) -> f64 {
    cycles - ((cycles + TO_INTEGER) - TO_INTEGER)
}

/// cos 2πt and sin 2πt of a reduced angle, |t| ≤ 1/2, accurate to two roundings.
///
/// The nearest quarter q/4 is split off; the remainder is within π/4.
#[inline(always)]
pub(super) fn cos_sin(cycles: f64) -> (f64, f64) {
    let quarter = (4.0 * cycles + TO_INTEGER) - TO_INTEGER;
    let x = (cycles - 0.25 * quarter) * std::f64::consts::TAU;
    let square = x * x;
    let sine = x * SINE.iter().rev().fold(0.0, |sum, c| sum * square + c);
    let cosine = COSINE.iter().rev().fold(0.0, |sum, c| sum * square + c);
    // q = ±2: both change sign; q = ±1: (cos, sin) becomes (∓sin, ±cos).
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
    fn quarter_cycles_are_exact_and_others_agree_with_std() {
        for (cycles, expected) in [
            (0.0, (1.0, 0.0)),
            (0.25, (0.0, 1.0)),
            (-0.25, (0.0, -1.0)),
            (0.5, (-1.0, 0.0)),
            (-0.5, (-1.0, 0.0)),
        ] {
            assert_eq!(cos_sin(cycles), expected, "{cycles}");
        }
        for i in -5_000..=5_000 {
            let cycles = f64::from(i) / 10_000.0;
            let (cosine, sine) = cos_sin(cycles);
            let (s, c) = (cycles * TAU).sin_cos();
            assert!((cosine - c).abs() < 4e-16 && (sine - s).abs() < 4e-16);
        }
    }

    #[test]
    fn large_angles_are_reduced_before_conversion_to_radians() {
        // 12 345 678 more whole cycles change only the last bits of the argument.
        for i in 0..1000 {
            let cycles = f64::from(i) / 1024.0;
            let (near, far) = (reduced(cycles), reduced(cycles + 12_345_678.0));
            assert!(near.abs() <= 0.5 && near == far, "{cycles}");
        }
    }
}
