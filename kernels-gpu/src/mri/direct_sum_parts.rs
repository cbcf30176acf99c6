//! Sums of parts, in their order.
//!
//! A thread processes one element. Reads 8 bytes an element and part, writes 8 an element. Block of 256: full
//! occupancy, short tails.

use warpstride_device::prelude::*;

/// `out[i] = Σ_part parts[part · count + i]`.
#[kernel(block = 256, min_blocks = 8, hot)]
pub unsafe fn mri_direct_sum_parts(
    #[len(count)] out: *mut Complex32,
    #[len(parts * count)] values: *const Complex32,
    parts: u32,
    count: usize,
) {
    for i in thread::grid_stride(count) {
        let mut sum = Complex32::ZERO;
        for part in 0..parts as usize {
            sum += *values.add(part * count + i);
        }
        *out.add(i) = sum;
    }
}
