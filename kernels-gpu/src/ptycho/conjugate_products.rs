//! Sums behind β of conjugate gradients: Re⟨g, z⟩, Re⟨g_last, z⟩ and Re⟨g, h⟩.
//!
//! A block processes one part of the values. Reads 32 bytes a value. Block of 256: three reductions over eight warps.

use warpstride_device::prelude::*;

/// `sums` (block, 3) of the gradient g, its preconditioned one z, the last gradient and the last direction h.
#[kernel(block = 256, hot, f64)]
#[allow(clippy::too_many_arguments, reason = "the arrays and their shapes")]
pub unsafe fn ptycho_conjugate_products(
    #[len(blocks)] sums: *mut [f64; 3],
    #[len(elements)] gradient: *const Complex32,
    #[len(elements)] descent: *const Complex32,
    #[len(elements)] last: *const Complex32,
    #[len(elements)] direction: *const Complex32,
    blocks: u32,
    elements: u32,
) {
    if blocks == 0 {
        return;
    }
    let share = elements.div_ceil(blocks);
    for block in thread::block_stride(blocks) {
        let from = block.saturating_mul(share).min(elements);
        let to = from.saturating_add(share).min(elements);
        let mut own = [0.0; 3];
        for at in thread::thread_stride(to - from) {
            let at = from as usize + at as usize;
            let (g, z) = (*gradient.add(at), *descent.add(at));
            own[0] += product(g, z);
            own[1] += product(*last.add(at), z);
            own[2] += product(g, *direction.add(at));
        }
        let mut total = [0.0; 3];
        for n in 0..3 {
            total[n] = reduce::block_sum_f64(own[n]);
        }
        if thread::index_in_block() == 0 {
            *sums.add(block as usize) = total;
        }
    }
}

/// Re(a* b).
#[inline(always)]
fn product(a: Complex32, b: Complex32) -> f64 {
    f64::from(a.re.mul_add(b.re, a.im * b.im))
}
