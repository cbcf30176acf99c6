//! Coil sensitivities estimated from the samples themselves.
//!
//! Near the centre of k-space even a few spokes sample densely enough for an image of every coil
//! without streaks. These images have low resolution, but so have sensitivities. [`espirit`] finds
//! them as eigenvectors of the centre of k-space itself; [`estimate`] by the ratios of the images,
//! which are wrong where the object changes within their resolution.

mod calibration;
mod espirit;
mod kernel_matrix;
mod refine;
mod sets;
mod subspace;

pub use calibration::CalibrationRegion;
pub use espirit::{Espirit, espirit, espirit_with_plans};

use super::{Encoding, Grid, ProblemError};
use ndarray::{Array2, ArrayView2};
use num_complex::Complex;
use rayon::prelude::*;

/// Spatial frequency at which the low-pass falls to 1/e, cycles/pixel.
const CUTOFF: f64 = 0.05;

/// Voxels whose root sum of squares is below this share of the maximum are outside the object;
/// their maps are 0.
const OBJECT_THRESHOLD: f64 = 0.03;

/// Voxels along each axis (2-D, 3-D) of the neighbourhood in which [`CoilMapMethod::Adaptive`]
/// compares coils.
const NEIGHBOURHOOD: [usize; 2] = [7, 3];

/// Steps of the power method to the dominant combination of coils. It starts from the voxel's own
/// values, which are close to it.
const POWER_STEPS: usize = 8;

/// How coil maps are estimated from low-pass images.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CoilMapMethod {
    /// Low-pass images divided by their root sum of squares.
    LowPass,
    /// The dominant combination of the coils in the neighbourhood of each voxel (D. O. Walsh, A. F.
    /// Gmitro, M. W. Marcellin, Magn. Reson. Med. 43 (2000) 682), from the low-pass images.
    Adaptive,
}

/// Maps (coil, voxel) from `samples` (coil, sample) at `trajectory` (sample, axis) in cycles/pixel,
/// with `encoding` the F of that trajectory. Σ|S|² is 1 in the object and 0 outside.
///
/// # Errors
/// [`ProblemError::Shape`] if samples or trajectory do not have the shape of the `encoding`.
pub fn estimate(
    encoding: &dyn Encoding<f64>,
    trajectory: ArrayView2<'_, f64>,
    samples: ArrayView2<'_, Complex<f64>>,
    method: CoilMapMethod,
) -> Result<Array2<Complex<f64>>, ProblemError> {
    let images = low_pass(encoding, trajectory, samples)?;
    Ok(match method {
        CoilMapMethod::LowPass => normalised(images),
        CoilMapMethod::Adaptive => adaptive(encoding.grid(), &images),
    })
}

/// Fᴴ(w exp(−(|k|/0.05)²) d) of every coil, (coil, voxel), with w the ramp.
///
/// # Errors
/// [`ProblemError::Shape`] if samples or trajectory do not have the shape of the `encoding`.
pub fn low_pass(
    encoding: &dyn Encoding<f64>,
    trajectory: ArrayView2<'_, f64>,
    samples: ArrayView2<'_, Complex<f64>>,
) -> Result<Array2<Complex<f64>>, ProblemError> {
    let grid = encoding.grid();
    let coils = samples.nrows();
    check_shapes(grid, encoding.samples(), trajectory, samples)?;
    let weights: Vec<f64> = trajectory
        .rows()
        .into_iter()
        .map(|k| {
            let square: f64 = k.iter().map(|k| k * k).sum();
            ramp(grid, square.sqrt()) * (-square / (CUTOFF * CUTOFF)).exp()
        })
        .collect();
    let weighted: Vec<_> = samples
        .rows()
        .into_iter()
        .flat_map(|coil| {
            let each = coil.into_iter().zip(&weights);
            each.map(|(d, w)| d * w).collect::<Vec<_>>()
        })
        .collect();
    let mut images = Array2::zeros((coils, grid.voxels()));
    if let Some(images) = images.as_slice_mut() {
        encoding.adjoint(&weighted, images);
    }
    Ok(images)
}

/// Rejects a trajectory that is not (sample, axis) with `count` samples and the axes of `grid`, and
/// samples that are not (coil, sample).
fn check_shapes(
    grid: Grid,
    count: usize,
    trajectory: ArrayView2<'_, f64>,
    samples: ArrayView2<'_, Complex<f64>>,
) -> Result<(), ProblemError> {
    let wrong = |what, found: &[usize], expected, axes| ProblemError::Shape {
        what,
        found: found.to_vec(),
        expected,
        axes,
    };
    if trajectory.shape() != [count, grid.axes] {
        let (expected, axes) = (vec![count, grid.axes], "(sample, axis)");
        return Err(wrong("the trajectory", trajectory.shape(), expected, axes));
    }
    if samples.ncols() != count {
        let (expected, axes) = (vec![samples.nrows(), count], "(coil, sample)");
        return Err(wrong("the data", samples.shape(), expected, axes));
    }
    Ok(())
}

/// The volume of k-space that a sample of evenly spread spokes with step 1/N represents: |k| in two
/// dimensions, |k|² in three. At the centre the spokes share a ball of radius half a step: 1/(4N),
/// 1/(12N²).
fn ramp(grid: Grid, k: f64) -> f64 {
    let [x, y, z] = grid.along_k();
    let step = 1.0 / x.max(y).max(z) as f64;
    if grid.axes == 3 {
        (k * k).max(step * step / 12.0)
    } else {
        k.max(step / 4.0)
    }
}

/// The root sum of squares over coils of each voxel, and the threshold below which a voxel is
/// outside the object.
fn root_sum_of_squares(images: &Array2<Complex<f64>>) -> (Vec<f64>, f64) {
    let voxels = images.ncols();
    let mut squares = vec![0.0; voxels];
    for coil in images.rows() {
        for (square, value) in squares.iter_mut().zip(coil) {
            *square += value.norm_sqr();
        }
    }
    let roots: Vec<f64> = squares.into_iter().map(f64::sqrt).collect();
    let largest = roots.iter().copied().fold(0.0, f64::max);
    (roots, OBJECT_THRESHOLD * largest)
}

/// `images` divided by their root sum of squares, 0 below the threshold.
fn normalised(mut images: Array2<Complex<f64>>) -> Array2<Complex<f64>> {
    let (roots, threshold) = root_sum_of_squares(&images);
    for mut coil in images.rows_mut() {
        for (value, root) in coil.iter_mut().zip(&roots) {
            *value = if *root > 0.0 && *root >= threshold {
                *value / root
            } else {
                Complex::default()
            };
        }
    }
    images
}

/// The dominant combination of coils around every voxel, with the phase that makes its product with
/// the dominant combination of the whole image real.
fn adaptive(grid: Grid, images: &Array2<Complex<f64>>) -> Array2<Complex<f64>> {
    let (roots, threshold) = root_sum_of_squares(images);
    // (voxel, coil), so that the coils of a voxel are contiguous.
    let by_voxel: Vec<Complex<f64>> = images.t().iter().copied().collect();
    let coils = images.nrows();
    let overall = dominant_overall(by_voxel.chunks_exact(coils), &by_voxel, coils, &roots);
    let maps: Vec<Vec<Complex<f64>>> = (0..grid.voxels())
        .into_par_iter()
        .map(|n| {
            if roots[n] == 0.0 || roots[n] < threshold {
                return vec![Complex::default(); coils];
            }
            let here = &by_voxel[n * coils..][..coils];
            let around = neighbourhood(grid, n).map(|n| &by_voxel[n * coils..][..coils]);
            let mut map = dominant(around, here);
            let along: Complex<f64> = overall.iter().zip(&map).map(|(u, s)| u.conj() * s).sum();
            if along.norm() > 0.0 {
                let phase = along.conj() / along.norm();
                map.iter_mut().for_each(|s| *s *= phase);
            }
            map
        })
        .collect();
    Array2::from_shape_fn(images.dim(), |(coil, n)| maps[n][coil])
}

/// The dominant combination in the whole image, started from its brightest voxel.
fn dominant_overall<'a>(
    all: impl Iterator<Item = &'a [Complex<f64>]> + Clone,
    by_voxel: &[Complex<f64>],
    coils: usize,
    roots: &[f64],
) -> Vec<Complex<f64>> {
    let brightest =
        (0..roots.len()).fold(0, |best, n| if roots[n] > roots[best] { n } else { best });
    dominant(all, &by_voxel[brightest * coils..][..coils])
}

/// The voxels around `n` that lie within the image.
fn neighbourhood(grid: Grid, n: usize) -> impl Iterator<Item = usize> + Clone {
    let [slices, rows, columns] = grid.shape;
    let reach = NEIGHBOURHOOD[grid.axes - 2] / 2;
    let range = |at: usize, size: usize| at.saturating_sub(reach)..(at + reach + 1).min(size);
    let index = [n / columns / rows, n / columns % rows, n % columns];
    let [z, y, x] = [
        range(index[0], slices),
        range(index[1], rows),
        range(index[2], columns),
    ];
    z.flat_map(move |z| {
        let x = x.clone();
        y.clone()
            .flat_map(move |y| x.clone().map(move |x| (z * rows + y) * columns + x))
    })
}

/// The eigenvector of the largest eigenvalue of Σ v vᴴ over `vectors`, of length 1, by the power
/// method from `start`.
fn dominant<'a>(
    vectors: impl Iterator<Item = &'a [Complex<f64>]> + Clone,
    start: &[Complex<f64>],
) -> Vec<Complex<f64>> {
    let norm = |v: &[Complex<f64>]| v.iter().map(Complex::norm_sqr).sum::<f64>().sqrt();
    let mut vector = start.to_vec();
    for _ in 0..POWER_STEPS {
        let length = norm(&vector);
        if length == 0.0 {
            return vector;
        }
        // Σ v (vᴴ x) without storing the matrix, because files may have very many coils.
        let mut next = vec![Complex::default(); vector.len()];
        for v in vectors.clone() {
            let pairs = v.iter().zip(&vector);
            let along = pairs.map(|(a, x)| a.conj() * x).sum::<Complex<f64>>() / length;
            next.iter_mut().zip(v).for_each(|(n, a)| *n += a * along);
        }
        vector = next;
    }
    let length = norm(&vector);
    if length > 0.0 {
        vector.iter_mut().for_each(|v| *v /= length);
    }
    vector
}

#[cfg(test)]
mod tests;
