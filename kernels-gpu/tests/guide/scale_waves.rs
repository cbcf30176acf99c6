//! Exit waves times a factor per frame.
//!
//! A block handles one frame at a time, a thread one element of it. Reads and writes ψ (16 bytes
//! per element), reads one factor per frame. Block of 256: full occupancy, short tails.

use warpstride_device::prelude::*;

/// `ψ ← factor · ψ` for every frame; `power` receives Σ|ψ|² of each scaled frame.
#[kernel(block = 256, min_blocks = 8, hot)]
pub unsafe fn ptycho_scale_waves(
    #[len(frames * elements)] psi: *mut Complex32,
    #[len(frames)] factors: *const f32,
    #[len(frames)] power: *mut f32,
    frames: u32,
    elements: u32,
) {
    for frame in thread::block_stride(frames) {
        let factor = *factors.add(frame as usize);
        let wave = psi.add(frame as usize * elements as usize);
        let mut sum = 0.0;
        for i in thread::thread_stride(elements) {
            let value = (*wave.add(i as usize)).scale(factor);
            *wave.add(i as usize) = value;
            sum += value.norm_sqr();
        }
        let sum = reduce::block_sum(sum);
        if thread::index_in_block() == 0 {
            *power.add(frame as usize) = sum;
        }
    }
}
