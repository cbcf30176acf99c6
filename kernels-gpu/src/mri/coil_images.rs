//! The image as each coil sees it, the sum of that of all sets of coil maps.
//!
//! A thread processes one voxel of all coils: reads 8 bytes a set, then reads 8 a coil and set and writes 8 a
//! coil. Block of 256: the threads are independent.

use warpstride_device::prelude::*;

/// `images[c] = Σ_s maps[s, c] · image[s]`, in the order of the sets.
#[kernel(block = 256, hot)]
pub unsafe fn mri_coil_images(
    #[len(sets * voxels)] image: *const Complex32,
    #[len(sets * coils * voxels)] maps: *const Complex32,
    #[len(coils * voxels)] images: *mut Complex32,
    voxels: u32,
    coils: u32,
    sets: u32,
) {
    let (voxels, coils) = (voxels as usize, coils as usize);
    for at in thread::grid_stride(voxels) {
        let value = *image.add(at);
        for coil in 0..coils {
            let place = coil * voxels + at;
            let mut sum = *maps.add(place) * value;
            for set in 1..sets as usize {
                sum += *maps.add(set * coils * voxels + place) * *image.add(set * voxels + at);
            }
            *images.add(place) = sum;
        }
    }
}
