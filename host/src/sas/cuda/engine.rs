//! Intensities on a machine.
//!
//! A call plans its vectors on the host, sends what has changed since the last one, queues the model's kernel over
//! all of them, the structure factor's, the last step and the resolution, and waits once, for the result.

use super::cut::Tuning;
use super::grid::{Grid, Rules};
use super::members::{Members, Sums, sums};
use super::resident::{Resident, Room};
use crate::gpu::{Buffer, Machine, Result as GpuResult};
use crate::sas::plan::Plan;
use crate::sas::{Calculation, Engine, Points, Precision, SasError, Setup, Vector};
use rayon::prelude::*;
use warpstride_device::launch::Work;
use warpstride_kernels::sas::finish::SECTIONS;
use warpstride_kernels::sas::launches::{
    Arithmetic, CurveArguments, FinishArguments, ImageArguments, Launcher,
};
use warpstride_kernels::sas::member::SasMember;
use warpstride_kernels::sas::model::Symmetry;
use warpstride_kernels::sas::smear::SasSmear;

/// Most partial sums (pairs) and items of a launch: kernels count in 32 bits.
const MOST: usize = 1 << 30;
/// Share of the free memory that partial sums may take.
const SHARE: usize = 2;
/// Evaluations that a call should have to fill a device, for each of its multiprocessors: some for every thread that
/// it holds.
const FILLING: usize = 2048 * 32;

/// Launches of a kernel that is timed.
const TIMED: usize = 10;

/// Whether evaluations of these models (`P@S` are two) launch the kernel of that name: what a GPU's program keeps
/// ([`CudaMachine::keeping`](crate::gpu::CudaMachine::keeping)).
#[must_use]
pub fn needs(models: &[&str], kernel: &str) -> bool {
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

/// A calculation on a machine.
pub struct GpuEngine<M: Machine> {
    machine: M,
    calculation: Calculation,
    stage: Stage<M>,
    tuning: Tuning,
    /// Bytes of partial sums.
    room: usize,
}

enum Stage<M: Machine> {
    Double(Evaluator<M, f64>),
    Single(Evaluator<M, f32>),
}

/// Buffers of one precision.
struct Evaluator<M: Machine, R: Arithmetic> {
    model: &'static str,
    structure: Option<&'static str>,
    symmetry: Symmetry,
    /// Whether pixels see oriented particles.
    image: bool,
    grid: Grid<M, R>,
    rules: Rules<M, R>,
    smear: Option<Smear<M>>,
    columns: Resident<M, u32>,
    table: Resident<M, R>,
    rotations: Resident<M, R>,
    finals: Resident<M, f64>,
    particles: Summed<M, R>,
    structures: Summed<M, R>,
    fine: Room<M, f64>,
    out: Room<M, f64>,
}

/// Members and their partial sums.
struct Summed<M: Machine, R: Arithmetic> {
    members: Resident<M, SasMember>,
    partial: Room<M, R>,
    partials: usize,
    items: usize,
    count: usize,
}

/// A resolution's matrix.
struct Smear<M: Machine> {
    weights: Resident<M, f64>,
    offsets: Resident<M, u32>,
    first: Resident<M, u32>,
    weight_count: usize,
    rows: usize,
}

/// Queues what `launches` gives, on so many blocks where they are stated, and says what it answers besides.
fn queued<M: Machine, A>(
    machine: &M,
    blocks: Option<u32>,
    launches: impl FnOnce(Launcher<'_, M::Space>) -> A,
) -> GpuResult<A> {
    let mut queued = Ok(());
    let answer = launches(&mut |launch, work| {
        let work = blocks.map_or(work, |n| Work::Grid([n, 1, 1]));
        queued = machine.launch_any(launch, work);
    });
    queued.map(|()| answer)
}

impl<M: Machine> GpuEngine<M> {
    /// Sends what all vectors share.
    ///
    /// # Errors
    /// The machine's; a model without kernels.
    pub fn new(machine: M, calculation: Calculation) -> Result<Self, SasError> {
        let stage = match calculation.precision {
            Precision::F64 => Stage::Double(Evaluator::new(&machine, &calculation)?),
            Precision::F32 => Stage::Single(Evaluator::new(&machine, &calculation)?),
        };
        let (free, _) = machine.memory()?;
        Ok(Self {
            machine,
            calculation,
            stage,
            tuning: Tuning::default(),
            room: free / SHARE,
        })
    }

    /// For measurements: other cuts and grids. Results differ by rounding where the cut does.
    #[must_use]
    pub fn tuned(mut self, tuning: Tuning) -> Self {
        self.tuning = tuning;
        self
    }

    /// Milliseconds that each kernel takes for these vectors, by the device's clock: the model's, the structure
    /// factor's and the last step. The vectors must fit into memory together.
    ///
    /// # Errors
    /// As [`Engine::evaluate`].
    pub fn time_stages(
        &mut self,
        vectors: &[Vector],
    ) -> Result<Vec<(&'static str, f32)>, SasError> {
        self.evaluate(vectors)?;
        let (machine, tuning) = (&self.machine, self.tuning);
        let cutoff = self.calculation.cutoff;
        match &mut self.stage {
            Stage::Double(e) => e.time_stages(machine, cutoff, vectors.len(), tuning),
            Stage::Single(e) => e.time_stages(machine, cutoff, vectors.len(), tuning),
        }
    }

    /// Bytes that partial sums may take; for tests.
    #[must_use]
    pub fn with_room(mut self, bytes: usize) -> Self {
        self.room = bytes;
        self
    }
}

impl<M: Machine> Engine for GpuEngine<M> {
    fn evaluate(&mut self, vectors: &[Vector]) -> Result<Vec<Vec<f64>>, SasError> {
        let calculation = &self.calculation;
        let plans: Vec<Plan> = if vectors.len() == 1 {
            vec![Plan::new(calculation, &vectors[0])?]
        } else {
            let plans = vectors.par_iter().map(|v| Plan::new(calculation, v));
            plans.collect::<Result<_, _>>()?
        };
        let points = calculation.points.len();
        if points == 0 {
            return Ok(vec![Vec::new(); vectors.len()]);
        }
        match &mut self.stage {
            Stage::Double(e) => e.evaluate(&self.machine, &plans, self.tuning, self.room),
            Stage::Single(e) => e.evaluate(&self.machine, &plans, self.tuning, self.room),
        }
    }

    fn setup(&self) -> Setup {
        Setup {
            backend: self.machine.backend(),
            device: Some(self.machine.device_name()),
            precision: match self.stage {
                Stage::Double(_) => f64::NAME,
                Stage::Single(_) => f32::NAME,
            },
        }
    }

    fn batch(&self) -> usize {
        let work = match &self.stage {
            Stage::Double(e) => e.work(&self.calculation),
            Stage::Single(e) => e.work(&self.calculation),
        };
        let filling = FILLING * self.machine.multiprocessors() as usize;
        (filling / work.max(1)).clamp(1, 1024)
    }
}

impl<M: Machine, R: Arithmetic + PartialEq> Summed<M, R> {
    fn new(machine: &M) -> GpuResult<Self> {
        Ok(Self {
            members: Resident::new(machine, "particles")?,
            partial: Room::new(machine, "partial sums")?,
            partials: 0,
            items: 0,
            count: 0,
        })
    }

    fn set(
        &mut self,
        machine: &M,
        launch: &super::members::Launch,
        copies: usize,
    ) -> GpuResult<()> {
        self.members.set(machine, &launch.members)?;
        self.partials = launch.partials * copies;
        self.items = launch.items;
        self.count = launch.members.len();
        self.partial.reserve(machine, 2 * self.partials)
    }
}

impl<M: Machine> Smear<M> {
    fn new(machine: &M, resolution: &crate::sas::Resolution) -> GpuResult<Self> {
        let mut smear = Self {
            weights: Resident::new(machine, "resolution")?,
            offsets: Resident::new(machine, "resolution")?,
            first: Resident::new(machine, "resolution")?,
            weight_count: resolution.weights.len(),
            rows: resolution.count.len(),
        };
        let mut offsets = vec![0];
        let mut sum = 0;
        for count in &resolution.count {
            sum += count;
            offsets.push(sum);
        }
        smear.weights.set(machine, &resolution.weights)?;
        smear.offsets.set(machine, &offsets)?;
        smear.first.set(machine, &resolution.first)?;
        Ok(smear)
    }
}

impl<M: Machine, R: Arithmetic + PartialEq> Evaluator<M, R> {
    fn new(machine: &M, calculation: &Calculation) -> Result<Self, SasError> {
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
            grid: Grid::new(machine, points, image)?,
            rules: Rules::new(machine, symmetry)?,
            smear: (calculation.resolution.as_ref())
                .map(|resolution| Smear::new(machine, resolution))
                .transpose()?,
            columns: Resident::new(machine, "parameters")?,
            table: Resident::new(machine, "parameters")?,
            rotations: Resident::new(machine, "orientations")?,
            finals: Resident::new(machine, "parameters")?,
            particles: Summed::new(machine)?,
            structures: Summed::new(machine)?,
            fine: Room::new(machine, "intensities")?,
            out: Room::new(machine, "intensities")?,
        })
    }

    /// Evaluations of the form factor for the defaults.
    fn work(&self, calculation: &Calculation) -> usize {
        let mesh: usize = calculation
            .spreads
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
        machine: &M,
        plans: &[Plan],
        tuning: Tuning,
        room: usize,
    ) -> Result<Vec<Vec<f64>>, SasError> {
        let copies = if self.image { self.grid.len() } else { 1 };
        let most = (room / (2 * size_of::<R>())).min(MOST);
        let cut: Vec<(Sums, Option<Sums>)> = plans
            .iter()
            .map(|plan| {
                let (symmetry, image) = (self.symmetry, self.image);
                sums(plan, &self.grid, &mut self.rules, symmetry, image, tuning)
            })
            .collect();
        self.rules.upload(machine)?;
        let sections = plans
            .iter()
            .map(|p| p.channels.len())
            .max()
            .unwrap_or(0)
            .max(1);
        if sections > SECTIONS {
            return Err(SasError::Refused(format!(
                "{}: {sections} spin cross sections; at most {SECTIONS} are computed",
                self.model
            )));
        }
        // What fits into memory at a time.
        let mut results = Vec::with_capacity(plans.len());
        let mut start = 0;
        while start < plans.len() {
            let mut taken = 0_usize;
            let mut end = start;
            while end < plans.len() {
                let (particles, structure) = &cut[end];
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
                    "{}: the sums of one set of parameters do not fit into the memory of {}: fewer points of the \
                     mesh or fewer pixels are expected",
                    self.model,
                    machine.device_name()
                )));
            }
            self.some(
                machine,
                &plans[start..end],
                &cut[start..end],
                sections,
                tuning,
                &mut results,
            )?;
            start = end;
        }
        Ok(results)
    }

    /// Vectors that fit.
    fn some(
        &mut self,
        machine: &M,
        plans: &[Plan],
        cut: &[(Sums, Option<Sums>)],
        sections: usize,
        tuning: Tuning,
        results: &mut Vec<Vec<f64>>,
    ) -> Result<(), SasError> {
        let mut members = Members::<R>::new(sections);
        for (plan, (particles, structure)) in plans.iter().zip(cut) {
            members.push(plan, particles, structure.as_ref(), self.image);
        }
        let copies = if self.image { self.grid.len() } else { 1 };
        self.columns.set(machine, &members.columns)?;
        self.table.set(machine, &members.table)?;
        self.rotations.set(machine, &members.rotations)?;
        self.finals.set(machine, &members.finals)?;
        self.particles.set(machine, &members.particles, copies)?;
        self.structures.set(machine, &members.structures, 1)?;

        let fine_points = self.grid.len();
        let vectors = plans.len();
        self.fine.reserve(machine, vectors * fine_points)?;
        let cutoff = plans.first().map_or(0.0, |plan| plan.cutoff);
        self.sum_particles(machine, R::of(cutoff), tuning)?;
        self.sum_structures(machine)?;
        self.finish(machine, vectors, sections)?;
        let (result, points) = match &self.smear {
            Some(smear) => {
                self.out.reserve(machine, vectors * smear.rows)?;
                machine.launch(
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
                (&self.out, smear.rows)
            }
            None => (&self.fine, fine_points),
        };
        let mut values = vec![0.0; result.len()];
        machine.download(result.buffer(), &mut values)?;
        results.extend(values.chunks(points).take(vectors).map(<[f64]>::to_vec));
        Ok(())
    }

    fn time_stages(
        &mut self,
        machine: &M,
        cutoff: f64,
        vectors: usize,
        tuning: Tuning,
    ) -> Result<Vec<(&'static str, f32)>, SasError> {
        let sections = (self.particles.count / vectors.max(1)).max(1);
        let mut times = Vec::new();
        for stage in ["particles", "structures", "finish"] {
            let mut failed = Ok(());
            let ms = machine.time_ms(&mut || {
                for _ in 0..TIMED {
                    failed = match stage {
                        "particles" => self.sum_particles(machine, R::of(cutoff), tuning),
                        "structures" => self.sum_structures(machine),
                        _ => self.finish(machine, vectors, sections),
                    };
                    if failed.is_err() {
                        break;
                    }
                }
                Ok(())
            })?;
            failed?;
            times.push((stage, ms / TIMED as f32));
        }
        Ok(times)
    }

    fn sum_particles(&mut self, machine: &M, cutoff: R, tuning: Tuning) -> Result<(), SasError> {
        let (summed, grid) = (&mut self.particles, &self.grid);
        let known = if self.image {
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
            queued(machine, tuning.blocks, |to| {
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
            queued(machine, tuning.blocks, |to| {
                R::curve(self.model, arguments, to)
            })?
        };
        answered(self.model, known)
    }

    fn sum_structures(&mut self, machine: &M) -> Result<(), SasError> {
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
        let known = queued(machine, None, |to| R::curve(structure, arguments, to))?;
        answered(structure, known)
    }

    fn finish(&mut self, machine: &M, vectors: usize, sections: usize) -> Result<(), SasError> {
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
        Ok(queued(machine, None, |to| {
            R::finish(self.image, arguments, to)
        })?)
    }
}

fn answered(model: &str, known: bool) -> Result<(), SasError> {
    if known {
        return Ok(());
    }
    Err(SasError::Refused(format!(
        "{model} has no kernel on a GPU: choose --backend cpu"
    )))
}

#[cfg(test)]
mod tests;
