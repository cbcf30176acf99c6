//! Sums over an image that have the same bits for any grid of blocks.
//!
//! An image is divided into [`PARTIAL_SUMS`] parts; a block processes one part at a time and stores its sum in an
//! element of its own. A block that needs the total adds the elements itself: 2 KiB from the cache instead of one
//! more launch.

use warpstride_device::prelude::*;

/// Parts of an image: nearly two blocks for each of the 132 multiprocessors of the largest devices so far, and a
/// power of two, by which a block adds them.
pub const PARTIAL_SUMS: usize = 256;

/// The range of elements of a part.
#[inline(always)]
pub(super) fn part_range(number: u32, elements: usize) -> (usize, usize) {
    let length = elements.div_ceil(PARTIAL_SUMS);
    let first = (number as usize * length).min(elements);
    (first, (first + length).min(elements))
}

/// The total over all parts, in every thread.
///
/// # Safety
///
/// All threads of the block call it together; `partial` must have [`PARTIAL_SUMS`] elements.
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
