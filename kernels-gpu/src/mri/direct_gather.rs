//! F or its adjoint with arbitrary phases: out_i = Σ_j v_j exp(±2πi Σ_f p_f(i) q_f(j)).
//!
//! For voxels that lie on no grid, and for encoding fields: each function f of space has a value p_f at every voxel
//! and a coefficient q_f at every sample (k-space is three such functions: p = x, q = k_x …). In the adjoint the
//! targets i are the voxels and the sources j the samples; in the forward operator it is the reverse.
//!
//! Values are integers, p in units of 2^(a−31) and q of 2^(b−31) where |p| ≤ 2^a, |q| ≤ 2^b: their product in 64
//! bits, shifted by 30 − a − b, is the phase in 2⁻³² turns, wrapped exactly. The only loss is the rounding of p and
//! q, at most 2^(a+b−31) turns.
//!
//! A thread computes one target of 4 images; the block stages 256 sources at a time in shared memory and sums each
//! 256 separately, which keeps rounding errors small. A pair takes 16 instructions for the phase of 4 functions, 22
//! (hardware: 6) for sine and cosine, 16 FMA for 4 images and 3 shared reads: at most 5·10¹¹ pairs/s on an H200.
//! Functions beyond the fourth are read from L1 for every pair. Block of 256: three on a multiprocessor at 80
//! registers.

use super::direct_axes::{rotation, share};
use warpstride_device::prelude::*;

/// Images that a thread sums.
pub const IMAGES: u32 = 4;
/// Functions that are held in registers and shared memory.
pub const KEPT: u32 = 4;
/// Sources that are staged together.
pub const STAGED: u32 = 256;

/// Writes the sums over each part of `values` (image, source) to `out` (part, image, target). `targets`, `sources`:
/// (function, element). `conjugate` ≠ 0: exp(−2πi …); `hardware` ≠ 0: approximate sine and cosine.
#[kernel(block = 256, min_blocks = 3, hot)]
#[allow(
    clippy::too_many_arguments,
    reason = "two arrays and the phases between them"
)]
pub unsafe fn mri_direct_gather(
    #[len(parts * images * targets)] out: *mut Complex32,
    #[len(images * sources)] values: *const Complex32,
    #[len(functions * targets)] of_targets: *const i32,
    #[len(functions * sources)] of_sources: *const i32,
    #[len(functions)] shifts: *const u32,
    targets: u32,
    sources: u32,
    functions: u32,
    images: u32,
    parts: u32,
    conjugate: u32,
    hardware: u32,
) {
    let staged = shared_array![U32x4; STAGED as usize];
    let staged_values = shared_array![Complex32; (STAGED * IMAGES) as usize];
    let width = thread::block_threads();
    let own = thread::index_in_block();
    let target_tiles = targets.div_ceil(width);
    let image_tiles = images.div_ceil(IMAGES);
    let tiles = u64::from(target_tiles) * u64::from(image_tiles) * u64::from(parts);
    if tiles > u64::from(u32::MAX) || parts == 0 || target_tiles == 0 {
        return;
    }
    let kept = functions.min(KEPT);
    for tile in thread::block_stride(tiles as u32) {
        let (tile, part) = (tile / parts, tile % parts);
        let target = tile % target_tiles * width + own;
        let first_image = tile / target_tiles * IMAGES;
        let at = target.min(targets - 1) as usize;
        let mut places = [0_i32; KEPT as usize];
        let mut by = [0_u32; KEPT as usize];
        for f in 0..KEPT as usize {
            if f < kept as usize {
                places[f] = *of_targets.add(f * targets as usize + at);
                by[f] = *shifts.add(f) & 63;
            }
        }

        let mut totals = [Complex32::ZERO; IMAGES as usize];
        let (begin, end) = share(sources.div_ceil(STAGED), part, parts);
        for stage in begin..end {
            let first = stage * STAGED;
            let count = (sources - first).min(STAGED);
            thread::sync_threads();
            for i in thread::thread_stride(count) {
                let source = (first + i) as usize;
                let mut place = [0_u32; KEPT as usize];
                for f in 0..KEPT as usize {
                    if f < kept as usize {
                        place[f] = *of_sources.add(f * sources as usize + source) as u32;
                    }
                }
                *staged.add(i as usize) = U32x4(place);
                for k in 0..IMAGES {
                    let image = first_image + k;
                    *staged_values.add((i * IMAGES + k) as usize) = if image < images {
                        *values.add(image as usize * sources as usize + source)
                    } else {
                        Complex32::ZERO
                    };
                }
            }
            thread::sync_threads();
            let mut sums = [Complex32::ZERO; IMAGES as usize];
            for i in 0..count {
                let place = (*staged.add(i as usize)).0;
                let mut fraction = 0_u32;
                for f in 0..KEPT as usize {
                    fraction = fraction.wrapping_add(turned(places[f], place[f] as i32, by[f]));
                }
                for f in KEPT..functions {
                    let f = f as usize;
                    let there = *of_targets.add(f * targets as usize + at);
                    let here = *of_sources.add(f * sources as usize + (first + i) as usize);
                    fraction = fraction.wrapping_add(turned(there, here, *shifts.add(f) & 63));
                }
                if conjugate != 0 {
                    fraction = fraction.wrapping_neg();
                }
                let wave = rotation(fraction, hardware);
                let line = staged_values.add((i * IMAGES) as usize);
                for k in 0..IMAGES as usize {
                    sums[k] = wave.mul_add(*line.add(k), sums[k]);
                }
            }
            for k in 0..IMAGES as usize {
                totals[k] += sums[k];
            }
        }
        for k in 0..IMAGES {
            let image = first_image + k;
            if target < targets && image < images {
                let of_image = part as usize * images as usize + image as usize;
                *out.add(of_image * targets as usize + target as usize) = totals[k as usize];
            }
        }
    }
}

/// A product of two integers as a fraction of a turn.
#[inline(always)]
fn turned(a: i32, b: i32, by: u32) -> u32 {
    ((i64::from(a) * i64::from(b)) >> by) as u32
}
