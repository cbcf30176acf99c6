//! Conversion between voxels and the fine grid of the NUFFT: padding, cropping, and deconvolution.
//!
//! Voxel n of an axis of N lies at n − ⌊N/2⌋ pixels, which is cell (n − ⌊N/2⌋) mod `fine` of the fine grid. Each axis
//! has a factor 1/φ̂ for each voxel; the product of the factors undoes the kernel's Fourier transform.
//!
//! `mri_nufft_pad` writes every fine cell (8 bytes) and reads a voxel for 1/4 or 1/8 of them; `mri_nufft_crop` reads
//! and writes 8 bytes a voxel. A block processes a row, so that everything but the position in it is the same for its
//! threads; blocks of 128, a usual length of rows.

use warpstride_device::prelude::*;

/// The voxel of a fine cell along an axis, if any.
#[inline(always)]
fn voxel_of(cell: u32, voxels: u32, fine: u32) -> Option<u32> {
    let (before, behind) = (voxels / 2, voxels - voxels / 2);
    if cell < behind {
        Some(cell + before)
    } else if cell >= fine - before {
        Some(cell - (fine - before))
    } else {
        None
    }
}

/// The fine cell of a voxel along an axis.
#[inline(always)]
fn cell_of(voxel: u32, voxels: u32, fine: u32) -> u32 {
    let before = voxels / 2;
    if voxel < before {
        voxel + (fine - before)
    } else {
        voxel - before
    }
}

/// Copies images `first_image…first_image + images`, each voxel times its factors, to their fine grids; the other
/// cells become 0. No axis of the fine grid is shorter than the voxels'.
#[kernel(block = 128, hot)]
#[allow(clippy::too_many_arguments, reason = "two grids of three axes")]
pub unsafe fn mri_nufft_pad(
    #[len(images * fine_columns * fine_rows * fine_slices)] fine: *mut Complex32,
    #[len((first_image + images) * columns * rows * slices)] voxels: *const Complex32,
    #[len(columns)] along_x: *const f32,
    #[len(rows)] along_y: *const f32,
    #[len(slices)] along_z: *const f32,
    columns: u32,
    rows: u32,
    slices: u32,
    fine_columns: u32,
    fine_rows: u32,
    fine_slices: u32,
    first_image: u32,
    images: u32,
) {
    let fits = columns <= fine_columns && rows <= fine_rows && slices <= fine_slices;
    if !fits || fine_rows == 0 || fine_slices == 0 {
        return;
    }
    for row in thread::block_stride(images * fine_slices * fine_rows) {
        let (cell_y, rest) = (row % fine_rows, row / fine_rows);
        let (cell_z, image) = (rest % fine_slices, rest / fine_slices);
        let to = fine.add(row as usize * fine_columns as usize);
        let y = voxel_of(cell_y, rows, fine_rows);
        let z = voxel_of(cell_z, slices, fine_slices);
        let mut factor = 0.0;
        let mut from = voxels;
        if let (Some(y), Some(z)) = (y, z) {
            factor = *along_y.add(y as usize) * *along_z.add(z as usize);
            let slice = (first_image + image) as usize * slices as usize + z as usize;
            from = voxels.add((slice * rows as usize + y as usize) * columns as usize);
        }
        let inside = y.is_some() && z.is_some();
        for cell in thread::thread_stride(fine_columns) {
            let mut value = Complex32::ZERO;
            if let (true, Some(x)) = (inside, voxel_of(cell, columns, fine_columns)) {
                let x = x as usize;
                value = (*from.add(x)).scale(factor * *along_x.add(x));
            }
            *to.add(cell as usize) = value;
        }
    }
}

/// Copies images `first_image…first_image + images` from their fine grids, each voxel times its factors.
#[kernel(block = 128, hot)]
#[allow(clippy::too_many_arguments, reason = "two grids of three axes")]
pub unsafe fn mri_nufft_crop(
    #[len((first_image + images) * columns * rows * slices)] voxels: *mut Complex32,
    #[len(images * fine_columns * fine_rows * fine_slices)] fine: *const Complex32,
    #[len(columns)] along_x: *const f32,
    #[len(rows)] along_y: *const f32,
    #[len(slices)] along_z: *const f32,
    columns: u32,
    rows: u32,
    slices: u32,
    fine_columns: u32,
    fine_rows: u32,
    fine_slices: u32,
    first_image: u32,
    images: u32,
) {
    let fits = columns <= fine_columns && rows <= fine_rows && slices <= fine_slices;
    if !fits || rows == 0 || slices == 0 {
        return;
    }
    for row in thread::block_stride(images * slices * rows) {
        let (y, rest) = (row % rows, row / rows);
        let (z, image) = (rest % slices, rest / slices);
        let of_images = (first_image as usize * slices as usize * rows as usize) + row as usize;
        let to = voxels.add(of_images * columns as usize);
        let slice =
            image as usize * fine_slices as usize + cell_of(z, slices, fine_slices) as usize;
        let line = slice * fine_rows as usize + cell_of(y, rows, fine_rows) as usize;
        let from = fine.add(line * fine_columns as usize);
        let factor = *along_y.add(y as usize) * *along_z.add(z as usize);
        for x in thread::thread_stride(columns) {
            let value = *from.add(cell_of(x, columns, fine_columns) as usize);
            *to.add(x as usize) = value.scale(factor * *along_x.add(x as usize));
        }
    }
}
