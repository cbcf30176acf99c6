//! Measures the stages on points in device memory, by the device's clock.

use super::chunks::Chunk;
use super::output_columns::OutputColumns;
use super::packed::Packed;
use super::stream_queue::{Job, Stage, StreamQueue};
use warpstride_cuda::gpu::{Device, Result};
use warpstride_kernels::series::bucket::Bucketing;

/// Number of repetitions captured in a graph and timed together, so that the launch overhead is
/// negligible.
const REPETITIONS: usize = 10;
/// Number of readings, of which the median is taken.
const READINGS: usize = 9;

/// The time that the device takes for a stage.
#[derive(Debug, Clone, PartialEq)]
pub struct StageTime {
    /// `series` (finding the first points of series: the end of loading, or a part of rates), `all`
    /// stages after loading, `rates`, `one pass` (includes finding buckets), `long` (one-pass
    /// methods of buckets with more than 32 points; about 0 if there are none), or `order`.
    pub stage: &'static str,
    /// Index of the granularity; `None` for stages that do not depend on it.
    pub granularity: Option<usize>,
    /// Whether the stage processes rates.
    pub rate: bool,
    /// Milliseconds.
    pub milliseconds: f64,
}

/// Times of what follows after the chunk is loaded: of all stages together, then of each.
pub(super) fn of_stages<M: Device>(
    device: &M,
    queue: &mut StreamQueue<M>,
    job: &Job,
    rules: &[Bucketing],
    outputs: &[OutputColumns],
) -> Result<Vec<StageTime>> {
    // Memory is allocated before anything is timed or captured.
    queue.index(device, &job.chunk, outputs, &mut |_, work| work())?;
    queue.find(device, job, rules, outputs, &mut |_, work| work())?;
    let known = queue.longest(device, job)?;
    queue.long(device, job, outputs, &known, &mut |_, work| work())?;
    let longest = queue.longest(device, job)?;
    queue.order(device, job, outputs, &longest, &mut |_, work| work())?;
    device.synchronize()?;
    let milliseconds = median(device, &mut || {
        queue.find(device, job, rules, outputs, &mut |_, work| work())?;
        queue.long(device, job, outputs, &known, &mut |_, work| work())?;
        queue.order(device, job, outputs, &longest, &mut |_, work| work())
    })?;
    let mut times = vec![StageTime {
        stage: "all",
        granularity: None,
        rate: false,
        milliseconds,
    }];
    let mut each = |stage: Stage, work: &mut dyn FnMut() -> Result<()>| {
        times.push(StageTime {
            stage: stage.name,
            granularity: stage.granularity,
            rate: stage.rate,
            milliseconds: median(device, work)?,
        });
        Ok(())
    };
    queue.index(device, &job.chunk, outputs, &mut each)?;
    queue.find(device, job, rules, outputs, &mut each)?;
    queue.long(device, job, outputs, &known, &mut each)?;
    queue.order(device, job, outputs, &longest, &mut each)?;
    Ok(times)
}

/// Milliseconds to sort a chunk as transferred; `None` if it is already sorted.
pub(super) fn of_sort<M: Device>(
    device: &M,
    queue: &mut StreamQueue<M>,
    chunk: &Chunk,
    packed: &Packed<M>,
) -> Result<Option<f64>> {
    if chunk.sorted {
        return Ok(None);
    }
    let mut readings = Vec::with_capacity(READINGS);
    for _ in 0..=READINGS {
        let sent = queue.arrive(device, chunk, Some(packed))?;
        device.synchronize()?;
        drop(sent);
        readings.push(f64::from(device.time_ms(&mut || queue.sort(device))?));
    }
    // The first run allocated memory.
    readings.remove(0);
    readings.sort_by(f64::total_cmp);
    Ok(Some(readings[READINGS / 2]))
}

/// Median time of a repeatable operation in milliseconds.
pub(crate) fn median<M: Device>(device: &M, work: &mut dyn FnMut() -> Result<()>) -> Result<f64> {
    let mut together = || (0..REPETITIONS).try_for_each(|_| work());
    let mut graph = device.capture(&mut together)?;
    let mut again = || match &mut graph {
        Some(graph) => device.replay(graph),
        None => together(),
    };
    again()?;
    device.synchronize()?;
    let mut readings = Vec::with_capacity(READINGS);
    for _ in 0..READINGS {
        let together = device.time_ms(&mut again)?;
        readings.push(f64::from(together) / REPETITIONS as f64);
    }
    readings.sort_by(f64::total_cmp);
    Ok(readings[READINGS / 2])
}
