//! One queue of the device: a chunk at a time from page-locked memory to aggregates in page-locked memory.

mod back;
mod split;

use super::chunks::Chunk;
use super::coded::{Coded, Width};
use super::packed::Packed;
use super::prepare::Prepared;
use super::resident::{Heads, Points};
use super::stages::{Stages, Tables};
use super::wanted::Wanted;
use crate::gpu::{Fetch, Machine, Result};
use crate::series::SeriesError;
pub(super) use back::Done;
use back::{Asked, State};
use split::Split;
use std::sync::Arc;
use warpstride_kernels::series::bucket::Bucketing;
use warpstride_kernels::series::unpack::frames;

/// Chunks with the same granularities.
pub(super) struct Job {
    pub(super) chunk: Chunk,
    /// Places among the plan's.
    pub(super) granularities: Arc<[usize]>,
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

/// Is given tables, points, the place of a granularity, its longest bucket, and whether they are rates.
type EachTable<'a, M> =
    &'a mut dyn FnMut(&mut Tables<M>, &Points<M>, usize, usize, bool) -> Result<()>;

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
        let mut asked = Vec::new();
        for (of, wanted) in wanted.iter().enumerate() {
            asked.extend(job.granularities.iter().map(|granularity| Asked {
                of,
                granularity: *granularity,
                rate: wanted.rate,
                lead: usize::from(job.chunk.lead.is_some() && !wanted.rate),
                series: job.chunk.series.len(),
            }));
        }
        self.state = State::Counting {
            job: number,
            sent,
            facts: self.ask(machine, &asked)?,
            asked,
            exact: false,
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

    /// The stages of long buckets; `longest`: of each of the lane's tables its longest bucket, as it is known.
    pub(super) fn long(
        &mut self,
        machine: &M,
        job: &Job,
        wanted: &[Wanted],
        longest: &[usize],
        each: EachStage<'_>,
    ) -> Result<()> {
        self.each_table(
            job,
            wanted,
            longest,
            &mut |tables, points, at, longest, rate| {
                let stage = Stage {
                    name: "long",
                    granularity: Some(at),
                    rate,
                };
                each(stage, &mut || {
                    tables.long(machine, points, at, longest).map(drop)
                })
            },
        )
    }

    /// The stages after that, which need to know how long the longest buckets are.
    pub(super) fn order(
        &mut self,
        machine: &M,
        job: &Job,
        wanted: &[Wanted],
        longest: &[usize],
        each: EachStage<'_>,
    ) -> Result<()> {
        self.each_table(
            job,
            wanted,
            longest,
            &mut |tables, points, at, longest, rate| {
                let stage = Stage {
                    name: "order",
                    granularity: Some(at),
                    rate,
                };
                each(stage, &mut || tables.order(machine, points, at, longest))
            },
        )
    }

    /// Every granularity of values, then of rates, with its points and its longest bucket.
    fn each_table(
        &mut self,
        job: &Job,
        wanted: &[Wanted],
        longest: &[usize],
        each: EachTable<'_, M>,
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
                each(tables, points, *granularity, longest, wanted.rate)?;
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
                longest.push(Heads::<M>::longest(&facts));
            }
        }
        Ok(longest)
    }
}
