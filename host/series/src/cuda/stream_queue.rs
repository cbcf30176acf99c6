//! One stream of the device: processes one chunk at a time, from page-locked memory to aggregates
//! in page-locked memory.

mod read_back;
mod split;
mod state;

use super::chunks::Chunk;
use super::coded::{Coded, Width};
use super::output_columns::OutputColumns;
use super::packed::Packed;
use super::prepare::Prepared;
use super::resident::{Heads, Points};
use super::sort::TimestampCheck;
use super::stages::{Stages, Tables};
use crate::SeriesError;
pub(super) use read_back::FinishedChunk;
use split::Split;
use state::{State, TableRequest};
use std::sync::Arc;
use warpstride_cuda::gpu::{Device, ReadBack, Result};
use warpstride_kernels::series::bucket::Bucketing;
use warpstride_kernels::series::unpack::frames;

/// A chunk, and the granularities to compute for it.
pub(super) struct Job {
    pub(super) chunk: Chunk,
    /// Indices into the plan's granularities.
    pub(super) granularities: Arc<[usize]>,
}

/// The buffers of a chunk. All calls must be given the same device.
pub(super) struct StreamQueue<M: Device> {
    /// For chunks that are packed when the stream starts them.
    pub(super) packed: Packed<M>,
    stages: Stages<M>,
    coded: Coded<M>,
    points: Points<M>,
    rates: Points<M>,
    split: Split<M>,
    /// The tables of values, then of rates.
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
    /// Finding the first points of series, of rates or of points.
    const fn series(rate: bool) -> Self {
        Self {
            name: "series",
            granularity: None,
            rate,
        }
    }
}

/// Called with each stage and a function that queues it.
type EachStage<'a> = &'a mut dyn FnMut(Stage, &mut dyn FnMut() -> Result<()>) -> Result<()>;

/// Called with the tables, the points, the index of a granularity, its longest bucket, and whether
/// they are rates.
type EachTable<'a, M> =
    &'a mut dyn FnMut(&mut Tables<M>, &Points<M>, usize, usize, bool) -> Result<()>;

impl<M: Device> StreamQueue<M> {
    pub(super) fn new(device: &M, granularities: usize, outputs: &[OutputColumns]) -> Result<Self> {
        Ok(Self {
            packed: Packed::new(device)?,
            stages: Stages::new(device)?,
            coded: Coded::new(device)?,
            points: Points::with_capacity(device, 0, 0)?,
            rates: Points::with_capacity(device, 0, 0)?,
            split: Split {
                offsets: device.alloc("offsets of series", 0)?,
                series: 0,
            },
            tables: outputs
                .iter()
                .enumerate()
                .map(|(of, outputs)| {
                    Tables::new(device, of * granularities, granularities, outputs)
                })
                .collect::<Result<_>>()?,
            state: State::Idle,
        })
    }

    /// Packs the chunk into the stream's own memory.
    pub(super) fn pack(
        &mut self,
        device: &M,
        prepared: &Prepared<'_>,
        chunk: &Chunk,
        coded: bool,
    ) -> std::result::Result<(), SeriesError> {
        self.packed.fill(device, prepared, chunk, coded)
    }

    /// Queues a chunk up to the search for its buckets; `None` uses the chunk that this stream
    /// packed.
    pub(super) fn start(
        &mut self,
        device: &M,
        number: usize,
        job: &Job,
        packed: Option<&Packed<M>>,
        rules: &[Bucketing],
        outputs: &[OutputColumns],
    ) -> Result<()> {
        let (sent, duplicates) = self.load(device, &job.chunk, packed)?;
        self.index(device, &job.chunk, outputs, &mut |_, work| work())?;
        self.find(device, job, rules, outputs, &mut |_, work| work())?;
        let mut requests = Vec::new();
        for (kind, outputs) in outputs.iter().enumerate() {
            requests.extend(job.granularities.iter().map(|granularity| TableRequest {
                kind,
                granularity: *granularity,
                rate: outputs.rate,
                lead: usize::from(job.chunk.lead.is_some() && !outputs.rate),
                series: job.chunk.series.len(),
            }));
        }
        self.state = State::Counting {
            job: number,
            sent,
            facts: self.read_facts(device, &requests)?,
            requests,
            exact: false,
            duplicates,
        };
        Ok(())
    }

    /// Queues the transfer of a chunk, its sort, and the removal of duplicates unless they are
    /// kept. Returns the number of duplicates.
    pub(super) fn load(
        &mut self,
        device: &M,
        chunk: &Chunk,
        packed: Option<&Packed<M>>,
    ) -> Result<(Vec<M::Sent>, usize)> {
        let mut sent = self.arrive(device, chunk, packed)?;
        if !chunk.sorted {
            self.sort(device)?;
        }
        let points = &mut self.points;
        let drops = chunk.repeats && !chunk.keeps_duplicates;
        let mut kept = 0;
        if drops {
            self.stages.drop_duplicates(device, points)?;
        } else if chunk.repeats {
            kept = TimestampCheck::of(device, points)?.repeats;
        }
        if chunk.lead.is_some() && drops {
            self.split.set(device, points)?;
        } else if chunk.lead.is_some() {
            let packed = packed.unwrap_or(&self.packed);
            sent.push(self.split.send(device, &packed.split, points.series + 2)?);
        }
        Ok((sent, kept + chunk.len().saturating_sub(points.points)))
    }

    /// Queues the transfer of a chunk to the device.
    pub(super) fn arrive(
        &mut self,
        device: &M,
        chunk: &Chunk,
        packed: Option<&Packed<M>>,
    ) -> Result<Vec<M::Sent>> {
        let points = &mut self.points;
        let packed = packed.unwrap_or(&self.packed);
        let (len, series) = (chunk.len(), chunk.series.len());
        points.reserve(device, len, series)?;
        let coding = packed.coding;
        let coded = &mut self.coded;
        coded.reserve(device, coding, len)?;
        let offsets = device.send(&packed.offsets, 0..series + 1, &mut points.offsets, 0)?;
        let mut sent = vec![offsets];
        if coding.width != Width::Raw {
            let bases = frames(len);
            sent.push(device.send(&packed.bases, 0..bases, &mut coded.bases, 0)?);
        }
        sent.push(match coding.width {
            Width::Two => device.send(&packed.narrow, 0..len, &mut coded.narrow, 0)?,
            Width::Four => device.send(&packed.wide, 0..len, &mut coded.wide, 0)?,
            Width::Raw => device.send(&packed.times, 0..len, &mut points.times, 0)?,
        });
        sent.push(device.send(&packed.values, 0..len, &mut points.values, 0)?);
        coded.queue(device, coding, points)?;
        Ok(sent)
    }

    /// Queues the sort of the transferred points.
    pub(super) fn sort(&mut self, device: &M) -> Result<()> {
        self.stages.sort(device, &mut self.points)
    }

    /// The last stage of loading: finds the first points of series, which all granularities need.
    /// `each` receives a function that queues the stage and may be called more than once.
    pub(super) fn index(
        &mut self,
        device: &M,
        chunk: &Chunk,
        outputs: &[OutputColumns],
        each: EachStage<'_>,
    ) -> Result<()> {
        if chunk.lead.is_some() {
            self.split.swap(&mut self.points);
        }
        let points = &self.points;
        for (_, tables) in outputs
            .iter()
            .zip(&mut self.tables)
            .filter(|(outputs, _)| !outputs.rate)
        {
            each(Stage::series(false), &mut || tables.series(device, points))?;
        }
        if chunk.lead.is_some() {
            self.split.swap(&mut self.points);
        }
        Ok(())
    }

    /// The stages up to the one-pass methods. `each` receives functions that queue the stages and
    /// may be called more than once.
    pub(super) fn find(
        &mut self,
        device: &M,
        job: &Job,
        rules: &[Bucketing],
        outputs: &[OutputColumns],
        each: EachStage<'_>,
    ) -> Result<()> {
        let chunk = &job.chunk;
        let stages = &mut self.stages;
        for (outputs, tables) in outputs.iter().zip(&mut self.tables) {
            let rate = outputs.rate;
            let split = chunk.lead.is_some() && !rate;
            if split {
                self.split.swap(&mut self.points);
            }
            let points = if rate {
                let (points, rates) = (&self.points, &mut self.rates);
                let of_series = points.points.saturating_sub(chunk.nonempty);
                rates.reserve(device, of_series, points.series)?;
                let stage = Stage {
                    name: "rates",
                    granularity: None,
                    rate,
                };
                each(stage, &mut || stages.rates(device, points, rates))?;
                let rates = &self.rates;
                each(Stage::series(rate), &mut || tables.series(device, rates))?;
                rates
            } else {
                &self.points
            };
            for (granularity, capacity) in job.granularities.iter().zip(&chunk.capacities) {
                let rule = rules[*granularity];
                tables.tables[*granularity].reserve(device, *capacity, points.series)?;
                let stage = Stage {
                    name: "one pass",
                    granularity: Some(*granularity),
                    rate,
                };
                each(stage, &mut || {
                    tables.one_pass(device, points, *granularity, rule)
                })?;
            }
            if split {
                self.split.swap(&mut self.points);
            }
        }
        Ok(())
    }

    /// The stages of long buckets; `longest`: the longest bucket of each of the stream's tables, as
    /// far as known.
    pub(super) fn long(
        &mut self,
        device: &M,
        job: &Job,
        outputs: &[OutputColumns],
        longest: &[usize],
        each: EachStage<'_>,
    ) -> Result<()> {
        self.each_table(
            job,
            outputs,
            longest,
            &mut |tables, points, at, longest, rate| {
                let stage = Stage {
                    name: "long",
                    granularity: Some(at),
                    rate,
                };
                each(stage, &mut || {
                    tables.long(device, points, at, longest).map(drop)
                })
            },
        )
    }

    /// The remaining stages, which need the lengths of the longest buckets.
    pub(super) fn order(
        &mut self,
        device: &M,
        job: &Job,
        outputs: &[OutputColumns],
        longest: &[usize],
        each: EachStage<'_>,
    ) -> Result<()> {
        self.each_table(
            job,
            outputs,
            longest,
            &mut |tables, points, at, longest, rate| {
                let stage = Stage {
                    name: "order",
                    granularity: Some(at),
                    rate,
                };
                each(stage, &mut || tables.order(device, points, at, longest))
            },
        )
    }

    /// Visits every granularity of values, then of rates, with its points and its longest bucket.
    fn each_table(
        &mut self,
        job: &Job,
        outputs: &[OutputColumns],
        longest: &[usize],
        each: EachTable<'_, M>,
    ) -> Result<()> {
        let mut longest = longest.iter();
        for (outputs, tables) in outputs.iter().zip(&mut self.tables) {
            let points = if outputs.rate {
                &self.rates
            } else {
                &self.points
            };
            for granularity in job.granularities.iter() {
                let longest = longest.next().copied().unwrap_or(points.points);
                each(tables, points, *granularity, longest, outputs.rate)?;
            }
        }
        Ok(())
    }

    /// Waits for the lengths of the longest buckets.
    pub(super) fn longest(&self, device: &M, job: &Job) -> Result<Vec<usize>> {
        let mut longest = Vec::new();
        for tables in &self.tables {
            for granularity in job.granularities.iter() {
                let facts = device
                    .read_back(&tables.tables[*granularity].heads.facts)?
                    .wait()?;
                longest.push(Heads::<M>::longest(&facts));
            }
        }
        Ok(longest)
    }
}
