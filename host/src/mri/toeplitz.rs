//! The spectrum of Q, which makes FᴴWF one convolution.

use super::{Encoding, Grid, ProblemError};
use num_complex::Complex;
use rayon::prelude::*;
use rustfft::FftPlanner;

/// The transform of Q(x) = Σ_m W_m exp(+2πi k_m·x) over voxel differences, on twice the grid.
///
/// Q(−x) = conj Q(x), so that it is real. Differences of N voxels never occur between N voxels; Q is
/// taken as 0 there, which leaves that symmetry exact.
#[derive(Debug, Clone, PartialEq)]
pub struct Spectrum {
    grid: Grid,
    values: Vec<f64>,
}

impl Spectrum {
    /// For images on `grid`, with `doubled` the F of [`Grid::doubled`] and the same trajectory, and
    /// the weights W, one a sample (`None`: 1).
    ///
    /// # Errors
    /// [`ProblemError::Shape`]: `doubled` is of another grid, or there are not as many weights.
    pub fn new(
        grid: Grid,
        doubled: &dyn Encoding<f64>,
        weights: Option<&[f64]>,
    ) -> Result<Self, ProblemError> {
        let samples = doubled.samples();
        let of_one = |weight: &f64| Complex::from(*weight);
        let weights = weights.map_or_else(
            || vec![Complex::from(1.0); samples],
            |weights| weights.iter().map(of_one).collect(),
        );
        if weights.len() != samples {
            return Err(ProblemError::Shape {
                what: "the density weights",
                found: vec![weights.len()],
                expected: vec![samples],
                axes: "(sample)",
            });
        }
        let mut q = vec![Complex::default(); doubled.grid().voxels()];
        doubled.adjoint(&weights, &mut q);
        Self::from_differences(grid, doubled.grid(), q)
    }

    /// From Q itself, on the voxels of [`Grid::doubled`].
    fn from_differences(
        grid: Grid,
        doubled: Grid,
        q: Vec<Complex<f64>>,
    ) -> Result<Self, ProblemError> {
        if doubled != grid.doubled() {
            return Err(ProblemError::Shape {
                what: "the grid of voxel differences",
                found: doubled.shape.to_vec(),
                expected: grid.doubled().shape.to_vec(),
                axes: "(slices, rows, columns)",
            });
        }
        let shape = doubled.shape;
        let mut wrapped = vec![Complex::default(); q.len()];
        wrapped
            .par_chunks_mut(shape[2])
            .enumerate()
            .for_each(|(row, to)| wrap_row(grid, shape, &q, row, to));
        drop(q);
        transform(shape, &mut wrapped);
        let scale = 1.0 / doubled.voxels() as f64;
        Ok(Self {
            grid,
            values: wrapped.iter().map(|value| value.re * scale).collect(),
        })
    }

    /// The voxels of an image.
    #[must_use]
    pub fn grid(&self) -> Grid {
        self.grid
    }

    /// (kz, ky, kx) on [`Grid::doubled`], zero frequency first, divided by its number of voxels: with
    /// it, transforms there and back need no factor.
    #[must_use]
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// The value at (kz, ky, kx).
    ///
    /// # Panics
    /// Outside the doubled grid.
    #[must_use]
    pub fn at(&self, [z, y, x]: [usize; 3]) -> f64 {
        let [_, rows, columns] = self.grid.doubled().shape;
        self.values[(z * rows + y) * columns + x]
    }
}

/// A row of Q with the zero difference first on every axis, and 0 for differences of N.
fn wrap_row(
    grid: Grid,
    shape: [usize; 3],
    q: &[Complex<f64>],
    row: usize,
    to: &mut [Complex<f64>],
) {
    let [slices, rows, columns] = shape;
    // Where difference `index` (0 … N − 1, then −N … −1) lies in Q, which begins at −N.
    let place = |index: usize, doubled: usize| {
        let n = doubled / 2;
        (index != n).then_some((index + n) % doubled)
    };
    let z = if grid.axes == 3 {
        place(row / rows, slices)
    } else {
        Some(0)
    };
    let Some((z, y)) = z.zip(place(row % rows, rows)) else {
        return;
    };
    let from = &q[(z * rows + y) * columns..][..columns];
    for (x, to) in to.iter_mut().enumerate() {
        if let Some(place) = place(x, columns) {
            *to = from[place];
        }
    }
}

/// exp(−2πi …) along every axis, in place, without a factor.
fn transform([slices, rows, columns]: [usize; 3], values: &mut [Complex<f64>]) {
    let mut planner = FftPlanner::new();
    let along_x = planner.plan_fft_forward(columns);
    let along_y = planner.plan_fft_forward(rows);
    let along_z = planner.plan_fft_forward(slices);
    values.par_chunks_mut(rows * columns).for_each(|plane| {
        along_x.process(plane);
        let mut turned = vec![Complex::default(); plane.len()];
        transpose::transpose(plane, &mut turned, columns, rows);
        along_y.process(&mut turned);
        transpose::transpose(&turned, plane, rows, columns);
    });
    if slices > 1 {
        let mut turned = vec![Complex::default(); values.len()];
        transpose::transpose(values, &mut turned, rows * columns, slices);
        turned
            .par_chunks_mut(slices)
            .for_each(|line| along_z.process(line));
        transpose::transpose(&turned, values, slices, rows * columns);
    }
}
