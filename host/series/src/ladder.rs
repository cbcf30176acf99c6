//! The kernels of an earlier attempt at time series on GPUs, corrected and each timed against the
//! current kernel.
//!
//! All steps sum the values of each 35 s bucket of one series, with values 0, 1, 2, … 5 s apart
//! from 2015-04-03T23:11:00 UTC. As in the earlier attempt, which found the buckets on the CPU, the
//! first steps receive the buckets as input; the current kernels find them on the device, within
//! the measured time.

use super::cuda::{GpuEngine, median};
use super::definition;
use super::{Aggregate, Batch, Granularity, Method, NanPolicy, Resample, SeriesError};
use serde::Serialize;
use std::sync::Arc;
use std::time::Instant;
use warpstride_cuda::gpu::{Buffer, Device, PendingCopy, Result};
use warpstride_device::launch::Work;
use warpstride_kernels::series::ladder::{
    SeriesLadderAtomic, SeriesLadderOneBlock, SeriesLadderStaged,
};

/// Number of points of the example: 7·2²⁰.
pub const POINTS: usize = 7 << 20;
/// Number of streams of the fourth step.
pub const QUEUES: usize = 8;

const SECOND: u64 = 1_000_000_000;
/// Time of the first point, in seconds since 1970.
const START: u64 = 1_428_102_660;
/// Number of end-to-end runs, of which the median is taken.
const RUNS: usize = 15;
/// Number of elements copied to measure memory bandwidth.
const COPIED: usize = 1 << 25;

/// A measured step.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LadderStep {
    /// A short name.
    pub name: &'static str,
    /// The difference from the preceding step.
    pub what: &'static str,
    /// Time by the device's clock; end-to-end times by the host's clock.
    pub milliseconds: f64,
    /// Points per second.
    pub points_per_second: f64,
    /// Ratio of the time of a plain copy of its bytes, within the device or over the link, to the
    /// measured time.
    pub share_of_floor: f64,
    /// Whether every bucket has the bits of the definition.
    pub right: bool,
}

/// Runs all steps on streams of one device. Steps that need a single stream use the first.
///
/// # Errors
/// If `devices` is empty or memory is insufficient; errors of the device.
pub fn ladder<M: Device>(
    devices: &[M],
    points: usize,
) -> std::result::Result<Vec<LadderStep>, SeriesError> {
    let Some(device) = devices.first() else {
        return Err(warpstride_cuda::gpu::GpuError::NoDevices.into());
    };
    let runner = StepRunner::new(device, points)?;
    let mut steps = vec![
        runner.atomic(device)?,
        runner.one_block(device)?,
        runner.staged(device)?,
        runner.streams(devices)?,
    ];
    steps.extend(runner.product(devices)?);
    Ok(steps)
}

/// State shared by the steps.
struct StepRunner<M: Device> {
    batch: Batch,
    plan: Resample,
    expected: super::Resampled,
    /// (bucket + 1), on the host.
    first: Vec<u32>,
    values: M::Buffer<f64>,
    first_there: M::Buffer<u32>,
    /// Bytes per millisecond within the device, to it, and from it.
    speeds: [f64; 3],
}

fn plan(methods: &[Method]) -> std::result::Result<Resample, SeriesError> {
    Resample::new(
        vec![Granularity::Fixed(35 * SECOND)],
        methods.iter().copied().map(Aggregate::of).collect(),
        NanPolicy::Keep,
    )
}

impl<M: Device> StepRunner<M> {
    fn new(device: &M, points: usize) -> std::result::Result<Self, SeriesError> {
        let times = (0..points as i64).map(|i| (START as i64 + 5 * i) * SECOND as i64);
        let values = (0..points).map(|i| i as f64);
        let batch = Batch::single(times.collect(), values.collect())?;
        let plan = plan(&[Method::Sum])?;
        let expected = definition::resample(&plan, &batch);
        let mut first = vec![0];
        for count in &expected.buckets[0].counts {
            first.push(first[first.len() - 1] + count);
        }
        let mut there = device.alloc("values", points)?;
        device.upload(&mut there, batch.values())?;
        let mut first_there = device.alloc("buckets", first.len())?;
        device.upload(&mut first_there, &first)?;
        Ok(Self {
            speeds: speeds(device, COPIED.min(16 * points))?,
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

    /// A step with values in device memory.
    fn resident(
        &self,
        device: &M,
        labels: [&'static str; 2],
        launch: impl Fn(&mut M::Buffer<f64>) -> Result<()>,
    ) -> Result<LadderStep> {
        let buckets = self.buckets() as usize;
        let mut sums = device.alloc("sums", buckets)?;
        let milliseconds = median(device, &mut || launch(&mut sums))?;
        let mut found = vec![0.0; buckets];
        device.download(&sums, &mut found)?;
        let bytes = 8 * (self.batch.len() + buckets) + 4 * self.first.len();
        let floor = bytes as f64 / self.speeds[0];
        Ok(self.step(labels, milliseconds, floor, self.is_right(&found)))
    }

    fn is_right(&self, sums: &[f64]) -> bool {
        let expected = &self.expected.buckets[0].columns[0].values;
        let bits = |values: &[f64]| values.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
        bits(sums) == bits(expected)
    }

    fn atomic(&self, device: &M) -> Result<LadderStep> {
        let labels = [
            "v1",
            "one thread per bucket, atomic additions in global memory",
        ];
        self.resident(device, labels, |sums| {
            device.zero(sums)?;
            let launch = SeriesLadderAtomic {
                values: self.values.read(),
                first: self.first_there.read(),
                sums: sums.write(),
                points: self.batch.len() as u32,
                buckets: self.buckets(),
            };
            device.launch(&launch, Work::Elements(self.buckets() as usize))
        })
    }

    fn one_block(&self, device: &M) -> Result<LadderStep> {
        let labels = ["v2", "one block iterates over chunks, sums in registers"];
        self.resident(device, labels, |sums| {
            let launch = SeriesLadderOneBlock {
                values: self.values.read(),
                first: self.first_there.read(),
                sums: sums.write(),
                points: self.batch.len() as u32,
                buckets: self.buckets(),
            };
            device.launch(&launch, Work::Grid([1, 1, 1]))
        })
    }

    fn staged(&self, device: &M) -> Result<LadderStep> {
        let labels = ["v3", "coalesced reads into shared memory"];
        self.resident(device, labels, |sums| {
            let launch = SeriesLadderStaged {
                values: self.values.read(),
                first: self.first_there.read(),
                sums: sums.write(),
                points: self.batch.len() as u32,
                origin: 0,
                bucket_from: 0,
                buckets: self.buckets(),
            };
            device.launch(
                &launch,
                Work::Blocks((self.buckets() as usize).div_ceil(256)),
            )
        })
    }

    /// Splits the buckets among the streams; values come from page-locked memory and sums return to
    /// it.
    fn streams(&self, devices: &[M]) -> Result<LadderStep> {
        let labels = [
            "v4",
            "v3 from and to page-locked memory, over eight streams",
        ];
        let buckets = self.buckets() as usize;
        let each = buckets.div_ceil(devices.len()).max(1);
        let mut queues = Vec::new();
        for (device, from) in devices.iter().zip((0..buckets).step_by(each)) {
            let end = (from + each).min(buckets);
            let (origin, behind) = (self.first[from] as usize, self.first[end] as usize);
            let mut values = device.pinned::<f64>("values", behind - origin)?;
            values.copy_from_slice(&self.batch.values()[origin..behind]);
            queues.push(Queue {
                device,
                there: device.alloc("values", behind - origin)?,
                values: Arc::new(values),
                back: Some(device.pinned("sums", end - from)?),
                origin,
                buckets: from..end,
            });
        }
        let mut sums = devices[0].alloc("sums", buckets)?;
        let mut times = Vec::new();
        for _ in 0..RUNS {
            let start = Instant::now();
            let mut sent = Vec::new();
            let mut coming = Vec::new();
            for queue in &mut queues {
                let all = 0..queue.values.len();
                sent.push(queue.device.send(&queue.values, all, &mut queue.there, 0)?);
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
                    .device
                    .launch(&launch, Work::Blocks(pieces.div_ceil(256)))?;
                if let Some(back) = queue.back.take() {
                    let part = std::slice::from_ref(&queue.buckets);
                    coming.push(queue.device.receive(&sums, part, back)?);
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
        Ok(self.step(labels, middle(times), floor, self.is_right(&found)))
    }

    /// The current kernels, which also find the buckets: sums, all one-pass methods, and sums end
    /// to end.
    fn product(&self, devices: &[M]) -> std::result::Result<Vec<LadderStep>, SeriesError> {
        let device = &devices[0];
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
        for (labels, plan, expected) in [
            (
                ["product", "finds buckets of any length on the device"],
                self.plan.clone(),
                None,
            ),
            (
                [
                    "product, 8",
                    "count, sum, mean, min, max, first, last, std in one pass",
                ],
                plan(&one_pass)?,
                Some(definition::resample(&plan(&one_pass)?, &self.batch)),
            ),
        ] {
            let columns = plan.aggregates().iter();
            let columns = columns.filter(|a| a.method != Method::Count).count();
            let mut engine = GpuEngine::new(device, plan)?.chunked(usize::MAX, usize::MAX);
            let staged = engine.stage(&self.batch)?;
            let results = engine.resample_staged(&staged)?;
            let found = engine.collect(&staged, results)?;
            let right = definition::difference(&found, expected.as_ref().unwrap_or(&self.expected))
                .is_none();
            let times = engine.time_stages(&staged)?;
            let milliseconds = times.first().map_or(f64::NAN, |all| all.milliseconds);
            let bytes = 16 * self.batch.len() + (12 + 8 * columns) * buckets;
            let floor = bytes as f64 / self.speeds[0];
            steps.push(self.step(labels, milliseconds, floor, right));
        }

        let labels = [
            "product, whole",
            "from and to page-locked memory, compressed timestamps",
        ];
        let mut engine = GpuEngine::with_streams(devices.iter().collect(), self.plan.clone())?;
        let staged = engine.stage(&self.batch)?;
        let results = engine.resample_staged(&staged)?;
        let found = engine.collect(&staged, results)?;
        let right = definition::difference(&found, &self.expected).is_none();
        let mut times = Vec::new();
        for _ in 0..RUNS {
            let start = Instant::now();
            let results = engine.resample_staged(&staged)?;
            times.push(start.elapsed().as_secs_f64() * 1e3);
            engine.recycle(results);
        }
        let there = staged.bytes() as f64 / self.speeds[1];
        let back = (20 * buckets) as f64 / self.speeds[2];
        steps.push(self.step(labels, middle(times), there.max(back), right));
        Ok(steps)
    }
}

/// A stream of the fourth step.
struct Queue<'a, M: Device> {
    device: &'a M,
    values: Arc<M::Pinned<f64>>,
    there: M::Buffer<f64>,
    back: Option<M::Pinned<f64>>,
    /// First point.
    origin: usize,
    buckets: std::ops::Range<usize>,
}

/// Bytes per millisecond within the device (read and written), to it, and from it, measured by
/// copies.
fn speeds<M: Device>(device: &M, elements: usize) -> Result<[f64; 3]> {
    let mut from = device.alloc::<u64>("a copy", elements)?;
    let mut to = device.alloc::<u64>("a copy", elements)?;
    let within = median(device, &mut || device.copy(&from, &mut to))?;
    let mut host = Arc::new(device.pinned::<u64>("a copy", elements)?);
    let (mut there, mut back) = (Vec::new(), Vec::new());
    let all = 0..elements;
    for _ in 0..RUNS {
        let start = Instant::now();
        device.send(&host, all.clone(), &mut from, 0)?.wait()?;
        there.push(start.elapsed().as_secs_f64() * 1e3);
        let Some(memory) = Arc::into_inner(host) else {
            break;
        };
        let start = Instant::now();
        let coming = device.receive(&from, std::slice::from_ref(&all), memory)?;
        host = Arc::new(coming.wait()?);
        back.push(start.elapsed().as_secs_f64() * 1e3);
    }
    let bytes = (8 * elements) as f64;
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
    use warpstride_cuda::gpu::EmulatedDevice;

    #[test]
    fn every_step_is_correct() {
        for (points, queues) in [(1, 1), (6, 3), (7 * 40 + 3, 8)] {
            let devices: Vec<_> = (0..queues).map(|_| EmulatedDevice::new()).collect();
            let steps = ladder(&devices, points).unwrap();
            assert_eq!(steps.len(), 7);
            for step in steps {
                assert!(step.right, "{points} points: {step:?}");
                assert!(step.points_per_second > 0.0 && step.share_of_floor > 0.0);
            }
        }
    }
}
