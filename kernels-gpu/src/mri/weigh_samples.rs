//! Density weights.
//!
//! A thread processes one sample of all images: reads 4 bytes, then reads and writes 8 an image. Block of 256: the
//! threads are independent.

use warpstride_device::prelude::*;

/// `values[i] = weights · values[i]` for every image i.
#[kernel(block = 256, hot)]
pub unsafe fn mri_weigh_samples(
    #[len(samples)] weights: *const f32,
    #[len(images * samples)] values: *mut Complex32,
    samples: u32,
    images: u32,
) {
    let samples = samples as usize;
    for at in thread::grid_stride(samples) {
        let weight = *weights.add(at);
        for image in 0..images as usize {
            let place = image * samples + at;
            *values.add(place) = (*values.add(place)).scale(weight);
        }
    }
}
