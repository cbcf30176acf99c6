//! Sorting, packing, differences and coded timestamps against the same in plain loops: for series of mixed lengths, empty
//! ones among them, at launches that divide by nothing and in both orders of threads.

#![cfg(feature = "series")]

mod series;

use series::{LAUNCHES, Numbers, copy, launch, poisoned, zeroed};
use warpstride_device::emulator::{Memory, Order};
use warpstride_kernels::series::check_sorted::{DESCENTS, REPEATS, SeriesCheckSorted, VARYING};
use warpstride_kernels::series::compact::{
    DIFFERENCES, NO_NAN, NO_REPEATS, SeriesCompactCount, SeriesCompactMove, SeriesCompactOffsets,
};
use warpstride_kernels::series::scan::SeriesScanRows;
use warpstride_kernels::series::series_of::tiles;
use warpstride_kernels::series::sort::{DIGITS, SeriesSortCount, SeriesSortGather, SeriesSortMove};
use warpstride_kernels::series::unpack::{FRAME, SeriesUnpack16, SeriesUnpack32, frames};

type Size = (u32, u32, Order);

/// Series one after the other.
struct Batch {
    times: Vec<u64>,
    values: Vec<f64>,
    offsets: Vec<u32>,
}

impl Batch {
    fn new(lengths: &[usize], mut time: impl FnMut(usize) -> u64) -> Self {
        let mut numbers = Numbers(77);
        let mut offsets = vec![0];
        let mut times = Vec::new();
        for length in lengths {
            times.extend((0..*length).map(&mut time));
            offsets.push(times.len() as u32);
        }
        let values = times.iter().map(|_| numbers.value()).collect();
        Self {
            times,
            values,
            offsets,
        }
    }

    fn points(&self) -> u32 {
        self.times.len() as u32
    }

    fn count(&self) -> u32 {
        self.offsets.len() as u32 - 1
    }

    fn of(&self, s: usize) -> std::ops::Range<usize> {
        self.offsets[s] as usize..self.offsets[s + 1] as usize
    }
}

fn lengths() -> Vec<Vec<usize>> {
    vec![
        vec![1],
        vec![0, 3, 0, 0, 1, 2, 0],
        vec![4099],
        vec![20; 90],
        vec![5, 0, 4096, 1, 8191, 0, 37, 2],
    ]
}

/// Bits of values, of which NaNs are compared too.
fn bits(values: &[f64]) -> Vec<u64> {
    values.iter().map(|v| v.to_bits()).collect()
}

fn scanned(counts: &mut Memory<u32>, rows: u32, length: u32, size: Size) -> Memory<u32> {
    let mut totals = poisoned::<u32>(rows as usize);
    let scan = SeriesScanRows {
        counts: counts.write(),
        totals: totals.write(),
        rows,
        length,
    };
    launch(&scan, size);
    totals
}

#[test]
fn rows_are_summed_before() {
    let mut numbers = Numbers(9);
    for (rows, length) in [(1, 1), (3, 33), (2, 1000), (5, 64), (2, 0)] {
        let start: Vec<u32> = (0..rows * length)
            .map(|_| numbers.below(1000) as u32)
            .collect();
        for size in LAUNCHES {
            let mut counts = copy(&start);
            let totals = scanned(&mut counts, rows, length, size);
            for row in 0..rows as usize {
                let range = row * length as usize..(row + 1) * length as usize;
                let mut sum = 0;
                for (found, value) in counts.as_slice()[range.clone()].iter().zip(&start[range]) {
                    assert_eq!(*found, sum);
                    sum += value;
                }
                assert_eq!(totals.as_slice()[row], sum);
            }
            assert_eq!(counts.check_canaries(), Ok(()));
        }
    }
}

/// Passes of (shift, by series) over the batch; times and values afterwards.
fn sorted(batch: &Batch, passes: &[(u32, u32)], size: Size) -> (Vec<u64>, Vec<f64>) {
    let points = batch.points() as usize;
    let offsets = copy(&batch.offsets);
    let mut times = copy(&batch.times);
    let mut numbers = poisoned::<u32>(points);
    for (pass, (shift, by_series)) in passes.iter().enumerate() {
        let in_order = u32::from(pass == 0);
        let mut counts = poisoned::<u32>(DIGITS * tiles(points));
        let count = SeriesSortCount {
            times: times.read(),
            numbers: numbers.read(),
            offsets: offsets.read(),
            counts: counts.write(),
            points: points as u32,
            series: batch.count(),
            shift: *shift,
            by_series: *by_series,
            in_order,
        };
        launch(&count, size);
        let totals = scanned(&mut counts, DIGITS as u32, tiles(points) as u32, size);
        let mut times_out = poisoned::<u64>(points);
        let mut numbers_out = poisoned::<u32>(points);
        let moved = SeriesSortMove {
            times: times.read(),
            numbers: numbers.read(),
            offsets: offsets.read(),
            counts: counts.read(),
            totals: totals.read(),
            times_out: times_out.write(),
            numbers_out: numbers_out.write(),
            points: points as u32,
            series: batch.count(),
            shift: *shift,
            by_series: *by_series,
            in_order,
        };
        launch(&moved, size);
        assert_eq!(counts.check_canaries(), Ok(()));
        assert_eq!(times_out.check_canaries(), Ok(()));
        assert_eq!(numbers_out.check_canaries(), Ok(()));
        (times, numbers) = (times_out, numbers_out);
    }
    let values = copy(&batch.values);
    let mut out = poisoned::<f64>(points);
    let gather = SeriesSortGather {
        numbers: numbers.read(),
        values: values.read(),
        out: out.write(),
        points: points as u32,
    };
    launch(&gather, size);
    (times.as_slice().to_vec(), out.as_slice().to_vec())
}

#[test]
fn points_are_sorted_and_ties_keep_their_order() {
    for lengths in lengths() {
        let mut numbers = Numbers(41);
        // Times of 11 varying bits from bit 20 on, so that many repeat.
        let batch = Batch::new(&lengths, |_| 1 << 60 | numbers.below(1 << 11) << 20);
        let mut expected: Vec<usize> = Vec::new();
        for s in 0..lengths.len() {
            let mut order: Vec<usize> = batch.of(s).collect();
            order.sort_by_key(|i| batch.times[*i]);
            expected.extend(order);
        }
        let times: Vec<u64> = expected.iter().map(|i| batch.times[*i]).collect();
        let values: Vec<f64> = expected.iter().map(|i| batch.values[*i]).collect();
        for size in LAUNCHES {
            let found = sorted(&batch, &[(20, 0), (28, 0), (0, 1)], size);
            assert_eq!(found.0, times);
            assert_eq!(bits(&found.1), bits(&values));
        }
    }
}

#[test]
fn many_series_take_two_digits() {
    let lengths: Vec<usize> = (0..700).map(|s| s % 4).collect();
    let batch = Batch::new(&lengths, |i| 900 - i as u64);
    let found = sorted(&batch, &[(0, 0), (8, 0), (0, 1), (8, 1)], LAUNCHES[1]);
    let mut values = Vec::new();
    for s in 0..lengths.len() {
        values.extend(batch.values[batch.of(s)].iter().rev());
    }
    assert_eq!(bits(&found.1), bits(&values));
}

#[test]
fn the_check_counts_points_out_of_order() {
    for lengths in lengths() {
        for range in [1_u64, 3, 1 << 40] {
            let mut numbers = Numbers(range + 5);
            let batch = Batch::new(&lengths, |i| {
                1 << 62 | (i as u64 / 3) << 5 | numbers.below(range) << 13
            });
            let (mut descents, mut repeats, mut varying) = (0, 0, 0);
            for s in 0..lengths.len() {
                for pair in batch.times[batch.of(s)].windows(2) {
                    descents += u32::from(pair[1] < pair[0]);
                    repeats += u32::from(pair[1] == pair[0]);
                }
            }
            for time in &batch.times {
                varying |= time ^ batch.times[0];
            }
            for size in LAUNCHES {
                let (times, offsets) = (copy(&batch.times), copy(&batch.offsets));
                let mut counts = zeroed::<u32>(4);
                let launched = SeriesCheckSorted {
                    times: times.read(),
                    offsets: offsets.read(),
                    counts: counts.write(),
                    points: batch.points(),
                    series: batch.count(),
                };
                launch(&launched, size);
                let found = counts.as_slice();
                assert_eq!([found[DESCENTS], found[REPEATS]], [descents, repeats]);
                assert_eq!(found[VARYING], varying as u32);
                assert_eq!(found[VARYING + 1], (varying >> 32) as u32);
            }
        }
    }
}

/// What a rule keeps: times, values, offsets.
fn kept(batch: &Batch, rule: u32, size: Size) -> (Vec<u64>, Vec<f64>, Vec<u32>) {
    let points = batch.points() as usize;
    let (times, values, offsets) = (
        copy(&batch.times),
        copy(&batch.values),
        copy(&batch.offsets),
    );
    let mut counts = poisoned::<u32>(tiles(points));
    let count = SeriesCompactCount {
        times: times.read(),
        values: values.read(),
        offsets: offsets.read(),
        counts: counts.write(),
        points: points as u32,
        series: batch.count(),
        rule,
    };
    launch(&count, size);
    let totals = scanned(&mut counts, 1, tiles(points) as u32, size);
    let mut times_out = poisoned::<u64>(points);
    let mut values_out = poisoned::<f64>(points);
    let mut ranks = poisoned::<u32>(points + 1);
    let moved = SeriesCompactMove {
        times: times.read(),
        values: values.read(),
        offsets: offsets.read(),
        counts: counts.read(),
        times_out: times_out.write(),
        values_out: values_out.write(),
        ranks: ranks.write(),
        points: points as u32,
        series: batch.count(),
        rule,
        kept: points as u32,
    };
    launch(&moved, size);
    let mut offsets_out = poisoned::<u32>(batch.offsets.len());
    let shifted = SeriesCompactOffsets {
        ranks: ranks.read(),
        offsets: offsets.read(),
        out: offsets_out.write(),
        points: points as u32,
        series: batch.count(),
    };
    launch(&shifted, size);
    assert_eq!(times_out.check_canaries(), Ok(()));
    assert_eq!(values_out.check_canaries(), Ok(()));
    assert_eq!(ranks.check_canaries(), Ok(()));
    assert_eq!(offsets_out.check_canaries(), Ok(()));
    let kept = totals.as_slice()[0] as usize;
    assert!(times_out.as_slice()[kept..].iter().all(|t| *t == u64::MAX));
    (
        times_out.as_slice()[..kept].to_vec(),
        values_out.as_slice()[..kept].to_vec(),
        offsets_out.as_slice().to_vec(),
    )
}

#[test]
fn what_is_kept_is_packed() {
    for lengths in lengths() {
        // Neighbours repeat, across the borders of series and tiles too.
        let batch = Batch::new(&lengths, |i| 5 + i as u64 / 3);
        for rule in [NO_REPEATS, NO_NAN, DIFFERENCES] {
            let (mut times, mut values, mut offsets) = (Vec::new(), Vec::new(), vec![0]);
            for s in 0..lengths.len() {
                for i in batch.of(s) {
                    let first = i == batch.of(s).start;
                    let value = batch.values[i];
                    let (keeps, value) = match rule {
                        NO_REPEATS => (first || batch.times[i] != batch.times[i - 1], value),
                        NO_NAN => (!value.is_nan(), value),
                        _ if first => (false, 0.0),
                        _ => (true, value - batch.values[i - 1]),
                    };
                    if keeps {
                        times.push(batch.times[i]);
                        values.push(value);
                    }
                }
                offsets.push(times.len() as u32);
            }
            for size in LAUNCHES {
                let found = kept(&batch, rule, size);
                assert_eq!(found.0, times);
                assert_eq!(found.2, offsets);
                for (found, expected) in found.1.iter().zip(&values) {
                    assert!(
                        found.to_bits() == expected.to_bits()
                            || found.is_nan() && expected.is_nan()
                    );
                }
            }
        }
    }
}

#[test]
fn coded_timestamps_come_back() {
    let unit = 1_000_000_007;
    for (from, to) in [(0, 1), (0, 1023), (0, 1025), (1024, 3000), (2048, 2048)] {
        let bases: Vec<u64> = (0..frames(to) as u64).map(|f| (1 << 60) + 77 * f).collect();
        let narrow: Vec<u16> = (0..to).map(|i| (i * 7919 % 65_536) as u16).collect();
        let wide: Vec<u32> = (0..to as u32)
            .map(|i| i.wrapping_mul(0x9E37_79B9))
            .collect();
        for size in LAUNCHES {
            let (there, narrow_there, wide_there) = (copy(&bases), copy(&narrow), copy(&wide));
            let mut times = poisoned::<u64>(to);
            let launched = SeriesUnpack16 {
                bases: there.read(),
                distances: narrow_there.read(),
                times: times.write(),
                unit,
                from: from as u32,
                to: to as u32,
            };
            launch(&launched, size);
            let mut times_of_wide = poisoned::<u64>(to);
            let launched = SeriesUnpack32 {
                bases: there.read(),
                distances: wide_there.read(),
                times: times_of_wide.write(),
                unit,
                from: from as u32,
                to: to as u32,
            };
            launch(&launched, size);
            for i in 0..to {
                let of = |distance: u64| bases[i / FRAME] + distance * unit;
                let expected = if i < from {
                    [u64::MAX; 2]
                } else {
                    [of(u64::from(narrow[i])), of(u64::from(wide[i]))]
                };
                assert_eq!([times.as_slice()[i], times_of_wide.as_slice()[i]], expected);
            }
            assert_eq!(times.check_canaries(), Ok(()));
        }
    }
}
