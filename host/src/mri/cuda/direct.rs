//! F and its adjoint by the sum itself. Mirrors `cpu/direct.rs`.

mod field;
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
use warpstride_kernels::mri::direct_gather::MriDirectGather;
use warpstride_kernels::mri::direct_sum_parts::MriDirectSumParts;

pub use field::Functions;
use field::{Field, cartesian};
use partition::Partition;
use trajectory::Trajectory;

/// How the phases are known.
enum Phases<M: Machine> {
    /// k·x on the grid: exponentials that separate.
    Separable(Trajectory<M>),
    /// Any.
    Field(Field<M>),
}

/// F of a trajectory on a machine, in single precision: exact but for rounding, whatever the
/// trajectory. Everything that [`Direct::forward`] and [`Direct::adjoint`] do is queued, so they can
/// be recorded in a graph.
pub struct Direct<M: Machine> {
    grid: Grid,
    samples: usize,
    batch: usize,
    phases: Phases<M>,
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
        countable(grid, samples, batch)?;
        if trajectory.ncols() != grid.axes {
            return Err(MriError::Unsupported(format!(
                "a trajectory of {} axes does not encode an image of {}",
                trajectory.ncols(),
                grid.axes,
            )));
        }
        let phases = match field {
            None => Phases::Separable(Trajectory::new(machine, trajectory)?),
            Some(field) => {
                let functions = cartesian(grid, trajectory, field)?;
                Phases::Field(Field::new(machine, &functions)?)
            }
        };
        Self::planned(machine, grid, samples, phases, trigonometry, batch)
    }

    fn planned(
        machine: &M,
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
            multiprocessors: machine.multiprocessors(),
            parts: RefCell::new(machine.alloc("partial sums", 0)?),
        };
        let kept = (1..=batch).flat_map(|images| [true, false].map(|adjoint| (images, adjoint)));
        let kept = kept.map(|(images, adjoint)| direct.partition(images, adjoint).kept());
        if let Some(kept) = kept.max().filter(|kept| *kept > 0) {
            direct.parts = RefCell::new(machine.alloc("partial sums", kept)?);
        }
        Ok(direct)
    }

    fn partition(&self, images: usize, adjoint: bool) -> Partition {
        let cut = match (&self.phases, adjoint) {
            (Phases::Separable(_), true) => Partition::adjoint,
            (Phases::Separable(_), false) => Partition::forward,
            (Phases::Field(_), true) => Partition::gather_voxels,
            (Phases::Field(_), false) => Partition::gather_samples,
        };
        cut(self.grid, self.samples, images, self.multiprocessors)
    }

    /// F_mn = exp(−2πi Σ_f c_mf ψ_f(n)) with any phases, for voxels that lie on no grid: images are
    /// (image, voxel).
    ///
    /// # Errors
    /// Shapes that do not fit, phases beyond 2³⁰ turns, or the machine's.
    pub fn of_functions(
        machine: &M,
        functions: &Functions,
        trigonometry: Trigonometry,
        batch: usize,
    ) -> std::result::Result<Self, MriError> {
        let (samples, voxels) = (functions.samples(), functions.voxels());
        let grid = Grid::two(1, voxels);
        countable(grid, samples, batch)?;
        let phases = Phases::Field(Field::new(machine, functions)?);
        Self::planned(machine, grid, samples, phases, trigonometry, batch)
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
    /// A buffer too short, more images than planned for, or the machine's.
    pub fn forward(
        &self,
        machine: &M,
        images: &M::Buffer<Complex32>,
        samples: &mut M::Buffer<Complex32>,
        batch: usize,
    ) -> Result<()> {
        let partition = self.planned_for(batch, false)?;
        let trajectory = match &self.phases {
            Phases::Separable(trajectory) => trajectory,
            Phases::Field(field) => {
                let sides = [&field.samples, &field.voxels];
                return self.gather(machine, field, sides, (images, samples), batch, false);
            }
        };
        let [slices, rows, columns] = self.grid.shape.map(|n| n as u32);
        self.in_parts(machine, partition, samples, |out, parts| {
            machine.launch(
                &MriDirectForward {
                    out: out.write(),
                    values: images.read(),
                    turns: trajectory.turns.read(),
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
    /// As [`Direct::forward`].
    pub fn adjoint(
        &self,
        machine: &M,
        samples: &M::Buffer<Complex32>,
        images: &mut M::Buffer<Complex32>,
        batch: usize,
    ) -> Result<()> {
        let partition = self.planned_for(batch, true)?;
        let trajectory = match &self.phases {
            Phases::Separable(trajectory) => trajectory,
            Phases::Field(field) => {
                let sides = [&field.voxels, &field.samples];
                return self.gather(machine, field, sides, (samples, images), batch, true);
            }
        };
        let [slices, rows, columns] = self.grid.shape.map(|n| n as u32);
        self.in_parts(machine, partition, images, |out, parts| {
            machine.launch(
                &MriDirectAdjoint {
                    out: out.write(),
                    values: samples.read(),
                    turns: trajectory.turns.read(),
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

    /// Either operator with any phases: `values` of the sources into `out` of the targets.
    fn gather(
        &self,
        machine: &M,
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
        self.in_parts(machine, partition, out, |out, parts| {
            machine.launch(
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

    /// Queues `launch(out, parts)`, and the sum over the parts where there are several.
    fn in_parts(
        &self,
        machine: &M,
        partition: Partition,
        out: &mut M::Buffer<Complex32>,
        launch: impl Fn(&mut M::Buffer<Complex32>, usize) -> Result<()>,
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

/// Launches count in 32 bits.
fn countable(grid: Grid, samples: usize, batch: usize) -> std::result::Result<(), MriError> {
    let total = (grid.voxels().checked_add(samples)).and_then(|n| n.checked_mul(batch.max(1)));
    if total.is_some_and(|total| total <= u32::MAX as usize) {
        return Ok(());
    }
    Err(MriError::Unsupported(format!(
        "the direct operators cannot take {:?} voxels and {samples} samples of {batch} images at once: together they must be fewer than 2³²; take fewer images at once",
        grid.shape,
    )))
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
