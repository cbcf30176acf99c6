//! The engine on a device group.

#[cfg(test)]
mod races;

use ndarray::Array2;

use super::batch::{Batch, Lengths};
use super::block::{Block, Shape, drain_on_error};
use super::halo_links::halo_links;
use super::kernels::GpuReal;
use super::memory::{copy_rate, three_fields_fit};
use super::plan::Plan;
use super::scheme::Blocks;
use super::values::Border;
use crate::{
    Advance, Decomposition, Engine, Execution, JacobiError, Norm, Problem, Span, Stopping,
};
use warpstride_core::run::Setup;
use warpstride_cuda::gpu::{self, DeviceGroup};

/// A relaxation on the devices of a group.
pub struct GroupEngine<T: GpuReal, G: DeviceGroup> {
    pub(super) blocks: Blocks<G, T>,
    graphs: Vec<CapturedBatch<G::Graph>>,
    pub(super) group: G,
    pub(super) border: Border<T>,
    rule: Stopping,
    lengths: Lengths,
    setup: Setup,
    execution: Execution,
    profile: bool,
    /// Index of the buffer with the field after the last sweep.
    pub(super) current: usize,
    sweeps: usize,
    /// Number of timed batches.
    batches: usize,
    converged: bool,
    spans: Vec<Span>,
}

/// A batch captured as a graph.
struct CapturedBatch<R> {
    batch: Batch,
    /// Index of the buffer with the field before the batch.
    start: usize,
    /// Index of the buffer with the field after the batch.
    end: usize,
    graph: R,
}

impl<T: GpuReal, G: DeviceGroup> std::fmt::Debug for GroupEngine<T, G> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GroupEngine")
            .field("setup", &self.setup)
            .field("sweeps", &self.sweeps)
            .finish_non_exhaustive()
    }
}

impl<T: GpuReal, G: DeviceGroup> GroupEngine<T, G> {
    /// Distributes the rows over the devices of the group, allocates memory and writes the start
    /// values.
    ///
    /// # Errors
    /// There are more devices than rows, the plan is invalid, memory is exhausted, or another error
    /// of a device.
    pub fn new(
        group: G,
        problem: &Problem<T>,
        rule: Stopping,
        plan: Plan,
    ) -> Result<Self, JacobiError> {
        let source = problem.source().is_some();
        Self::filled(group, (problem, source), rule, plan, |group, blocks| {
            let mut blocks = blocks.iter_mut();
            blocks.try_for_each(|block| block.fill(group, problem))?;
            Ok(Border::of(problem))
        })
    }

    /// Like [`GroupEngine::new`] for any grid, with a source or not, whose values `fill` writes to
    /// the blocks; it returns the border.
    pub(super) fn filled(
        group: G,
        (problem, source): (&Problem<T>, bool),
        rule: Stopping,
        plan: Plan,
        fill: impl FnOnce(&G, &mut [Block<G, T>]) -> gpu::Result<Border<T>>,
    ) -> Result<Self, JacobiError> {
        let devices = group.devices();
        let decomposition = Decomposition::new(problem.ny(), devices)?;
        let (depth, note) = plan.sweeps_per_pass(problem.nx(), decomposition.fewest())?;
        let cells = decomposition.rows(devices - 1).len() * problem.nx();
        let mut lengths = Lengths::new(cells, depth, rule.check_every);
        let mut notes: Vec<String> = note.into_iter().collect();
        // A negative tolerance is never met.
        let mut fields = if rule.tolerance >= 0.0 { 3 } else { 2 };
        if fields == 3 && !three_fields_fit(&group, (problem, source), &decomposition, depth)? {
            fields = 2;
            lengths.end_at_check = true;
            notes.push("memory for only two fields: the host waits at every check".to_owned());
        }
        lengths.max = lengths.max.min(rule.iterations.max(1));

        if plan.profile {
            group.profile()?;
        }
        let mut blocks = Vec::new();
        for device in 0..devices {
            let shape = Shape {
                rows: decomposition.rows(device),
                depth,
                fields,
                source,
                devices,
                batch: lengths.max,
                checks: lengths.max.div_ceil(rule.check_every),
                split: plan.scheme.overlaps() && devices > 1,
            };
            blocks.push(Block::new(&group, device, problem, &shape)?);
        }
        let border = fill(&group, &mut blocks);
        let border = drain_on_error(&group, border)?;
        let halo_links = halo_links(&group, problem, &blocks, plan.p2p)?;
        let rate = copy_rate(&group, &mut blocks);
        let copy_bytes_per_second = drain_on_error(&group, rate)?;
        let device_names: Vec<String> = (0..devices).map(|d| group.device_name(d)).collect();
        let setup = Setup {
            backend: group.backend(),
            device: device_names.join(", "),
            precision: T::NAME,
        };
        let execution = Execution {
            devices: (0..devices).map(|device| group.ordinal(device)).collect(),
            device_names,
            scheme: plan.scheme.name(),
            time_block: depth,
            p2p: halo_links.direct,
            notes,
            copy_bytes_per_second,
        };
        let mut engine = Self {
            blocks: Blocks {
                blocks,
                halo_links,
                scheme: plan.scheme,
                event_set: 0,
            },
            graphs: Vec::new(),
            group,
            border,
            rule,
            lengths,
            setup,
            execution,
            profile: plan.profile,
            current: 0,
            sweeps: 0,
            batches: 0,
            converged: false,
            spans: Vec::new(),
        };
        if plan.profile {
            // Writing the start values and measuring the copy rate are not part of the run.
            engine.group.profile_spans()?;
        }
        if plan.scheme.uses_graphs() {
            engine.capture_batches()?;
        }
        Ok(engine)
    }

    /// The order in which a batch that begins with field `start` uses the fields. If there are
    /// three, its passes do not change field `start`.
    fn order(&self, start: usize) -> [usize; 3] {
        let fields = self.blocks.blocks[0].fields.len();
        [start, (start + 1) % fields, (start + 2) % fields]
    }

    /// Captures the batches of which a run consists, except its end.
    fn capture_batches(&mut self) -> Result<(), JacobiError> {
        let max = self.lengths.max;
        let all_equal = max.is_multiple_of(self.rule.check_every) || max == self.rule.iterations;
        if !all_equal || self.lengths.end_at_check || self.rule.iterations == 0 {
            return Ok(());
        }
        let batch = Batch::new(0, max, self.lengths.depth, &self.rule);
        let mut start = self.current;
        for _ in 0..(self.rule.iterations / max).min(3) {
            if self.graphs.iter().any(|captured| captured.start == start) {
                break;
            }
            let order = self.order(start);
            let (blocks, group, mut end) = (&mut self.blocks, &self.group, start);
            let graph = group.capture(&mut || {
                end = blocks.queue(group, &batch, order)?;
                Ok(())
            })?;
            let Some(graph) = graph else {
                return Ok(());
            };
            self.graphs.push(CapturedBatch {
                batch: batch.clone(),
                start,
                end,
                graph,
            });
            start = end;
        }
        Ok(())
    }

    /// Queues a batch from field `start`, waits for it and returns the index of its last field.
    fn run(&mut self, batch: &Batch, start: usize) -> Result<usize, JacobiError> {
        let order = self.order(start);
        let captured = self
            .graphs
            .iter_mut()
            .find(|captured| captured.start == start && captured.batch == *batch);
        let queued = match captured {
            Some(captured) => self
                .group
                .replay(&mut captured.graph)
                .map(|()| captured.end),
            None => self.blocks.queue(&self.group, batch, order),
        };
        // Even after an error, because no work may be pending when the memory is freed.
        let drained = self.group.drain();
        let end = queued?;
        drained?;
        if self.profile {
            self.collect_spans()?;
        }
        Ok(end)
    }

    fn collect_spans(&mut self) -> Result<(), JacobiError> {
        let batch = self.batches;
        self.batches += 1;
        let spans = self.group.profile_spans()?.into_iter().map(|span| Span {
            device: span.device,
            batch,
            stream: span.stream,
            name: span.name,
            start_us: span.start_us,
            end_us: span.end_us,
        });
        self.spans.extend(spans);
        Ok(())
    }

    /// The norms of a batch that has just been completed.
    fn norms(&self, batch: &Batch) -> Result<Vec<Norm>, JacobiError> {
        let count = batch.checked().count();
        let mut sums = vec![0.0; count];
        let mut block_sums = vec![0.0; count];
        for block in &self.blocks.blocks {
            if count > 0 {
                self.group.download(&block.totals, 0, &mut block_sums)?;
            }
            for (sum, part) in sums.iter_mut().zip(&block_sums) {
                *sum += part;
            }
        }
        let sweeps = batch.checked().map(|sweep| self.sweeps + sweep);
        sweeps
            .zip(sums)
            .map(|(sweep, sum)| {
                let norm = sum.sqrt();
                if norm.is_finite() {
                    Ok(Norm { sweep, norm })
                } else {
                    Err(JacobiError::NotFinite { sweep, norm })
                }
            })
            .collect()
    }
}

impl<T: GpuReal, G: DeviceGroup> Engine<T> for GroupEngine<T, G> {
    fn setup(&self) -> &Setup {
        &self.setup
    }

    fn execution(&self) -> &Execution {
        &self.execution
    }

    fn sweeps(&self) -> usize {
        self.sweeps
    }

    fn finished(&self) -> bool {
        self.converged || self.sweeps >= self.rule.iterations
    }

    fn advance(&mut self) -> Result<Advance, JacobiError> {
        if self.finished() {
            return Ok(Advance::default());
        }
        let length = self.lengths.next(self.sweeps, &self.rule);
        let batch = Batch::new(self.sweeps, length, self.lengths.depth, &self.rule);
        let start = self.current;
        self.current = self.run(&batch, start)?;
        let mut norms = self.norms(&batch)?;
        let met = norms.iter().position(|norm| self.rule.met_by(norm.norm));
        let Some(met) = met else {
            self.sweeps += length;
            return Ok(Advance {
                norms,
                converged: false,
            });
        };
        norms.truncate(met + 1);
        let done = norms[met].sweep + 1 - self.sweeps;
        if done < length {
            // The batch did not change the field that it began with.
            let again = Batch::without_norms(done, self.lengths.depth);
            self.current = self.run(&again, start)?;
        }
        self.sweeps += done;
        self.converged = true;
        Ok(Advance {
            norms,
            converged: true,
        })
    }

    // The lengths of batches do not depend on time.
    fn one_by_one(&mut self) {}

    fn field(&mut self) -> Result<Array2<T>, JacobiError> {
        let mut field = self.border.field()?;
        for block in &self.blocks.blocks {
            block.read(&self.group, self.current, &mut field.view_mut())?;
        }
        self.border.fill_ghosts(&mut field);
        Ok(field)
    }

    fn take_spans(&mut self) -> Result<Vec<Span>, JacobiError> {
        Ok(std::mem::take(&mut self.spans))
    }
}
