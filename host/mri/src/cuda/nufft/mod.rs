//! Mirrors cpu/nufft.rs: the NUFFT on a device, types 1 (adjoint) and 2 (forward).
//!
//! Type 1: samples are spread onto tiles, the tiles added up on the fine grid, the grid
//! transformed, and the modes divided by the kernel's transform. Type 2 is its transpose, with the
//! same weights. There are no atomics, so results are bit-identical every time.
//! `kernels-gpu/src/mri/nufft_*.rs` have the operation counts.

pub(crate) mod sorting;
pub(crate) mod widths;

pub use sorting::NufftSizes;

use super::super::nufft::SpreadingKernel;
use super::super::plans::PlanKey;
use super::super::{Grid, MriError, Plans, ProblemError};
use crate::cuda::images_at_once::images_at_once;
use ndarray::{ArrayView1, ArrayView2};
use sorting::{MergeLevel, Sorting};
use std::sync::Arc;
use warpstride_cuda::cuda::CudaError;
use warpstride_cuda::gpu::{Buffer, Device, Direction, GpuError, Result};
use warpstride_device::Complex32;
use warpstride_device::launch::Work;
use warpstride_kernels::mri::nufft_gather::{MriNufftGather, MriNufftMerge};
use warpstride_kernels::mri::nufft_modes::{MriNufftCrop, MriNufftPad};
use warpstride_kernels::mri::nufft_tile::{NufftPoint, terms};
use widths::{ImageBatch, Points};

/// Fine cells per voxel along each axis.
const OVERSAMPLING: f64 = 2.0;
/// Runs a named stage: queues it, or also measures its time.
type StageRunner<'a> = dyn FnMut(&'static str, &mut dyn FnMut() -> Result<()>) -> Result<()> + 'a;

/// Widest kernel available in single precision.
const WIDEST: usize = 8;

/// F and Fᴴ of a trajectory, to a tolerance.
///
/// Everything is allocated and uploaded by the constructor; calls only queue work, so that they can
/// be captured in a graph.
pub struct Nufft<M: Device> {
    grid: Grid,
    sizes: NufftSizes,
    /// Number of images that the scratch memory holds.
    batch_size: usize,
    max_batch: usize,
    levels: Vec<MergeLevel>,
    points: Points<M>,
    slot_of_tile: M::Buffer<u32>,
    merges: M::Buffer<[u32; 2]>,
    /// 1/φ̂ of every voxel, along x, y, z.
    factors: [M::Buffer<f32>; 3],
    fine: M::Buffer<Complex32>,
    slots: M::Buffer<Complex32>,
    /// Transforms of `batch_size` images, and of one.
    transforms: [M::Fft; 2],
}

impl<M: Device> std::fmt::Debug for Nufft<M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Nufft")
            .field("grid", &self.grid)
            .field("sizes", &self.sizes)
            .field("samples", &self.samples())
            .field("batch_size", &self.batch_size)
            .finish_non_exhaustive()
    }
}

fn upload<M: Device, T: bytemuck::Pod + Send>(
    device: &M,
    what: &'static str,
    values: &[T],
) -> Result<M::Buffer<T>> {
    let mut buffer = device.alloc(what, values.len())?;
    device.upload(&mut buffer, values)?;
    Ok(buffer)
}

/// Refuses a fine grid that the device cannot hold, before the host makes a list of its tiles.
fn check_memory<M: Device>(device: &M, sizes: &NufftSizes) -> Result<()> {
    let cells = sizes.fine.iter().map(|n| *n as u128).product::<u128>();
    let needed = usize::try_from(cells.saturating_mul(size_of::<Complex32>() as u128));
    let (free, total) = device.memory()?;
    match needed {
        Ok(needed) if needed <= total => Ok(()),
        needed => Err(CudaError::OutOfMemory {
            kind: "device",
            what: "the fine grid of the NUFFT".to_owned(),
            needed: needed.unwrap_or(usize::MAX),
            free,
            total,
            call: "before planning",
        }
        .into()),
    }
}

impl<M: Device> Nufft<M> {
    /// Sorts the points of `trajectory`, (sample, axis) in cycles/pixel with the axes kx, ky[, kz].
    /// `weights`, one per sample, are for [`Nufft::adjoint_weighted`]. Calls take at most
    /// `max_batch` images.
    ///
    /// # Errors
    /// A tolerance that single precision does not reach, a trajectory or weights of another shape,
    /// a trajectory with values that are not finite, too many samples, or an error of the device,
    /// such as a lack of memory.
    pub fn new(
        device: &M,
        grid: Grid,
        trajectory: ArrayView2<'_, f64>,
        weights: Option<ArrayView1<'_, f64>>,
        tolerance: f64,
        max_batch: usize,
    ) -> std::result::Result<Self, MriError> {
        let problem = (grid, trajectory, weights);
        Self::with_plans(device, problem, tolerance, max_batch, &mut Plans::default())
    }

    /// [`Nufft::new`] of a grid, a trajectory and weights, with the sorted points that `plans` may
    /// have of them.
    pub(crate) fn with_plans(
        device: &M,
        (grid, trajectory, weights): (Grid, ArrayView2<'_, f64>, Option<ArrayView1<'_, f64>>),
        tolerance: f64,
        max_batch: usize,
        plans: &mut Plans,
    ) -> std::result::Result<Self, MriError> {
        let (count, axes) = trajectory.dim();
        if axes != grid.axes || !matches!(axes, 2 | 3) {
            return Err(MriError::Unsupported(format!(
                "NUFFT: expected a trajectory with as many axes as the image, 2 or 3, found {axes} for {}",
                grid.axes
            )));
        }
        if weights.is_some_and(|weights| weights.len() != count) {
            return Err(MriError::Unsupported(format!(
                "NUFFT: expected {count} density weights, one per sample"
            )));
        }
        if u32::try_from(count).is_err() {
            return Err(MriError::Unsupported(format!(
                "NUFFT: expected at most {} samples, found {count}",
                u32::MAX
            )));
        }
        if grid.shape.contains(&0) {
            return Err(ProblemError::Grid(grid.shape, grid.axes).into());
        }
        if let Some(((sample, axis), _)) = trajectory.indexed_iter().find(|(_, k)| !k.is_finite()) {
            return Err(ProblemError::NotFinite {
                what: "the trajectory",
                index: vec![sample, axis],
                axes: "(sample, axis)",
            }
            .into());
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
        // Transposes (power, piece) to (piece, power).
        let coefficients: Vec<f32> = (0..width)
            .flat_map(|piece| (0..terms(width)).map(move |power| power * width + piece))
            .map(|at| pieces.coefficients.get(at).map_or(0.0, |c| *c as f32))
            .collect();

        let voxels = grid.along_k();
        let sizes = NufftSizes::new(voxels, axes, width);
        check_memory(device, &sizes)?;
        let key = PlanKey::new("sorted points").tolerance(tolerance);
        let bytes = 2 * count * size_of::<NufftPoint>();
        let sorting = plans.find((grid, trajectory), key, bytes, || {
            Ok::<_, MriError>(Arc::new(Sorting::new(&sizes, trajectory)))
        })?;
        let sorted_weights: Vec<f32> = weights.map_or_else(Vec::new, |weights| {
            let points = sorting.points.iter();
            points.map(|p| weights[p.sample as usize] as f32).collect()
        });
        let slots = sorting.subproblems.len() * sizes.slot_cells();
        let batch_size = images_at_once(max_batch, 8 * (sizes.cells() + slots));
        let factors = |axis: usize| -> Result<M::Buffer<f32>> {
            let factors: Vec<f32> = if axis < axes {
                let factors = kernel.deapodisation(voxels[axis], sizes.fine[axis]);
                factors.iter().map(|factor| *factor as f32).collect()
            } else {
                vec![1.0]
            };
            upload(device, "deapodisation factors", &factors)
        };
        let [columns, rows, slices] = sizes.fine;
        let shape = [slices, rows, columns];
        let plan = |images| device.plan_fft(&shape[3 - axes..], images);
        Ok(Self {
            grid,
            sizes,
            batch_size,
            max_batch,
            points: Points {
                points: upload(device, "sorted points", &sorting.points)?,
                subproblems: upload(device, "subproblems", &sorting.subproblems)?,
                coefficients: upload(device, "coefficients of the kernel", &coefficients)?,
                weights: upload(device, "sorted weights", &sorted_weights)?,
            },
            slot_of_tile: upload(device, "slots of the tiles", &sorting.slot_of_tile)?,
            merges: upload(device, "sums of slots", &sorting.merges)?,
            levels: sorting.levels.clone(),
            factors: [factors(0)?, factors(1)?, factors(2)?],
            fine: device.alloc("fine grid", batch_size * sizes.cells())?,
            slots: device.alloc("tiles of the fine grid", batch_size * slots)?,
            transforms: [plan(batch_size)?, plan(1)?],
        })
    }

    /// The voxels.
    #[must_use]
    pub fn grid(&self) -> Grid {
        self.grid
    }

    /// Number of samples of one image.
    #[must_use]
    pub fn samples(&self) -> usize {
        self.points.points.len()
    }

    /// Sizes of the fine grid.
    #[must_use]
    pub fn sizes(&self) -> NufftSizes {
        self.sizes
    }

    /// Queues `samples = F images`: (image, slice, row, column) to (image, sample), for `batch`
    /// images.
    ///
    /// # Errors
    /// More images than `max_batch`, buffers that are too short, or an error of the device.
    pub fn forward(
        &mut self,
        device: &M,
        images: &M::Buffer<Complex32>,
        samples: &mut M::Buffer<Complex32>,
        batch: usize,
    ) -> Result<()> {
        self.forward_stages(device, images, samples, batch, &mut |_, stage| stage())
    }

    /// Queues `images = Fᴴ samples`, for `batch` images.
    ///
    /// # Errors
    /// Like [`Nufft::forward`].
    pub fn adjoint(
        &mut self,
        device: &M,
        samples: &M::Buffer<Complex32>,
        images: &mut M::Buffer<Complex32>,
        batch: usize,
    ) -> Result<()> {
        self.adjoint_stages(device, samples, images, (batch, false), &mut |_, stage| {
            stage()
        })
    }

    /// Queues `images = Fᴴ W samples`, for `batch` images; W is 1 if no weights were given.
    ///
    /// # Errors
    /// Like [`Nufft::forward`].
    pub fn adjoint_weighted(
        &mut self,
        device: &M,
        samples: &M::Buffer<Complex32>,
        images: &mut M::Buffer<Complex32>,
        batch: usize,
    ) -> Result<()> {
        let weighted = !self.points.weights.is_empty();
        self.adjoint_stages(
            device,
            samples,
            images,
            (batch, weighted),
            &mut |_, stage| stage(),
        )
    }

    /// [`Nufft::forward`] with the device time of each stage, ms.
    ///
    /// # Errors
    /// Like [`Nufft::forward`].
    pub fn time_forward(
        &mut self,
        device: &M,
        images: &M::Buffer<Complex32>,
        samples: &mut M::Buffer<Complex32>,
        batch: usize,
    ) -> Result<Vec<(&'static str, f32)>> {
        let mut times = Vec::new();
        self.forward_stages(device, images, samples, batch, &mut |name, stage| {
            times.push((name, device.time_ms(stage)?));
            Ok(())
        })?;
        Ok(times)
    }

    /// [`Nufft::adjoint`] with the device time of each stage, ms.
    ///
    /// # Errors
    /// Like [`Nufft::forward`].
    pub fn time_adjoint(
        &mut self,
        device: &M,
        samples: &M::Buffer<Complex32>,
        images: &mut M::Buffer<Complex32>,
        batch: usize,
    ) -> Result<Vec<(&'static str, f32)>> {
        let mut times = Vec::new();
        let plain = (batch, false);
        self.adjoint_stages(device, samples, images, plain, &mut |name, stage| {
            times.push((name, device.time_ms(stage)?));
            Ok(())
        })?;
        Ok(times)
    }

    /// Batches as large as the scratch memory, then the remaining images one by one.
    fn batches(&self, batch: usize) -> Result<Vec<(ImageBatch, usize)>> {
        if batch > self.max_batch {
            return Err(GpuError::Size {
                what: "images of a NUFFT",
                buffer: self.max_batch * self.grid.voxels() * size_of::<Complex32>(),
                host: batch * self.grid.voxels() * size_of::<Complex32>(),
            });
        }
        let mut batches = Vec::new();
        let mut first_image = 0;
        while first_image < batch {
            let whole = batch - first_image >= self.batch_size;
            let images = if whole { self.batch_size } else { 1 };
            let part = ImageBatch {
                first_image,
                images,
            };
            batches.push((part, usize::from(!whole)));
            first_image += images;
        }
        Ok(batches)
    }

    fn forward_stages(
        &mut self,
        device: &M,
        images: &M::Buffer<Complex32>,
        samples: &mut M::Buffer<Complex32>,
        batch: usize,
        run: &mut StageRunner<'_>,
    ) -> Result<()> {
        let [columns, rows, slices] = self.grid.along_k().map(|n| n as u32);
        let [fine_columns, fine_rows, fine_slices] = self.sizes.fine.map(|n| n as u32);
        for (part, transform) in self.batches(batch)? {
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
                device.launch(&launch, Work::Blocks(lines))
            })?;
            run("transform", &mut || {
                let plan = &self.transforms[transform];
                device.fft(plan, &mut self.fine, Direction::Forward)
            })?;
            run("interpolate", &mut || {
                let arrays = (&self.fine, &mut *samples);
                widths::interpolate(device, &self.sizes, &self.points, arrays, part)
            })?;
        }
        Ok(())
    }

    fn adjoint_stages(
        &mut self,
        device: &M,
        samples: &M::Buffer<Complex32>,
        images: &mut M::Buffer<Complex32>,
        (batch, weighted): (usize, bool),
        run: &mut StageRunner<'_>,
    ) -> Result<()> {
        let [columns, rows, slices] = self.grid.along_k().map(|n| n as u32);
        let [fine_columns, fine_rows, fine_slices] = self.sizes.fine.map(|n| n as u32);
        let slot_count = self.points.subproblems.len() as u32;
        for (part, transform) in self.batches(batch)? {
            run("spread", &mut || {
                let arrays = (samples, &mut self.slots);
                widths::spread(device, &self.sizes, &self.points, arrays, weighted, part)
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
                    device.launch(&launch, Work::Blocks(level.count * part.images))?;
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
                device.launch(&launch, Work::Blocks(lines))
            })?;
            run("transform", &mut || {
                let plan = &self.transforms[transform];
                device.fft(plan, &mut self.fine, Direction::Inverse)
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
                device.launch(&launch, Work::Blocks(lines))
            })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
