//! Combines the coils' images with the conjugate maps: the adjoint of [`coil_images`](super::coil_images).
//!
//! A thread processes one voxel of all coils, in their order: reads 16 bytes a coil, writes 8. Block of 256: the
//! threads are independent.

use warpstride_device::prelude::*;

/// `image = Σ_c conj(maps[c]) · images[c]`.
#[kernel(block = 256, hot)]
pub unsafe fn mri_coil_combine(
    #[len(coils * voxels)] images: *const Complex32,
    #[len(coils * voxels)] maps: *const Complex32,
    #[len(voxels)] image: *mut Complex32,
    voxels: u32,
    coils: u32,
) {
    let voxels = voxels as usize;
    for at in thread::grid_stride(voxels) {
        let mut sum = Complex32::ZERO;
        for coil in 0..coils as usize {
            let place = coil * voxels + at;
            sum += (*maps.add(place)).conj() * *images.add(place);
        }
        *image.add(at) = sum;
    }
}
