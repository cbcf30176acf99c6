//! Discrete Fourier transforms of 2 to 32 values in a thread's registers, decimation in time by radix-2 layers.
//!
//! A layer's butterfly `a ± t b` is six fused multiply-adds (the difference is `2a − (a + t b)`), four additions where
//! t is ±1 or ±i. A *twisted* transform computes `y[k] = Σ_n x[n] w^n W_R^{nk}` with a factor w of the thread's own
//! (Cooley and Tukey's twiddle factors): they cost nothing but the trivial butterflies. Operations of R = 4, 8, 16,
//! 32: 16, 52, 148, 388 (twisted: 24, 72, 192, 480).
//!
//! Every loop has a constant length and is unrolled, so that the arrays are registers.

use warpstride_device::prelude::*;

/// cos(2πk/32) for k = 0 … 8.
#[expect(clippy::excessive_precision, reason = "rounded once, to f32")]
const COSINES: [f32; 9] = [
    1.0,
    0.980_785_280_403_230_5,
    0.923_879_532_511_286_8,
    0.831_469_612_302_545_2,
    0.707_106_781_186_547_5,
    0.555_570_233_019_602_2,
    0.382_683_432_365_089_8,
    0.195_090_322_016_128_3,
    0.0,
];

/// exp(∓2πi k/32) for k < 16; the upper sign is the forward transform's.
#[inline(always)]
const fn root<const INVERSE: bool>(k: usize) -> Complex32 {
    let (re, sin) = if k <= 8 {
        (COSINES[k], COSINES[8 - k])
    } else {
        (-COSINES[16 - k], COSINES[k - 8])
    };
    Complex32::new(re, if INVERSE { sin } else { -sin })
}

/// `value` times ∓i.
#[inline(always)]
pub(super) fn quarter_turn<const INVERSE: bool>(value: Complex32) -> Complex32 {
    if INVERSE {
        Complex32::new(-value.im, value.re)
    } else {
        Complex32::new(value.im, -value.re)
    }
}

/// (a + t b, a − t b)
#[inline(always)]
pub(super) fn butterfly(a: Complex32, b: Complex32, t: Complex32) -> (Complex32, Complex32) {
    let sum = t.mul_add(b, a);
    let difference = Complex32::new(
        GpuFloat::mul_add(2.0, a.re, -sum.re),
        GpuFloat::mul_add(2.0, a.im, -sum.im),
    );
    (sum, difference)
}

/// One layer, which joins transforms of `HALF` values to transforms of 2 `HALF`.
#[inline(always)]
fn layer<const R: usize, const HALF: usize, const INVERSE: bool>(x: &mut [Complex32; R]) {
    for group in 0..R / (2 * HALF) {
        for k in 0..HALF {
            let first = group * 2 * HALF + k;
            let (a, b) = (x[first], x[first + HALF]);
            let (sum, difference) = if k == 0 {
                (a + b, a - b)
            } else if 2 * k == HALF {
                let turned = quarter_turn::<INVERSE>(b);
                (a + turned, a - turned)
            } else {
                butterfly(a, b, root::<INVERSE>(k * (16 / HALF)))
            };
            x[first] = sum;
            x[first + HALF] = difference;
        }
    }
}

/// [`layer`] of a twisted transform; `t` is the factor of its first butterfly.
#[inline(always)]
fn twisted_layer<const R: usize, const HALF: usize, const INVERSE: bool>(
    x: &mut [Complex32; R],
    t: Complex32,
) {
    for k in 0..HALF.div_ceil(2) {
        let factor = if k == 0 {
            t
        } else {
            t * root::<INVERSE>(k * (16 / HALF))
        };
        for group in 0..R / (2 * HALF) {
            let first = group * 2 * HALF + k;
            (x[first], x[first + HALF]) = butterfly(x[first], x[first + HALF], factor);
            if HALF > 1 {
                let second = first + HALF / 2;
                let turned = quarter_turn::<INVERSE>(factor);
                (x[second], x[second + HALF]) = butterfly(x[second], x[second + HALF], turned);
            }
        }
    }
}

/// `index` with its lowest `bits` bits reversed: where a transform of 2^`bits` values expects input number `index`.
#[inline(always)]
#[must_use]
pub const fn reversed(index: usize, bits: u32) -> usize {
    if bits == 0 {
        0
    } else {
        index.reverse_bits() >> (usize::BITS - bits)
    }
}

/// Calls `transform` with `R` of the values, from `first` on.
#[inline(always)]
pub fn on_part<const N: usize, const R: usize>(
    values: &mut [Complex32; N],
    first: usize,
    transform: impl FnOnce(&mut [Complex32; R]),
) {
    let mut part = [Complex32::ZERO; R];
    part.copy_from_slice(&values[first..first + R]);
    transform(&mut part);
    values[first..first + R].copy_from_slice(&part);
}

/// The transform of 2 values.
#[inline(always)]
pub fn transform_2<const INVERSE: bool>(x: &mut [Complex32; 2]) {
    layer::<2, 1, INVERSE>(x);
}

/// The transform of 4 values, input in the order of [`reversed`], output in natural order.
#[inline(always)]
pub fn transform_4<const INVERSE: bool>(x: &mut [Complex32; 4]) {
    layer::<4, 1, INVERSE>(x);
    layer::<4, 2, INVERSE>(x);
}

/// [`transform_4`] of 8 values.
#[inline(always)]
pub fn transform_8<const INVERSE: bool>(x: &mut [Complex32; 8]) {
    layer::<8, 1, INVERSE>(x);
    layer::<8, 2, INVERSE>(x);
    layer::<8, 4, INVERSE>(x);
}

/// [`transform_4`] of 16 values.
#[inline(always)]
pub fn transform_16<const INVERSE: bool>(x: &mut [Complex32; 16]) {
    layer::<16, 1, INVERSE>(x);
    layer::<16, 2, INVERSE>(x);
    layer::<16, 4, INVERSE>(x);
    layer::<16, 8, INVERSE>(x);
}

/// [`transform_4`] of 32 values.
#[inline(always)]
pub fn transform_32<const INVERSE: bool>(x: &mut [Complex32; 32]) {
    layer::<32, 1, INVERSE>(x);
    layer::<32, 2, INVERSE>(x);
    layer::<32, 4, INVERSE>(x);
    layer::<32, 8, INVERSE>(x);
    layer::<32, 16, INVERSE>(x);
}

/// The twisted transform of 2 values; `power(p)` is w^p.
#[inline(always)]
pub fn twisted_2<const INVERSE: bool>(x: &mut [Complex32; 2], power: impl Fn(u32) -> Complex32) {
    twisted_layer::<2, 1, INVERSE>(x, power(1));
}

/// The twisted transform of 4 values; `power(p)` is w^p. Input and output as in [`transform_4`].
#[inline(always)]
pub fn twisted_4<const INVERSE: bool>(x: &mut [Complex32; 4], power: impl Fn(u32) -> Complex32) {
    twisted_layer::<4, 1, INVERSE>(x, power(2));
    twisted_layer::<4, 2, INVERSE>(x, power(1));
}

/// [`twisted_4`] of 8 values.
#[inline(always)]
pub fn twisted_8<const INVERSE: bool>(x: &mut [Complex32; 8], power: impl Fn(u32) -> Complex32) {
    twisted_layer::<8, 1, INVERSE>(x, power(4));
    twisted_layer::<8, 2, INVERSE>(x, power(2));
    twisted_layer::<8, 4, INVERSE>(x, power(1));
}

/// [`twisted_4`] of 16 values.
#[inline(always)]
pub fn twisted_16<const INVERSE: bool>(x: &mut [Complex32; 16], power: impl Fn(u32) -> Complex32) {
    twisted_layer::<16, 1, INVERSE>(x, power(8));
    twisted_layer::<16, 2, INVERSE>(x, power(4));
    twisted_layer::<16, 4, INVERSE>(x, power(2));
    twisted_layer::<16, 8, INVERSE>(x, power(1));
}

/// [`twisted_4`] of 32 values.
#[inline(always)]
pub fn twisted_32<const INVERSE: bool>(x: &mut [Complex32; 32], power: impl Fn(u32) -> Complex32) {
    twisted_layer::<32, 1, INVERSE>(x, power(16));
    twisted_layer::<32, 2, INVERSE>(x, power(8));
    twisted_layer::<32, 4, INVERSE>(x, power(4));
    twisted_layer::<32, 8, INVERSE>(x, power(2));
    twisted_layer::<32, 16, INVERSE>(x, power(1));
}
