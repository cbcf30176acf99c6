//! Sines, exponentials and logarithms by polynomials, for any [`Real`].
//!
//! All coefficients are our own minimax fits (Remez's exchange in 45 digits) and immediates of the code: no
//! tables, so that packs and GPUs run them as plain arithmetic. Each fit names its range and its greatest error;
//! the functions' errors, rounding included, are measured in `tests/sas_functions.rs`.

use crate::sas::real::Real;
use core::f64::consts::{FRAC_1_PI, LN_2, LOG2_E, PI};

/// Horner's scheme, coefficients from the constant upwards; `single: …; double: …` has one list for each precision.
macro_rules! polynomial {
    ($x:expr, single: [$($single:literal),+], double: [$($double:literal),+]) => {
        if R::SINGLE {
            $crate::sas::functions::elementary::polynomial!($x; $($single),+)
        } else {
            $crate::sas::functions::elementary::polynomial!($x; $($double),+)
        }
    };
    ($x:expr; $last:literal) => { R::of($last) };
    ($x:expr; $first:literal, $($more:literal),+) => {
        $crate::sas::functions::elementary::polynomial!($x; $($more),+).mul_add($x, R::of($first))
    };
}
pub(super) use polynomial;

/// A constant as the sum of two numbers of the precision at hand.
#[inline(always)]
fn two_parts<R: Real>(double: (f64, f64), single: (f64, f64)) -> (R, R) {
    let (high, low) = if R::SINGLE { single } else { double };
    (R::of(high), R::of(low))
}

/// x if it is within the range of [`sin_cos`], else 0 (NaN for ±∞ and NaN).
#[inline(always)]
fn within<R: Real>(x: R) -> R {
    let bound = if R::SINGLE { 1_048_576.0 } else { 1e12 };
    R::choose(
        x.abs().less(R::of(bound)),
        #[inline(always)]
        || x,
        #[inline(always)]
        || x * R::zero(),
    )
}

/// The half turns nearest to x + `ahead`·π, marked ([`Real::MARK`]), and x + `ahead`·π less those, in −π/2 … π/2.
/// `ahead` is a multiple of 1/4.
#[inline(always)]
fn reduced<R: Real>(x: R, ahead: f64) -> (R, R) {
    let mark = R::of(R::MARK);
    let x = within(x);
    let marked = if ahead == 0.0 {
        x.mul_add(R::of(FRAC_1_PI), mark)
    } else {
        x.mul_add(R::of(FRAC_1_PI), R::of(ahead)) + mark
    };
    let turns = if ahead == 0.0 {
        marked - mark
    } else {
        (marked - mark).plus(-ahead)
    };
    // With fused multiply–adds the first step is exact but for the last bit, so two parts of π suffice.
    let (high, low) = two_parts::<R>(
        (PI, 1.224_646_799_147_353_2e-16),
        (3.141_592_741_012_573_2, -8.742_277_657_347_586e-8),
    );
    let rest = turns.mul_add(-high, x);
    (marked, turns.mul_add(-low, rest))
}

/// (sin r/r − 1)/r² of z = r², for |r| ≤ π/2 + 0.06: sin to 5·10⁻¹⁹, single 7·10⁻⁹.
#[inline(always)]
fn sine_series<R: Real>(z: R) -> R {
    polynomial!(z,
    single: [-0.16666658321257397, 0.008333027286239714, -0.00019806329397450143, 2.597821314753803e-6],
    double: [
        -0.16666666666666666, 0.008333333333333129, -0.00019841269841184585, 2.755731920679392e-6,
        -2.5052106467063264e-8, 1.6058919033953947e-10, -7.642449079602282e-13, 2.715440909304192e-15
    ])
}

/// sin(x + `ahead`·π + `more`) for a multiple `ahead` of 1/4 and |`more`| ≤ 0.05, as exact as that sum is: 17
/// multiply–adds.
#[inline(always)]
pub(super) fn sine<R: Real>(x: R, ahead: f64, more: Option<R>) -> R {
    let (marked, mut r) = reduced(x, ahead);
    if let Some(more) = more {
        r += more;
    }
    let z = r * r;
    (r * z).mul_add(sine_series(z), r).flip_where_odd(marked)
}

/// sin x; range and error as of [`sin_cos`].
#[inline(always)]
pub fn sin<R: Real>(x: R) -> R {
    sine(x, 0.0, None)
}

/// cos x; range and error as of [`sin_cos`].
#[inline(always)]
pub fn cos<R: Real>(x: R) -> R {
    sine(x, 0.5, None)
}

/// sin x and cos x for |x| < 10¹² (single: 2²⁰), each to 2.3·10⁻¹⁶ (1.2·10⁻⁷): 23 multiply–adds. Finite x beyond
/// count as 0.
#[inline(always)]
pub fn sin_cos<R: Real>(x: R) -> (R, R) {
    let (marked, r) = reduced(x, 0.0);
    let z = r * r;
    let sin = (r * z).mul_add(sine_series(z), r);
    // (cos r − 1 + r²/2)/r⁴ for |r| ≤ π/2 + 0.06: cos to 1.2·10⁻¹⁷, single 7·10⁻¹⁰.
    let cosine = polynomial!(z,
    single: [0.041666652009158714, -0.0013888489667819616, 2.4764176268262e-5, -2.6090404550224784e-7],
    double: [
        0.04166666666666526, -0.001388888888879683, 2.4801587278646187e-5, -2.7557316320735024e-7,
        2.087655152742897e-9, -1.146249941335431e-11, 4.603644078581476e-14
    ]);
    let cos = (z * z).mul_add(cosine, z.mul_add(R::of(-0.5), R::one()));
    (sin.flip_where_odd(marked), cos.flip_where_odd(marked))
}

/// eˣ, to a unit in the last place; 0 and ∞ beyond what the precision holds.
#[inline(always)]
pub fn exp<R: Real>(x: R) -> R {
    let (least, most) = if R::SINGLE {
        (-105.0, 90.0)
    } else {
        (-746.0, 711.0)
    };
    let x = x.max(R::of(least)).min(R::of(most));
    let mark = R::of(R::MARK);
    let marked = x.mul_add(R::of(LOG2_E), mark);
    let twos = marked - mark;
    let (high, low) = two_parts::<R>(
        (LN_2, 2.319_046_813_846_299_6e-17),
        (0.693_147_182_464_599_6, -1.904_654_212_125_933_6e-9),
    );
    let r = twos.mul_add(-low, twos.mul_add(-high, x));
    // (eʳ − 1 − r)/r² for |r| ≤ ½ ln 2: eʳ to 5·10⁻¹⁸, single 4·10⁻⁹.
    let series = polynomial!(r,
    single: [
        0.5000000087947101, 0.1666652237555376, 0.04166622104088901, 0.008368561007482147, 0.0013949724210151713
    ],
    double: [
        0.5000000000000008, 0.16666666666666693, 0.04166666666654623, 0.008333333333310291, 0.0013888888939984486,
        0.00019841269911666476, 2.480149644922715e-5, 2.7557220784480503e-6, 2.762916821529208e-7,
        2.511659131111982e-8
    ]);
    let power = (r * r).mul_add(series, r) + R::one();
    power.times_power_of_two(marked)
}

/// ln x, to a unit in the last place; −∞ at 0 (subnormal numbers count as 0), NaN below.
#[inline(always)]
pub fn ln<R: Real>(x: R) -> R {
    let (mantissa, exponent) = x.split_exponent();
    let f = mantissa.plus(-1.0);
    let s = f / f.plus(2.0);
    let z = s * s;
    // (2 artanh s/s − 2)/s² for (√½ … √2 − 1)/(… + 1): the logarithm to 2·10⁻¹⁸, single 1·10⁻⁹.
    let series = polynomial!(z,
    single: [0.666667654305077, 0.39978602974598315, 0.2984783220416426],
    double: [
        0.6666666666666698, 0.39999999999611907, 0.2857142870386168, 0.22222202139992456, 0.18183394138329553,
        0.15318097423268318, 0.1475797275650903
    ]);
    let (high, low) = two_parts::<R>(
        (LN_2, 2.319_046_813_846_299_6e-17),
        (0.693_147_182_464_599_6, -1.904_654_212_125_933_6e-9),
    );
    // 2 artanh s = f − f²/2 + s (f²/2 + s² series): no digit is lost near x = 1.
    let half_square = (f * f).times(0.5);
    let rest = s.mul_add(z.mul_add(series, half_square), exponent * low);
    let ln = exponent.mul_add(high, f - (half_square - rest));
    let least = if R::SINGLE {
        f64::from(f32::MIN_POSITIVE)
    } else {
        f64::MIN_POSITIVE
    };
    R::choose(
        x.less(R::of(least)),
        #[inline(always)]
        || {
            R::choose(
                x.less(R::zero()),
                #[inline(always)]
                || R::of(f64::NAN),
                #[inline(always)]
                || R::of(f64::NEG_INFINITY),
            )
        },
        #[inline(always)]
        || {
            R::choose(
                x.less(R::of(f64::INFINITY)),
                #[inline(always)]
                || ln,
                #[inline(always)]
                || x,
            )
        },
    )
}
