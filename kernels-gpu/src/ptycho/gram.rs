//! Inner products of all pairs of layers.
//!
//! A block computes one product: reads 16 bytes a pixel, mostly from the caches; sums in double precision. Block of
//! 256.

use warpstride_device::prelude::*;

/// `gram[m · layers + n] = Σ conj(L_m) L_n` as (re, im).
#[kernel(block = 256, f64)]
pub unsafe fn ptycho_gram(
    #[len(layers * layers)] gram: *mut [f64; 2],
    #[len(layers * pixels)] values: *const Complex32,
    layers: u32,
    pixels: u32,
) {
    if layers == 0 {
        return;
    }
    for pair in thread::block_stride(layers * layers) {
        let left = values.add((pair / layers) as usize * pixels as usize);
        let right = values.add((pair % layers) as usize * pixels as usize);
        let (mut re, mut im) = (0.0_f64, 0.0_f64);
        for pixel in thread::thread_stride(pixels) {
            let (a, b) = (*left.add(pixel as usize), *right.add(pixel as usize));
            re += f64::from(a.re) * f64::from(b.re) + f64::from(a.im) * f64::from(b.im);
            im += f64::from(a.re) * f64::from(b.im) - f64::from(a.im) * f64::from(b.re);
        }
        let re = reduce::block_sum_f64(re);
        let im = reduce::block_sum_f64(im);
        if thread::index_in_block() == 0 {
            *gram.add(pair as usize) = [re, im];
        }
    }
}
