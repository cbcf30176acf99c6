//! Discrete Fourier transforms of R = 2^a 3^b 5^c values in a thread's registers, decimation in time: layers of radix 5
//! first, then of radix 3, then of radix 2. For powers of two, [`super::registers`] has the same.
//!
//! A layer of radix p joins p transforms of `part` values each, with roots of unity that are constants. Operations
//! (additions, multiplications, fused multiply-adds) of a butterfly, without and with roots: radix 2 has 4 and 6, radix 3
//! has 12 and 18, radix 5 has 32 and 44.
//!
//! Every loop has a constant length and is unrolled, so that the arrays are registers.

use super::registers::{butterfly, quarter_turn};
use warpstride_device::prelude::*;

/// sin(2π/3)
const SIN_3: f32 = turned(1, 3).1 as f32;
/// cos(2π/5), cos(4π/5)
const COS_5: [f32; 2] = [turned(1, 5).0 as f32, turned(2, 5).0 as f32];
/// sin(2π/5)
const SIN_5: f32 = turned(1, 5).1 as f32;
/// sin(4π/5)/sin(2π/5)
const SIN_RATIO_5: f32 = (turned(2, 5).1 / turned(1, 5).1) as f32;

/// (cos, sin) of a part `x` (0 … 1) of π/4, by their series: the first term left out is below 10⁻¹⁶.
const fn octant(x: f64) -> (f64, f64) {
    let angle = x * core::f64::consts::FRAC_PI_4;
    let (mut cos, mut sin, mut term, mut n) = (1.0, 0.0, 1.0, 1);
    while n < 17 {
        term *= angle / n as f64;
        match n % 4 {
            0 => cos += term,
            1 => sin += term,
            2 => cos -= term,
            _ => sin -= term,
        }
        n += 1;
    }
    (cos, sin)
}

/// (cos, sin) of 2πk/n, k < n. Multiples of a quarter turn are exact.
const fn turned(k: usize, n: usize) -> (f64, f64) {
    let (eighth, rest) = (8 * k / n, 8 * k % n);
    let x = if eighth % 2 == 0 { rest } else { n - rest };
    let (c, s) = octant(x as f64 / n as f64);
    match eighth {
        0 => (c, s),
        1 => (s, c),
        2 => (-s, c),
        3 => (-c, s),
        4 => (-c, -s),
        5 => (-s, -c),
        6 => (s, -c),
        _ => (c, -s),
    }
}

/// exp(−2πi k/R) for k = 0 … R − 1, rounded once, to f32.
struct Roots<const R: usize>;

impl<const R: usize> Roots<R> {
    const TABLE: [Complex32; R] = {
        let mut table = [Complex32::ZERO; R];
        let mut k = 0;
        while k < R {
            let (cos, sin) = turned(k, R);
            table[k] = Complex32::new(cos as f32, -sin as f32);
            k += 1;
        }
        table
    };
}

/// Joins pairs of transforms of `part` values.
#[inline(always)]
fn layer_2<const R: usize>(x: &mut [Complex32; R], part: usize) {
    for group in 0..R / (2 * part) {
        for k in 0..part {
            let first = group * 2 * part + k;
            let (a, b) = (x[first], x[first + part]);
            (x[first], x[first + part]) = if k == 0 {
                (a + b, a - b)
            } else if 2 * k == part {
                (a + quarter_turn::<false>(b), a - quarter_turn::<false>(b))
            } else {
                butterfly(a, b, Roots::<R>::TABLE[k * (R / (2 * part))])
            };
        }
    }
}

/// Joins triples of transforms of `part` values.
#[inline(always)]
fn layer_3<const R: usize>(x: &mut [Complex32; R], part: usize) {
    for group in 0..R / (3 * part) {
        for k in 0..part {
            let at = |j: usize| (3 * group + j) * part + k;
            let (a, b, c) = (x[at(0)], x[at(1)], x[at(2)]);
            let (sum, difference) = if k == 0 {
                (b + c, b - c)
            } else {
                let root = |j: usize| Roots::<R>::TABLE[j * k * (R / (3 * part))];
                butterfly(root(1) * b, c, root(2))
            };
            let middle = sum.scale_add(-0.5, a);
            let turned = quarter_turn::<false>(difference);
            x[at(0)] = a + sum;
            x[at(1)] = turned.scale_add(SIN_3, middle);
            x[at(2)] = turned.scale_add(-SIN_3, middle);
        }
    }
}

/// Joins fives of transforms of `part` values.
#[inline(always)]
fn layer_5<const R: usize>(x: &mut [Complex32; R], part: usize) {
    for group in 0..R / (5 * part) {
        for k in 0..part {
            let at = |j: usize| (5 * group + j) * part + k;
            let pair = |j: usize| {
                let (b, c) = (x[at(j)], x[at(5 - j)]);
                if k == 0 {
                    (b + c, b - c)
                } else {
                    let root = |j: usize| Roots::<R>::TABLE[j * k * (R / (5 * part))];
                    butterfly(root(j) * b, c, root(5 - j))
                }
            };
            let a = x[at(0)];
            let ((s1, d1), (s2, d2)) = (pair(1), pair(2));
            let middle_1 = s2.scale_add(COS_5[1], s1.scale_add(COS_5[0], a));
            let middle_2 = s2.scale_add(COS_5[0], s1.scale_add(COS_5[1], a));
            // Both divided by sin(2π/5).
            let turned_1 = quarter_turn::<false>(d2.scale_add(SIN_RATIO_5, d1));
            let turned_2 = quarter_turn::<false>(d1.scale_add(SIN_RATIO_5, -d2));
            x[at(0)] = a + (s1 + s2);
            x[at(1)] = turned_1.scale_add(SIN_5, middle_1);
            x[at(4)] = turned_1.scale_add(-SIN_5, middle_1);
            x[at(2)] = turned_2.scale_add(SIN_5, middle_2);
            x[at(3)] = turned_2.scale_add(-SIN_5, middle_2);
        }
    }
}

/// The order in which a transform of R values expects its input.
struct InputOrder<const R: usize>;

impl<const R: usize> InputOrder<R> {
    const TABLE: [usize; R] = {
        let mut table = [0; R];
        let mut index = 0;
        while index < R {
            // The radix of the last layer is that of the first digit.
            let (mut digits, mut part) = (index, R);
            while part > 1 {
                let radix = if part.is_multiple_of(2) {
                    2
                } else if part.is_multiple_of(3) {
                    3
                } else {
                    5
                };
                part /= radix;
                table[index] += digits % radix * part;
                digits /= radix;
            }
            index += 1;
        }
        table
    };
}

/// Where [`transform`] expects input number `index`: its digits, to the radices of the layers, in reversed order.
#[inline(always)]
#[must_use]
pub const fn digit_reversed<const R: usize>(index: usize) -> usize {
    InputOrder::<R>::TABLE[index]
}

/// The transform of R values, input in the order of [`digit_reversed`], output in natural order.
#[inline(always)]
pub fn transform<const R: usize>(x: &mut [Complex32; R]) {
    let fives = if R.is_multiple_of(25) {
        25
    } else if R.is_multiple_of(5) {
        5
    } else {
        1
    };
    let odd = R >> R.trailing_zeros();
    if fives > 1 {
        layer_5(x, 1);
    }
    if fives > 5 {
        layer_5(x, 5);
    }
    if odd > fives {
        layer_3(x, fives);
    }
    if odd > 3 * fives {
        layer_3(x, 3 * fives);
    }
    if odd > 9 * fives {
        layer_3(x, 9 * fives);
    }
    for layer in 0..R.trailing_zeros() {
        layer_2(x, odd << layer);
    }
}
