//! FᴴWF as a convolution: the spectrum of Q.
//!
//! (FᴴWF ρ)_n = Σ_n' Q(n − n') ρ_n' with Q(x) = Σ_m w_m exp(+2πi k_m·x) over differences of voxels.
//! The differences of an axis of N lie in −(N − 1) … N − 1, so that a cyclic convolution of at
//! least 2N − 1 cells, with ρ in the first N of them, is exact. Q(−x) is the conjugate of Q(x), so
//! its transform is real (J. Fessler et al., IEEE Trans. Signal Process. 53 (2005) 3393).

use super::Grid;
use ndarray::{Array3, ArrayView3};
use num_complex::Complex;
use rayon::prelude::*;
use warpstride_fft::FftPlanner;

/// Cells of the convolution, (slice, row, column): for every encoded axis the smallest even product
/// of 2, 3, 5 and 7 that is at least 2N − 1.
#[must_use]
pub fn padded_shape(grid: Grid) -> [usize; 3] {
    let [slices, rows, columns] = grid.shape;
    let along = |voxels: usize| {
        let mut cells = (2 * voxels).saturating_sub(1).max(1).next_multiple_of(2);
        while !smooth(cells) {
            cells += 2;
        }
        cells
    };
    let slices = if grid.axes == 3 {
        along(slices)
    } else {
        slices
    };
    [slices, along(rows), along(columns)]
}

fn smooth(mut n: usize) -> bool {
    for prime in [2, 3, 5, 7] {
        while n > 0 && n.is_multiple_of(prime) {
            n /= prime;
        }
    }
    n == 1
}

/// The transform of Q on `padded` cells (those of [`padded_shape`] or more), as unscaled sums. `q`
/// is Q on the [doubled](Grid::doubled) grid of `grid`, (slice, row, column), as computed there by
/// the adjoint of the weights: voxel n of 2N is the difference n − N. The difference −N is not
/// used.
///
/// # Panics
/// Panics if `q` has another shape than the doubled grid, or `padded` has fewer than 2N − 1 cells.
#[must_use]
pub fn spectrum(grid: Grid, q: ArrayView3<'_, Complex<f64>>, padded: [usize; 3]) -> Array3<f64> {
    transformed(grid, q, padded).mapv(|value| value.re)
}

/// The complex spectrum, whose imaginary part is rounding.
fn transformed(
    grid: Grid,
    q: ArrayView3<'_, Complex<f64>>,
    padded: [usize; 3],
) -> Array3<Complex<f64>> {
    assert_eq!(q.shape(), grid.doubled().shape, "Q on the doubled grid");
    let encoded = [grid.axes == 3, true, true];
    let mut cells = Array3::zeros(padded);
    for ((z, y, x), value) in q.indexed_iter() {
        let voxel: [Option<usize>; 3] = std::array::from_fn(|axis| {
            let at = [z, y, x][axis];
            let voxels = grid.shape[axis];
            if !encoded[axis] {
                return Some(at);
            }
            assert!(padded[axis] + 1 >= 2 * voxels, "cells for all differences");
            // The difference `at − voxels`, cyclically.
            match at {
                0 => None,
                _ if at < voxels => Some(padded[axis] + at - voxels),
                _ => Some(at - voxels),
            }
        });
        if let [Some(z), Some(y), Some(x)] = voxel {
            cells[[z, y, x]] = *value;
        }
    }
    let mut planner = FftPlanner::new();
    for (axis, len) in padded.into_iter().enumerate() {
        // A transform of one cell changes nothing, and there would be one for each.
        if len == 1 {
            continue;
        }
        let transform = planner.plan_fft_forward(len);
        cells
            .lanes_mut(ndarray::Axis(axis))
            .into_iter()
            .par_bridge()
            .for_each(|mut lane| {
                let mut line = lane.to_vec();
                transform.process(&mut line);
                lane.assign(&ndarray::ArrayView1::from(&line));
            });
    }
    cells
}

#[cfg(test)]
mod tests;
