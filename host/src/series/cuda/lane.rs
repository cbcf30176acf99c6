//! One queue of the device: a chunk at a time from page-locked memory to aggregates in page-locked memory.

mod split;

use super::chunks::Chunk;
use super::coded::{Coded, Width};
use super::packed::Packed;
use super::prepare::Prepared;
use super::resident::{Heads, Points};
use super::results::{Incoming, Pool, TableResult};
use super::stages::{Stages, Tables};
use super::wanted::Wanted;
use crate::gpu::{Fetch, Machine, Result};
use crate::series::SeriesError;
use split::Split;
use std::slice::from_ref;
use std::sync::Arc;
use warpstride_kernels::series::bucket::Bucketing;
use warpstride_kernels::series::unpack::frames;

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
    coded: Coded<M>,
    points: Points<M>,
    rates: Points<M>,
    split: Split<M>,
    /// Values', then rates'.
    tables: Vec<Tables<M>>,
    state: State<M>,
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

/// A stage of a chunk.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stage {
    pub(super) name: &'static str,
    pub(super) granularity: Option<usize>,
    pub(super) rate: bool,
}

impl Stage {
    /// Where series begin, of rates or of points.
    const fn series(rate: bool) -> Self {
        Self {
            name: "series",
            granularity: None,
            rate,
        }
    }
}

/// Of each stage what it is and what queues it.
type EachStage<'a> = &'a mut dyn FnMut(Stage, &mut dyn FnMut() -> Result<()>) -> Result<()>;

/// Which of a lane's tables is wanted, and what of it.
struct Asked {
    /// Values' or rates'.
    of: usize,
    granularity: usize,
    rate: bool,
    /// Series and buckets before those that count: a lead's.
    lead: usize,
    series: usize,
}

impl<M: Machine> Lane<M> {
    pub(super) fn new(machine: &M, granularities: usize, wanted: &[Wanted]) -> Result<Self> {
        Ok(Self {
            packed: Packed::new(machine)?,
            stages: Stages::new(machine)?,
            coded: Coded::new(machine)?,
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
        coded: bool,
    ) -> std::result::Result<(), SeriesError> {
        self.packed.fill(machine, prepared, chunk, coded)
    }

    /// Queues a chunk up to where its buckets begin; `None` takes what the lane has packed.
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
        self.index(machine, &job.chunk, wanted, &mut |_, work| work())?;
        self.find(machine, job, rules, wanted, &mut |_, work| work())?;
        let mut facts = Vec::new();
        let mut asked = Vec::new();
        for (of, (wanted, tables)) in wanted.iter().zip(&self.tables).enumerate() {
            for granularity in job.granularities.iter().copied() {
                let heads = &tables.of[granularity].heads;
                facts.push(machine.fetch(&heads.facts)?);
                asked.push(Asked {
                    of,
                    granularity,
                    rate: wanted.rate,
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
            self.stages.drop_duplicates(machine, points)?;
        }
        if chunk.lead.is_some() && chunk.repeats {
            self.split.set(machine, points)?;
        } else if chunk.lead.is_some() {
            let packed = packed.unwrap_or(&self.packed);
            sent.push(self.split.send(machine, &packed.split, points.series + 2)?);
        }
        Ok((sent, chunk.len().saturating_sub(points.points)))
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
        let coding = packed.coding;
        let coded = &mut self.coded;
        coded.reserve(machine, coding, len)?;
        let offsets = machine.send(&packed.offsets, 0..series + 1, &mut points.offsets, 0)?;
        let mut sent = vec![offsets];
        if coding.width != Width::Raw {
            let bases = frames(len);
            sent.push(machine.send(&packed.bases, 0..bases, &mut coded.bases, 0)?);
        }
        sent.push(match coding.width {
            Width::Two => machine.send(&packed.narrow, 0..len, &mut coded.narrow, 0)?,
            Width::Four => machine.send(&packed.wide, 0..len, &mut coded.wide, 0)?,
            Width::Raw => machine.send(&packed.times, 0..len, &mut points.times, 0)?,
        });
        sent.push(machine.send(&packed.values, 0..len, &mut points.values, 0)?);
        coded.queue(machine, coding, points)?;
        Ok(sent)
    }

    /// Queues the sort of what has arrived.
    pub(super) fn sort(&mut self, machine: &M) -> Result<()> {
        self.stages.sort(machine, &mut self.points)
    }

    /// The last stage of loading: where the series of what is loaded begin, which all granularities need. `each` is given
    /// what queues it, which may be called again.
    pub(super) fn index(
        &mut self,
        machine: &M,
        chunk: &Chunk,
        wanted: &[Wanted],
        each: EachStage<'_>,
    ) -> Result<()> {
        if chunk.lead.is_some() {
            self.split.swap(&mut self.points);
        }
        let points = &self.points;
        for (_, tables) in wanted
            .iter()
            .zip(&mut self.tables)
            .filter(|(wanted, _)| !wanted.rate)
        {
            each(Stage::series(false), &mut || tables.series(machine, points))?;
        }
        if chunk.lead.is_some() {
            self.split.swap(&mut self.points);
        }
        Ok(())
    }

    /// The stages of what is loaded up to the methods of one pass: `each` is given what queues them, which may be called
    /// again.
    pub(super) fn find(
        &mut self,
        machine: &M,
        job: &Job,
        rules: &[Bucketing],
        wanted: &[Wanted],
        each: EachStage<'_>,
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
                let of_series = points.points.saturating_sub(chunk.nonempty);
                rates.reserve(machine, of_series, points.series)?;
                let stage = Stage {
                    name: "rates",
                    granularity: None,
                    rate,
                };
                each(stage, &mut || stages.rates(machine, points, rates))?;
                let rates = &self.rates;
                each(Stage::series(rate), &mut || tables.series(machine, rates))?;
                rates
            } else {
                &self.points
            };
            for (granularity, capacity) in job.granularities.iter().zip(&chunk.capacities) {
                let rule = rules[*granularity];
                tables.of[*granularity].reserve(machine, *capacity, points.series)?;
                let stage = Stage {
                    name: "one pass",
                    granularity: Some(*granularity),
                    rate,
                };
                each(stage, &mut || {
                    tables.one_pass(machine, points, *granularity, rule)
                })?;
            }
            if split {
                self.split.swap(&mut self.points);
            }
        }
        Ok(())
    }

    /// The stages after that, which need to know of each of the lane's tables how long its longest bucket is.
    pub(super) fn order(
        &mut self,
        machine: &M,
        job: &Job,
        wanted: &[Wanted],
        longest: &[usize],
        each: EachStage<'_>,
    ) -> Result<()> {
        let mut longest = longest.iter();
        for (wanted, tables) in wanted.iter().zip(&mut self.tables) {
            let points = if wanted.rate {
                &self.rates
            } else {
                &self.points
            };
            for granularity in job.granularities.iter() {
                let longest = longest.next().copied().unwrap_or(points.points);
                let stage = Stage {
                    name: "order",
                    granularity: Some(*granularity),
                    rate: wanted.rate,
                };
                each(stage, &mut || {
                    tables.order(machine, points, *granularity, longest)
                })?;
            }
        }
        Ok(())
    }

    /// Waits for how long the longest buckets are.
    pub(super) fn longest(&self, machine: &M, job: &Job) -> Result<Vec<usize>> {
        let mut longest = Vec::new();
        for tables in &self.tables {
            for granularity in job.granularities.iter() {
                let facts = machine
                    .fetch(&tables.of[*granularity].heads.facts)?
                    .wait()?;
                longest.push(facts.get(Heads::<M>::LONGEST).map_or(0, |n| *n as usize));
            }
        }
        Ok(longest)
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
        if !matches!(self.state, State::Counting { .. }) {
            return Ok(());
        }
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
            let tables = &mut self.tables[asked.of];
            let points = if asked.rate {
                &self.rates
            } else {
                &self.points
            };
            let longest = facts.get(Heads::<M>::LONGEST).map_or(0, |n| *n as usize);
            tables.order(machine, points, asked.granularity, longest)?;
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
                starts: machine.receive(&heads.starts, from_ref(&(lead..end)), starts)?,
                first: machine.receive(&heads.first, from_ref(&(lead..end + 1)), first)?,
                of_series: machine.receive(&heads.of_series, from_ref(&of_all), of_series)?,
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
