//! One queue of the device: a chunk at a time from page-locked memory to aggregates in page-locked memory.

use super::chunks::Chunk;
use super::packed::Packed;
use super::prepare::Prepared;
use super::resident::{Heads, Points};
use super::results::{Incoming, Pool, TableResult};
use super::stages::{Stages, Tables};
use super::wanted::Wanted;
use crate::gpu::{Buffer, Fetch, Machine, Result};
use std::sync::Arc;
use warpstride_kernels::series::bucket::Bucketing;

/// Chunks with the same granularities.
pub(super) struct Job {
    pub(super) chunk: Chunk,
    /// Places among the plan's.
    pub(super) granularities: Arc<[usize]>,
}

/// What became of a chunk.
pub(super) struct Done<M: Machine> {
    pub(super) job: usize,
    pub(super) tables: Vec<TableResult<M>>,
    /// Points left out because one of the same time stood before them.
    pub(super) duplicates: usize,
}

/// A chunk's buffers. All calls are to be given the same machine.
pub(super) struct Lane<M: Machine> {
    /// For chunks that are packed when their turn comes.
    pub(super) packed: Packed<M>,
    stages: Stages<M>,
    points: Points<M>,
    rates: Points<M>,
    split: Split<M>,
    /// Values', then rates'.
    tables: Vec<Tables<M>>,
    state: State<M>,
}

/// Offsets of series with the lead as a series of its own, before the others.
struct Split<M: Machine> {
    offsets: M::Buffer<u32>,
    series: usize,
}

enum State<M: Machine> {
    Idle,
    /// How many buckets there are is on its way.
    Counting {
        job: usize,
        sent: Vec<M::Sent>,
        facts: Vec<M::Fetch<u32>>,
        asked: Vec<Asked>,
        duplicates: usize,
    },
    /// The buckets are.
    Receiving {
        job: usize,
        sent: Vec<M::Sent>,
        incoming: Vec<Incoming<M>>,
        duplicates: usize,
    },
}

/// Of each stage its name, granularity, whether it is of rates, and what queues it.
type OfStage<'a> = &'a mut dyn FnMut(
    &'static str,
    Option<usize>,
    bool,
    &mut dyn FnMut() -> Result<()>,
) -> Result<()>;

/// Which of a lane's tables is wanted, and what of it.
struct Asked {
    /// Values' or rates'.
    of: usize,
    granularity: usize,
    /// Series and buckets before those that count: a lead's.
    lead: usize,
    series: usize,
}

impl<M: Machine> Lane<M> {
    pub(super) fn new(machine: &M, granularities: usize, wanted: &[Wanted]) -> Result<Self> {
        Ok(Self {
            packed: Packed::new(machine)?,
            stages: Stages::new(machine)?,
            points: Points::with_room(machine, 0, 0)?,
            rates: Points::with_room(machine, 0, 0)?,
            split: Split {
                offsets: machine.alloc("offsets of series", 0)?,
                series: 0,
            },
            tables: wanted
                .iter()
                .enumerate()
                .map(|(of, wanted)| Tables::new(machine, of * granularities, granularities, wanted))
                .collect::<Result<_>>()?,
            state: State::Idle,
        })
    }

    /// Packs the chunk into memory of its own.
    pub(super) fn pack(
        &mut self,
        machine: &M,
        prepared: &Prepared<'_>,
        chunk: &Chunk,
    ) -> Result<()> {
        self.packed.fill(machine, prepared, chunk)
    }

    /// Queues a chunk; `None` takes what the lane has packed.
    pub(super) fn start(
        &mut self,
        machine: &M,
        number: usize,
        job: &Job,
        packed: Option<&Packed<M>>,
        rules: &[Bucketing],
        wanted: &[Wanted],
    ) -> Result<()> {
        let (sent, duplicates) = self.load(machine, &job.chunk, packed)?;
        self.queue(machine, job, rules, wanted)?;
        let mut facts = Vec::new();
        let mut asked = Vec::new();
        for (of, (wanted, tables)) in wanted.iter().zip(&self.tables).enumerate() {
            for granularity in job.granularities.iter().copied() {
                let heads = &tables.of[granularity].heads;
                facts.push(machine.fetch(&heads.facts)?);
                asked.push(Asked {
                    of,
                    granularity,
                    lead: usize::from(job.chunk.lead.is_some() && !wanted.rate),
                    series: job.chunk.series.len(),
                });
            }
        }
        self.state = State::Counting {
            job: number,
            sent,
            facts,
            asked,
            duplicates,
        };
        Ok(())
    }

    /// Queues a chunk's way to the device, sorted and without duplicates, of which it gives the number.
    pub(super) fn load(
        &mut self,
        machine: &M,
        chunk: &Chunk,
        packed: Option<&Packed<M>>,
    ) -> Result<(Vec<M::Sent>, usize)> {
        let mut sent = self.arrive(machine, chunk, packed)?;
        if !chunk.sorted {
            self.sort(machine)?;
        }
        let points = &mut self.points;
        if chunk.repeats {
            points.points = self.stages.drop_duplicates(machine, points)?;
        }
        if chunk.lead.is_some() && chunk.repeats {
            self.split.set(machine, points)?;
        } else if chunk.lead.is_some() {
            let packed = packed.unwrap_or(&self.packed);
            sent.push(self.split.send(machine, &packed.split, points.series + 2)?);
        }
        Ok((sent, chunk.len() - points.points))
    }

    /// Queues a chunk's way to the device.
    pub(super) fn arrive(
        &mut self,
        machine: &M,
        chunk: &Chunk,
        packed: Option<&Packed<M>>,
    ) -> Result<Vec<M::Sent>> {
        let points = &mut self.points;
        let packed = packed.unwrap_or(&self.packed);
        let (len, series) = (chunk.len(), chunk.series.len());
        points.reserve(machine, len, series)?;
        Ok(vec![
            machine.send(&packed.offsets, 0..series + 1, &mut points.offsets, 0)?,
            machine.send(&packed.times, 0..len, &mut points.times, 0)?,
            machine.send(&packed.values, 0..len, &mut points.values, 0)?,
        ])
    }

    /// Queues the sort of what has arrived.
    pub(super) fn sort(&mut self, machine: &M) -> Result<()> {
        self.stages.sort(machine, &mut self.points)
    }

    /// Queues all stages of what is loaded.
    pub(super) fn queue(
        &mut self,
        machine: &M,
        job: &Job,
        rules: &[Bucketing],
        wanted: &[Wanted],
    ) -> Result<()> {
        self.each_stage(machine, job, rules, wanted, &mut |_, _, _, work| work())
    }

    /// The stages of what is loaded in their order: `stage` is given name, granularity (its place), whether it is of
    /// rates, and what queues it, which may be called again.
    pub(super) fn each_stage(
        &mut self,
        machine: &M,
        job: &Job,
        rules: &[Bucketing],
        wanted: &[Wanted],
        stage: OfStage<'_>,
    ) -> Result<()> {
        let chunk = &job.chunk;
        let stages = &mut self.stages;
        for (wanted, tables) in wanted.iter().zip(&mut self.tables) {
            let rate = wanted.rate;
            let split = chunk.lead.is_some() && !rate;
            if split {
                self.split.swap(&mut self.points);
            }
            let points = if rate {
                let (points, rates) = (&self.points, &mut self.rates);
                rates.reserve(machine, points.points - chunk.nonempty, points.series)?;
                stage("rates", None, rate, &mut || {
                    stages.rates(machine, points, rates)
                })?;
                &self.rates
            } else {
                &self.points
            };
            for (granularity, capacity) in job.granularities.iter().zip(&chunk.capacities) {
                let table = &mut tables.of[*granularity];
                let (place, rule) = (Some(*granularity), rules[*granularity]);
                table.reserve(machine, *capacity, points.series)?;
                stage("heads", place, rate, &mut || {
                    stages.heads(machine, points, rule, table)
                })?;
                stage("reduce", place, rate, &mut || {
                    stages.reduce(machine, points, wanted, table)
                })?;
                stage("order", place, rate, &mut || {
                    stages.order(machine, points, wanted, table)
                })?;
            }
            if split {
                self.split.swap(&mut self.points);
            }
        }
        Ok(())
    }

    /// Forgets what was under way.
    pub(super) fn abandon(&mut self) {
        self.state = State::Idle;
    }

    /// Goes on where that needs no waiting; whether [`Lane::finish`] would return at once.
    pub(super) fn advance(&mut self, machine: &M, pool: &mut Pool<M>) -> Result<bool> {
        if let State::Counting { facts, .. } = &self.state
            && facts.iter().all(Fetch::ready)
        {
            self.receive(machine, pool)?;
        }
        Ok(match &self.state {
            State::Idle => true,
            State::Counting { .. } => false,
            State::Receiving { incoming, .. } => incoming.iter().all(Incoming::ready),
        })
    }

    /// Queues the way back of the buckets, of which there are as many as the device says.
    fn receive(&mut self, machine: &M, pool: &mut Pool<M>) -> Result<()> {
        let State::Counting {
            job,
            sent,
            facts,
            asked,
            duplicates,
        } = std::mem::replace(&mut self.state, State::Idle)
        else {
            return Ok(());
        };
        let mut incoming = Vec::with_capacity(asked.len());
        for (facts, asked) in facts.into_iter().zip(&asked) {
            let facts = facts.wait()?;
            let tables = &self.tables[asked.of];
            let table = &tables.of[asked.granularity];
            let (heads, columns) = (&table.heads, &table.columns);
            let found = facts.get(Heads::<M>::BUCKETS).map_or(0, |n| *n as usize);
            let (lead, end) = (
                asked.lead,
                found.clamp(asked.lead, heads.capacity.max(asked.lead)),
            );
            let of_columns: Vec<_> = (0..columns.count)
                .map(|column| column * columns.stride + lead..column * columns.stride + end)
                .collect();
            let room = heads.capacity;
            let starts = pool.wide(machine, room)?;
            let first = pool.narrow(machine, room + 1)?;
            let of_series = pool.narrow(machine, asked.series + 1)?;
            let values = pool.values(machine, room * columns.count)?;
            let of_all = lead..lead + asked.series + 1;
            incoming.push(Incoming {
                table: tables.first + asked.granularity,
                buckets: end - lead,
                series: asked.series,
                starts: machine.receive(&heads.starts, &[lead..end], starts)?,
                first: machine.receive(&heads.first, &[lead..end + 1], first)?,
                of_series: machine.receive(&heads.of_series, &[of_all], of_series)?,
                columns: machine.receive(&columns.values, &of_columns, values)?,
            });
        }
        self.state = State::Receiving {
            job,
            sent,
            incoming,
            duplicates,
        };
        Ok(())
    }

    /// Waits for the chunk; `None` where none is under way.
    pub(super) fn finish(&mut self, machine: &M, pool: &mut Pool<M>) -> Result<Option<Done<M>>> {
        self.receive(machine, pool)?;
        let State::Receiving {
            job,
            sent,
            incoming,
            duplicates,
        } = std::mem::replace(&mut self.state, State::Idle)
        else {
            return Ok(None);
        };
        let tables = incoming.into_iter().map(Incoming::wait);
        let tables = tables.collect::<Result<_>>()?;
        drop(sent);
        Ok(Some(Done {
            job,
            tables,
            duplicates,
        }))
    }
}

impl<M: Machine> Split<M> {
    /// From the host, which knows them.
    fn send(&mut self, machine: &M, packed: &Arc<M::Pinned<u32>>, len: usize) -> Result<M::Sent> {
        if self.offsets.len() < len {
            self.offsets = machine.alloc("offsets of series", len)?;
        }
        self.series = len - 1;
        machine.send(packed, 0..len, &mut self.offsets, 0)
    }

    /// From the device, after duplicates were left out.
    fn set(&mut self, machine: &M, points: &Points<M>) -> Result<()> {
        let mut offsets = vec![0_u32; points.offsets.len()];
        machine.download(&points.offsets, &mut offsets)?;
        offsets.insert(1.min(offsets.len()), 1);
        self.offsets = machine.alloc("offsets of series", offsets.len())?;
        self.series = points.series + 1;
        machine.upload(&mut self.offsets, &offsets)
    }

    /// Exchanges them with the points' own.
    fn swap(&mut self, points: &mut Points<M>) {
        std::mem::swap(&mut points.offsets, &mut self.offsets);
        std::mem::swap(&mut points.series, &mut self.series);
    }
}
