//! Intensities of a batch and half their derivatives by the frames' positions, before the detector's blur: c_j · scale times Σ|f|²,
//! Σ Re f*∂_r f and Σ Re f*∂_c f over the modes of the detector waves f (see `position_equations`).
//!
//! A thread processes one pixel of a frame in all modes. Reads 24 bytes per pixel and mode, writes 12 per pixel; 10 operations per
//! pixel and mode. Block of 256: the threads are independent.

use warpstride_device::prelude::*;

/// `products` (intensity, rows, columns; member; pixel) of the frames `order[first..first + count]`, from waves (member, mode, pixel).
#[kernel(block = 256, min_blocks = 4, hot)]
#[allow(
    clippy::too_many_arguments,
    reason = "the arrays of the model and their shapes"
)]
pub unsafe fn ptycho_detector_products(
    #[len(3 * count * pixels)] products: *mut f32,
    #[len(count * modes * pixels)] spectra: *const Complex32,
    #[len(count * modes * pixels)] by_row: *const Complex32,
    #[len(count * modes * pixels)] by_column: *const Complex32,
    #[len(frames)] scales: *const f32,
    #[len(frames)] order: *const u32,
    frames: u32,
    first: u32,
    count: u32,
    modes: u32,
    pixels: u32,
    scale: f32,
) {
    if first >= frames || count > frames - first {
        return;
    }
    let size = pixels as usize;
    let all = count as usize * size;
    for at in thread::grid_stride(all) {
        let (member, pixel) = (at / size, at % size);
        let frame = *order.add(first as usize + member);
        let factor = scale * *scales.add(frame as usize);
        let (mut model, mut r, mut c) = (0.0, 0.0, 0.0);
        let mut wave = member * modes as usize * size + pixel;
        for _ in 0..modes {
            let f = *spectra.add(wave);
            let (d, e) = (*by_row.add(wave), *by_column.add(wave));
            model += f.norm_sqr();
            r += f.re.mul_add(d.re, f.im * d.im);
            c += f.re.mul_add(e.re, f.im * e.im);
            wave += size;
        }
        *products.add(at) = model * factor;
        *products.add(all + at) = r * factor;
        *products.add(2 * all + at) = c * factor;
    }
}
