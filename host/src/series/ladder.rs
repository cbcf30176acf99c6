//! The ladder of an earlier attempt at time series on GPUs: each step as a kernel of its own with right results, timed
//! beside the product's.
//!
//! What all have to do is the sum of each bucket of 35 s of one series, whose values are 0, 1, 2 … 5 s apart from
//! 2015-04-03T23:11:00 UTC. The rungs are told where the buckets begin, as the earlier attempt was, which found that on
//! the CPU; the product finds that itself, and its time has that in it.

use super::cuda::{GpuEngine, median};
use super::definition;
use super::{Aggregate, Batch, Granularity, Method, NanPolicy, Resample, SeriesError};
use crate::gpu::{Buffer, Copying, Machine, Result};
use serde::Serialize;
use std::sync::Arc;
use std::time::Instant;
use warpstride_device::launch::Work;
use warpstride_kernels::series::ladder::{
    SeriesLadderAtomic, SeriesLadderOneBlock, SeriesLadderStaged,
};

/// Points of the example: 7·2²⁰.
pub const POINTS: usize = 7 << 20;
/// Queues of the fourth rung.
pub const QUEUES: usize = 8;

const SECOND: u64 = 1_000_000_000;
/// Of the first point, in seconds since 1970.
const START: u64 = 1_428_102_660;
/// Runs from end to end, of which the median counts.
const RUNS: usize = 15;
/// Elements that are copied to learn how fast memory is.
const COPIED: usize = 1 << 25;

/// One rung.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LadderStep {
    /// In one word.
    pub name: &'static str,
    /// What is new.
    pub what: &'static str,
    /// Of the device's clock; from end to end the host's.
    pub milliseconds: f64,
    /// Points a second.
    pub points_per_second: f64,
    /// Of the time that its bytes need at least, within the device or over the link, by a copy.
    pub share_of_floor: f64,
    /// Whether every bucket has the bits of the definition.
    pub right: bool,
}

/// Climbs the ladder on queues of one device, of which the first counts where one is enough.
///
/// # Errors
/// No queue, out of memory, or the device's.
pub fn ladder<M: Machine>(
    machines: &[M],
    points: usize,
) -> std::result::Result<Vec<LadderStep>, SeriesError> {
    let Some(machine) = machines.first() else {
        return Err(crate::gpu::GpuError::NoDevices.into());
    };
    let climb = Climb::new(machine, points)?;
    let mut steps = vec![
        climb.atomic(machine)?,
        climb.one_block(machine)?,
        climb.staged(machine)?,
        climb.streams(machines)?,
    ];
    steps.extend(climb.product(machines)?);
    Ok(steps)
}

/// What the rungs share.
struct Climb<M: Machine> {
    batch: Batch,
    plan: Resample,
    expected: super::Resampled,
    /// (bucket + 1), on the host.
    first: Vec<u32>,
    values: M::Buffer<f64>,
    first_there: M::Buffer<u32>,
    /// Bytes a millisecond within the device, to it, and from it.
    speeds: [f64; 3],
}

fn plan(methods: &[Method]) -> std::result::Result<Resample, SeriesError> {
    Resample::new(
        vec![Granularity::Fixed(35 * SECOND)],
        methods.iter().copied().map(Aggregate::of).collect(),
        NanPolicy::Keep,
    )
}

impl<M: Machine> Climb<M> {
    fn new(machine: &M, points: usize) -> std::result::Result<Self, SeriesError> {
        let times = (0..points as i64).map(|i| (START as i64 + 5 * i) * SECOND as i64);
        let values = (0..points).map(|i| i as f64);
        let batch = Batch::single(times.collect(), values.collect())?;
        let plan = plan(&[Method::Sum])?;
        let expected = definition::resample(&plan, &batch);
        let mut first = vec![0];
        for count in &expected.buckets[0].counts {
            first.push(first[first.len() - 1] + count);
        }
        let mut there = machine.alloc("values", points)?;
        machine.upload(&mut there, batch.values())?;
        let mut first_there = machine.alloc("buckets", first.len())?;
        machine.upload(&mut first_there, &first)?;
        Ok(Self {
            speeds: speeds(machine, COPIED.min(16 * points))?,
            values: there,
            first_there,
            batch,
            plan,
            expected,
            first,
        })
    }

    fn buckets(&self) -> u32 {
        self.first.len() as u32 - 1
    }

    fn step(
        &self,
        [name, what]: [&'static str; 2],
        milliseconds: f64,
        floor: f64,
        right: bool,
    ) -> LadderStep {
        LadderStep {
            name,
            what,
            milliseconds,
            points_per_second: self.batch.len() as f64 / (milliseconds * 1e-3),
            share_of_floor: floor / milliseconds,
            right,
        }
    }

    /// A rung whose values lie on the device.
    fn resident(
        &self,
        machine: &M,
        words: [&'static str; 2],
        launch: impl Fn(&mut M::Buffer<f64>) -> Result<()>,
    ) -> Result<LadderStep> {
        let buckets = self.buckets() as usize;
        let mut sums = machine.alloc("sums", buckets)?;
        let milliseconds = median(machine, &mut || launch(&mut sums))?;
        let mut found = vec![0.0; buckets];
        machine.download(&sums, &mut found)?;
        let bytes = 8 * (self.batch.len() + buckets) + 4 * self.first.len();
        let floor = bytes as f64 / self.speeds[0];
        Ok(self.step(words, milliseconds, floor, self.is_right(&found)))
    }

    fn is_right(&self, sums: &[f64]) -> bool {
        let expected = &self.expected.buckets[0].columns[0].values;
        let bits = |values: &[f64]| values.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
        bits(sums) == bits(expected)
    }

    fn atomic(&self, machine: &M) -> Result<LadderStep> {
        let words = ["v1", "a thread a bucket, atomic additions in memory"];
        self.resident(machine, words, |sums| {
            machine.zero(sums)?;
            let launch = SeriesLadderAtomic {
                values: self.values.read(),
                first: self.first_there.read(),
                sums: sums.write(),
                points: self.batch.len() as u32,
                buckets: self.buckets(),
            };
            machine.launch(&launch, Work::Elements(self.buckets() as usize))
        })
    }

    fn one_block(&self, machine: &M) -> Result<LadderStep> {
        let words = ["v2", "one block strides over chunks, sums in registers"];
        self.resident(machine, words, |sums| {
            let launch = SeriesLadderOneBlock {
                values: self.values.read(),
                first: self.first_there.read(),
                sums: sums.write(),
                points: self.batch.len() as u32,
                buckets: self.buckets(),
            };
            machine.launch(&launch, Work::Grid([1, 1, 1]))
        })
    }

    fn staged(&self, machine: &M) -> Result<LadderStep> {
        let words = [
            "v3",
            "neighbouring threads read neighbours into shared memory",
        ];
        self.resident(machine, words, |sums| {
            let launch = SeriesLadderStaged {
                values: self.values.read(),
                first: self.first_there.read(),
                sums: sums.write(),
                points: self.batch.len() as u32,
                origin: 0,
                bucket_from: 0,
                buckets: self.buckets(),
            };
            machine.launch(
                &launch,
                Work::Blocks((self.buckets() as usize).div_ceil(256)),
            )
        })
    }

    /// A piece of the buckets for each queue, whose values come from page-locked memory and whose sums go back there.
    fn streams(&self, machines: &[M]) -> Result<LadderStep> {
        let words = [
            "v4",
            "the same from page-locked memory and back, over eight streams",
        ];
        let buckets = self.buckets() as usize;
        let each = buckets.div_ceil(machines.len()).max(1);
        let mut queues = Vec::new();
        for (machine, from) in machines.iter().zip((0..buckets).step_by(each)) {
            let end = (from + each).min(buckets);
            let (origin, behind) = (self.first[from] as usize, self.first[end] as usize);
            let mut values = machine.pinned::<f64>("values", behind - origin)?;
            values.copy_from_slice(&self.batch.values()[origin..behind]);
            queues.push(Queue {
                machine,
                there: machine.alloc("values", behind - origin)?,
                values: Arc::new(values),
                back: Some(machine.pinned("sums", end - from)?),
                origin,
                buckets: from..end,
            });
        }
        let mut sums = machines[0].alloc("sums", buckets)?;
        let mut times = Vec::new();
        for _ in 0..RUNS {
            let start = Instant::now();
            let mut sent = Vec::new();
            let mut coming = Vec::new();
            for queue in &mut queues {
                let all = 0..queue.values.len();
                sent.push(
                    queue
                        .machine
                        .send(&queue.values, all, &mut queue.there, 0)?,
                );
                let pieces = queue.buckets.len();
                let launch = SeriesLadderStaged {
                    values: queue.there.read(),
                    first: self.first_there.read(),
                    sums: sums.write(),
                    points: queue.values.len() as u32,
                    origin: queue.origin as u32,
                    bucket_from: queue.buckets.start as u32,
                    buckets: pieces as u32,
                };
                queue
                    .machine
                    .launch(&launch, Work::Blocks(pieces.div_ceil(256)))?;
                if let Some(back) = queue.back.take() {
                    let part = std::slice::from_ref(&queue.buckets);
                    coming.push(queue.machine.receive(&sums, part, back)?);
                }
            }
            for (queue, coming) in queues.iter_mut().zip(coming) {
                queue.back = Some(coming.wait()?);
            }
            times.push(start.elapsed().as_secs_f64() * 1e3);
            drop(sent);
        }
        let backs = queues.iter().filter_map(|queue| queue.back.as_deref());
        let found: Vec<f64> = backs.flatten().copied().collect();
        let there = (8 * self.batch.len()) as f64 / self.speeds[1];
        let back = (8 * buckets) as f64 / self.speeds[2];
        let floor = there.max(back);
        Ok(self.step(words, middle(times), floor, self.is_right(&found)))
    }

    /// The product's kernels, which find the buckets too: sums, all methods of one pass, and sums from end to end.
    fn product(&self, machines: &[M]) -> std::result::Result<Vec<LadderStep>, SeriesError> {
        let machine = &machines[0];
        let one_pass = [
            Method::Count,
            Method::Sum,
            Method::Mean,
            Method::Min,
            Method::Max,
            Method::First,
            Method::Last,
            Method::Std,
        ];
        let buckets = self.buckets() as usize;
        let mut steps = Vec::new();
        for (words, plan, expected) in [
            (
                [
                    "product",
                    "buckets are found on the device too; any lengths",
                ],
                self.plan.clone(),
                None,
            ),
            (
                [
                    "product, 8",
                    "count, sum, mean, min, max, first, last, std at once",
                ],
                plan(&one_pass)?,
                Some(definition::resample(&plan(&one_pass)?, &self.batch)),
            ),
        ] {
            let columns = plan.aggregates().iter();
            let columns = columns.filter(|a| a.method != Method::Count).count();
            let mut engine = GpuEngine::new(machine, plan)?.chunked(usize::MAX, usize::MAX);
            let staged = engine.stage(&self.batch)?;
            let fetched = engine.resample_staged(&staged)?;
            let found = engine.collect(&staged, fetched)?;
            let right = definition::difference(&found, expected.as_ref().unwrap_or(&self.expected))
                .is_none();
            let times = engine.time_stages(&staged)?;
            let milliseconds = times.first().map_or(f64::NAN, |all| all.milliseconds);
            let bytes = 16 * self.batch.len() + (12 + 8 * columns) * buckets;
            let floor = bytes as f64 / self.speeds[0];
            steps.push(self.step(words, milliseconds, floor, right));
        }

        let words = [
            "product, whole",
            "from page-locked memory and back, coded timestamps",
        ];
        let mut engine = GpuEngine::with_lanes(machines.iter().collect(), self.plan.clone())?;
        let staged = engine.stage(&self.batch)?;
        let fetched = engine.resample_staged(&staged)?;
        let found = engine.collect(&staged, fetched)?;
        let right = definition::difference(&found, &self.expected).is_none();
        let mut times = Vec::new();
        for _ in 0..RUNS {
            let start = Instant::now();
            let fetched = engine.resample_staged(&staged)?;
            times.push(start.elapsed().as_secs_f64() * 1e3);
            engine.recycle(fetched);
        }
        let there = staged.bytes() as f64 / self.speeds[1];
        let back = (20 * buckets) as f64 / self.speeds[2];
        steps.push(self.step(words, middle(times), there.max(back), right));
        Ok(steps)
    }
}

/// A queue of the fourth rung.
struct Queue<'a, M: Machine> {
    machine: &'a M,
    values: Arc<M::Pinned<f64>>,
    there: M::Buffer<f64>,
    back: Option<M::Pinned<f64>>,
    /// First point.
    origin: usize,
    buckets: std::ops::Range<usize>,
}

/// Bytes a millisecond within the device (read and written), to it, and from it, by copies.
fn speeds<M: Machine>(machine: &M, words: usize) -> Result<[f64; 3]> {
    let mut from = machine.alloc::<u64>("a copy", words)?;
    let mut to = machine.alloc::<u64>("a copy", words)?;
    let within = median(machine, &mut || machine.copy(&from, &mut to))?;
    let mut host = Arc::new(machine.pinned::<u64>("a copy", words)?);
    let (mut there, mut back) = (Vec::new(), Vec::new());
    let all = 0..words;
    for _ in 0..RUNS {
        let start = Instant::now();
        machine.send(&host, all.clone(), &mut from, 0)?.wait()?;
        there.push(start.elapsed().as_secs_f64() * 1e3);
        let Some(memory) = Arc::into_inner(host) else {
            break;
        };
        let start = Instant::now();
        let coming = machine.receive(&from, std::slice::from_ref(&all), memory)?;
        host = Arc::new(coming.wait()?);
        back.push(start.elapsed().as_secs_f64() * 1e3);
    }
    let bytes = (8 * words) as f64;
    Ok([
        2.0 * bytes / within,
        bytes / middle(there),
        bytes / middle(back),
    ])
}

fn middle(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::EmulatedMachine;

    #[test]
    fn every_rung_is_right() {
        for (points, queues) in [(1, 1), (6, 3), (7 * 40 + 3, 8)] {
            let machines: Vec<_> = (0..queues).map(|_| EmulatedMachine::new()).collect();
            let steps = ladder(&machines, points).unwrap();
            assert_eq!(steps.len(), 7);
            for step in steps {
                assert!(step.right, "{points} points: {step:?}");
                assert!(step.points_per_second > 0.0 && step.share_of_floor > 0.0);
            }
        }
    }
}
