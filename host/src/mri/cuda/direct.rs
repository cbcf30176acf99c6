//! F and its adjoint by the sum itself. Mirrors `cpu/direct.rs`.

mod partition;
mod trajectory;

use std::cell::RefCell;

use crate::gpu::{Buffer, GpuError, Machine, Result};
use crate::mri::{FieldBasis, Grid, MriError, Trigonometry};
use ndarray::{Array2, ArrayView1};
use num_complex::Complex;
use warpstride_device::Complex32;
use warpstride_device::launch::Work;
use warpstride_kernels::mri::direct_adjoint::MriDirectAdjoint;
use warpstride_kernels::mri::direct_forward::MriDirectForward;
use warpstride_kernels::mri::direct_sum_parts::MriDirectSumParts;

use partition::Partition;
use trajectory::Trajectory;

/// F of a trajectory on a machine, in single precision: exact but for rounding, whatever the
/// trajectory. Everything that [`Direct::forward`] and [`Direct::adjoint`] do is queued, so they can
/// be recorded in a graph.
pub struct Direct<M: Machine> {
    grid: Grid,
    batch: usize,
    trajectory: Trajectory<M>,
    hardware: u32,
    multiprocessors: u32,
    /// Sums over parts of the samples (of the rows), before they are added.
    parts: RefCell<M::Buffer<Complex32>>,
}

/// Bytes of a complex number.
const BYTES: usize = size_of::<Complex32>();

impl<M: Machine> Direct<M> {
    /// `trajectory` (sample, axis), cycles/pixel; at most `batch` images at once.
    ///
    /// # Errors
    /// Shapes that do not fit, more than a launch can count, or the machine's.
    pub fn new(
        machine: &M,
        grid: Grid,
        trajectory: &Array2<f64>,
        field: Option<&FieldBasis>,
        trigonometry: Trigonometry,
        batch: usize,
    ) -> std::result::Result<Self, MriError> {
        let samples = trajectory.nrows();
        let fits = grid
            .voxels()
            .checked_add(samples)
            .and_then(|n| n.checked_mul(batch.max(1)))
            .is_some_and(|n| n <= u32::MAX as usize);
        if !fits || trajectory.ncols() != grid.axes {
            return Err(MriError::Unsupported(format!(
                "the direct operators cannot take {:?} voxels with {samples} samples of {} axes, {batch} images at once: voxels and samples of all images must be below 2³²",
                grid.shape,
                trajectory.ncols(),
            )));
        }
        if field.is_some() {
            return Err(MriError::Unsupported("a field basis".to_owned()));
        }
        let multiprocessors = machine.multiprocessors();
        let partitions = (1..=batch).flat_map(|images| {
            [
                Partition::adjoint(grid, samples, images, multiprocessors),
                Partition::forward(grid, samples, images, multiprocessors),
            ]
        });
        let kept = partitions.map(|partition| partition.kept()).max();
        Ok(Self {
            grid,
            batch,
            trajectory: Trajectory::new(machine, trajectory)?,
            hardware: u32::from(trigonometry == Trigonometry::Hardware),
            multiprocessors,
            parts: RefCell::new(machine.alloc("partial sums", kept.unwrap_or(0))?),
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
        self.trajectory.samples
    }

    /// Queues `samples` (image, sample) `= F images` (image, slice, row, column).
    ///
    /// # Errors
    /// A buffer too short, more images than planned for, or the machine's.
    pub fn forward(
        &self,
        machine: &M,
        images: &M::Buffer<Complex32>,
        samples: &mut M::Buffer<Complex32>,
        batch: usize,
    ) -> Result<()> {
        self.expect_planned(batch)?;
        let partition = Partition::forward(self.grid, self.samples(), batch, self.multiprocessors);
        let [slices, rows, columns] = self.grid.shape.map(|n| n as u32);
        self.in_parts(machine, partition, samples, &|out, parts| {
            machine.launch(
                &MriDirectForward {
                    out: out.write(),
                    values: images.read(),
                    turns: self.trajectory.turns.read(),
                    steps: self.trajectory.steps.read(),
                    samples: self.samples() as u32,
                    images: batch as u32,
                    slices,
                    rows,
                    columns,
                    parts: parts as u32,
                    hardware: self.hardware,
                },
                Work::Blocks(partition.blocks()),
            )
        })
    }

    /// Queues `images` (image, slice, row, column) `= Fᴴ samples` (image, sample).
    ///
    /// # Errors
    /// As [`Direct::forward`].
    pub fn adjoint(
        &self,
        machine: &M,
        samples: &M::Buffer<Complex32>,
        images: &mut M::Buffer<Complex32>,
        batch: usize,
    ) -> Result<()> {
        self.expect_planned(batch)?;
        let partition = Partition::adjoint(self.grid, self.samples(), batch, self.multiprocessors);
        let [slices, rows, columns] = self.grid.shape.map(|n| n as u32);
        self.in_parts(machine, partition, images, &|out, parts| {
            machine.launch(
                &MriDirectAdjoint {
                    out: out.write(),
                    values: samples.read(),
                    turns: self.trajectory.turns.read(),
                    steps: self.trajectory.steps.read(),
                    samples: self.samples() as u32,
                    images: batch as u32,
                    slices,
                    rows,
                    columns,
                    parts: parts as u32,
                    hardware: self.hardware,
                },
                Work::Blocks(partition.blocks()),
            )
        })
    }

    /// Queues `launch(out, parts)`, and the sum over the parts where there are several.
    fn in_parts(
        &self,
        machine: &M,
        partition: Partition,
        out: &mut M::Buffer<Complex32>,
        launch: &dyn Fn(&mut M::Buffer<Complex32>, usize) -> Result<()>,
    ) -> Result<()> {
        if partition.parts == 1 {
            return launch(out, 1);
        }
        let mut kept = self.parts.borrow_mut();
        launch(&mut kept, partition.parts)?;
        machine.launch(
            &MriDirectSumParts {
                out: out.write(),
                values: kept.read(),
                parts: partition.parts as u32,
                count: partition.outputs,
            },
            Work::Elements(partition.outputs),
        )
    }

    fn expect_planned(&self, batch: usize) -> Result<()> {
        if batch <= self.batch {
            return Ok(());
        }
        Err(GpuError::Size {
            what: "images at once",
            buffer: self.batch * self.grid.voxels() * BYTES,
            host: batch * self.grid.voxels() * BYTES,
        })
    }
}

/// Q(x) = Σ_m w_m exp(+2πi k_m·x) on the grid of voxel differences ([`Grid::doubled`]), (slice, row,
/// column); waits for it. `weights`: |φ|² and density weights of every sample, `None`: 1.
///
/// # Errors
/// As [`Direct::new`]; weights of another number.
pub fn point_spread<M: Machine>(
    machine: &M,
    grid: Grid,
    trajectory: &Array2<f64>,
    weights: Option<ArrayView1<'_, f64>>,
    trigonometry: Trigonometry,
) -> std::result::Result<M::Buffer<Complex32>, MriError> {
    let doubled = grid.doubled();
    let direct = Direct::new(machine, doubled, trajectory, None, trigonometry, 1)?;
    let values: Vec<Complex<f32>> = match weights {
        Some(weights) => weights
            .iter()
            .map(|w| Complex::new(*w as f32, 0.0))
            .collect(),
        None => vec![Complex::new(1.0, 0.0); direct.samples()],
    };
    let mut samples = machine.alloc::<Complex32>("density weights", direct.samples())?;
    machine.upload(&mut samples, &values)?;
    let mut q = machine.alloc("the point spread function", doubled.voxels())?;
    direct.adjoint(machine, &samples, &mut q, 1)?;
    machine.synchronize()?;
    Ok(q)
}

#[cfg(test)]
mod tests;
