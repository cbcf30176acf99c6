//! F and its adjoint by exact summation. Mirrors cpu/direct/mod.rs.

mod field;
mod partition;
mod trajectory;

use std::cell::RefCell;

use crate::{FieldBasis, Grid, MriError, Trigonometry};
use ndarray::{Array2, ArrayView1};
use num_complex::Complex;
use warpstride_cuda::gpu::{Buffer, Device, GpuError, Result};
use warpstride_device::Complex32;
use warpstride_device::launch::Work;
use warpstride_kernels::mri::direct_adjoint::MriDirectAdjoint;
use warpstride_kernels::mri::direct_forward::MriDirectForward;
use warpstride_kernels::mri::direct_gather::MriDirectGather;
use warpstride_kernels::mri::direct_sum_parts::MriDirectSumParts;

pub use field::Functions;
use field::{Field, cartesian};
use partition::Partition;
use trajectory::Trajectory;

/// The representation of the phases.
enum Phases<M: Device> {
    /// k·x on a grid: the exponentials separate.
    Separable(Trajectory<M>),
    /// Any phases.
    Field(Field<M>),
}

/// F of a trajectory on a device, in single precision: exact up to rounding for any trajectory.
/// Everything that [`Direct::forward`] and [`Direct::adjoint`] do is queued, so they can be
/// captured in a graph.
pub struct Direct<M: Device> {
    grid: Grid,
    samples: usize,
    batch: usize,
    phases: Phases<M>,
    hardware: u32,
    multiprocessors: u32,
    /// Partial sums over parts of the samples (or of the rows), before they are added.
    parts: RefCell<M::Buffer<Complex32>>,
}

/// Bytes of a complex number.
const BYTES: usize = size_of::<Complex32>();

impl<M: Device> Direct<M> {
    /// Plans the operator for `trajectory` (sample, axis), cycles/pixel, and at most `batch` images
    /// at once.
    ///
    /// # Errors
    /// Inconsistent shapes, more elements than a launch can count, or an error of the device.
    pub fn new(
        device: &M,
        grid: Grid,
        trajectory: &Array2<f64>,
        field: Option<&FieldBasis>,
        trigonometry: Trigonometry,
        batch: usize,
    ) -> std::result::Result<Self, MriError> {
        let samples = trajectory.nrows();
        countable(grid, samples, batch)?;
        if trajectory.ncols() != grid.axes {
            return Err(MriError::Unsupported(format!(
                "the trajectory: found {} axes for an image with {}",
                trajectory.ncols(),
                grid.axes,
            )));
        }
        let phases = match field {
            None => Phases::Separable(Trajectory::new(device, trajectory)?),
            Some(field) => {
                let functions = cartesian(grid, trajectory, field)?;
                Phases::Field(Field::new(device, &functions)?)
            }
        };
        Self::planned(device, grid, samples, phases, trigonometry, batch)
    }

    fn planned(
        device: &M,
        grid: Grid,
        samples: usize,
        phases: Phases<M>,
        trigonometry: Trigonometry,
        batch: usize,
    ) -> std::result::Result<Self, MriError> {
        let mut direct = Self {
            grid,
            samples,
            batch,
            phases,
            hardware: u32::from(trigonometry == Trigonometry::Hardware),
            multiprocessors: device.multiprocessors(),
            parts: RefCell::new(device.alloc("partial sums", 0)?),
        };
        let partial_sums =
            (1..=batch).flat_map(|images| [true, false].map(|adjoint| (images, adjoint)));
        let partial_sums =
            partial_sums.map(|(images, adjoint)| direct.partition(images, adjoint).partial_sums());
        if let Some(partial_sums) = partial_sums.max().filter(|partial_sums| *partial_sums > 0) {
            direct.parts = RefCell::new(device.alloc("partial sums", partial_sums)?);
        }
        Ok(direct)
    }

    fn partition(&self, images: usize, adjoint: bool) -> Partition {
        let plan = match (&self.phases, adjoint) {
            (Phases::Separable(_), true) => Partition::adjoint,
            (Phases::Separable(_), false) => Partition::forward,
            (Phases::Field(_), true) => Partition::gather_voxels,
            (Phases::Field(_), false) => Partition::gather_samples,
        };
        plan(self.grid, self.samples, images, self.multiprocessors)
    }

    /// Plans F_mn = exp(−2πi Σ_f c_mf ψ_f(n)) with any phases, for voxels that lie on no grid:
    /// images are (image, voxel).
    ///
    /// # Errors
    /// Inconsistent shapes, phases beyond 2³⁰ cycles, or an error of the device.
    pub fn of_functions(
        device: &M,
        functions: &Functions,
        trigonometry: Trigonometry,
        batch: usize,
    ) -> std::result::Result<Self, MriError> {
        let (samples, voxels) = (functions.samples(), functions.voxels());
        let grid = Grid::two(1, voxels);
        countable(grid, samples, batch)?;
        let phases = Phases::Field(Field::new(device, functions)?);
        Self::planned(device, grid, samples, phases, trigonometry, batch)
    }

    /// The voxels.
    #[must_use]
    pub fn grid(&self) -> Grid {
        self.grid
    }

    /// Samples of one image.
    #[must_use]
    pub fn samples(&self) -> usize {
        self.samples
    }

    /// Queues `samples` (image, sample) `= F images` (image, slice, row, column).
    ///
    /// # Errors
    /// A buffer that is too short, more images than planned, or an error of the device.
    pub fn forward(
        &self,
        device: &M,
        images: &M::Buffer<Complex32>,
        samples: &mut M::Buffer<Complex32>,
        batch: usize,
    ) -> Result<()> {
        let partition = self.planned_for(batch, false)?;
        let trajectory = match &self.phases {
            Phases::Separable(trajectory) => trajectory,
            Phases::Field(field) => {
                let sides = [&field.samples, &field.voxels];
                return self.gather(device, field, sides, (images, samples), batch, false);
            }
        };
        let [slices, rows, columns] = self.grid.shape.map(|n| n as u32);
        self.in_parts(device, partition, samples, |out, parts| {
            device.launch(
                &MriDirectForward {
                    out: out.write(),
                    values: images.read(),
                    turns: trajectory.cycles.read(),
                    steps: trajectory.steps.read(),
                    samples: self.samples as u32,
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
    /// Like [`Direct::forward`].
    pub fn adjoint(
        &self,
        device: &M,
        samples: &M::Buffer<Complex32>,
        images: &mut M::Buffer<Complex32>,
        batch: usize,
    ) -> Result<()> {
        let partition = self.planned_for(batch, true)?;
        let trajectory = match &self.phases {
            Phases::Separable(trajectory) => trajectory,
            Phases::Field(field) => {
                let sides = [&field.voxels, &field.samples];
                return self.gather(device, field, sides, (samples, images), batch, true);
            }
        };
        let [slices, rows, columns] = self.grid.shape.map(|n| n as u32);
        self.in_parts(device, partition, images, |out, parts| {
            device.launch(
                &MriDirectAdjoint {
                    out: out.write(),
                    values: samples.read(),
                    turns: trajectory.cycles.read(),
                    steps: trajectory.steps.read(),
                    samples: self.samples as u32,
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

    /// Either operator with any phases: sums `values` of the sources into `out` of the targets.
    fn gather(
        &self,
        device: &M,
        field: &Field<M>,
        [targets, sources]: [&M::Buffer<i32>; 2],
        (values, out): (&M::Buffer<Complex32>, &mut M::Buffer<Complex32>),
        batch: usize,
        adjoint: bool,
    ) -> Result<()> {
        let partition = self.planned_for(batch, adjoint)?;
        let (voxels, samples) = (self.grid.voxels() as u32, self.samples as u32);
        let counts = if adjoint {
            [voxels, samples]
        } else {
            [samples, voxels]
        };
        self.in_parts(device, partition, out, |out, parts| {
            device.launch(
                &MriDirectGather {
                    out: out.write(),
                    values: values.read(),
                    of_targets: targets.read(),
                    of_sources: sources.read(),
                    shifts: field.shifts.read(),
                    targets: counts[0],
                    sources: counts[1],
                    functions: field.functions as u32,
                    images: batch as u32,
                    parts: parts as u32,
                    conjugate: u32::from(!adjoint),
                    hardware: self.hardware,
                },
                Work::Blocks(partition.blocks()),
            )
        })
    }

    /// Queues `launch(out, parts)`, and the sum over the parts if there are several.
    fn in_parts(
        &self,
        device: &M,
        partition: Partition,
        out: &mut M::Buffer<Complex32>,
        launch: impl Fn(&mut M::Buffer<Complex32>, usize) -> Result<()>,
    ) -> Result<()> {
        if partition.parts == 1 {
            return launch(out, 1);
        }
        let mut partial_sums = self.parts.borrow_mut();
        launch(&mut partial_sums, partition.parts)?;
        device.launch(
            &MriDirectSumParts {
                out: out.write(),
                values: partial_sums.read(),
                parts: partition.parts as u32,
                count: partition.outputs,
            },
            Work::Elements(partition.outputs),
        )
    }

    fn planned_for(&self, images: usize, adjoint: bool) -> Result<Partition> {
        if images <= self.batch {
            return Ok(self.partition(images, adjoint));
        }
        Err(GpuError::Size {
            what: "images at once",
            buffer: self.batch * self.grid.voxels() * BYTES,
            host: images * self.grid.voxels() * BYTES,
        })
    }
}

/// Checks that all elements can be counted in 32 bits, as the launches do.
fn countable(grid: Grid, samples: usize, batch: usize) -> std::result::Result<(), MriError> {
    let total = (grid.voxels().checked_add(samples)).and_then(|n| n.checked_mul(batch.max(1)));
    if total.is_some_and(|total| total <= u32::MAX as usize) {
        return Ok(());
    }
    Err(MriError::Unsupported(format!(
        "direct operator: expected fewer than 2³² elements, found {:?} voxels and {samples} samples of {batch} images at once; use fewer images at once",
        grid.shape,
    )))
}

/// Q(x) = Σ_m w_m exp(+2πi k_m·x) on the grid of voxel differences ([`Grid::doubled`]), (slice,
/// row, column); waits for it. `weights`: |φ|² times the density weight of every sample, `None`: 1.
///
/// # Errors
/// Like [`Direct::new`]; or a different number of weights.
pub fn point_spread<M: Device>(
    device: &M,
    grid: Grid,
    trajectory: &Array2<f64>,
    weights: Option<ArrayView1<'_, f64>>,
    trigonometry: Trigonometry,
) -> std::result::Result<M::Buffer<Complex32>, MriError> {
    let doubled = grid.doubled();
    let direct = Direct::new(device, doubled, trajectory, None, trigonometry, 1)?;
    let values: Vec<Complex<f32>> = match weights {
        Some(weights) => weights
            .iter()
            .map(|w| Complex::new(*w as f32, 0.0))
            .collect(),
        None => vec![Complex::new(1.0, 0.0); direct.samples()],
    };
    let mut samples = device.alloc::<Complex32>("density weights", direct.samples())?;
    device.upload(&mut samples, &values)?;
    let mut q = device.alloc("the point spread function", doubled.voxels())?;
    direct.adjoint(device, &samples, &mut q, 1)?;
    device.synchronize()?;
    Ok(q)
}

#[cfg(test)]
mod tests;
