//! The engine on a fleet.

#[cfg(test)]
mod races;

use ndarray::Array2;

use super::batch::{Batch, Lengths};
use super::block::{Block, Shape};
use super::kernels::GpuReal;
use super::memory::{copy_rate, three_fit};
use super::plan::Plan;
use super::scheme::Blocks;
use super::values::Border;
use super::ways::ways;
use crate::gpu::{self, Fleet};
use crate::jacobi::{
    Advance, Decomposition, Engine, JacobiError, Norm, Problem, Setup, Span, Stopping,
};

/// A relaxation on the devices of a fleet.
pub struct FleetEngine<T: GpuReal, F: Fleet> {
    blocks: Blocks<F, T>,
    recorded: Vec<Recorded<F::Recording>>,
    fleet: F,
    border: Border<T>,
    rule: Stopping,
    lengths: Lengths,
    setup: Setup,
    profile: bool,
    /// Place of the field after the last sweep.
    current: usize,
    sweeps: usize,
    /// Batches whose work was timed.
    batches: usize,
    converged: bool,
    spans: Vec<Span>,
}

/// A batch that can be queued at once.
struct Recorded<R> {
    batch: Batch,
    start: usize,
    end: usize,
    recording: R,
}

impl<T: GpuReal, F: Fleet> std::fmt::Debug for FleetEngine<T, F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FleetEngine")
            .field("setup", &self.setup)
            .field("sweeps", &self.sweeps)
            .finish_non_exhaustive()
    }
}

impl<T: GpuReal, F: Fleet> FleetEngine<T, F> {
    /// Shares the rows among the devices of the fleet, allocates, and fills in the start values.
    ///
    /// # Errors
    /// More devices than rows, a plan that cannot be followed, out of memory, or a device's.
    pub fn new(
        fleet: F,
        problem: &Problem<T>,
        rule: Stopping,
        plan: Plan,
    ) -> Result<Self, JacobiError> {
        let devices = fleet.devices();
        let decomposition = Decomposition::new(problem.ny(), devices)?;
        let (depth, note) = plan.sweeps_of_a_pass(problem.nx(), decomposition.fewest())?;
        let cells = decomposition.rows(devices - 1).len() * problem.nx();
        let mut lengths = Lengths::new(cells, depth, rule.check_every);
        let mut notes: Vec<String> = note.into_iter().collect();
        // A negative tolerance is never met.
        let mut fields = if rule.tolerance >= 0.0 { 3 } else { 2 };
        if fields == 3 && !three_fit(&fleet, problem, &decomposition, depth)? {
            fields = 2;
            lengths.end_at_check = true;
            notes.push("memory for two fields only: the host waits at every check".to_owned());
        }
        lengths.most = lengths.most.min(rule.iterations.max(1));

        if plan.profile {
            fleet.profile()?;
        }
        let mut blocks = Vec::new();
        for device in 0..devices {
            let shape = Shape {
                rows: decomposition.rows(device),
                depth,
                fields,
                devices,
                batch: lengths.most,
                checks: lengths.most.div_ceil(rule.check_every),
                split: plan.scheme.overlaps() && devices > 1,
            };
            blocks.push(Block::new(&fleet, device, problem, &shape)?);
        }
        let filled = blocks.iter_mut().try_for_each(|b| b.fill(&fleet, problem));
        or_drained(&fleet, filled)?;
        let ways = ways(&fleet, problem, &blocks, plan.p2p)?;
        let rate = copy_rate(&fleet, &mut blocks);
        let copy_bytes_per_second = or_drained(&fleet, rate)?;
        let setup = Setup {
            backend: fleet.backend(),
            devices: (0..devices).map(|device| fleet.ordinal(device)).collect(),
            device_names: (0..devices).map(|d| fleet.device_name(d)).collect(),
            scheme: plan.scheme.name(),
            time_block: depth,
            p2p: ways.direct,
            notes,
            copy_bytes_per_second,
        };
        let mut engine = Self {
            blocks: Blocks {
                blocks,
                ways,
                scheme: plan.scheme,
                turn: 0,
            },
            recorded: Vec::new(),
            fleet,
            border: Border::of(problem),
            rule,
            lengths,
            setup,
            profile: plan.profile,
            current: 0,
            sweeps: 0,
            batches: 0,
            converged: false,
            spans: Vec::new(),
        };
        if plan.profile {
            // Filling, and the copies that are timed, are no part of the run.
            engine.fleet.stretches()?;
        }
        if plan.scheme.records() {
            engine.record()?;
        }
        Ok(engine)
    }

    /// The three fields of a batch that begins with field `start`: its passes leave that one as it
    /// is where there are three.
    fn order(&self, start: usize) -> [usize; 3] {
        let fields = self.blocks.blocks[0].fields.len();
        [start, (start + 1) % fields, (start + 2) % fields]
    }

    /// Records the batches that all but the end of a run consists of.
    fn record(&mut self) -> Result<(), JacobiError> {
        let most = self.lengths.most;
        let alike = most.is_multiple_of(self.rule.check_every) || most == self.rule.iterations;
        if !alike || self.lengths.end_at_check || self.rule.iterations == 0 {
            return Ok(());
        }
        let batch = Batch::new(0, most, self.lengths.depth, &self.rule);
        let mut start = self.current;
        for _ in 0..(self.rule.iterations / most).min(3) {
            if self.recorded.iter().any(|known| known.start == start) {
                break;
            }
            let order = self.order(start);
            let (blocks, fleet, mut end) = (&mut self.blocks, &self.fleet, start);
            let recording = fleet.capture(&mut || {
                end = blocks.queue(fleet, &batch, order)?;
                Ok(())
            })?;
            let Some(recording) = recording else {
                return Ok(());
            };
            self.recorded.push(Recorded {
                batch: batch.clone(),
                start,
                end,
                recording,
            });
            start = end;
        }
        Ok(())
    }

    /// Queues a batch from field `start`, waits for it and gives the place of its last field.
    fn run(&mut self, batch: &Batch, start: usize) -> Result<usize, JacobiError> {
        let order = self.order(start);
        let known = self
            .recorded
            .iter_mut()
            .find(|known| known.start == start && known.batch == *batch);
        let queued = match known {
            Some(known) => self.fleet.replay(&mut known.recording).map(|()| known.end),
            None => self.blocks.queue(&self.fleet, batch, order),
        };
        // Also where something failed: nothing may be under way when the memory is given back.
        let drained = self.fleet.drain();
        let end = queued?;
        drained?;
        if self.profile {
            self.keep_spans()?;
        }
        Ok(end)
    }

    fn keep_spans(&mut self) -> Result<(), JacobiError> {
        let batch = self.batches;
        self.batches += 1;
        let spans = self.fleet.stretches()?.into_iter().map(|stretch| Span {
            device: stretch.device,
            batch,
            lane: stretch.lane,
            name: stretch.name,
            start_us: stretch.start_us,
            end_us: stretch.end_us,
        });
        self.spans.extend(spans);
        Ok(())
    }

    /// The norms of the batch that was just done.
    fn norms(&self, batch: &Batch) -> Result<Vec<Norm>, JacobiError> {
        let count = batch.checked().count();
        let mut sums = vec![0.0; count];
        let mut of_a_block = vec![0.0; count];
        for block in &self.blocks.blocks {
            if count > 0 {
                self.fleet.download(&block.totals, 0, &mut of_a_block)?;
            }
            for (sum, part) in sums.iter_mut().zip(&of_a_block) {
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

impl<T: GpuReal, F: Fleet> Engine<T> for FleetEngine<T, F> {
    fn setup(&self) -> &Setup {
        &self.setup
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
            // The batch began with a field that it left as it was.
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

    fn field(&mut self) -> Result<Array2<T>, JacobiError> {
        let mut field = self.border.field()?;
        for block in &self.blocks.blocks {
            block.read(&self.fleet, self.current, &mut field.view_mut())?;
        }
        self.border.fill_ghosts(&mut field);
        Ok(field)
    }

    fn take_spans(&mut self) -> Result<Vec<Span>, JacobiError> {
        Ok(std::mem::take(&mut self.spans))
    }
}

/// Waits for everything where something failed: nothing may be under way when memory is given back.
pub(super) fn or_drained<F: Fleet, R>(fleet: &F, done: gpu::Result<R>) -> gpu::Result<R> {
    if done.is_err() {
        // Of two errors the first says what happened.
        drop(fleet.drain());
    }
    done
}
