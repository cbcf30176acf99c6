//! Sorts points by series and time.

use super::resident::Points;
use bytemuck::Pod;
use warpstride_cuda::gpu::{Buffer, Device, Result};
use warpstride_device::launch::Work;
use warpstride_kernels::series::check_sorted::{
    DESCENTS, PLACES, REPEATS, SeriesCheckSorted, VARYING,
};
use warpstride_kernels::series::scan::SeriesScanRows;
use warpstride_kernels::series::series_of::tiles;
use warpstride_kernels::series::sort::{DIGITS, SeriesSortCount, SeriesSortGather, SeriesSortMove};

/// Bits per digit.
const BITS: u64 = (DIGITS - 1) as u64;

/// Properties of the timestamps of points.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TimestampCheck {
    /// Number of points with an earlier timestamp than the preceding point of their series; 0 if
    /// all series are sorted.
    pub(super) descents: usize,
    /// Number of points with the same timestamp as the preceding point of their series; if all
    /// series are sorted, the number of duplicates.
    pub(super) repeats: usize,
    /// Bits in which the timestamps differ.
    pub(super) varying: u64,
}

impl TimestampCheck {
    /// Examines the points and waits for the result.
    ///
    /// # Errors
    /// If device memory is insufficient; errors of the driver.
    pub(super) fn of<M: Device>(device: &M, points: &Points<M>) -> Result<Self> {
        let mut found = [0_u32; PLACES];
        if points.points > 0 {
            let mut check = device.alloc::<u32>("check of timestamps", PLACES)?;
            let launch = SeriesCheckSorted {
                times: points.times.read(),
                offsets: points.offsets.read(),
                counts: check.write(),
                points: points.points as u32,
                series: points.series as u32,
            };
            device.launch(&launch, Work::Elements(points.points))?;
            device.download(&check, &mut found)?;
        }
        Ok(Self {
            descents: found[DESCENTS] as usize,
            repeats: found[REPEATS] as usize,
            varying: u64::from(found[VARYING + 1]) << 32 | u64::from(found[VARYING]),
        })
    }
}

/// Buffers of a sort.
pub(super) struct Sort<M: Device> {
    times: M::Buffer<u64>,
    values: M::Buffer<f64>,
    /// (point), indices before the sort: input and output of a pass.
    numbers: [M::Buffer<u32>; 2],
    /// (digit, tile).
    counts: M::Buffer<u32>,
    totals: M::Buffer<u32>,
}

/// A pass over one digit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Pass {
    shift: u32,
    by_series: bool,
}

/// The digits that cover all bits of `varying`, from the lowest. Each begins with a varying bit.
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
    // All bits up to the highest bit of the greatest index.
    let of_series = u64::MAX.checked_shr(greatest.leading_zeros()).unwrap_or(0);
    let by_time: Vec<Pass> = digits(varying, false).collect();
    if by_time.is_empty() {
        return by_time;
    }
    by_time.into_iter().chain(digits(of_series, true)).collect()
}

impl<M: Device> Sort<M> {
    /// Makes empty buffers.
    ///
    /// # Errors
    /// Errors of the driver.
    pub(super) fn new(device: &M) -> Result<Self> {
        Ok(Self {
            times: device.alloc("timestamps to sort", 0)?,
            values: device.alloc("values to sort", 0)?,
            numbers: [
                device.alloc("indices of points", 0)?,
                device.alloc("indices of points", 0)?,
            ],
            counts: device.alloc("digits of timestamps", 0)?,
            totals: device.alloc("digits of timestamps", DIGITS)?,
        })
    }

    /// Queues a stable sort of the points of every series by time. Bits outside `varying` must be
    /// the same in all timestamps. Replaces the points' buffers.
    ///
    /// # Errors
    /// If device memory is insufficient; errors of the driver.
    pub(super) fn queue(&mut self, device: &M, points: &mut Points<M>, varying: u64) -> Result<()> {
        let (count, series) = (points.points, points.series);
        let passes = passes(varying, series);
        if count == 0 || passes.is_empty() {
            return Ok(());
        }
        let tiles = tiles(count);
        grow(device, "timestamps to sort", &mut self.times, count)?;
        grow(device, "values to sort", &mut self.values, count)?;
        for numbers in &mut self.numbers {
            grow(device, "indices of points", numbers, count)?;
        }
        grow(
            device,
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
            device.launch(&counting, Work::Blocks(tiles))?;
            let scan = SeriesScanRows {
                counts: self.counts.write(),
                totals: self.totals.write(),
                rows: DIGITS as u32,
                length: tiles as u32,
            };
            device.launch(&scan, Work::Blocks(DIGITS))?;
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
            device.launch(&moving, Work::Blocks(tiles))?;
            std::mem::swap(&mut points.times, &mut self.times);
            self.numbers.swap(0, 1);
        }
        let gather = SeriesSortGather {
            numbers: self.numbers[0].read(),
            values: points.values.read(),
            out: self.values.write(),
            points: count as u32,
        };
        device.launch(&gather, Work::Elements(count))?;
        std::mem::swap(&mut points.values, &mut self.values);
        Ok(())
    }
}

/// Replaces a buffer that has fewer than `len` elements; its contents are lost.
pub(super) fn grow<M: Device, T: Pod + Send>(
    device: &M,
    what: &'static str,
    buffer: &mut M::Buffer<T>,
    len: usize,
) -> Result<()> {
    if buffer.len() < len {
        // The old buffer is freed first, because both may not fit.
        *buffer = device.alloc(what, 0)?;
        *buffer = device.alloc(what, len)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpstride_cuda::gpu::EmulatedDevice;

    #[test]
    fn digits_skip_constant_bits() {
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
        let device = EmulatedDevice::default();
        let times: Vec<u64> = (0..5000)
            .map(|i| 1 << 40 | (i * 7919 % 1000) << 9)
            .collect();
        let values: Vec<f64> = (0..5000).map(f64::from).collect();
        let offsets = [0_u32, 0, 17, 4500, 5000];
        let mut points = Points::with_capacity(&device, 5000, 4).unwrap();
        device.upload(&mut points.times, &times).unwrap();
        device.upload(&mut points.values, &values).unwrap();
        device.upload(&mut points.offsets, &offsets).unwrap();
        let check = TimestampCheck::of(&device, &points).unwrap();
        assert!(check.descents > 0);
        assert_eq!(check.varying & !(1023 << 9), 0);
        let mut sort = Sort::new(&device).unwrap();
        sort.queue(&device, &mut points, check.varying).unwrap();
        assert_eq!(TimestampCheck::of(&device, &points).unwrap().descents, 0);
        let mut expected: Vec<usize> = Vec::new();
        for pair in offsets.windows(2) {
            let mut order: Vec<usize> = (pair[0] as usize..pair[1] as usize).collect();
            order.sort_by_key(|i| times[*i]);
            expected.extend(order);
        }
        let mut found = vec![0.0; 5000];
        device.download(&points.values, &mut found).unwrap();
        let expected: Vec<f64> = expected.iter().map(|i| values[*i]).collect();
        assert_eq!(found, expected);
    }
}
