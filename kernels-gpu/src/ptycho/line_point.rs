//! The step along a direction from the sums over the frames, and object and probe at this step, in one launch.
//!
//! Every block adds up the same sums (24 bytes a frame, from the L2 cache) in the same order and has the step itself,
//! instead of a launch of one block before. A block has one part of the values of object or probe: reads 16 bytes a
//! value, writes 16. Block of 512: as `conjugate_precondition`.

use super::block_parts::{block_sums, part, parts};
use super::conjugate_direction::{LAST, STEP};
use warpstride_device::prelude::*;

/// Values or frames of a thread that are loaded together.
const TOGETHER: usize = 4;

/// With `step` NaN: the step follows from `sums` (frame), slope, half the second derivative and its part that is never
/// negative of the frames' losses, and, if `weight` is positive, from `smoothness` (block), the parts of
/// `ptycho_smoothness_sums`; 0 if the objective does not fall. `start ← object`, `object ← object + step · direction`;
/// `search` gets the step, slope and half the second derivative of the regulariser, and what it has of this iteration becomes
/// that of the last one. Otherwise `object ← start + step · direction`. The same for the probe. A block has `share` values.
#[kernel(block = 512, min_blocks = 1, hot, f64)]
#[allow(clippy::too_many_arguments, reason = "the arrays of object and probe")]
pub unsafe fn ptycho_line_point(
    #[len(elements)] object: *mut Complex32,
    #[len(probe_elements)] probe: *mut Complex32,
    #[len(elements)] start: *mut Complex32,
    #[len(probe_elements)] probe_start: *mut Complex32,
    #[len(8)] search: *mut f64,
    #[len(elements)] direction: *const Complex32,
    #[len(probe_elements)] probe_direction: *const Complex32,
    #[len(frames)] sums: *const [f64; 3],
    #[len(blocks)] smoothness: *const [f32; 2],
    frames: u32,
    blocks: u32,
    share: u32,
    elements: u32,
    probe_elements: u32,
    weight: f64,
    step: f32,
) {
    if share == 0 {
        return;
    }
    let keeps = step.is_nan();
    let mut factor = step;
    if keeps {
        let mut own = [0.0; 5];
        add_frames(sums, frames, &mut own);
        if weight > 0.0 {
            for block in thread::thread_stride(blocks) {
                let [squares, products] = *smoothness.add(block as usize);
                own[3] += f64::from(squares);
                own[4] += f64::from(products);
            }
        }
        let [slope, whole, bent, squares, products] = block_sums(own);
        let (smooth_slope, smooth_bent) = (-2.0 * weight * products, weight * squares);
        let slope = slope + smooth_slope;
        let whole = whole + smooth_bent;
        let curvature = if whole > 0.0 {
            whole
        } else {
            bent + smooth_bent
        };
        let found = -0.5 * slope / curvature;
        // False for a NaN.
        let falls = slope < 0.0 && curvature > 0.0 && found > 0.0 && found < f64::MAX;
        let found = if falls { found } else { 0.0 };
        factor = found as f32;
        if thread::block_idx_x() == 0 && thread::index_in_block() == 0 {
            *search.add(STEP) = found;
            *search.add(STEP + 1) = smooth_slope;
            *search.add(STEP + 2) = smooth_bent;
            *search.add(LAST) = *search;
        }
    }
    let threads = thread::block_threads();
    let lengths = [elements, probe_elements];
    for block in thread::block_stride(parts(share, lengths)) {
        let own = part(block, share, lengths);
        let (to, kept, along) = if own.of_probe {
            (probe, probe_start, probe_direction)
        } else {
            (object, start, direction)
        };
        let from = if keeps { to } else { kept };
        let mut first = own.from + thread::index_in_block();
        while first < own.to {
            let mut value = [Complex32::ZERO; TOGETHER];
            let mut h = [Complex32::ZERO; TOGETHER];
            for u in 0..TOGETHER {
                // Beyond the end the last value, which is not used.
                let at = (first + u as u32 * threads).min(own.to - 1) as usize;
                value[u] = *from.add(at);
                h[u] = *along.add(at);
            }
            for u in 0..TOGETHER {
                let at = first + u as u32 * threads;
                if at < own.to {
                    *to.add(at as usize) = h[u].scale_add(factor, value[u]);
                    if keeps {
                        *kept.add(at as usize) = value[u];
                    }
                }
            }
            first += TOGETHER as u32 * threads;
        }
    }
}

/// Adds the thread's share of the frames' sums.
#[inline(always)]
unsafe fn add_frames(sums: *const [f64; 3], frames: u32, own: &mut [f64; 5]) {
    let threads = thread::block_threads();
    let mut first = thread::index_in_block();
    while first < frames {
        let mut of_frame = [[0.0; 3]; TOGETHER];
        for u in 0..TOGETHER {
            let frame = first + u as u32 * threads;
            if frame < frames {
                of_frame[u] = *sums.add(frame as usize);
            }
        }
        for u in 0..TOGETHER {
            for n in 0..3 {
                own[n] += of_frame[u][n];
            }
        }
        first += TOGETHER as u32 * threads;
    }
}
