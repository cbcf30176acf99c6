//! Combines the coils' images with the conjugate maps: the adjoint of [`coil_images`](super::coil_images).
//!
//! A thread processes one voxel of all coils, in their order, for one set of maps after the other: reads 16 bytes
//! a coil and set, writes 8 a set. Block of 256: the threads are independent.

use warpstride_device::prelude::*;

/// `image[s] = Σ_c conj(maps[s, c]) · images[c]`.
#[kernel(block = 256, hot)]
pub unsafe fn mri_coil_combine(
    #[len(coils * voxels)] images: *const Complex32,
    #[len(sets * coils * voxels)] maps: *const Complex32,
    #[len(sets * voxels)] image: *mut Complex32,
    voxels: u32,
    coils: u32,
    sets: u32,
) {
    let (voxels, coils) = (voxels as usize, coils as usize);
    for at in thread::grid_stride(voxels) {
        for set in 0..sets as usize {
            let mut sum = Complex32::ZERO;
            for coil in 0..coils {
                let place = coil * voxels + at;
                sum += (*maps.add(set * coils * voxels + place)).conj() * *images.add(place);
            }
            *image.add(set * voxels + at) = sum;
        }
    }
}
