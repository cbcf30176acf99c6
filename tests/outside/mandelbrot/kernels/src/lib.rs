//! Escape counts of the Mandelbrot set.

#![cfg_attr(target_arch = "nvptx64", no_std, feature(abi_ptx))]
#![allow(
    unsafe_op_in_unsafe_fn,
    reason = "the launch checks the extents that a kernel states"
)]

use warpstride_device::prelude::*;

/// For each pixel c of a grid in the complex plane, the number of steps z ← z² + c, starting at z = 0, until |z| > 2;
/// at most `limit`.
///
/// `counts` is (row, column). The pixel (0, 0) is at `left` + `top` i; neighbours are `step` apart, rows going down.
/// A thread does one pixel at a time.
#[kernel(block = 256, hot)]
pub unsafe fn mandelbrot_counts(
    #[len(rows * columns)] counts: *mut u32,
    rows: u32,
    columns: u32,
    limit: u32,
    left: f32,
    top: f32,
    step: f32,
) {
    let pixels = rows as usize * columns as usize;
    // Without pixels the loop ends at once; the compiler cannot know that, and would keep a path for a division by zero.
    let columns = columns.max(1);
    for pixel in thread::grid_stride(pixels) {
        let (row, column) = (pixel as u32 / columns, pixel as u32 % columns);
        // Every product that is added to something is part of a mul_add, so that GPU and CPU round alike.
        let c_re = (column as f32).mul_add(step, left);
        let c_im = (row as f32).mul_add(-step, top);
        let (mut re, mut im, mut count) = (0.0_f32, 0.0_f32, 0);
        while count < limit && re.mul_add(re, im.mul_rounded(im)) <= 4.0 {
            (re, im) = (
                re.mul_add(re, im.mul_add(-im, c_re)),
                (2.0 * re).mul_add(im, c_im),
            );
            count += 1;
        }
        *counts.add(pixel) = count;
    }
}
