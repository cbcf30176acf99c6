//! Sums of a batch on the shapes of the probe's variations: the spectra of conj(O)·χ of the first mode, shifted back by each
//! frame's fraction of a pixel, times the frame's coefficients.
//!
//! A thread processes one pixel of up to four variations over the frames of the batch, in order. Reads 8 bytes per pixel and four
//! variations, writes 8 per pixel and variation; a sine and cosine and 4 operations a variation for each value. Block of 256:
//! the threads are independent.

use super::shifted_spectra::{frequency, ramp};
use warpstride_device::prelude::*;

/// Variations of a thread.
pub const TOGETHER: u32 = 4;

/// `sums[k] = scale · Σ_j c_jk conj(ramp_j) · spectra_j` over the frames `order[first..first + count]`, with the first of `modes`
/// layers of each frame.
#[kernel(block = 256, min_blocks = 4, hot)]
#[allow(
    clippy::too_many_arguments,
    reason = "the arrays of the model and their shapes"
)]
pub unsafe fn ptycho_variation_sums(
    #[len(variations * rows * columns)] sums: *mut Complex32,
    #[len(count * modes * rows * columns)] spectra: *const Complex32,
    #[len(frames * variations)] coefficients: *const f32,
    #[len(frames)] fractions: *const [f32; 2],
    #[len(frames)] order: *const u32,
    frames: u32,
    first: u32,
    count: u32,
    modes: u32,
    rows: u32,
    columns: u32,
    variations: u32,
    scale: f32,
) {
    let pixels = rows * columns;
    if pixels == 0 || first >= frames || count > frames - first {
        return;
    }
    let groups = variations.div_ceil(TOGETHER);
    for at in thread::grid_stride(groups as usize * pixels as usize) {
        let (begin, pixel) = (at as u32 / pixels * TOGETHER, at as u32 % pixels);
        let (row, column) = (pixel / columns, pixel % columns);
        let at_frequency = [frequency(row, rows), frequency(column, columns)];
        let mut own = [Complex32::ZERO; TOGETHER as usize];
        for member in 0..count {
            let frame = *order.add((first + member) as usize) as usize;
            let layer = member as usize * modes as usize * pixels as usize;
            let value = *spectra.add(layer + pixel as usize);
            let back = ramp(at_frequency, *fractions.add(frame));
            let value = back.conj_mul_add(value, Complex32::ZERO);
            let of_frame = coefficients.add(frame * variations as usize);
            for u in 0..TOGETHER {
                if begin + u < variations {
                    own[u as usize] += value.scale(*of_frame.add((begin + u) as usize));
                }
            }
        }
        for u in 0..TOGETHER {
            if begin + u < variations {
                let to = (begin + u) as usize * pixels as usize + pixel as usize;
                *sums.add(to) = own[u as usize].scale(scale);
            }
        }
    }
}
