//! Total variation's proximal operator: one step on the dual variables.
//!
//! A thread processes one voxel of one image: reads 8 bytes (its neighbours' are in the cache) and 16 an axis, writes
//! 16 an axis. Block of 256: the threads are independent.

use super::voxel::Voxel;
use warpstride_device::prelude::*;

/// p' = P(ahead + step D image), `ahead = p' + momentum (p' − dual)`, `dual = p'`; P divides by
/// max(1, |p|) over the axes of a voxel. `dual` and `ahead` are as in
/// [`tv_primal`](super::tv_primal).
#[kernel(block = 256, hot)]
pub unsafe fn mri_tv_dual_step(
    #[len(images * axes * slices * rows * columns)] dual: *mut Complex32,
    #[len(images * axes * slices * rows * columns)] ahead: *mut Complex32,
    #[len(images * slices * rows * columns)] image: *const Complex32,
    columns: u32,
    rows: u32,
    slices: u32,
    axes: u32,
    images: u32,
    step: f32,
    momentum: f32,
) {
    let voxels = columns as usize * rows as usize * slices as usize;
    let sizes = [columns, rows, slices];
    for at in thread::grid_stride(images as usize * voxels) {
        let (number, n) = (at / voxels, at % voxels);
        let voxel = Voxel::of(n, columns, rows);
        let here = *image.add(at);
        let mut steps = [Complex32::ZERO; 3];
        let mut square = 0.0;
        for axis in 0..3 {
            if axis < axes as usize {
                let place = (number * axes as usize + axis) * voxels + n;
                let mut r = *ahead.add(place);
                let (index, stride) = voxel.along(axis as u32);
                if index + 1 < sizes[axis] {
                    r += (*image.add(at + stride) - here).scale(step);
                }
                square += r.norm_sqr();
                steps[axis] = r;
            }
        }
        let modulus = square.sqrt();
        let scale = 1.0 / if modulus > 1.0 { modulus } else { 1.0 };
        for axis in 0..3 {
            if axis < axes as usize {
                let place = (number * axes as usize + axis) * voxels + n;
                let projected = steps[axis].scale(scale);
                *ahead.add(place) = projected + (projected - *dual.add(place)).scale(momentum);
                *dual.add(place) = projected;
            }
        }
    }
}
