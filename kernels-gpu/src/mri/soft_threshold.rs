//! Wavelets: soft thresholding of the coefficients.
//!
//! A thread processes one voxel of one image: reads 8 bytes, writes 8. Block of 256: the threads are independent.

use super::voxel::Voxel;
use warpstride_device::prelude::*;

/// c ← c max(0, 1 − threshold/|c|) for every coefficient but those of the coarsest corner.
#[kernel(block = 256, hot)]
pub unsafe fn mri_soft_threshold(
    #[len(images * slices * rows * columns)] coefficients: *mut Complex32,
    columns: u32,
    rows: u32,
    slices: u32,
    images: u32,
    corner_columns: u32,
    corner_rows: u32,
    corner_slices: u32,
    threshold: f32,
) {
    let voxels = columns as usize * rows as usize * slices as usize;
    for at in thread::grid_stride(images as usize * voxels) {
        let voxel = Voxel::of(at % voxels, columns, rows);
        let coarsest =
            voxel.column < corner_columns && voxel.row < corner_rows && voxel.slice < corner_slices;
        if coarsest {
            continue;
        }
        let c = *coefficients.add(at);
        let modulus = c.norm_sqr().sqrt();
        *coefficients.add(at) = if modulus > threshold {
            c.scale(1.0 - threshold / modulus)
        } else {
            Complex32::ZERO
        };
    }
}
