//! The image as each coil sees it.
//!
//! A thread processes one voxel of all coils: reads 8 bytes, then reads and writes 8 a coil. Block of 256: the
//! threads are independent.

use warpstride_device::prelude::*;

/// `images[c] = maps[c] · image`.
#[kernel(block = 256, hot)]
pub unsafe fn mri_coil_images(
    #[len(voxels)] image: *const Complex32,
    #[len(coils * voxels)] maps: *const Complex32,
    #[len(coils * voxels)] images: *mut Complex32,
    voxels: u32,
    coils: u32,
) {
    let voxels = voxels as usize;
    for at in thread::grid_stride(voxels) {
        let value = *image.add(at);
        for coil in 0..coils as usize {
            let place = coil * voxels + at;
            *images.add(place) = *maps.add(place) * value;
        }
    }
}
