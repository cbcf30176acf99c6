//! The second half of type 2: interpolation from the fine grid. Mirrors `spread.rs`, with all
//! subproblems in parallel, because they only read the grid.

use super::layout::Layout;
use super::points::{SortedPoints, Subproblem};
use super::simd::SimdKernel;
use super::spread::subproblem_rows;
use num_complex::Complex;
use rayon::prelude::*;
use warpstride_fft::Real;

/// `samples` = the weighted sums of the cells of `grid`, (z, y, x), that each of them touches.
pub(super) fn interpolate<T: Real>(
    layout: &Layout,
    kernel: &SimdKernel<T>,
    points: &SortedPoints<T>,
    grid: &[Complex<T>],
    samples: &mut [Complex<T>],
) {
    let mut sorted = vec![Complex::default(); samples.len()];
    let mut rest = &mut sorted[..];
    let mut work = Vec::with_capacity(points.subproblems.len());
    for subproblem in &points.subproblems {
        let values = rest.split_off_mut(..subproblem.points.len());
        work.push((subproblem, values.expect("the subproblems have all points")));
    }
    work.into_par_iter()
        .with_max_len(1)
        .for_each_init(Vec::new, |array, (subproblem, values)| {
            copy(layout, kernel, subproblem, grid, array);
            let rows = subproblem_rows(layout, kernel, subproblem);
            kernel.interpolate(points, subproblem.points.clone(), array, rows, values);
        });
    samples
        .par_iter_mut()
        .zip(&points.ranks)
        .with_min_len(1 << 12)
        .for_each(|(value, rank)| *value = sorted[*rank as usize]);
}

/// The region of the grid that the samples of a subproblem touch, (z, y, x).
fn copy<T: Real>(
    layout: &Layout,
    kernel: &SimdKernel<T>,
    subproblem: &Subproblem,
    grid: &[Complex<T>],
    array: &mut Vec<Complex<T>>,
) {
    let [columns, rows, planes] = layout.cells;
    let (y_band, z_band) = layout.bands_of(subproblem.pencil);
    let (height, depth) = layout.heights(subproblem.pencil);
    let (y_start, z_start) = (layout.bands[0].start(y_band), layout.bands[1].start(z_band));
    let pitch = kernel.pitch(subproblem.x.len());
    array.clear();
    array.reserve(height * depth * pitch);
    for z in 0..depth {
        for y in 0..height {
            let row = (z_start + z) % planes * rows + (y_start + y) % rows;
            let row = &grid[row * columns..][..columns];
            let (mut from, mut left) = (subproblem.x.start, pitch);
            while left > 0 {
                let count = left.min(columns - from);
                array.extend_from_slice(&row[from..][..count]);
                (from, left) = (0, left - count);
            }
        }
    }
}
