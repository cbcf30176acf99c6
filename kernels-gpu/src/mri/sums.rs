//! Sums over an image that are the same bits on any grid of blocks.
//!
//! An image is cut into [`PARTIAL_SUMS`] stretches; a block does a stretch at a time and leaves its sum in a
//! place of its own. Whoever wants the total adds the places up again, every block for itself: 2 KiB from
//! the cache instead of one more launch.

use warpstride_device::prelude::*;

/// Stretches of an image: nearly two blocks for each of the 132 multiprocessors of the largest devices so
/// far, and a power of two, by which a block adds them up.
pub const PARTIAL_SUMS: usize = 256;

/// First and one past the last element of a stretch.
#[inline(always)]
pub(super) fn stretch(number: u32, elements: usize) -> (usize, usize) {
    let length = elements.div_ceil(PARTIAL_SUMS);
    let first = (number as usize * length).min(elements);
    (first, (first + length).min(elements))
}

/// The total of all stretches, in every thread.
///
/// # Safety
/// All threads of the block call it; `partial` holds [`PARTIAL_SUMS`] numbers.
#[inline(always)]
pub(super) unsafe fn total(partial: *const f64) -> f64 {
    let mut sum = 0.0;
    for at in thread::thread_stride(PARTIAL_SUMS as u32) {
        sum += *partial.add(at as usize);
    }
    reduce::block_sum_f64(sum)
}

/// Re(conj(a) b) in double precision.
#[inline(always)]
pub(super) fn real_product(a: Complex32, b: Complex32) -> f64 {
    f64::from(a.re) * f64::from(b.re) + f64::from(a.im) * f64::from(b.im)
}
