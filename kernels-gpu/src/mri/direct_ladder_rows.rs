//! The rungs beyond the textbook's ladder for Fᴴd: voxels along a row of a Cartesian grid.
//!
//! From one voxel of a row to the next, a sample's wave turns by the same angle, so one complex product replaces
//! phase, sine and cosine; a seed for every run of voxels keeps rounding errors at 1e-6. `mri_ladder_rotation`: 6
//! operations for a voxel and sample (Mu is in the seed), and a seed for 32. `mri_ladder_coils`: 4 images share the
//! waves, 5 operations for a voxel, sample and image, and a seed for 8 × 4. A thread computes a run of one row.
//! Blocks of 256; the sums take 64 registers.

use super::direct_ladder_global::turns;
use super::direct_ladder_staged::{CHUNK, stage};
use warpstride_device::prelude::*;

/// Voxels in a run of `mri_ladder_rotation`.
pub const RUN: u32 = 32;
/// Voxels in a run of `mri_ladder_coils`.
pub const SHORT_RUN: u32 = 8;
/// Images for each thread of `mri_ladder_coils`.
pub const IMAGES: u32 = 4;

/// A run of voxels in a row.
struct Run {
    /// Position of the first voxel.
    place: [f32; 3],
    /// Index of the first voxel in the image.
    first: usize,
    count: u32,
}

impl Run {
    /// Run number `n`, with `long` voxels except at the end of a row; empty beyond the last run.
    #[inline(always)]
    fn of(n: u32, long: u32, slices: u32, rows: u32, columns: u32) -> Self {
        let of_row = columns.div_ceil(long).max(1);
        let (row, column) = (n / of_row, n % of_row * long);
        let (slice, row_in) = (row / rows.max(1), row % rows.max(1));
        let at = |n: u32, extent: u32| n as f32 - (extent / 2) as f32;
        Self {
            place: [at(column, columns), at(row_in, rows), at(slice, slices)],
            first: row as usize * columns as usize + column as usize,
            count: if slice < slices {
                (columns - column).min(long)
            } else {
                0
            },
        }
    }
}

/// Phase rotation along a row, with seeds from polynomials.
#[kernel(block = 256, hot)]
pub unsafe fn mri_ladder_rotation(
    #[len(slices * rows * columns)] out: *mut Complex32,
    #[len(2 * samples)] points: *const F32x4,
    samples: u32,
    slices: u32,
    rows: u32,
    columns: u32,
) {
    let staged = shared_array![F32x4; 2 * CHUNK as usize];
    let width = thread::block_threads();
    let runs = slices * rows * columns.div_ceil(RUN);
    for tile in thread::block_stride(runs.div_ceil(width)) {
        let n = tile * width + thread::index_in_block();
        let run = Run::of(n, RUN, slices, rows, columns);
        let mut sums = [Complex32::ZERO; RUN as usize];
        let mut first = 0;
        while first < samples {
            let count = stage(staged, points, first, samples);
            for i in 0..count as usize {
                let [kx, ky, kz, _] = (*staged.add(2 * i)).0;
                let [re, im, step_re, step_im] = (*staged.add(2 * i + 1)).0;
                let step = Complex32::new(step_re, step_im);
                let seed = phase::sincos_turns_accurate(turns([kx, ky, kz], run.place));
                let mut wave = seed * Complex32::new(re, im);
                for sum in &mut sums {
                    *sum += wave;
                    wave = wave * step;
                }
            }
            first += count;
        }
        for (i, sum) in sums.iter().enumerate() {
            if (i as u32) < run.count {
                *out.add(run.first + i) = *sum;
            }
        }
    }
}

/// Phase rotation along a row; the images of all coils share the waves, and `values` (image, sample) replaces Mu.
#[kernel(block = 256, hot)]
#[allow(
    clippy::too_many_arguments,
    reason = "two arrays, a trajectory and a grid"
)]
pub unsafe fn mri_ladder_coils(
    #[len(images * slices * rows * columns)] out: *mut Complex32,
    #[len(images * samples)] values: *const Complex32,
    #[len(2 * samples)] points: *const F32x4,
    samples: u32,
    images: u32,
    slices: u32,
    rows: u32,
    columns: u32,
) {
    let staged = shared_array![F32x4; 2 * CHUNK as usize];
    let staged_values = shared_array![Complex32; (CHUNK * IMAGES) as usize];
    let width = thread::block_threads();
    let runs = slices * rows * columns.div_ceil(SHORT_RUN);
    let tiles = runs.div_ceil(width).max(1);
    let voxels = slices as usize * rows as usize * columns as usize;
    for tile in thread::block_stride(tiles * images.div_ceil(IMAGES)) {
        let first_image = tile / tiles * IMAGES;
        let n = tile % tiles * width + thread::index_in_block();
        let run = Run::of(n, SHORT_RUN, slices, rows, columns);
        let mut sums = [[Complex32::ZERO; IMAGES as usize]; SHORT_RUN as usize];
        let mut first = 0;
        while first < samples {
            let count = stage(staged, points, first, samples);
            for i in thread::thread_stride(count * IMAGES) {
                let (m, image) = (first + i / IMAGES, first_image + i % IMAGES);
                *staged_values.add(i as usize) = if image < images {
                    *values.add(image as usize * samples as usize + m as usize)
                } else {
                    Complex32::ZERO
                };
            }
            thread::sync_threads();
            for i in 0..count as usize {
                let [kx, ky, kz, _] = (*staged.add(2 * i)).0;
                let [_, _, step_re, step_im] = (*staged.add(2 * i + 1)).0;
                let step = Complex32::new(step_re, step_im);
                let mut wave = phase::sincos_turns_accurate(turns([kx, ky, kz], run.place));
                let line = staged_values.add(i * IMAGES as usize);
                for of_images in &mut sums {
                    for (k, sum) in of_images.iter_mut().enumerate() {
                        *sum = wave.mul_add(*line.add(k), *sum);
                    }
                    wave = wave * step;
                }
            }
            first += count;
        }
        for (i, of_images) in sums.iter().enumerate() {
            for (k, sum) in of_images.iter().enumerate() {
                let image = first_image + k as u32;
                if (i as u32) < run.count && image < images {
                    *out.add(image as usize * voxels + run.first + i) = *sum;
                }
            }
        }
    }
}
