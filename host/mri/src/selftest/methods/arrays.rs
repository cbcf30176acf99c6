//! Sums and indices of the references.

use crate::Grid;
use num_complex::Complex;
use warpstride_kernels::mri::PARTIAL_SUMS;

pub(super) type C = Complex<f64>;

/// Partial sums of `value(n)`, with the boundaries that the kernels use.
pub(super) fn partial_sums(length: usize, value: impl Fn(usize) -> f64) -> Vec<f64> {
    let each = length.div_ceil(PARTIAL_SUMS);
    (0..PARTIAL_SUMS)
        .map(|part| {
            let first = (part * each).min(length);
            (first..(first + each).min(length)).map(&value).sum()
        })
        .collect()
}

/// Indices of a voxel along the axes column, row, slice.
pub(super) fn indices(n: usize, grid: Grid) -> [usize; 3] {
    let [columns, rows, _] = grid.along_k();
    [n % columns, n / columns % rows, n / columns / rows]
}

pub(super) fn strides(grid: Grid) -> [usize; 3] {
    let [columns, rows, _] = grid.along_k();
    [1, columns, columns * rows]
}
