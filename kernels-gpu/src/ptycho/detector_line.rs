//! Intensities of a batch along a line, before the detector's blur: of each pixel Σ|f|², Σ 2 Re(f a*), Σ (2 Re(f b*) + |a|²), Σ 2 Re(a b*)
//! and Σ|b|² over the modes of the unnormalised detector waves f, a and b (see `line_sums`).
//!
//! A thread processes one pixel of a frame in all modes. Reads 24 bytes per pixel and mode, writes 20 per pixel; 20 operations per
//! pixel and mode. Block of 256: the threads are independent.

use warpstride_device::prelude::*;

/// `along` (order, member, pixel) of `count` frames, from `f`, `a` and `b` (member, mode, pixel).
#[kernel(block = 256, min_blocks = 4, hot)]
pub unsafe fn ptycho_detector_line(
    #[len(5 * count * pixels)] along: *mut f32,
    #[len(count * modes * pixels)] f: *const Complex32,
    #[len(count * modes * pixels)] a: *const Complex32,
    #[len(count * modes * pixels)] b: *const Complex32,
    count: u32,
    modes: u32,
    pixels: u32,
) {
    let size = pixels as usize;
    let all = count as usize * size;
    for at in thread::grid_stride(all) {
        let mut wave = at / size * modes as usize * size + at % size;
        let mut sums = [0.0_f32; 5];
        for _ in 0..modes {
            let (f, a, b) = (*f.add(wave), *a.add(wave), *b.add(wave));
            sums[0] += f.norm_sqr();
            sums[1] += 2.0 * f.re.mul_add(a.re, f.im * a.im);
            sums[2] += 2.0 * f.re.mul_add(b.re, f.im * b.im) + a.norm_sqr();
            sums[3] += 2.0 * a.re.mul_add(b.re, a.im * b.im);
            sums[4] += b.norm_sqr();
            wave += size;
        }
        for order in 0..5 {
            *along.add(order * all + at) = sums[order];
        }
    }
}
