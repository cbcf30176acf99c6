//! The engine on a device.
//!
//! A call plans its vectors on the host, uploads the data that have changed since the last call,
//! queues the kernels of the model, of the structure factor, of the final step and of the
//! resolution for all vectors, and waits once for the result.

use super::grid::{Grid, Rules};
use super::members::{Members, SumPartition, partition_sums};
use super::mirrored_buffer::MirroredBuffer;
use super::partition::Tuning;
use super::smearing_matrix::SmearingMatrix;
use crate::plan::Plan;
use crate::{Calculation, Engine, Points, Precision, SasError, Vector};
use rayon::prelude::*;
use warpstride_core::run::Setup;
use warpstride_cuda::cuda::DeviceBuffer;
use warpstride_cuda::gpu::{Buffer, Device, GrowableBuffer, Result as GpuResult};
use warpstride_device::launch::Work;
use warpstride_kernels::sas::finish::SECTIONS;
use warpstride_kernels::sas::launches::{
    Arithmetic, CurveArguments, FinishArguments, ImageArguments, Launcher,
};
use warpstride_kernels::sas::member::SasMember;
use warpstride_kernels::sas::model::Symmetry;
use warpstride_kernels::sas::smear::SasSmear;

/// Maximum number of partial sums (pairs) and work items of a launch: kernels count in 32 bits.
const MAX_SUMS: usize = 1 << 30;
/// Partial sums take at most this fraction (one half) of the free device memory.
const MEMORY_SHARE: usize = 2;
/// Evaluations per multiprocessor that fill a device: some for every thread that it holds.
const EVALUATIONS_PER_MULTIPROCESSOR: usize = 2048 * 32;

/// Launches per timing of a kernel.
const TIMED_LAUNCHES: usize = 10;

/// The kernels that evaluations of these models launch (`P@S` are two models), for
/// [`CudaDevice::new`](warpstride_cuda::gpu::CudaDevice::new).
#[must_use]
pub fn kernels(models: &[&str]) -> warpstride_cuda::cuda::Kernels {
    warpstride_core::kernels::unpacked(warpstride_ptx::SAS)
        .only(|kernel| uses_kernel(models, kernel))
}

/// Whether evaluations of these models launch the kernel of that name.
#[must_use]
pub fn uses_kernel(models: &[&str], kernel: &str) -> bool {
    let Some(rest) = kernel.strip_prefix("sas_") else {
        return false;
    };
    if rest == "smear" || rest.starts_with("finish_") {
        return true;
    }
    models.iter().any(|model| {
        let suffix = rest.strip_prefix(model).unwrap_or("");
        ["_f64", "_f32", "_2d_f64", "_2d_f32"].contains(&suffix)
    })
}

/// Evaluates a calculation on a device.
pub struct GpuEngine<M: Device> {
    device: M,
    calculation: Calculation,
    evaluator: PrecisionEvaluator<M>,
    tuning: Tuning,
    /// Device memory for partial sums, bytes.
    partial_sum_bytes: usize,
}

enum PrecisionEvaluator<M: Device> {
    Double(Evaluator<M, f64>),
    Single(Evaluator<M, f32>),
}

/// Buffers and launches in one precision.
struct Evaluator<M: Device, R: Arithmetic> {
    model: &'static str,
    structure: Option<&'static str>,
    symmetry: Symmetry,
    /// Whether the points are pixels and the particles have an orientation.
    image: bool,
    grid: Grid<M, R>,
    rules: Rules<M, R>,
    smear: Option<SmearingMatrix<M>>,
    columns: MirroredBuffer<M, u32>,
    table: MirroredBuffer<M, R>,
    rotations: MirroredBuffer<M, R>,
    finals: MirroredBuffer<M, f64>,
    particles: PartialSums<M, R>,
    structures: PartialSums<M, R>,
    fine: GrowableBuffer<M, f64>,
    out: GrowableBuffer<M, f64>,
}

/// Members and their partial sums on the device.
struct PartialSums<M: Device, R: Arithmetic> {
    members: MirroredBuffer<M, SasMember>,
    partial: GrowableBuffer<M, R>,
    partials: usize,
    items: usize,
    count: usize,
}

/// Queues the launch that `launches` produces, on `blocks` blocks if given, and returns the other
/// result of `launches`.
fn queue<M: Device, A>(
    device: &M,
    blocks: Option<u32>,
    launches: impl FnOnce(Launcher<'_, M::Space>) -> A,
) -> GpuResult<A> {
    let mut queued = Ok(());
    let answer = launches(&mut |launch, work| {
        let work = blocks.map_or(work, |n| Work::Grid([n, 1, 1]));
        queued = device.launch_any(launch, work);
    });
    queued.map(|()| answer)
}

impl<M: Device> GpuEngine<M> {
    /// Uploads the data that all vectors share.
    ///
    /// # Errors
    /// An error of the device, or a model without kernels.
    pub fn new(device: M, calculation: Calculation) -> Result<Self, SasError> {
        let evaluator = match calculation.precision {
            Precision::F64 => PrecisionEvaluator::Double(Evaluator::new(&device, &calculation)?),
            Precision::F32 => PrecisionEvaluator::Single(Evaluator::new(&device, &calculation)?),
        };
        let (free, _) = device.memory()?;
        Ok(Self {
            device,
            calculation,
            evaluator,
            tuning: Tuning::default(),
            partial_sum_bytes: free / MEMORY_SHARE,
        })
    }

    /// Overrides the division into tasks and the launch grid, for measurements. Another division
    /// changes results by rounding.
    #[must_use]
    pub fn with_tuning(mut self, tuning: Tuning) -> Self {
        self.tuning = tuning;
        self
    }

    /// Milliseconds per kernel for these vectors, by the device's clock: the model's, the structure
    /// factor's and the final one. All vectors must fit into memory together.
    ///
    /// # Errors
    /// As for [`Engine::evaluate`].
    pub fn time_stages(
        &mut self,
        vectors: &[Vector],
    ) -> Result<Vec<(&'static str, f32)>, SasError> {
        self.evaluate(vectors)?;
        let (device, tuning) = (&self.device, self.tuning);
        let cutoff = self.calculation.cutoff;
        match &mut self.evaluator {
            PrecisionEvaluator::Double(e) => e.time_stages(device, cutoff, vectors.len(), tuning),
            PrecisionEvaluator::Single(e) => e.time_stages(device, cutoff, vectors.len(), tuning),
        }
    }

    /// Limits the device memory for partial sums, bytes; for tests.
    #[must_use]
    pub fn with_partial_sum_bytes(mut self, bytes: usize) -> Self {
        self.partial_sum_bytes = bytes;
        self
    }
}

impl<M: Device> GpuEngine<M> {
    /// Computes the intensities of vectors; `take` gets buffers that begin with those of some
    /// vectors (vector, point), in their order, before the next ones are queued.
    fn evaluate_with(
        &mut self,
        vectors: &[Vector],
        take: impl FnMut(&M, &M::Buffer<f64>, usize) -> GpuResult<()>,
    ) -> Result<(), SasError> {
        let calculation = &self.calculation;
        let plans: Vec<Plan> = if vectors.len() == 1 {
            vec![Plan::new(calculation, &vectors[0])?]
        } else {
            let plans = vectors.par_iter().map(|v| Plan::new(calculation, v));
            plans.collect::<Result<_, _>>()?
        };
        let (device, tuning, bytes) = (&self.device, self.tuning, self.partial_sum_bytes);
        match &mut self.evaluator {
            PrecisionEvaluator::Double(e) => e.evaluate(device, &plans, tuning, bytes, take),
            PrecisionEvaluator::Single(e) => e.evaluate(device, &plans, tuning, bytes, take),
        }
    }
}

impl<M: Device> Engine for GpuEngine<M> {
    fn evaluate(&mut self, vectors: &[Vector]) -> Result<Vec<Vec<f64>>, SasError> {
        let points = self.calculation.points.len();
        if points == 0 {
            return Ok(vec![Vec::new(); vectors.len()]);
        }
        let mut results = Vec::with_capacity(vectors.len());
        self.evaluate_with(vectors, |device, buffer, count| {
            let mut values = vec![0.0; buffer.len()];
            device.download(buffer, &mut values)?;
            results.extend(values.chunks(points).take(count).map(<[f64]>::to_vec));
            Ok(())
        })?;
        Ok(results)
    }

    fn evaluate_to(
        &mut self,
        vectors: &[Vector],
        to: &mut DeviceBuffer<f64>,
        mut at: usize,
    ) -> Result<bool, SasError> {
        let points = self.calculation.points.len();
        let mut copied = true;
        if points > 0 {
            self.evaluate_with(vectors, |device, buffer, count| {
                let values = count * points;
                copied &= device.copy_to_cuda(buffer, 0..values, to, at)?;
                at += values;
                device.synchronize()
            })?;
        }
        Ok(copied)
    }

    fn setup(&self) -> Setup {
        Setup {
            backend: self.device.backend(),
            device: self.device.device_name(),
            precision: match self.evaluator {
                PrecisionEvaluator::Double(_) => f64::NAME,
                PrecisionEvaluator::Single(_) => f32::NAME,
            },
        }
    }

    fn batch(&self) -> usize {
        let work = match &self.evaluator {
            PrecisionEvaluator::Double(e) => e.work(&self.calculation),
            PrecisionEvaluator::Single(e) => e.work(&self.calculation),
        };
        let evaluations = EVALUATIONS_PER_MULTIPROCESSOR * self.device.multiprocessors() as usize;
        (evaluations / work.max(1)).clamp(1, 1024)
    }
}

impl<M: Device, R: Arithmetic + PartialEq> PartialSums<M, R> {
    fn new(device: &M) -> GpuResult<Self> {
        Ok(Self {
            members: MirroredBuffer::new(device, "particles")?,
            partial: GrowableBuffer::new(device, "partial sums")?,
            partials: 0,
            items: 0,
            count: 0,
        })
    }

    fn set(
        &mut self,
        device: &M,
        launch: &super::members::MemberLaunch,
        copies: usize,
    ) -> GpuResult<()> {
        self.members.set(device, &launch.members)?;
        self.partials = launch.partials * copies;
        self.items = launch.items;
        self.count = launch.members.len();
        self.partial.reserve(device, 2 * self.partials)
    }
}

impl<M: Device, R: Arithmetic + PartialEq> Evaluator<M, R> {
    fn new(device: &M, calculation: &Calculation) -> Result<Self, SasError> {
        let form = calculation.definition.form();
        let symmetry = form.symmetry();
        let points = calculation.fine_points();
        let flat = matches!(points, Points::Pixels { .. });
        let image = flat && symmetry != Symmetry::Isotropic;
        Ok(Self {
            model: form.info().name,
            structure: calculation.definition.structure().map(|s| s.info().name),
            symmetry,
            image,
            grid: Grid::new(device, points, image)?,
            rules: Rules::new(device, symmetry)?,
            smear: (calculation.resolution.as_ref())
                .map(|resolution| SmearingMatrix::new(device, resolution))
                .transpose()?,
            columns: MirroredBuffer::new(device, "parameters")?,
            table: MirroredBuffer::new(device, "parameters")?,
            rotations: MirroredBuffer::new(device, "orientations")?,
            finals: MirroredBuffer::new(device, "parameters")?,
            particles: PartialSums::new(device)?,
            structures: PartialSums::new(device)?,
            fine: GrowableBuffer::new(device, "intensities")?,
            out: GrowableBuffer::new(device, "intensities")?,
        })
    }

    /// Evaluations of the form factor for the default values.
    fn work(&self, calculation: &Calculation) -> usize {
        let mesh: usize = calculation
            .polydispersity
            .iter()
            .map(|s| s.points.max(1))
            .product();
        let values: Vec<f64> = calculation
            .definition
            .form()
            .info()
            .parameters
            .iter()
            .flat_map(|row| std::iter::repeat_n(row.default, row.length))
            .collect();
        let form = calculation.definition.form();
        let directions: usize = if self.image {
            self.grid.len()
        } else {
            let half_size = form.largest_half_size(&values[..form.count().min(values.len())]);
            let rows = self.grid.rows(self.symmetry, half_size);
            (0..rows.len())
                .filter(|level| rows[*level] > 0)
                .map(|level| rows[level] * self.rules.len(level))
                .sum()
        };
        mesh.saturating_mul(directions)
    }

    fn evaluate(
        &mut self,
        device: &M,
        plans: &[Plan],
        tuning: Tuning,
        partial_sum_bytes: usize,
        mut take: impl FnMut(&M, &M::Buffer<f64>, usize) -> GpuResult<()>,
    ) -> Result<(), SasError> {
        let copies = if self.image { self.grid.len() } else { 1 };
        let most = (partial_sum_bytes / (2 * size_of::<R>())).min(MAX_SUMS);
        let partitions: Vec<(SumPartition, Option<SumPartition>)> = plans
            .iter()
            .map(|plan| {
                let (symmetry, image) = (self.symmetry, self.image);
                partition_sums(plan, &self.grid, &mut self.rules, symmetry, image, tuning)
            })
            .collect();
        self.rules.upload(device)?;
        let sections = plans
            .iter()
            .map(|p| p.channels.len())
            .max()
            .unwrap_or(0)
            .max(1);
        if sections > SECTIONS {
            return Err(SasError::Refused(format!(
                "{}: expected at most {SECTIONS} spin cross sections, found {sections}",
                self.model
            )));
        }
        // Vectors are evaluated in batches that fit into memory.
        let mut start = 0;
        while start < plans.len() {
            let mut taken = 0_usize;
            let mut end = start;
            while end < plans.len() {
                let (particles, structure) = &partitions[end];
                let mut size = particles.size(copies) * sections;
                size = size.saturating_add(structure.as_ref().map_or(0, |s| s.size(1)));
                size = size.max(self.grid.len());
                if taken.saturating_add(size) > most {
                    break;
                }
                taken += size;
                end += 1;
            }
            if end == start {
                return Err(SasError::Refused(format!(
                    "{}: the sums of one set of parameters do not fit into the memory of {}: use fewer points \
                     of the mesh or fewer pixels",
                    self.model,
                    device.device_name()
                )));
            }
            self.evaluate_together(
                device,
                &plans[start..end],
                &partitions[start..end],
                sections,
                tuning,
            )?;
            let result = match &self.smear {
                Some(_) => &self.out,
                None => &self.fine,
            };
            take(device, result.buffer(), end - start)?;
            start = end;
        }
        Ok(())
    }

    /// Queues the evaluation of vectors that fit into memory together, with the result in `out`, or
    /// without a resolution in `fine`.
    fn evaluate_together(
        &mut self,
        device: &M,
        plans: &[Plan],
        partitions: &[(SumPartition, Option<SumPartition>)],
        sections: usize,
        tuning: Tuning,
    ) -> Result<(), SasError> {
        let mut members = Members::<R>::new(sections);
        for (plan, (particles, structure)) in plans.iter().zip(partitions) {
            members.push(plan, particles, structure.as_ref(), self.image);
        }
        let copies = if self.image { self.grid.len() } else { 1 };
        self.columns.set(device, &members.columns)?;
        self.table.set(device, &members.table)?;
        self.rotations.set(device, &members.rotations)?;
        self.finals.set(device, &members.finals)?;
        self.particles.set(device, &members.particles, copies)?;
        self.structures.set(device, &members.structures, 1)?;

        let fine_points = self.grid.len();
        let vectors = plans.len();
        self.fine.reserve(device, vectors * fine_points)?;
        let cutoff = plans.first().map_or(0.0, |plan| plan.cutoff);
        self.sum_particles(device, R::of(cutoff), tuning)?;
        self.sum_structures(device)?;
        self.finish(device, vectors, sections)?;
        if let Some(smear) = &self.smear {
            self.out.reserve(device, vectors * smear.rows)?;
            device.launch(
                &SasSmear {
                    out: self.out.buffer_mut().write(),
                    fine: self.fine.buffer().read(),
                    weights: smear.weights.buffer().read(),
                    offsets: smear.offsets.buffer().read(),
                    first: smear.first.buffer().read(),
                    finals: self.finals.buffer().read(),
                    weight_count: smear.weight_count as u32,
                    rows: smear.rows as u32,
                    fine_points: fine_points as u32,
                    vectors: vectors as u32,
                },
                Work::Blocks((vectors * smear.rows).div_ceil(4)),
            )?;
        }
        Ok(())
    }

    fn time_stages(
        &mut self,
        device: &M,
        cutoff: f64,
        vectors: usize,
        tuning: Tuning,
    ) -> Result<Vec<(&'static str, f32)>, SasError> {
        let sections = (self.particles.count / vectors.max(1)).max(1);
        let mut times = Vec::new();
        for stage in ["particles", "structures", "finish"] {
            let mut failed = Ok(());
            let ms = device.time_ms(&mut || {
                for _ in 0..TIMED_LAUNCHES {
                    failed = match stage {
                        "particles" => self.sum_particles(device, R::of(cutoff), tuning),
                        "structures" => self.sum_structures(device),
                        _ => self.finish(device, vectors, sections),
                    };
                    if failed.is_err() {
                        break;
                    }
                }
                Ok(())
            })?;
            failed?;
            times.push((stage, ms / TIMED_LAUNCHES as f32));
        }
        Ok(times)
    }

    fn sum_particles(&mut self, device: &M, cutoff: R, tuning: Tuning) -> Result<(), SasError> {
        let (summed, grid) = (&mut self.particles, &self.grid);
        let has_kernel = if self.image {
            let arguments = ImageArguments {
                partial: summed.partial.buffer_mut().write(),
                members: summed.members.buffer().read(),
                columns: self.columns.buffer().read(),
                table: self.table.buffer().read(),
                headings: grid.headings.buffer().read(),
                rotations: self.rotations.buffer().read(),
                qx: grid.qx.buffer().read(),
                qy: grid.qy.buffer().read(),
                points: grid.len() as u32,
                count: summed.count as u32,
                items: summed.items as u32,
                cutoff,
            };
            queue(device, tuning.blocks, |to| {
                R::image(self.model, arguments, to)
            })?
        } else {
            let arguments = CurveArguments {
                partial: summed.partial.buffer_mut().write(),
                members: summed.members.buffer().read(),
                columns: self.columns.buffer().read(),
                table: self.table.buffer().read(),
                headings: grid.headings.buffer().read(),
                directions: self.rules.table().read(),
                q: grid.q.buffer().read(),
                partials: summed.partials as u32,
                points: grid.len() as u32,
                count: summed.count as u32,
                items: summed.items as u32,
                cutoff,
            };
            queue(device, tuning.blocks, |to| {
                R::curve(self.model, arguments, to)
            })?
        };
        require_kernel(self.model, has_kernel)
    }

    fn sum_structures(&mut self, device: &M) -> Result<(), SasError> {
        let Some(structure) = self.structure else {
            return Ok(());
        };
        let (summed, grid) = (&mut self.structures, &self.grid);
        let arguments = CurveArguments {
            partial: summed.partial.buffer_mut().write(),
            members: summed.members.buffer().read(),
            columns: self.columns.buffer().read(),
            table: self.table.buffer().read(),
            headings: grid.headings.buffer().read(),
            directions: self.rules.table().read(),
            q: grid.q.buffer().read(),
            partials: summed.partials as u32,
            points: grid.len() as u32,
            count: summed.count as u32,
            items: summed.items as u32,
            cutoff: R::of(0.0),
        };
        let has_kernel = queue(device, None, |to| R::curve(structure, arguments, to))?;
        require_kernel(structure, has_kernel)
    }

    fn finish(&mut self, device: &M, vectors: usize, sections: usize) -> Result<(), SasError> {
        let arguments = FinishArguments {
            out: self.fine.buffer_mut().write(),
            partial: self.particles.partial.buffer().read(),
            members: self.particles.members.buffer().read(),
            structure_partial: self.structures.partial.buffer().read(),
            structure_members: self.structures.members.buffer().read(),
            finals: self.finals.buffer().read(),
            ranks: self.grid.ranks.buffer().read(),
            partials: self.particles.partials as u32,
            structure_partials: self.structures.partials as u32,
            structures: self.structures.count as u32,
            sections: sections as u32,
            smeared: u32::from(self.smear.is_some()),
            points: self.grid.len() as u32,
            vectors: vectors as u32,
        };
        Ok(queue(device, None, |to| {
            R::finish(self.image, arguments, to)
        })?)
    }
}

fn require_kernel(model: &str, has_kernel: bool) -> Result<(), SasError> {
    if has_kernel {
        return Ok(());
    }
    Err(SasError::Refused(format!(
        "{model} has no GPU kernel: choose --backend cpu"
    )))
}

#[cfg(test)]
mod tests;
