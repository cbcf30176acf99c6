//! FᴴWF as one convolution with Q, by transforms of the grid's own size.
//!
//! (FᴴWF ρ)_n = Σ_n' Q(n − n') ρ_n', Q(x) = Σ_m W_m exp(+2πi k_m·x): the transform of ρ padded to
//! 2N voxels per axis, times the spectrum of Q, transformed back and cropped (J. A. Fessler et al.,
//! IEEE Trans. Signal Process. 53 (2005) 3393). The padded transform is never computed: because its
//! second half is zero, its even and odd frequencies are transforms of N voxels,
//!
//! X_2j = Σ_n x_n exp(−2πi jn/N),  X_2j+1 = Σ_n x_n exp(−iπn/N) exp(−2πi jn/N),
//!
//! and only N voxels of the inverse are needed, x_n = (Y_n + exp(iπn/N) Z_n)/(2N), with Y and Z the
//! inverse transforms of the two halves. Axis by axis this is a recursion whose buffers are as
//! large as the image.

use super::lines::{LINES, Lines, Plane};
use crate::{Encoding, Grid, ProblemError, toeplitz};
use ndarray::Array3;
use num_complex::Complex;
use rayon::prelude::*;
use warpstride_fft::Real;

/// FᴴWF by convolution.
pub struct Toeplitz<T: Real> {
    grid: Grid,
    along_x: Lines<T>,
    plane: Plane<T>,
    /// (parity of kx, kx, then parity of ky, ky, parity of kz, kz in the order of [`Plane`])
    spectrum: Vec<T>,
}

impl<T: Real> Toeplitz<T> {
    /// Plans the convolution for images on `grid`, with `doubled` the F of [`Grid::doubled`] and
    /// the same trajectory, and the weights W, one per sample (`None`: 1).
    ///
    /// # Errors
    /// [`ProblemError::Shape`] if `doubled` has another grid, or the number of weights differs.
    pub fn new(
        grid: Grid,
        doubled: &dyn Encoding<f64>,
        weights: Option<&[f64]>,
    ) -> Result<Self, ProblemError> {
        let samples = doubled.samples();
        let wrong = |what, found, expected, axes| ProblemError::Shape {
            what,
            found,
            expected,
            axes,
        };
        let [found, expected] = [doubled.grid(), grid.doubled()].map(|grid| grid.shape);
        if doubled.grid() != grid.doubled() {
            let what = "the grid of voxel differences";
            let axes = "(slices, rows, columns)";
            return Err(wrong(what, found.to_vec(), expected.to_vec(), axes));
        }
        let weights = weights.map_or_else(
            || vec![Complex::from(1.0); samples],
            |weights| weights.iter().copied().map(Complex::from).collect(),
        );
        if weights.len() != samples {
            let found = vec![weights.len()];
            return Err(wrong(
                "the density weights",
                found,
                vec![samples],
                "(sample)",
            ));
        }
        let mut q = Array3::zeros(expected);
        if let Some(q) = q.as_slice_mut() {
            doubled.adjoint(&weights, q);
        }
        let spectrum = toeplitz::spectrum(grid, q.view(), expected);
        Ok(Self::with_spectrum(grid, &spectrum))
    }

    /// Plans the convolution from the unscaled spectrum of Q on the doubled grid.
    fn with_spectrum(grid: Grid, spectrum: &Array3<f64>) -> Self {
        let columns = grid.shape[2];
        let scale = 1.0 / spectrum.len() as f64;
        let plane = Plane::new(grid);
        let mut values = Vec::with_capacity(spectrum.len());
        for px in 0..2 {
            for x in 0..columns {
                let at = |z: usize, y: usize| spectrum[[z, y, 2 * x + px]] * scale;
                plane.arrange(at, &mut values);
            }
        }
        Self {
            grid,
            along_x: Lines::new(columns),
            plane,
            spectrum: values,
        }
    }

    /// The voxels.
    #[must_use]
    pub fn grid(&self) -> Grid {
        self.grid
    }

    /// Replaces `images` (image, voxel) by FᴴWF `images`.
    pub fn apply(&self, images: &mut [Complex<T>]) {
        images
            .par_chunks_mut(self.grid.voxels())
            .for_each(|image| self.apply_to_one(image));
    }

    fn apply_to_one(&self, image: &mut [Complex<T>]) {
        let columns = self.grid.shape[2];
        let rows = self.grid.voxels() / columns;
        let zero = Complex::default();
        let mut along_rows = vec![zero; image.len()];
        let mut along_columns = vec![zero; image.len()];
        let mut sum = vec![zero; image.len()];
        for (parity, spectrum) in self.spectrum.chunks(self.spectrum.len() / 2).enumerate() {
            along_rows
                .par_chunks_mut(LINES * columns)
                .zip(image.par_chunks(LINES * columns))
                .for_each(|(to, from)| self.along_x.forward(parity, from, to));
            // (column, row), so that the remaining axes are contiguous.
            along_columns
                .par_chunks_mut(LINES * rows)
                .zip(spectrum.par_chunks(LINES * self.plane.spectrum_len()))
                .enumerate()
                .for_each(|(block, (to, spectrum))| {
                    gather_columns(&along_rows, columns, block * LINES, to, rows);
                    self.plane.apply(to, spectrum);
                });
            sum.par_chunks_mut(LINES * columns)
                .enumerate()
                .for_each(|(block, to)| {
                    let mut lines = vec![zero; to.len()];
                    gather_columns(&along_columns, rows, block * LINES, &mut lines, columns);
                    self.along_x.inverse(parity, &mut lines, to);
                });
        }
        image.copy_from_slice(&sum);
    }
}

/// Columns of `from` (row, column) from `first` on, as rows of `to` with length `rows`.
fn gather_columns<T: Copy>(from: &[T], columns: usize, first: usize, to: &mut [T], rows: usize) {
    let count = to.len() / rows;
    for (row, from) in from.chunks_exact(columns).enumerate() {
        for (line, value) in from[first..first + count].iter().enumerate() {
            to[line * rows + row] = *value;
        }
    }
}
