//! Mirrors cpu/toeplitz.rs: FᴴWF on a device, as one convolution on a padded grid.
//!
//! For `batch` images, or for one image measured by several coils: Σ_c conj(S_c) T (S_c ρ), where
//! the first and the last kernel also apply the sensitivities. `kernels-gpu/src/mri/toeplitz.rs`
//! has the operation counts.

use super::super::toeplitz::{padded_shape, spectrum};
use super::super::{Grid, MriError};
use super::images_at_once::images_at_once;
use ndarray::ArrayView3;
use num_complex::Complex;
use warpstride_cuda::gpu::{Buffer, Device, Direction, GpuError, Result};
use warpstride_device::Complex32;
use warpstride_device::launch::Work;
use warpstride_kernels::mri::toeplitz::{MriToeplitzCrop, MriToeplitzMultiply, MriToeplitzPad};

/// T = FᴴWF of a trajectory.
///
/// Everything is allocated and uploaded by the constructor; calls only queue work, so that they can
/// be captured in a graph.
pub struct Toeplitz<M: Device> {
    grid: Grid,
    /// Slices, rows, columns.
    padded: [usize; 3],
    /// Number of images that the scratch memory holds.
    batch_size: usize,
    max_batch: usize,
    /// Spectrum of Q divided by the number of cells.
    spectrum: M::Buffer<f32>,
    cells: M::Buffer<Complex32>,
    no_maps: M::Buffer<Complex32>,
    /// Transforms of `batch_size` images, and of one.
    transforms: [M::Fft; 2],
}

/// The spectrum of Q divided by the number of cells; `q` is Q on the doubled grid, (slice, row,
/// column).
pub(super) fn factors(
    grid: Grid,
    q: ArrayView3<'_, Complex<f64>>,
) -> std::result::Result<Vec<f32>, MriError> {
    let expected = grid.doubled().shape;
    if q.shape() != expected {
        return Err(MriError::Unsupported(format!(
            "Q: expected shape {expected:?} (slice, row, column), found {:?}",
            q.shape()
        )));
    }
    let padded = padded_shape(grid);
    let count: usize = padded.iter().product();
    let spectrum = spectrum(grid, q, padded);
    Ok(spectrum
        .iter()
        .map(|value| (value / count as f64) as f32)
        .collect())
}

impl<M: Device> std::fmt::Debug for Toeplitz<M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Toeplitz")
            .field("grid", &self.grid)
            .field("padded", &self.padded)
            .field("batch_size", &self.batch_size)
            .finish_non_exhaustive()
    }
}

impl<M: Device> Toeplitz<M> {
    /// Plans the convolution; `q` is Q = Fᴴ w on the [doubled](Grid::doubled) grid, (slice, row,
    /// column). Calls take at most `max_batch` images or coils.
    ///
    /// # Errors
    /// Q has another shape, or an error of the device.
    pub fn new(
        device: &M,
        grid: Grid,
        q: ArrayView3<'_, Complex<f64>>,
        max_batch: usize,
    ) -> std::result::Result<Self, MriError> {
        Self::with_factors(device, grid, &factors(grid, q)?, max_batch)
    }

    /// Plans the convolution with the [`factors`] of a Q, which several devices have in common.
    pub(super) fn with_factors(
        device: &M,
        grid: Grid,
        factors: &[f32],
        max_batch: usize,
    ) -> std::result::Result<Self, MriError> {
        let padded = padded_shape(grid);
        let count: usize = padded.iter().product();
        let batch_size = images_at_once(max_batch, size_of::<Complex32>() * count);
        let mut spectrum = device.alloc("spectrum of Q", count)?;
        device.upload(&mut spectrum, factors)?;
        let plan = |images| device.plan_fft(&padded[3 - grid.axes..], images);
        Ok(Self {
            grid,
            padded,
            batch_size,
            max_batch,
            spectrum,
            cells: device.alloc("padded images", batch_size * count)?,
            no_maps: device.alloc("no maps", 0)?,
            transforms: [plan(batch_size)?, plan(1)?],
        })
    }

    /// The voxels.
    #[must_use]
    pub fn grid(&self) -> Grid {
        self.grid
    }

    /// Queues `out = T images` for `batch` images, (image, slice, row, column).
    ///
    /// # Errors
    /// More images than `max_batch`, buffers that are too short, or an error of the device.
    pub fn apply(
        &mut self,
        device: &M,
        images: &M::Buffer<Complex32>,
        out: &mut M::Buffer<Complex32>,
        batch: usize,
    ) -> Result<()> {
        self.run(device, images, out, None, batch)
    }

    /// Queues `out = Σ_c conj(S_c) T (S_c image)`; `maps` are (coil, slice, row, column).
    ///
    /// # Errors
    /// Like [`Toeplitz::apply`].
    pub fn gram(
        &mut self,
        device: &M,
        image: &M::Buffer<Complex32>,
        out: &mut M::Buffer<Complex32>,
        maps: &M::Buffer<Complex32>,
        coils: usize,
    ) -> Result<()> {
        self.run(device, image, out, Some(maps), coils)
    }

    fn run(
        &mut self,
        device: &M,
        images: &M::Buffer<Complex32>,
        out: &mut M::Buffer<Complex32>,
        maps: Option<&M::Buffer<Complex32>>,
        batch: usize,
    ) -> Result<()> {
        if batch > self.max_batch {
            return Err(GpuError::Size {
                what: "images of a Toeplitz operator",
                buffer: self.max_batch * self.grid.voxels() * size_of::<Complex32>(),
                host: batch * self.grid.voxels() * size_of::<Complex32>(),
            });
        }
        let [slices, rows, columns] = self.grid.shape.map(|n| n as u32);
        let [padded_slices, padded_rows, padded_columns] = self.padded.map(|n| n as u32);
        let mapped = u32::from(maps.is_some());
        let maps = maps.unwrap_or(&self.no_maps);
        let lines = self.padded[0] * self.padded[1];
        let own_lines = self.grid.shape[0] * self.grid.shape[1];
        let mut first = 0;
        while first < batch {
            let whole = batch - first >= self.batch_size;
            let count = if whole { self.batch_size } else { 1 };
            let plan = &self.transforms[usize::from(!whole)];
            let (first_coil, coils) = (first as u32, count as u32);
            let pad = MriToeplitzPad {
                padded: self.cells.write(),
                images: images.read(),
                maps: maps.read(),
                columns,
                rows,
                slices,
                padded_columns,
                padded_rows,
                padded_slices,
                first_coil,
                coils,
                mapped,
            };
            device.launch(&pad, Work::Blocks(lines * count))?;
            device.fft(plan, &mut self.cells, Direction::Forward)?;
            let multiply = MriToeplitzMultiply {
                padded: self.cells.write(),
                spectrum: self.spectrum.read(),
                cells: self.spectrum.len(),
                coils,
            };
            device.launch(&multiply, Work::Elements(self.spectrum.len()))?;
            device.fft(plan, &mut self.cells, Direction::Inverse)?;
            let crop = MriToeplitzCrop {
                out: out.write(),
                padded: self.cells.read(),
                maps: maps.read(),
                columns,
                rows,
                slices,
                padded_columns,
                padded_rows,
                padded_slices,
                first_coil,
                coils,
                mapped,
            };
            let images = if mapped == 1 { 1 } else { count };
            device.launch(&crop, Work::Blocks(own_lines * images))?;
            first += count;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
