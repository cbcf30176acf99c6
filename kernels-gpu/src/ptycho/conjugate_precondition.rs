//! Preconditioned gradients of conjugate gradients, and the sums behind β: Re⟨g, z⟩, Re⟨g_last, z⟩ and Re⟨g, h⟩; object and
//! probe in one launch.
//!
//! A block has one part of the values of either. Reads 28 bytes a value, writes 8. Block of 512: with 128 blocks each
//! thread of a large object has some ten values, of which it loads four together.

use super::block_parts::{block_sums, part};
use super::direction_finish::divided;
use warpstride_device::prelude::*;

/// Values of a thread that are loaded together.
const TOGETHER: usize = 4;

/// The arrays of the object or of the probe.
struct Arrays {
    descent: *mut Complex32,
    gradient: *const Complex32,
    last: *const Complex32,
    direction: *const Complex32,
    weights: *const f32,
    /// Number of weights.
    pixels: u32,
    /// Whether the value to be divided is in `descent`, or the gradient.
    smoothed: bool,
    extra: f32,
    /// The largest weight with `extra`.
    most: f32,
}

/// Divides the values `from..to`; returns the thread's part of the sums.
#[inline(always)]
unsafe fn divide(of: &Arrays, from: u32, to: u32, floor: f32, alpha: f32) -> [f64; 3] {
    let mut own = [0.0; 3];
    let threads = thread::block_threads();
    let mut first = from + thread::index_in_block();
    while first < to {
        let mut g = [Complex32::ZERO; TOGETHER];
        let mut value = [Complex32::ZERO; TOGETHER];
        let mut last = [Complex32::ZERO; TOGETHER];
        let mut h = [Complex32::ZERO; TOGETHER];
        let mut weight = [0.0; TOGETHER];
        for u in 0..TOGETHER {
            // Beyond the end the last value, which is not used.
            let at = (first + u as u32 * threads).min(to - 1);
            let pixel = if at < of.pixels { at } else { at % of.pixels };
            let at = at as usize;
            g[u] = *of.gradient.add(at);
            last[u] = *of.last.add(at);
            h[u] = *of.direction.add(at);
            weight[u] = *of.weights.add(pixel as usize);
            value[u] = g[u];
            if of.smoothed {
                value[u] = *of.descent.add(at);
            }
        }
        for u in 0..TOGETHER {
            let at = first + u as u32 * threads;
            if at < to {
                let z = divided(value[u], weight[u] + of.extra, of.most, floor, alpha);
                *of.descent.add(at as usize) = z;
                own[0] += product(g[u], z);
                own[1] += product(last[u], z);
                own[2] += product(g[u], h[u]);
            }
        }
        first += TOGETHER as u32 * threads;
    }
    own
}

/// `descent` z ← g/D(W + extra) of the object (with `smoothed` z/D(W + extra)), `probe_descent` (mode, pixel) ← g/D(V) of the
/// probe, D as in `ptycho_direction_finish`; `sums` (block) of the gradient g, z, the last gradient and the last direction
/// h. `largest` has the bits of the largest weights of object and probe. A block has `share` values; there must be
/// ⌈elements/share⌉ + ⌈modes · pixels/share⌉ blocks. The object has layers of `object_pixels` values.
#[kernel(block = 512, min_blocks = 1, hot, f64)]
#[allow(
    clippy::too_many_arguments,
    reason = "the arrays of object and probe and the constants of the method"
)]
pub unsafe fn ptycho_conjugate_precondition(
    #[len(blocks)] sums: *mut [f64; 3],
    #[len(elements)] descent: *mut Complex32,
    #[len(modes * pixels)] probe_descent: *mut Complex32,
    #[len(elements)] gradient: *const Complex32,
    #[len(modes * pixels)] probe_gradient: *const Complex32,
    #[len(elements)] last: *const Complex32,
    #[len(modes * pixels)] probe_last: *const Complex32,
    #[len(elements)] direction: *const Complex32,
    #[len(modes * pixels)] probe_direction: *const Complex32,
    #[len(object_pixels)] weights: *const f32,
    #[len(pixels)] probe_weights: *const f32,
    #[len(2)] largest: *const u32,
    blocks: u32,
    share: u32,
    elements: u32,
    object_pixels: u32,
    modes: u32,
    pixels: u32,
    extra: f32,
    floor: f32,
    alpha: f32,
    smoothed: u32,
) {
    if share == 0 {
        return;
    }
    for block in thread::block_stride(blocks) {
        let own = part(block, share, [elements, modes * pixels]);
        let of = if own.of_probe {
            Arrays {
                descent: probe_descent,
                gradient: probe_gradient,
                last: probe_last,
                direction: probe_direction,
                weights: probe_weights,
                pixels: pixels.max(1),
                smoothed: false,
                extra: 0.0,
                most: f32::from_bits(*largest.add(1)),
            }
        } else {
            Arrays {
                descent,
                gradient,
                last,
                direction,
                weights,
                pixels: object_pixels.max(1),
                smoothed: smoothed != 0,
                extra,
                most: f32::from_bits(*largest) + extra,
            }
        };
        let total = block_sums(divide(&of, own.from, own.to, floor, alpha));
        if thread::index_in_block() == 0 {
            *sums.add(block as usize) = total;
        }
    }
}

/// Re(a* b).
#[inline(always)]
fn product(a: Complex32, b: Complex32) -> f64 {
    f64::from(a.re.mul_add(b.re, a.im * b.im))
}
