//! Total variation's proximal operator: the image of the dual variables.
//!
//! A thread processes one voxel of one image: reads 8 bytes, and 8 an axis (its neighbours' are in the cache), writes
//! 8. Block of 256: the threads are independent.

use super::voxel::Voxel;
use warpstride_device::prelude::*;

/// `out = z − weight Dᴴ dual`; `dual` is (image, axis, slice, row, column) with the axes column, row, slice. D takes
/// differences to the next voxel, and is 0 across the end of an axis.
#[kernel(block = 256, hot)]
pub unsafe fn mri_tv_primal(
    #[len(images * slices * rows * columns)] out: *mut Complex32,
    #[len(images * slices * rows * columns)] z: *const Complex32,
    #[len(images * axes * slices * rows * columns)] dual: *const Complex32,
    columns: u32,
    rows: u32,
    slices: u32,
    axes: u32,
    images: u32,
    weight: f32,
) {
    let voxels = columns as usize * rows as usize * slices as usize;
    for at in thread::grid_stride(images as usize * voxels) {
        let (image, n) = (at / voxels, at % voxels);
        let voxel = Voxel::of(n, columns, rows);
        let mut sum = Complex32::ZERO;
        for axis in 0..axes.min(3) {
            let place = dual.add((image * axes as usize + axis as usize) * voxels + n);
            let (index, stride) = voxel.along(axis);
            if index > 0 {
                sum += *place.sub(stride);
            }
            sum -= *place;
        }
        *out.add(at) = *z.add(at) - sum.scale(weight);
    }
}
