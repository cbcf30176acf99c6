//! The non-uniform FFT: F to a tolerance, by spreading to a fine grid and an FFT.
//!
//! Type 1 (the adjoint) spreads every sample over the cells of a grid that is finer than the
//! image's spectrum, transforms the grid, and divides the modes by the kernel's transform. Type 2
//! (forward) is its transpose with the same weights, so that the two are adjoint to rounding.
//! Samples are sorted once, by the pencil of the grid that they touch ([`points`]); a subproblem is
//! computed in a small array of its own ([`spread`], [`interpolate`]) with vector instructions
//! ([`simd`]).
//!
//! Results are bit-identical for any number of threads.

mod interpolate;
mod layout;
mod points;
mod simd;
mod spread;
#[cfg(test)]
mod tests;
mod vectors;

use super::super::nufft::SpreadingKernel;
use super::super::{Encoding, Grid, MriError, ProblemError};
use bytemuck::allocation::try_zeroed_vec;
use layout::Layout;
use ndarray::ArrayView2;
use num_complex::Complex;
use points::SortedPoints;
use rayon::prelude::*;
use simd::SimdKernel;
use std::sync::Mutex;
use warpstride_fft::{PrunedFft, Real, Sign};

/// Images whose fine grids are smaller than this are computed in parallel, others one after
/// another.
const MAX_PARALLEL_GRID_BYTES: usize = 8 << 20;

/// F of a trajectory to a tolerance; planned once, then used for any number of images.
pub struct Nufft<T: Real> {
    grid: Grid,
    kernel: SpreadingKernel,
    simd_kernel: SimdKernel<T>,
    layout: Layout,
    points: SortedPoints<T>,
    fft: PrunedFft<T>,
    /// Factors along x, y, z.
    deapodisation: [Vec<T>; 3],
    /// Fine grids that are not in use.
    grids: Mutex<Vec<Vec<Complex<T>>>>,
}

impl<T: Real> Nufft<T> {
    /// Plans transforms for samples at `trajectory`, (sample, axis), cycles/pixel, axes kx, ky[,
    /// kz], with a relative l² error of about `tolerance`. k beyond ±0.5 is equivalent to its
    /// alias.
    ///
    /// # Errors
    /// A tolerance that `T` does not reach, an empty grid or trajectory, more than 2³² − 1 samples,
    /// or not enough memory.
    pub fn new(
        grid: Grid,
        trajectory: ArrayView2<'_, f64>,
        tolerance: f64,
    ) -> Result<Self, MriError> {
        let kernel = cheapest_kernel::<T>(grid, trajectory.nrows(), tolerance)?;
        Self::with_kernel(grid, trajectory, kernel)
    }

    /// Like [`Nufft::new`], with a kernel of the caller's choice.
    ///
    /// # Errors
    /// Like [`Nufft::new`].
    pub fn with_kernel(
        grid: Grid,
        trajectory: ArrayView2<'_, f64>,
        kernel: SpreadingKernel,
    ) -> Result<Self, MriError> {
        let flat = grid.axes == 2 && grid.shape[0] == 1;
        if !(flat || grid.axes == 3) || grid.shape.contains(&0) {
            return Err(ProblemError::Grid(grid.shape, grid.axes).into());
        }
        if trajectory.ncols() != grid.axes {
            return Err(ProblemError::Shape {
                what: "the trajectory",
                found: trajectory.shape().to_vec(),
                expected: vec![trajectory.nrows(), grid.axes],
                axes: "(sample, axis)",
            }
            .into());
        }
        if let Some(((sample, axis), _)) = trajectory.indexed_iter().find(|(_, k)| !k.is_finite()) {
            return Err(ProblemError::NotFinite {
                what: "the trajectory",
                index: vec![sample, axis],
                axes: "(sample, axis)",
            }
            .into());
        }
        if u32::try_from(trajectory.nrows()).is_err() {
            return Err(MriError::Unsupported(format!(
                "NUFFT: expected at most 2³² − 1 samples, found {}",
                trajectory.nrows()
            )));
        }
        let modes = grid.along_k();
        let layout = Layout::new(grid, &kernel);
        let fine: usize = layout
            .cells
            .iter()
            .try_fold(size_of::<Complex<T>>(), |bytes, n| bytes.checked_mul(*n))
            .ok_or(MriError::HostMemory {
                what: "the fine grid of the NUFFT",
                needed: usize::MAX,
            })?;
        let spare = try_zeroed_vec(layout.count()).map_err(|()| MriError::HostMemory {
            what: "the fine grid of the NUFFT",
            needed: fine,
        })?;
        let deapodisation = std::array::from_fn(|axis| {
            if axis >= grid.axes {
                return vec![T::one(); modes[axis]];
            }
            let factors = kernel.deapodisation(modes[axis], layout.cells[axis]);
            factors.into_iter().map(T::of).collect()
        });
        Ok(Self {
            grid,
            kernel,
            simd_kernel: SimdKernel::new(&kernel.pieces()),
            points: SortedPoints::new(&layout, trajectory),
            fft: PrunedFft::new(modes, layout.cells),
            layout,
            deapodisation,
            grids: Mutex::new(vec![spare]),
        })
    }

    /// The spreading kernel.
    #[must_use]
    pub fn kernel(&self) -> SpreadingKernel {
        self.kernel
    }

    /// Cells of the fine grid along kx, ky, kz.
    #[must_use]
    pub fn fine(&self) -> [usize; 3] {
        self.layout.cells
    }

    /// Applies `one` to every image and its samples: in parallel if the fine grids are small,
    /// because then a transform has too little work for many threads, otherwise one after another.
    fn each<I: Send, O: Send>(
        &self,
        pairs: impl IndexedParallelIterator<Item = (I, O)>,
        one: impl Fn(&mut [Complex<T>], I, O) + Send + Sync,
    ) {
        let in_parallel = self.layout.count() * size_of::<Complex<T>>() <= MAX_PARALLEL_GRID_BYTES;
        let do_one = |(input, out)| {
            let mut fine = self.take_grid();
            one(&mut fine, input, out);
            self.grids().push(fine);
        };
        if in_parallel {
            pairs.with_max_len(1).for_each(do_one);
        } else {
            let pairs: Vec<_> = pairs.collect();
            pairs.into_iter().for_each(do_one);
        }
    }

    fn grids(&self) -> std::sync::MutexGuard<'_, Vec<Vec<Complex<T>>>> {
        // A grid is overwritten before it is read, so one left by a thread that panicked is fine.
        self.grids
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn take_grid(&self) -> Vec<Complex<T>> {
        let spare = self.grids().pop();
        spare.unwrap_or_else(|| vec![Complex::default(); self.layout.count()])
    }

    fn weights(&self) -> [&[T]; 3] {
        std::array::from_fn(|axis| &self.deapodisation[axis][..])
    }
}

impl<T: Real> Encoding<T> for Nufft<T> {
    fn name(&self) -> &'static str {
        "nufft"
    }

    fn grid(&self) -> Grid {
        self.grid
    }

    fn samples(&self) -> usize {
        self.points.len()
    }

    /// # Panics
    /// Panics if the lengths belong to different numbers of images.
    fn forward(&self, images: &[Complex<T>], samples: &mut [Complex<T>]) {
        let (voxels, count) = (self.grid.voxels(), self.points.len());
        assert_eq!(
            images.len() * count,
            samples.len() * voxels,
            "images and samples"
        );
        if count == 0 {
            return;
        }
        self.each(
            images
                .par_chunks_exact(voxels)
                .zip(samples.par_chunks_exact_mut(count)),
            |fine, image, samples| {
                self.fft.to_cells(Sign::Minus, image, self.weights(), fine);
                interpolate::interpolate(
                    &self.layout,
                    &self.simd_kernel,
                    &self.points,
                    fine,
                    samples,
                );
            },
        );
    }

    /// # Panics
    /// Panics if the lengths belong to different numbers of images.
    fn adjoint(&self, samples: &[Complex<T>], images: &mut [Complex<T>]) {
        let (voxels, count) = (self.grid.voxels(), self.points.len());
        assert_eq!(
            images.len() * count,
            samples.len() * voxels,
            "images and samples"
        );
        if count == 0 {
            images.fill(Complex::default());
            return;
        }
        self.each(
            samples
                .par_chunks_exact(count)
                .zip(images.par_chunks_exact_mut(voxels)),
            |fine, samples, image| {
                spread::spread(&self.layout, &self.simd_kernel, &self.points, samples, fine);
                self.fft.to_modes(Sign::Plus, fine, self.weights(), image);
            },
        );
    }
}

/// The kernel with the lowest estimated cost among the oversamplings that reach the tolerance: a
/// small fine grid with a wide kernel for few samples, a large one with a narrow kernel for many.
fn cheapest_kernel<T: Real>(
    grid: Grid,
    samples: usize,
    tolerance: f64,
) -> Result<SpreadingKernel, MriError> {
    let modes = grid.along_k();
    let first = SpreadingKernel::new::<T>(tolerance, 2.0, grid.axes)?;
    let work = |kernel: &SpreadingKernel| {
        let cells: f64 = modes[..grid.axes]
            .iter()
            .map(|n| kernel.fine(*n) as f64)
            .product();
        let touched = (kernel.width() as f64).powi(grid.axes as i32 - 1);
        let vectors = (kernel.width() * 2 * size_of::<T>()).div_ceil(32) as f64;
        samples as f64 * (SAMPLE_COST + touched * vectors)
            + cells * CELL_COST * size_of::<T>() as f64
    };
    let narrower = [1.5, 1.25].into_iter().filter_map(|oversampling| {
        SpreadingKernel::new::<T>(tolerance, oversampling, grid.axes).ok()
    });
    Ok(narrower.fold(first, |best, kernel| {
        if work(&kernel) < work(&best) {
            kernel
        } else {
            best
        }
    }))
}

/// Cost of a sample besides its cells, in units of adding one vector of 32 bytes to the grid.
const SAMPLE_COST: f64 = 40.0;
/// Cost of a cell of the fine grid per byte of a number, most of it in the transform.
const CELL_COST: f64 = 2.0;
