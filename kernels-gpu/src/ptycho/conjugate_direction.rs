//! Directions of conjugate gradients, and points along them.
//!
//! A thread processes one value: reads 16 bytes, writes 8. Block of 256: the threads are independent.

use warpstride_device::prelude::*;

/// `direction ← β · direction − descent`, β = `factors[0]`; with β = 0 whatever it was before.
#[kernel(block = 256)]
pub unsafe fn ptycho_conjugate_direction(
    #[len(elements)] direction: *mut Complex32,
    #[len(elements)] descent: *const Complex32,
    #[len(2)] factors: *const f32,
    elements: u32,
) {
    let beta = *factors;
    for at in thread::grid_stride(elements as usize) {
        let mut value = (*descent.add(at)).scale(-1.0);
        if beta != 0.0 {
            value = (*direction.add(at)).scale_add(beta, value);
        }
        *direction.add(at) = value;
    }
}

/// `to ← from + t · direction`, t = `factors[1]`.
#[kernel(block = 256)]
pub unsafe fn ptycho_line_point(
    #[len(elements)] to: *mut Complex32,
    #[len(elements)] from: *const Complex32,
    #[len(elements)] direction: *const Complex32,
    #[len(2)] factors: *const f32,
    elements: u32,
) {
    let step = *factors.add(1);
    for at in thread::grid_stride(elements as usize) {
        *to.add(at) = (*direction.add(at)).scale_add(step, *from.add(at));
    }
}
