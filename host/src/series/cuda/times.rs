//! What the stages take on points that lie in the device's memory, by its own clock.

use super::chunks::Chunk;
use super::lane::{Job, Lane, Stage};
use super::packed::Packed;
use super::wanted::Wanted;
use crate::gpu::{Machine, Result};
use warpstride_kernels::series::bucket::Bucketing;

/// Recorded together for one reading of the clock, so that their start does not count.
const TOGETHER: usize = 10;
/// Readings, of which the median counts.
const READINGS: usize = 9;

/// The device's time for a stage.
#[derive(Debug, Clone, PartialEq)]
pub struct StageTime {
    /// `series` (where they begin: the end of loading, or part of rates), `all` that follows when points are loaded,
    /// `rates`, `one pass` (where buckets begin too), `long` (its methods of buckets of more than 32 points; about 0 where
    /// there are none), or `order`.
    pub stage: &'static str,
    /// Place of the granularity; none of stages that have to do with none.
    pub granularity: Option<usize>,
    /// Of rates.
    pub rate: bool,
    /// Milliseconds.
    pub milliseconds: f64,
}

/// Of what follows when the chunk is loaded: of all stages together, then of each.
pub(super) fn of_stages<M: Machine>(
    machine: &M,
    lane: &mut Lane<M>,
    job: &Job,
    rules: &[Bucketing],
    wanted: &[Wanted],
) -> Result<Vec<StageTime>> {
    // Memory is taken before anything is timed or recorded.
    lane.index(machine, &job.chunk, wanted, &mut |_, work| work())?;
    lane.find(machine, job, rules, wanted, &mut |_, work| work())?;
    let known = lane.longest(machine, job)?;
    lane.long(machine, job, wanted, &known, &mut |_, work| work())?;
    let longest = lane.longest(machine, job)?;
    lane.order(machine, job, wanted, &longest, &mut |_, work| work())?;
    machine.synchronize()?;
    let milliseconds = median(machine, &mut || {
        lane.find(machine, job, rules, wanted, &mut |_, work| work())?;
        lane.long(machine, job, wanted, &known, &mut |_, work| work())?;
        lane.order(machine, job, wanted, &longest, &mut |_, work| work())
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
            milliseconds: median(machine, work)?,
        });
        Ok(())
    };
    lane.index(machine, &job.chunk, wanted, &mut each)?;
    lane.find(machine, job, rules, wanted, &mut each)?;
    lane.long(machine, job, wanted, &known, &mut each)?;
    lane.order(machine, job, wanted, &longest, &mut each)?;
    Ok(times)
}

/// Milliseconds of the sort of a chunk as it arrives; none where it is sorted.
pub(super) fn of_sort<M: Machine>(
    machine: &M,
    lane: &mut Lane<M>,
    chunk: &Chunk,
    packed: &Packed<M>,
) -> Result<Option<f64>> {
    if chunk.sorted {
        return Ok(None);
    }
    let mut readings = Vec::with_capacity(READINGS);
    for _ in 0..=READINGS {
        let sent = lane.arrive(machine, chunk, Some(packed))?;
        machine.synchronize()?;
        drop(sent);
        readings.push(f64::from(machine.time_ms(&mut || lane.sort(machine))?));
    }
    // The first has taken memory.
    readings.remove(0);
    readings.sort_by(f64::total_cmp);
    Ok(Some(readings[READINGS / 2]))
}

/// Milliseconds of some work that can be repeated.
pub(crate) fn median<M: Machine>(machine: &M, work: &mut dyn FnMut() -> Result<()>) -> Result<f64> {
    let mut together = || (0..TOGETHER).try_for_each(|_| work());
    let mut recording = machine.record(&mut together)?;
    let mut again = || match &mut recording {
        Some(recording) => machine.replay(recording),
        None => together(),
    };
    again()?;
    machine.synchronize()?;
    let mut readings = Vec::with_capacity(READINGS);
    for _ in 0..READINGS {
        let together = machine.time_ms(&mut again)?;
        readings.push(f64::from(together) / TOGETHER as f64);
    }
    readings.sort_by(f64::total_cmp);
    Ok(readings[READINGS / 2])
}
