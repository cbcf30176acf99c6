//! FᴴWF as a convolution: padding, the product with the spectrum, cropping.
//!
//! FᴴWF is a convolution with Q(x) = Σ w exp(+2πi k·x) over differences of voxels, which a transform of at least 2N −
//! 1 cells along each encoded axis computes exactly. Voxel n is cell n of the padded grid, whose other cells are
//! zero; the result of the cyclic convolution in those cells is cropped.
//!
//! `mri_toeplitz_pad` writes 8 bytes a padded cell and reads 8 (with maps 16) a voxel and coil;
//! `mri_toeplitz_multiply` reads and writes 8 bytes a padded cell and coil, and 4 of the spectrum once for all coils,
//! because the spectrum is real: Q(−x) is the conjugate of Q(x). `mri_toeplitz_crop` reads 8 (16) bytes a voxel and
//! coil. The first and the last also apply the sensitivities, which saves a pass over the coils' images each.
//!
//! Rows are blocks of 128 threads; the product is elementwise, in blocks of 256.

use warpstride_device::prelude::*;

/// Copies images to the padded grids (coil, slice, row, column) of coils `first_coil…first_coil + coils`: S_c · image
/// if `mapped` is 1; if it is 0 there are no maps, and the coils' images are padded unchanged.
#[kernel(block = 128, hot)]
#[allow(clippy::too_many_arguments, reason = "two grids of three axes")]
pub unsafe fn mri_toeplitz_pad(
    #[len(coils * padded_columns * padded_rows * padded_slices)] padded: *mut Complex32,
    #[len(((first_coil + coils) * (1 - mapped) + mapped) * columns * rows * slices)]
    images: *const Complex32,
    #[len(mapped * (first_coil + coils) * columns * rows * slices)] maps: *const Complex32,
    columns: u32,
    rows: u32,
    slices: u32,
    padded_columns: u32,
    padded_rows: u32,
    padded_slices: u32,
    first_coil: u32,
    coils: u32,
    mapped: u32,
) {
    let fits = columns <= padded_columns && rows <= padded_rows && slices <= padded_slices;
    if !fits || padded_rows == 0 || padded_slices == 0 {
        return;
    }
    for line in thread::block_stride(coils * padded_slices * padded_rows) {
        let (y, rest) = (line % padded_rows, line / padded_rows);
        let (z, coil) = (rest % padded_slices, rest / padded_slices);
        let to = padded.add(line as usize * padded_columns as usize);
        let inside = y < rows && z < slices;
        let row = (z as usize * rows as usize + y as usize) * columns as usize;
        let voxels = slices as usize * rows as usize * columns as usize;
        let of_coil = (first_coil + coil) as usize * voxels + row;
        for x in thread::thread_stride(padded_columns) {
            let mut value = Complex32::ZERO;
            if inside && x < columns {
                let x = x as usize;
                value = if mapped != 0 {
                    *images.add(row + x) * *maps.add(of_coil + x)
                } else {
                    *images.add(of_coil + x)
                };
            }
            *to.add(x as usize) = value;
        }
    }
}

/// `padded ← spectrum · padded` for every coil.
#[kernel(block = 256, hot)]
pub unsafe fn mri_toeplitz_multiply(
    #[len(coils * cells)] padded: *mut Complex32,
    #[len(cells)] spectrum: *const f32,
    cells: usize,
    coils: u32,
) {
    for cell in thread::grid_stride(cells) {
        let factor = *spectrum.add(cell);
        for coil in 0..coils as usize {
            let at = padded.add(coil * cells + cell);
            *at = (*at).scale(factor);
        }
    }
}

/// Copies from the padded grids of coils `first_coil…first_coil + coils`. If `mapped` is 1: `out ← [out +] Σ_c
/// conj(S_c) · padded_c`, coils in their order, added to `out` unless `first_coil` is 0; if it is 0 there are no
/// maps, and every coil is an image of `out`.
#[kernel(block = 128, hot)]
#[allow(clippy::too_many_arguments, reason = "two grids of three axes")]
pub unsafe fn mri_toeplitz_crop(
    #[len(((first_coil + coils) * (1 - mapped) + mapped) * columns * rows * slices)]
    out: *mut Complex32,
    #[len(coils * padded_columns * padded_rows * padded_slices)] padded: *const Complex32,
    #[len(mapped * (first_coil + coils) * columns * rows * slices)] maps: *const Complex32,
    columns: u32,
    rows: u32,
    slices: u32,
    padded_columns: u32,
    padded_rows: u32,
    padded_slices: u32,
    first_coil: u32,
    coils: u32,
    mapped: u32,
) {
    let fits = columns <= padded_columns && rows <= padded_rows && slices <= padded_slices;
    if !fits || rows == 0 || slices == 0 {
        return;
    }
    let images = if mapped != 0 { 1 } else { coils };
    let voxels = slices as usize * rows as usize * columns as usize;
    let of_padded = padded_slices as usize * padded_rows as usize * padded_columns as usize;
    for line in thread::block_stride(images * slices * rows) {
        let (y, rest) = (line % rows, line / rows);
        let (z, image) = (rest % slices, rest / slices);
        let place = line as usize * columns as usize;
        let row = (z as usize * padded_rows as usize + y as usize) * padded_columns as usize;
        let from = padded.add(image as usize * of_padded + row);
        for x in thread::thread_stride(columns) {
            let x = x as usize;
            if mapped != 0 {
                let at = out.add(place + x);
                let mut sum = if first_coil == 0 {
                    Complex32::ZERO
                } else {
                    *at
                };
                for coil in 0..coils as usize {
                    let map = *maps.add((first_coil as usize + coil) * voxels + place + x);
                    sum = map.conj_mul_add(*from.add(coil * of_padded + x), sum);
                }
                *at = sum;
            } else {
                *out.add(first_coil as usize * voxels + place + x) = *from.add(x);
            }
        }
    }
}
