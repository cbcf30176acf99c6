//! Mirrors cpu/toeplitz.rs: FᴴWF on a machine, as one convolution on a padded grid.
//!
//! Of `batch` images, or of one image seen by coils: Σ_c conj(S_c) T (S_c ρ), where the first and the
//! last kernel do the sensitivities on the way. `kernels-gpu/src/mri/toeplitz.rs` has the counts.

use super::super::toeplitz::{padded_shape, spectrum};
use super::super::{Grid, MriError};
use super::images_together;
use crate::gpu::{Buffer, Direction, GpuError, Machine, Result};
use ndarray::ArrayView3;
use num_complex::Complex;
use warpstride_device::Complex32;
use warpstride_device::launch::Work;
use warpstride_kernels::mri::toeplitz::{MriToeplitzCrop, MriToeplitzMultiply, MriToeplitzPad};

/// T = FᴴWF of a trajectory.
///
/// Everything is allocated and uploaded when it is made; its calls only queue work, so that they can
/// be recorded.
pub struct Toeplitz<M: Machine> {
    grid: Grid,
    /// Slices, rows, columns.
    padded: [usize; 3],
    /// Images that the scratch holds.
    together: usize,
    max_batch: usize,
    /// Of Q, over the number of cells.
    spectrum: M::Buffer<f32>,
    cells: M::Buffer<Complex32>,
    no_maps: M::Buffer<Complex32>,
    /// Of `together` images, and of one.
    transforms: [M::Fft; 2],
}

impl<M: Machine> std::fmt::Debug for Toeplitz<M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Toeplitz")
            .field("grid", &self.grid)
            .field("padded", &self.padded)
            .field("together", &self.together)
            .finish_non_exhaustive()
    }
}

impl<M: Machine> Toeplitz<M> {
    /// `q` is Q = Fᴴ w on the [doubled](Grid::doubled) grid, (slice, row, column); calls take at most
    /// `max_batch` images or coils.
    ///
    /// # Errors
    /// Q has another shape, or the machine's.
    pub fn new(
        machine: &M,
        grid: Grid,
        q: ArrayView3<'_, Complex<f64>>,
        max_batch: usize,
    ) -> std::result::Result<Self, MriError> {
        let expected = grid.doubled().shape;
        if q.shape() != expected {
            return Err(MriError::Unsupported(format!(
                "Q has the shape {:?}, expected {expected:?} (slice, row, column)",
                q.shape()
            )));
        }
        let padded = padded_shape(grid);
        let count: usize = padded.iter().product();
        let together = images_together(max_batch, size_of::<Complex32>() * count);
        let factors: Vec<f32> = spectrum(grid, q, padded)
            .iter()
            .map(|value| (value / count as f64) as f32)
            .collect();
        let mut spectrum = machine.alloc("spectrum of Q", count)?;
        machine.upload(&mut spectrum, &factors)?;
        let plan = |images| machine.plan_fft(&padded[3 - grid.axes..], images);
        Ok(Self {
            grid,
            padded,
            together,
            max_batch,
            spectrum,
            cells: machine.alloc("padded images", together * count)?,
            no_maps: machine.alloc("no maps", 0)?,
            transforms: [plan(together)?, plan(1)?],
        })
    }

    /// The voxels.
    #[must_use]
    pub fn grid(&self) -> Grid {
        self.grid
    }

    /// Queues `out = T images` of `batch` images, (image, slice, row, column).
    ///
    /// # Errors
    /// More images than the most, buffers too short, or the machine's.
    pub fn apply(
        &mut self,
        machine: &M,
        images: &M::Buffer<Complex32>,
        out: &mut M::Buffer<Complex32>,
        batch: usize,
    ) -> Result<()> {
        self.run(machine, images, out, None, batch)
    }

    /// Queues `out = Σ_c conj(S_c) T (S_c image)`; `maps` are (coil, slice, row, column).
    ///
    /// # Errors
    /// As [`Toeplitz::apply`].
    pub fn gram(
        &mut self,
        machine: &M,
        image: &M::Buffer<Complex32>,
        out: &mut M::Buffer<Complex32>,
        maps: &M::Buffer<Complex32>,
        coils: usize,
    ) -> Result<()> {
        self.run(machine, image, out, Some(maps), coils)
    }

    fn run(
        &mut self,
        machine: &M,
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
            let whole = batch - first >= self.together;
            let count = if whole { self.together } else { 1 };
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
            machine.launch(&pad, Work::Blocks(lines * count))?;
            machine.fft(plan, &mut self.cells, Direction::Forward)?;
            let multiply = MriToeplitzMultiply {
                padded: self.cells.write(),
                spectrum: self.spectrum.read(),
                cells: self.spectrum.len(),
                coils,
            };
            machine.launch(&multiply, Work::Elements(self.spectrum.len()))?;
            machine.fft(plan, &mut self.cells, Direction::Inverse)?;
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
            machine.launch(&crop, Work::Blocks(own_lines * images))?;
            first += count;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
