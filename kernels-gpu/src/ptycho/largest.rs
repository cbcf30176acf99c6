//! The largest of values that are not negative.
//!
//! A block reduces its share, then one thread of it compares with the result so far; the bits of floating-point
//! numbers that are not negative have the order of the numbers, so the result does not depend on the order. Reads 4
//! bytes a value. Block of 256.

use warpstride_device::prelude::*;

/// `largest[place]`, which must be 0 before, becomes the bits of the largest of `values`.
#[kernel(block = 256)]
pub unsafe fn ptycho_largest(
    #[len(place + 1)] largest: *mut u32,
    #[len(elements)] values: *const f32,
    elements: u32,
    place: u32,
) {
    let mut own = 0.0;
    for at in thread::grid_stride(elements as usize) {
        let value: f32 = *values.add(at);
        own = if value > own { value } else { own };
    }
    let most = reduce::block_max(own);
    if thread::index_in_block() == 0 {
        atomic::max_u32(largest.add(place as usize), most.to_bits());
    }
}
