//! Equations of the coefficients of the probe's variations, and their steps.
//!
//! The equations of a frame: Re⟨U_k, G⟩, from the spectra of the shapes and of conj(O)·χ, and Re⟨U_k O, U_l O⟩ with the shapes at
//! whole pixels. A block processes one frame, a thread one pixel of up to four products; reads 8 bytes a pixel for each group of four
//! products, the shapes and the object from the caches. Block of 256: a batch has tens of frames, and there are up to 152
//! products. Steps: a thread solves the equations of a frame in place.

use super::shifted_spectra::{frequency, ramp};
use warpstride_device::prelude::*;

/// Products of a thread.
const TOGETHER: u32 = 4;

/// `equations` (frame of the batch, K + K²): `scale · Re Σ conj(shape_spectra_k) conj(ramp) spectra` of the first of `modes`
/// layers, then `Σ Re(conj(U_k) U_l) |O|²` at (k, l) for k ≤ l, of the frames `order[first..first + count]`.
#[kernel(block = 256, min_blocks = 4, hot)]
#[allow(
    clippy::too_many_arguments,
    reason = "the arrays of the model and their shapes"
)]
pub unsafe fn ptycho_variation_equations(
    #[len(count * variations * (variations + 1))] equations: *mut f32,
    #[len(count * modes * rows * columns)] spectra: *const Complex32,
    #[len(variations * rows * columns)] shape_spectra: *const Complex32,
    #[len(variations * rows * columns)] shapes: *const Complex32,
    #[len(object_rows * object_columns)] object: *const Complex32,
    #[len(frames)] corners: *const [u32; 2],
    #[len(frames)] fractions: *const [f32; 2],
    #[len(frames)] order: *const u32,
    frames: u32,
    first: u32,
    count: u32,
    modes: u32,
    rows: u32,
    columns: u32,
    object_rows: u32,
    object_columns: u32,
    variations: u32,
    scale: f32,
) {
    let _ = object_rows;
    let pixels = rows * columns;
    if pixels == 0 || first >= frames || count > frames - first {
        return;
    }
    for member in thread::block_stride(count) {
        let frame = *order.add((first + member) as usize) as usize;
        let shift = *fractions.add(frame);
        let [top, left] = *corners.add(frame);
        let window = object.add(top as usize * object_columns as usize + left as usize);
        let layer = spectra.add(member as usize * modes as usize * pixels as usize);
        let own = equations.add(member as usize * (variations * (variations + 1)) as usize);
        let mut begin = 0;
        while begin < variations {
            let mut sums = [0.0; TOGETHER as usize];
            for pixel in thread::thread_stride(pixels) {
                let (row, column) = (pixel / columns, pixel % columns);
                let at_frequency = [frequency(row, rows), frequency(column, columns)];
                let value = *layer.add(pixel as usize);
                let value = ramp(at_frequency, shift).conj_mul_add(value, Complex32::ZERO);
                for u in 0..TOGETHER {
                    if begin + u < variations {
                        let at = (begin + u) as usize * pixels as usize + pixel as usize;
                        let shape = *shape_spectra.add(at);
                        sums[u as usize] += shape.re.mul_add(value.re, shape.im * value.im);
                    }
                }
            }
            let (a, b) = reduce::block_sum_pair(sums[0], sums[1]);
            let (c, d) = reduce::block_sum_pair(sums[2], sums[3]);
            if thread::index_in_block() == 0 {
                let sums = [a, b, c, d];
                for u in 0..TOGETHER {
                    if begin + u < variations {
                        *own.add((begin + u) as usize) = sums[u as usize] * scale;
                    }
                }
            }
            begin += TOGETHER;
        }
        let matrix = own.add(variations as usize);
        for k in 0..variations {
            let left = shapes.add(k as usize * pixels as usize);
            let mut begin = k;
            while begin < variations {
                let mut sums = [0.0; TOGETHER as usize];
                for pixel in thread::thread_stride(pixels) {
                    let (row, column) = (pixel / columns, pixel % columns);
                    let place = row as usize * object_columns as usize + column as usize;
                    let weight = (*window.add(place)).norm_sqr();
                    let a = (*left.add(pixel as usize)).scale(weight);
                    for u in 0..TOGETHER {
                        if begin + u < variations {
                            let at = (begin + u) as usize * pixels as usize + pixel as usize;
                            let b = *shapes.add(at);
                            sums[u as usize] += a.re.mul_add(b.re, a.im * b.im);
                        }
                    }
                }
                let (a, b) = reduce::block_sum_pair(sums[0], sums[1]);
                let (c, d) = reduce::block_sum_pair(sums[2], sums[3]);
                if thread::index_in_block() == 0 {
                    let sums = [a, b, c, d];
                    for u in 0..TOGETHER {
                        if begin + u < variations {
                            *matrix.add((k * variations + begin + u) as usize) = sums[u as usize];
                        }
                    }
                }
                begin += TOGETHER;
            }
        }
    }
}

/// Solves the equations of each frame with `damping` times the mean of the diagonal added to it, by Cholesky's decomposition in
/// place, and changes its coefficients: `change = momentum · change + part · step`. Frames whose equations have no power or values that
/// are not finite have the step 0.
#[kernel(block = 64)]
#[allow(
    clippy::too_many_arguments,
    reason = "the arrays of the model and their shapes"
)]
pub unsafe fn ptycho_variation_steps(
    #[len(count * variations * (variations + 1))] equations: *mut f32,
    #[len(frames * variations)] coefficients: *mut f32,
    #[len(frames * variations)] changes: *mut f32,
    #[len(frames)] order: *const u32,
    frames: u32,
    first: u32,
    count: u32,
    variations: u32,
    damping: f32,
    momentum: f32,
    part: f32,
) {
    if first >= frames || count > frames - first {
        return;
    }
    let size = variations as usize;
    for member in thread::grid_stride(count as usize) {
        let x = equations.add(member * size * (size + 1));
        let matrix = x.add(size);
        let (mut trace, mut right) = (0.0, 0.0);
        for k in 0..size {
            trace += *matrix.add(k * size + k);
            right += (*x.add(k)).abs();
        }
        // Also false for values that are not numbers.
        let usable = trace > 0.0 && trace < f32::INFINITY && right < f32::INFINITY;
        let added = damping * trace / size as f32;
        for k in 0..size {
            for l in 0..=k {
                let mut sum = *matrix.add(l * size + k);
                if k == l {
                    sum += added;
                }
                for i in 0..l {
                    sum -= *matrix.add(k * size + i) * *matrix.add(l * size + i);
                }
                *matrix.add(k * size + l) = if k == l {
                    GpuFloat::sqrt(if sum > f32::MIN_POSITIVE {
                        sum
                    } else {
                        f32::MIN_POSITIVE
                    })
                } else {
                    sum / *matrix.add(l * size + l)
                };
            }
            let mut sum = *x.add(k);
            for i in 0..k {
                sum -= *matrix.add(k * size + i) * *x.add(i);
            }
            *x.add(k) = sum / *matrix.add(k * size + k);
        }
        for back in 0..size {
            let k = size - 1 - back;
            let mut sum = *x.add(k);
            for i in k + 1..size {
                sum -= *matrix.add(i * size + k) * *x.add(i);
            }
            *x.add(k) = sum / *matrix.add(k * size + k);
        }
        let frame = *order.add(first as usize + member) as usize;
        for k in 0..size {
            let at = frame * size + k;
            let step = if usable { *x.add(k) } else { 0.0 };
            let change = momentum.mul_add(*changes.add(at), part * step);
            *changes.add(at) = change;
            *coefficients.add(at) += change;
        }
    }
}
