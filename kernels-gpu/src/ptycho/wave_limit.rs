//! How large an exit wave may be without the object's sums in fixed point leaving their range.
//!
//! It is [`HEADROOM`] times `max |P| · |O|`, where |O|² = counts/Σ|P|² is what the brightest frame says of the object by
//! Parseval's theorem. One block, which reads 4 bytes a pixel of the probe: a thread loads sixteen pixels together, because
//! with fewer it waits for each (512² in 16 turns).

use warpstride_device::prelude::*;

/// Pixels that a thread loads together.
const TOGETHER: usize = 16;

/// How many times larger than expected |ψ| may be.
pub const HEADROOM: f32 = 32.0;

/// `limit`: the largest real or imaginary part of ψ, so that |ψ| ≤ √2 `limit`. `power` is Σ_modes |P|², `counts` the largest
/// sum of a frame's counts. Sets `exceeding` to 0.
#[kernel(block = 1024, hot)]
pub unsafe fn ptycho_wave_limit(
    #[len(pixels)] power: *const f32,
    #[len(1)] limit: *mut f32,
    #[len(1)] exceeding: *mut u32,
    pixels: u32,
    counts: f32,
) {
    if thread::block_idx_x() != 0 {
        return;
    }
    let (mut total, mut most) = (0.0_f32, 0.0_f32);
    let threads = thread::block_threads() as usize;
    let mut first = thread::index_in_block() as usize;
    while first < pixels as usize {
        let mut values = [0.0_f32; TOGETHER];
        for k in 0..TOGETHER {
            let pixel = first + k * threads;
            if pixel < pixels as usize {
                values[k] = *power.add(pixel);
            }
        }
        for value in values {
            total += value;
            most = most.max(value);
        }
        first += TOGETHER * threads;
    }
    let total = reduce::block_sum(total);
    let most = reduce::block_max(most);
    if thread::index_in_block() == 0 {
        let object = if total > 0.0 { counts / total } else { 1.0 };
        *limit = HEADROOM * GpuFloat::sqrt(most * object);
        *exceeding = 0;
    }
}
