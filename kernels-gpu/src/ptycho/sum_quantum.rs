//! The unit of the object's sums in fixed point.
//!
//! A share of a sum is conj(P) ψ. The unit is chosen so that shares of up to [`HEADROOM`] times `max |P|² · |O|` are
//! within the limit, where |O|² = counts/Σ|P|² is what the brightest frame says of the object by Parseval's theorem. One
//! block, a few microseconds: it reads 4 bytes a pixel of the probe.

use super::fixed_point::quantum_for;
use warpstride_device::prelude::*;

/// How many times larger than expected a share may be.
pub const HEADROOM: f32 = 32.0;

/// `quantum`: units in 1, a power of two. `power` is Σ_modes |P|², `counts` the largest sum of a frame's counts, `limit`
/// the largest share in units. Sets `exceeding` to 0.
#[kernel(block = 512, hot)]
pub unsafe fn ptycho_sum_quantum(
    #[len(pixels)] power: *const f32,
    #[len(1)] quantum: *mut f32,
    #[len(1)] exceeding: *mut u32,
    pixels: u32,
    counts: f32,
    limit: f32,
) {
    if thread::block_idx_x() != 0 {
        return;
    }
    let (mut total, mut largest) = (0.0_f32, 0.0_f32);
    for pixel in thread::thread_stride(pixels) {
        let value = *power.add(pixel as usize);
        total += value;
        largest = largest.max(value);
    }
    let total = reduce::block_sum(total);
    let largest = reduce::block_max(largest);
    if thread::index_in_block() == 0 {
        let object = if total > 0.0 {
            GpuFloat::sqrt(counts / total)
        } else {
            1.0
        };
        *quantum = quantum_for(HEADROOM * largest * object, limit);
        *exceeding = 0;
    }
}
