//! Detector waves of a batch times a real factor of each pixel, which all modes of a frame have in common; and the power that they
//! have then.
//!
//! A block processes one frame, a thread one pixel in all modes. Reads and writes 8 bytes per pixel and mode, reads 4 per pixel; 5
//! operations a value. Block of 512: one reduction a frame.

use warpstride_device::prelude::*;

/// `waves` (member, mode, pixel) times `factors` (member, pixel), for `count` frames; with `sums` 1, `moved` of the frame
/// `order[first + member]` becomes pixels · Σ|wave|².
#[kernel(block = 512, min_blocks = 2, hot)]
#[allow(clippy::too_many_arguments, reason = "the arrays and their shapes")]
pub unsafe fn ptycho_detector_waves(
    #[len(count * modes * pixels)] waves: *mut Complex32,
    #[len(count * pixels)] factors: *const f32,
    #[len(frames)] order: *const u32,
    #[len(frames)] moved: *mut f32,
    frames: u32,
    first: u32,
    count: u32,
    modes: u32,
    pixels: u32,
    sums: u32,
) {
    if first >= frames || count > frames - first {
        return;
    }
    for member in thread::block_stride(count) {
        let waves = waves.add(member as usize * modes as usize * pixels as usize);
        let factors = factors.add(member as usize * pixels as usize);
        let mut power = 0.0;
        for pixel in thread::thread_stride(pixels) {
            let factor = *factors.add(pixel as usize);
            let mut at = pixel as usize;
            for _ in 0..modes {
                let value = (*waves.add(at)).scale(factor);
                power += value.norm_sqr();
                *waves.add(at) = value;
                at += pixels as usize;
            }
        }
        if sums != 0 {
            let power = reduce::block_sum(power);
            if thread::index_in_block() == 0 {
                let frame = *order.add((first + member) as usize) as usize;
                *moved.add(frame) = power * pixels as f32;
            }
        }
    }
}
