//! Mirrors cpu/nufft.rs: the NUFFT on a machine, types 1 (adjoint) and 2 (forward).
//!
//! Type 1: samples spread onto tiles, the tiles added up on the fine grid, its transform, the kernel
//! undone on the modes. Type 2: the same backwards, with the same weights. No atomics: the same bits
//! every time. `kernels-gpu/src/mri/nufft_*.rs` have the counts.

pub(crate) mod sorting;
pub(crate) mod widths;

pub use sorting::NufftSizes;

use super::super::nufft::SpreadingKernel;
use super::super::{Grid, MriError};
use super::images_together;
use crate::gpu::{Buffer, Direction, Machine, Result};
use ndarray::{ArrayView1, ArrayView2};
use sorting::{MergeLevel, Sorting};
use warpstride_device::Complex32;
use warpstride_device::launch::Work;
use warpstride_kernels::mri::nufft_gather::{MriNufftGather, MriNufftMerge};
use warpstride_kernels::mri::nufft_modes::{MriNufftCrop, MriNufftPad};
use warpstride_kernels::mri::nufft_tile::terms;
use widths::{Part, Points};

/// Fine cells a voxel, along each axis.
const OVERSAMPLING: f64 = 2.0;
/// Does a stage of a name: queues it, or takes its time too.
type Run<'a> = dyn FnMut(&'static str, &mut dyn FnMut() -> Result<()>) -> Result<()> + 'a;

/// Widest kernel that there is in single precision.
const WIDEST: usize = 8;

/// F and Fᴴ of a trajectory, to a tolerance.
///
/// Everything is allocated and uploaded when it is made; its calls only queue work, so that they can
/// be recorded.
pub struct Nufft<M: Machine> {
    grid: Grid,
    sizes: NufftSizes,
    /// Images that the scratch holds.
    together: usize,
    max_batch: usize,
    levels: Vec<MergeLevel>,
    on: Points<M>,
    slot_of_tile: M::Buffer<u32>,
    merges: M::Buffer<[u32; 2]>,
    /// 1/φ̂ of every voxel, along x, y, z.
    factors: [M::Buffer<f32>; 3],
    fine: M::Buffer<Complex32>,
    slots: M::Buffer<Complex32>,
    /// Of `together` images, and of one.
    transforms: [M::Fft; 2],
}

impl<M: Machine> std::fmt::Debug for Nufft<M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Nufft")
            .field("grid", &self.grid)
            .field("sizes", &self.sizes)
            .field("samples", &self.samples())
            .field("together", &self.together)
            .finish_non_exhaustive()
    }
}

fn upload<M: Machine, T: bytemuck::Pod + Send>(
    machine: &M,
    what: &'static str,
    values: &[T],
) -> Result<M::Buffer<T>> {
    let mut buffer = machine.alloc(what, values.len())?;
    machine.upload(&mut buffer, values)?;
    Ok(buffer)
}

impl<M: Machine> Nufft<M> {
    /// Sorts the points of `trajectory`, (sample, axis) in cycles/pixel with the axes kx, ky[, kz].
    /// `weights`, one a sample, are for [`Nufft::adjoint_weighted`]. Calls take at most `max_batch`
    /// images.
    ///
    /// # Errors
    /// A tolerance that single precision does not reach, a trajectory or weights of another shape,
    /// too many samples, or the machine's.
    pub fn new(
        machine: &M,
        grid: Grid,
        trajectory: ArrayView2<'_, f64>,
        weights: Option<ArrayView1<'_, f64>>,
        tolerance: f64,
        max_batch: usize,
    ) -> std::result::Result<Self, MriError> {
        let (count, axes) = trajectory.dim();
        if axes != grid.axes || !matches!(axes, 2 | 3) {
            return Err(MriError::Unsupported(format!(
                "the NUFFT takes trajectories of 2 or 3 axes, as many as the image has: found {axes} for {}",
                grid.axes
            )));
        }
        if weights.is_some_and(|weights| weights.len() != count) {
            return Err(MriError::Unsupported(format!(
                "{count} samples need as many density weights"
            )));
        }
        if u32::try_from(count).is_err() {
            return Err(MriError::Unsupported(format!(
                "{count} samples are too many for one NUFFT: the most are {}",
                u32::MAX
            )));
        }
        let kernel = SpreadingKernel::new::<f32>(tolerance, OVERSAMPLING, axes)?;
        let pieces = kernel.pieces();
        let width = kernel.width();
        if width > WIDEST || pieces.degree >= terms(width) {
            return Err(MriError::Tolerance {
                tolerance,
                precision: "f32",
                smallest: SpreadingKernel::smallest::<f32>(OVERSAMPLING, axes),
            });
        }
        // (power, piece) becomes (piece, power).
        let coefficients: Vec<f32> = (0..width)
            .flat_map(|piece| (0..terms(width)).map(move |power| power * width + piece))
            .map(|at| pieces.coefficients.get(at).map_or(0.0, |c| *c as f32))
            .collect();

        let voxels = grid.along_k();
        let sizes = NufftSizes::new(voxels, axes, width);
        let sorting = Sorting::new(&sizes, trajectory);
        let sorted_weights: Vec<f32> = weights.map_or_else(Vec::new, |weights| {
            let points = sorting.points.iter();
            points.map(|p| weights[p.sample as usize] as f32).collect()
        });
        let slots = sorting.heaps.len() * sizes.slot_cells();
        let together = images_together(max_batch, 8 * (sizes.cells() + slots));
        let factors = |axis: usize| -> Result<M::Buffer<f32>> {
            let factors: Vec<f32> = if axis < axes {
                let factors = kernel.deapodisation(voxels[axis], sizes.fine[axis]);
                factors.iter().map(|factor| *factor as f32).collect()
            } else {
                vec![1.0]
            };
            upload(machine, "factors of the voxels", &factors)
        };
        let [columns, rows, slices] = sizes.fine;
        let shape = [slices, rows, columns];
        let plan = |images| machine.plan_fft(&shape[3 - axes..], images);
        Ok(Self {
            grid,
            sizes,
            together,
            max_batch,
            on: Points {
                points: upload(machine, "sorted points", &sorting.points)?,
                heaps: upload(machine, "heaps of points", &sorting.heaps)?,
                coefficients: upload(machine, "coefficients of the kernel", &coefficients)?,
                weights: upload(machine, "sorted weights", &sorted_weights)?,
            },
            slot_of_tile: upload(machine, "slots of the tiles", &sorting.slot_of_tile)?,
            merges: upload(machine, "sums of slots", &sorting.merges)?,
            levels: sorting.levels,
            factors: [factors(0)?, factors(1)?, factors(2)?],
            fine: machine.alloc("fine grid", together * sizes.cells())?,
            slots: machine.alloc("tiles of the fine grid", together * slots)?,
            transforms: [plan(together)?, plan(1)?],
        })
    }

    /// The voxels.
    #[must_use]
    pub fn grid(&self) -> Grid {
        self.grid
    }

    /// Samples of one image.
    #[must_use]
    pub fn samples(&self) -> usize {
        self.on.points.len()
    }

    /// Extents of the fine grid.
    #[must_use]
    pub fn sizes(&self) -> NufftSizes {
        self.sizes
    }

    /// Queues `samples = F images`: (image, slice, row, column) to (image, sample), of `batch` images.
    ///
    /// # Errors
    /// More images than the most, buffers too short, or the machine's.
    pub fn forward(
        &mut self,
        machine: &M,
        images: &M::Buffer<Complex32>,
        samples: &mut M::Buffer<Complex32>,
        batch: usize,
    ) -> Result<()> {
        self.forward_stages(machine, images, samples, batch, &mut |_, stage| stage())
    }

    /// Queues `images = Fᴴ samples`, of `batch` images.
    ///
    /// # Errors
    /// As [`Nufft::forward`].
    pub fn adjoint(
        &mut self,
        machine: &M,
        samples: &M::Buffer<Complex32>,
        images: &mut M::Buffer<Complex32>,
        batch: usize,
    ) -> Result<()> {
        self.adjoint_stages(machine, samples, images, (batch, false), &mut |_, stage| {
            stage()
        })
    }

    /// Queues `images = Fᴴ W samples`, of `batch` images; W is 1 where no weights were given.
    ///
    /// # Errors
    /// As [`Nufft::forward`].
    pub fn adjoint_weighted(
        &mut self,
        machine: &M,
        samples: &M::Buffer<Complex32>,
        images: &mut M::Buffer<Complex32>,
        batch: usize,
    ) -> Result<()> {
        let weighted = !self.on.weights.is_empty();
        self.adjoint_stages(
            machine,
            samples,
            images,
            (batch, weighted),
            &mut |_, stage| stage(),
        )
    }

    /// [`Nufft::forward`] with the device's time for each stage, ms.
    ///
    /// # Errors
    /// As [`Nufft::forward`].
    pub fn time_forward(
        &mut self,
        machine: &M,
        images: &M::Buffer<Complex32>,
        samples: &mut M::Buffer<Complex32>,
        batch: usize,
    ) -> Result<Vec<(&'static str, f32)>> {
        let mut times = Vec::new();
        self.forward_stages(machine, images, samples, batch, &mut |name, stage| {
            times.push((name, machine.time_ms(stage)?));
            Ok(())
        })?;
        Ok(times)
    }

    /// [`Nufft::adjoint`] with the device's time for each stage, ms.
    ///
    /// # Errors
    /// As [`Nufft::forward`].
    pub fn time_adjoint(
        &mut self,
        machine: &M,
        samples: &M::Buffer<Complex32>,
        images: &mut M::Buffer<Complex32>,
        batch: usize,
    ) -> Result<Vec<(&'static str, f32)>> {
        let mut times = Vec::new();
        let plain = (batch, false);
        self.adjoint_stages(machine, samples, images, plain, &mut |name, stage| {
            times.push((name, machine.time_ms(stage)?));
            Ok(())
        })?;
        Ok(times)
    }

    /// Parts that the scratch holds, then images one by one.
    fn parts(&self, batch: usize) -> Result<Vec<(Part, usize)>> {
        if batch > self.max_batch {
            return Err(crate::cuda::CudaError::Range {
                what: "images of a NUFFT",
                start: 0,
                end: batch,
                len: self.max_batch,
            }
            .into());
        }
        let mut parts = Vec::new();
        let mut first_image = 0;
        while first_image < batch {
            let whole = batch - first_image >= self.together;
            let images = if whole { self.together } else { 1 };
            let part = Part {
                first_image,
                images,
            };
            parts.push((part, usize::from(!whole)));
            first_image += images;
        }
        Ok(parts)
    }

    fn forward_stages(
        &mut self,
        machine: &M,
        images: &M::Buffer<Complex32>,
        samples: &mut M::Buffer<Complex32>,
        batch: usize,
        run: &mut Run<'_>,
    ) -> Result<()> {
        let [columns, rows, slices] = self.grid.along_k().map(|n| n as u32);
        let [fine_columns, fine_rows, fine_slices] = self.sizes.fine.map(|n| n as u32);
        for (part, transform) in self.parts(batch)? {
            run("pad", &mut || {
                let [along_x, along_y, along_z] = &self.factors;
                let launch = MriNufftPad {
                    fine: self.fine.write(),
                    voxels: images.read(),
                    along_x: along_x.read(),
                    along_y: along_y.read(),
                    along_z: along_z.read(),
                    columns,
                    rows,
                    slices,
                    fine_columns,
                    fine_rows,
                    fine_slices,
                    first_image: part.first_image as u32,
                    images: part.images as u32,
                };
                let lines = self.sizes.fine[1] * self.sizes.fine[2] * part.images;
                machine.launch(&launch, Work::Blocks(lines))
            })?;
            run("transform", &mut || {
                let plan = &self.transforms[transform];
                machine.fft(plan, &mut self.fine, Direction::Forward)
            })?;
            run("interpolate", &mut || {
                let arrays = (&self.fine, &mut *samples);
                widths::interpolate(machine, &self.sizes, &self.on, arrays, part)
            })?;
        }
        Ok(())
    }

    fn adjoint_stages(
        &mut self,
        machine: &M,
        samples: &M::Buffer<Complex32>,
        images: &mut M::Buffer<Complex32>,
        (batch, weighted): (usize, bool),
        run: &mut Run<'_>,
    ) -> Result<()> {
        let [columns, rows, slices] = self.grid.along_k().map(|n| n as u32);
        let [fine_columns, fine_rows, fine_slices] = self.sizes.fine.map(|n| n as u32);
        let slot_count = self.on.heaps.len() as u32;
        for (part, transform) in self.parts(batch)? {
            run("spread", &mut || {
                let arrays = (samples, &mut self.slots);
                widths::spread(machine, &self.sizes, &self.on, arrays, weighted, part)
            })?;
            run("gather", &mut || {
                for level in &self.levels {
                    let launch = MriNufftMerge {
                        slots: self.slots.write(),
                        merges: self.merges.read(),
                        slot_count,
                        cells: self.sizes.slot_cells() as u32,
                        first_merge: level.first as u32,
                        merge_count: level.count as u32,
                        stride: level.stride as u32,
                        images: part.images as u32,
                    };
                    machine.launch(&launch, Work::Blocks(level.count * part.images))?;
                }
                let [tiles_x, tiles_y, tiles_z] = self.sizes.tiles.map(|n| n as u32);
                let launch = MriNufftGather {
                    fine: self.fine.write(),
                    slots: self.slots.read(),
                    slot_of_tile: self.slot_of_tile.read(),
                    slot_count,
                    tiles_x,
                    tiles_y,
                    tiles_z,
                    width: self.sizes.width as u32,
                    axes: self.sizes.axes as u32,
                    images: part.images as u32,
                };
                let lines = self.sizes.fine[1] * self.sizes.fine[2] * part.images;
                machine.launch(&launch, Work::Blocks(lines))
            })?;
            run("transform", &mut || {
                let plan = &self.transforms[transform];
                machine.fft(plan, &mut self.fine, Direction::Inverse)
            })?;
            run("crop", &mut || {
                let [along_x, along_y, along_z] = &self.factors;
                let launch = MriNufftCrop {
                    voxels: images.write(),
                    fine: self.fine.read(),
                    along_x: along_x.read(),
                    along_y: along_y.read(),
                    along_z: along_z.read(),
                    columns,
                    rows,
                    slices,
                    fine_columns,
                    fine_rows,
                    fine_slices,
                    first_image: part.first_image as u32,
                    images: part.images as u32,
                };
                let lines = self.grid.shape[0] * self.grid.shape[1] * part.images;
                machine.launch(&launch, Work::Blocks(lines))
            })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
