//! The kernel's polynomials: weights of the cells that a point touches.

use super::nufft_tile::terms;
use warpstride_device::prelude::*;

/// Vectors that one piece's coefficients take in shared memory.
pub(super) const fn quads(width: usize) -> usize {
    terms(width).div_ceil(4)
}

/// Copies the coefficients (piece, power) of a kernel of width `W` into `room`, (piece, power / 4).
/// A barrier must follow.
#[inline(always)]
pub(super) unsafe fn keep<const W: usize>(coefficients: *const f32, room: *mut F32x4) {
    let (terms, row) = const { (terms(W), 4 * quads(W)) };
    for i in thread::thread_stride((W * row) as u32) {
        let (piece, power) = (i as usize / row, i as usize % row);
        let mut value = 0.0;
        if power < terms {
            value = *coefficients.add(piece * terms + power);
        }
        *room.cast::<f32>().add(i as usize) = value;
    }
}

/// The polynomials of one piece at the arguments of `A` axes; `room` as [`keep`] leaves it.
#[inline(always)]
pub(super) unsafe fn at<const W: usize, const A: usize>(
    room: *const F32x4,
    piece: usize,
    arguments: [f32; A],
) -> [f32; A] {
    let (terms, quads) = const { (terms(W), quads(W)) };
    let mut sums = [0.0; A];
    for quad in (0..quads).rev() {
        let F32x4(powers) = *room.add(piece * quads + quad);
        for inner in (0..4).rev() {
            if quad * 4 + inner < terms {
                for (sum, argument) in sums.iter_mut().zip(arguments) {
                    *sum = GpuFloat::mul_add(*sum, argument, powers[inner]);
                }
            }
        }
    }
    sums
}
