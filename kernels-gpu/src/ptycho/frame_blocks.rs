//! Blocks of the frames of a scan whose counts are not all on the device: what a block needs is gathered before work on it,
//! and its metrics are put back afterwards.
//!
//! Frames are `order[first..first + count]`. Gathering and putting back take a thread a frame: reads 24 and writes 20 bytes of a
//! frame, blocks of 256 independent threads. Widening reads 2 and writes 4 bytes of a pixel.

use super::FREE;
use warpstride_device::prelude::*;

/// The code of a masked pixel among counts in 16 bits.
pub const MASKED_COUNTS: u16 = u16::MAX;

/// Copies `corners`, `fractions` and `scales` of the frames `order[first..first + count]` to those of the block, in this
/// order.
#[kernel(block = 256)]
#[allow(
    clippy::too_many_arguments,
    reason = "the arrays of the scan and of the block"
)]
pub unsafe fn ptycho_gather_frames(
    #[len(count)] to_corners: *mut [u32; 2],
    #[len(count)] to_fractions: *mut [f32; 2],
    #[len(count)] to_scales: *mut f32,
    #[len(frames)] corners: *const [u32; 2],
    #[len(frames)] fractions: *const [f32; 2],
    #[len(frames)] scales: *const f32,
    #[len(first + count)] order: *const u32,
    frames: u32,
    first: u32,
    count: u32,
) {
    for place in thread::grid_stride(count as usize) {
        let frame = *order.add(first as usize + place);
        if frame < frames {
            let frame = frame as usize;
            *to_corners.add(place) = *corners.add(frame);
            *to_fractions.add(place) = *fractions.add(frame);
            *to_scales.add(place) = *scales.add(frame);
        }
    }
}

/// Copies the metrics of a block's frames to those of the frames `order[first..first + count]`.
#[kernel(block = 256)]
#[allow(
    clippy::too_many_arguments,
    reason = "the arrays of the scan and of the block"
)]
pub unsafe fn ptycho_put_back_metrics(
    #[len(frames)] errors: *mut f32,
    #[len(frames)] moved: *mut f32,
    #[len(frames)] photon: *mut f32,
    #[len(frames)] residual: *mut f32,
    #[len(frames)] free: *mut f32,
    #[len(count)] block_errors: *const f32,
    #[len(count)] block_moved: *const f32,
    #[len(count)] block_photon: *const f32,
    #[len(count)] block_residual: *const f32,
    #[len(count)] block_free: *const f32,
    #[len(first + count)] order: *const u32,
    frames: u32,
    first: u32,
    count: u32,
) {
    for place in thread::grid_stride(count as usize) {
        let frame = *order.add(first as usize + place);
        if frame < frames {
            let frame = frame as usize;
            *errors.add(frame) = *block_errors.add(place);
            *moved.add(frame) = *block_moved.add(place);
            *photon.add(frame) = *block_photon.add(place);
            *residual.add(frame) = *block_residual.add(place);
            *free.add(frame) = *block_free.add(place);
        }
    }
}

/// √counts from counts in 16 bits, as `Problem::magnitudes` has them: −1 for [`MASKED_COUNTS`]; from `first_free` on a code is
/// that of a free pixel, [`FREE`] − √(code − first_free); below, √code. Roots are correctly rounded.
#[kernel(block = 256)]
pub unsafe fn ptycho_widen_counts(
    #[len(pixels)] magnitudes: *mut f32,
    #[len(pixels)] counts: *const u16,
    pixels: usize,
    first_free: u32,
) {
    for at in thread::grid_stride(pixels) {
        let code = *counts.add(at);
        let number = u32::from(code);
        let free = number >= first_free;
        let root = GpuFloat::sqrt(if free { number - first_free } else { number } as f32);
        *magnitudes.add(at) = if code == MASKED_COUNTS {
            -1.0
        } else if free {
            FREE - root
        } else {
            root
        };
    }
}
