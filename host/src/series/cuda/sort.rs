//! Points in the order of time.

use super::resident::Points;
use crate::gpu::{Buffer, Machine, Result};
use bytemuck::Pod;
use warpstride_device::launch::Work;
use warpstride_kernels::series::scan::SeriesScanRows;
use warpstride_kernels::series::series_of::tiles;
use warpstride_kernels::series::sort::{DIGITS, SeriesSortCount, SeriesSortGather, SeriesSortMove};
use warpstride_kernels::series::survey::{DESCENTS, PLACES, REPEATS, SeriesSurvey, VARYING};

/// Bits of a digit.
const BITS: u64 = (DIGITS - 1) as u64;

/// What the timestamps of points show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Survey {
    /// Points with a timestamp less than that before in their series: 0 where all is sorted.
    pub(super) descents: usize,
    /// Points with the timestamp of the one before in their series: where all is sorted, the duplicates.
    pub(super) repeats: usize,
    /// Bits in which timestamps differ.
    pub(super) varying: u64,
}

impl Survey {
    /// Looks at the points and waits for the answer.
    ///
    /// # Errors
    /// Out of memory, or the driver's.
    pub(super) fn of<M: Machine>(machine: &M, points: &Points<M>) -> Result<Self> {
        let mut found = [0_u32; PLACES];
        if points.points > 0 {
            let mut survey = machine.alloc::<u32>("survey of timestamps", PLACES)?;
            let launch = SeriesSurvey {
                times: points.times.read(),
                offsets: points.offsets.read(),
                survey: survey.write(),
                points: points.points as u32,
                series: points.series as u32,
            };
            machine.launch(&launch, Work::Elements(points.points))?;
            machine.download(&survey, &mut found)?;
        }
        Ok(Self {
            descents: found[DESCENTS] as usize,
            repeats: found[REPEATS] as usize,
            varying: u64::from(found[VARYING + 1]) << 32 | u64::from(found[VARYING]),
        })
    }
}

/// What a sort keeps.
pub(super) struct Sort<M: Machine> {
    times: M::Buffer<u64>,
    values: M::Buffer<f64>,
    /// (point), numbers before the sort: what a pass reads, and what it writes.
    numbers: [M::Buffer<u32>; 2],
    /// (digit, tile).
    counts: M::Buffer<u32>,
    totals: M::Buffer<u32>,
}

/// One digit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Pass {
    shift: u32,
    by_series: bool,
}

/// Digits that hold all bits of `varying`, from the lowest on; none of them begins with a bit that does not vary.
fn digits(varying: u64, by_series: bool) -> impl Iterator<Item = Pass> {
    let mut rest = varying;
    std::iter::from_fn(move || {
        let shift = rest.trailing_zeros();
        if shift == u64::BITS {
            return None;
        }
        rest &= !(BITS << shift);
        Some(Pass { shift, by_series })
    })
}

/// All passes: by time, then by series.
fn passes(varying: u64, series: usize) -> Vec<Pass> {
    let greatest = series.saturating_sub(1) as u64;
    // All bits up to the greatest number's highest.
    let of_series = u64::MAX.checked_shr(greatest.leading_zeros()).unwrap_or(0);
    let by_time: Vec<Pass> = digits(varying, false).collect();
    if by_time.is_empty() {
        return by_time;
    }
    by_time.into_iter().chain(digits(of_series, true)).collect()
}

impl<M: Machine> Sort<M> {
    /// Without memory.
    ///
    /// # Errors
    /// The driver's.
    pub(super) fn new(machine: &M) -> Result<Self> {
        Ok(Self {
            times: machine.alloc("timestamps to sort", 0)?,
            values: machine.alloc("values to sort", 0)?,
            numbers: [
                machine.alloc("places of points", 0)?,
                machine.alloc("places of points", 0)?,
            ],
            counts: machine.alloc("digits of timestamps", 0)?,
            totals: machine.alloc("digits of timestamps", DIGITS)?,
        })
    }

    /// Queues: brings the points of every series in the order of time; those of one time stay in their order. Bits of
    /// timestamps that are not among `varying` must be the same in all. The points get other buffers.
    ///
    /// # Errors
    /// Out of memory, or the driver's.
    pub(super) fn queue(
        &mut self,
        machine: &M,
        points: &mut Points<M>,
        varying: u64,
    ) -> Result<()> {
        let (count, series) = (points.points, points.series);
        let passes = passes(varying, series);
        if count == 0 || passes.is_empty() {
            return Ok(());
        }
        let tiles = tiles(count);
        grow(machine, "timestamps to sort", &mut self.times, count)?;
        grow(machine, "values to sort", &mut self.values, count)?;
        for numbers in &mut self.numbers {
            grow(machine, "places of points", numbers, count)?;
        }
        grow(
            machine,
            "digits of timestamps",
            &mut self.counts,
            DIGITS * tiles,
        )?;
        for (number, pass) in passes.into_iter().enumerate() {
            let [from, to] = &mut self.numbers;
            let in_order = u32::from(number == 0);
            let by_series = u32::from(pass.by_series);
            let counting = SeriesSortCount {
                times: points.times.read(),
                numbers: from.read(),
                offsets: points.offsets.read(),
                counts: self.counts.write(),
                points: count as u32,
                series: series as u32,
                shift: pass.shift,
                by_series,
                in_order,
            };
            machine.launch(&counting, Work::Blocks(tiles))?;
            let scan = SeriesScanRows {
                counts: self.counts.write(),
                totals: self.totals.write(),
                rows: DIGITS as u32,
                length: tiles as u32,
            };
            machine.launch(&scan, Work::Blocks(DIGITS))?;
            let moving = SeriesSortMove {
                times: points.times.read(),
                numbers: from.read(),
                offsets: points.offsets.read(),
                counts: self.counts.read(),
                totals: self.totals.read(),
                times_out: self.times.write(),
                numbers_out: to.write(),
                points: count as u32,
                series: series as u32,
                shift: pass.shift,
                by_series,
                in_order,
            };
            machine.launch(&moving, Work::Blocks(tiles))?;
            std::mem::swap(&mut points.times, &mut self.times);
            self.numbers.swap(0, 1);
        }
        let gather = SeriesSortGather {
            numbers: self.numbers[0].read(),
            values: points.values.read(),
            out: self.values.write(),
            points: count as u32,
        };
        machine.launch(&gather, Work::Elements(count))?;
        std::mem::swap(&mut points.values, &mut self.values);
        Ok(())
    }
}

/// At least so many elements; what was there is lost where it grows.
pub(super) fn grow<M: Machine, T: Pod + Send>(
    machine: &M,
    what: &'static str,
    buffer: &mut M::Buffer<T>,
    len: usize,
) -> Result<()> {
    if buffer.len() < len {
        // The old one first: both may not fit.
        *buffer = machine.alloc(what, 0)?;
        *buffer = machine.alloc(what, len)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::EmulatedMachine;

    #[test]
    fn digits_leave_out_what_does_not_vary() {
        let shifts = |varying, series| {
            let passes = passes(varying, series);
            passes
                .iter()
                .map(|pass| (pass.shift, pass.by_series))
                .collect::<Vec<_>>()
        };
        assert_eq!(shifts(0, 1000), []);
        assert_eq!(shifts(1 << 9, 1), [(9, false)]);
        assert_eq!(
            shifts(0x1_01FF_0000, 3),
            [(16, false), (24, false), (32, false), (0, true)]
        );
        assert_eq!(shifts(1 << 63, 257), [(63, false), (0, true), (8, true)]);
        let all = digits(u64::MAX, false).count();
        assert_eq!(all, 8);
    }

    #[test]
    fn a_batch_is_sorted_by_series_and_time() {
        let machine = EmulatedMachine::default();
        let times: Vec<u64> = (0..5000)
            .map(|i| 1 << 40 | (i * 7919 % 1000) << 9)
            .collect();
        let values: Vec<f64> = (0..5000).map(f64::from).collect();
        let offsets = [0_u32, 0, 17, 4500, 5000];
        let mut points = Points::with_room(&machine, 5000, 4).unwrap();
        machine.upload(&mut points.times, &times).unwrap();
        machine.upload(&mut points.values, &values).unwrap();
        machine.upload(&mut points.offsets, &offsets).unwrap();
        let survey = Survey::of(&machine, &points).unwrap();
        assert!(survey.descents > 0);
        assert_eq!(survey.varying & !(1023 << 9), 0);
        let mut sort = Sort::new(&machine).unwrap();
        sort.queue(&machine, &mut points, survey.varying).unwrap();
        assert_eq!(Survey::of(&machine, &points).unwrap().descents, 0);
        let mut expected: Vec<usize> = Vec::new();
        for pair in offsets.windows(2) {
            let mut order: Vec<usize> = (pair[0] as usize..pair[1] as usize).collect();
            order.sort_by_key(|i| times[*i]);
            expected.extend(order);
        }
        let mut found = vec![0.0; 5000];
        machine.download(&points.values, &mut found).unwrap();
        let expected: Vec<f64> = expected.iter().map(|i| values[*i]).collect();
        assert_eq!(found, expected);
    }
}
