//! Heads of buckets and one-pass methods against their definitions as plain loops, to the bit, at several launches and
//! in both orders of threads; and that a launch leaves the scratch memory as the next one needs it.

#![cfg(feature = "series")]

mod definition;
mod launches;
#[path = "../series/mod.rs"]
mod series;

use definition::{Batch, SECOND, definition};
use launches::{Scratch, computed, launch_tiles};
use series::{LAUNCHES, Numbers, copy, launch, zeroed};
use warpstride_device::emulator::Order;
use warpstride_kernels::series::bucket::{Bucketing, WEEKS};
use warpstride_kernels::series::lookback::progress_len;
use warpstride_kernels::series::methods::{COUNT, FIRST, LAST, MAX, MEAN, MIN, STD, SUM};
use warpstride_kernels::series::reduce_tiles::SeriesReduceFixed;
use warpstride_kernels::series::starts::SeriesStarts;
use warpstride_kernels::series::tile::{OWN, TILE, tiles};

const ALL: u32 = COUNT | SUM | MEAN | MIN | MAX | FIRST | LAST | STD;

/// All launches give what the definition says.
fn agree(batch: &Batch, rule: Bucketing, methods: u32) {
    agree_with(&mut Scratch::new(batch.times.len()), batch, rule, methods);
}

/// The same with scratch memory that other batches used before.
fn agree_with(scratch: &mut Scratch, batch: &Batch, rule: Bucketing, methods: u32) {
    let expected = definition(batch, rule, methods);
    for config in LAUNCHES {
        let found = computed(batch, rule, methods, scratch, config);
        let points = batch.times.len();
        assert_eq!(
            found.difference(&expected),
            None,
            "{points} points, {config:?}, methods {methods:#b}"
        );
    }
}

fn evenly(points: usize, from: u64, step: u64) -> Vec<u64> {
    (0..points as u64).map(|i| from + i * step).collect()
}

#[test]
fn few_points_and_no_series() {
    let rule = Bucketing::fixed(7 * SECOND);
    agree(&Batch::new(&[], |_| 1.0), rule, ALL);
    agree(&Batch::new(&[vec![], vec![], vec![]], |_| 1.0), rule, ALL);
    agree(&Batch::new(&[vec![0]], |_| -0.0), rule, ALL);
    agree(&Batch::new(&[vec![], vec![5], vec![]], |_| 3.5), rule, ALL);
}

#[test]
fn batches_of_all_sizes_share_scratch_memory() {
    let mut numbers = Numbers(31);
    // More than the largest needs, an even number of words.
    let mut scratch = Scratch::new(9000);
    scratch.progress = zeroed(progress_len(9000) + 1);
    for points in [6007, 1, 0, OWN as usize + 1, 9000, 40, 6007] {
        let batch = Batch::new(&[evenly(points, SECOND, SECOND)], |_| numbers.value());
        agree_with(&mut scratch, &batch, Bucketing::fixed(7 * SECOND), ALL);
        agree_with(&mut scratch, &batch, Bucketing::calendar(1), ALL);
    }
}

#[test]
fn buckets_cross_tiles() {
    let mut numbers = Numbers(42);
    for points in [
        31_usize,
        32,
        33,
        127,
        OWN as usize - 1,
        OWN as usize,
        OWN as usize + 1,
        TILE as usize - 1,
        TILE as usize,
        TILE as usize + 1,
        4 * OWN as usize,
        6007,
    ] {
        for step in [1, 7, 32, 33] {
            let batch = Batch::new(&[evenly(points, 3 * SECOND, SECOND)], |_| numbers.value());
            agree(&batch, Bucketing::fixed(step * SECOND), ALL);
        }
    }
}

#[test]
fn many_series_with_empty_ones() {
    let mut numbers = Numbers(7);
    let mut series = vec![Vec::new(); 3];
    for _ in 0..400 {
        let points = [0, 0, 1, 1, 2, 5, 20, 21, 40][numbers.below(9) as usize];
        // Neighbouring series lie in the same bucket.
        series.push(evenly(points, SECOND, numbers.below(4) * SECOND + 1));
    }
    series.extend(vec![Vec::new(); 3]);
    for seconds in [1, 5, 60, 3600] {
        let batch = Batch::new(&series, |_| numbers.value());
        agree(&batch, Bucketing::fixed(seconds * SECOND), ALL);
    }
}

#[test]
fn lengths_are_mixed() {
    let mut numbers = Numbers(99);
    let lengths: Vec<usize> = (0..60)
        .map(|_| [1, 2, 7, 31, 32, 33, 34, 63, 64, 65, 500, 1023, 1024][numbers.below(13) as usize])
        .chain([5000, 1, 2047, 2048, 2049, 3, 4096])
        .collect();
    let batch = Batch::of_lengths(&lengths, |_| numbers.value());
    agree(&batch, Bucketing::fixed(SECOND), ALL);
    // Numbers whose additions round.
    let batch = Batch::of_lengths(&lengths, |_| numbers.next() as f64 / 3.0);
    agree(&batch, Bucketing::fixed(SECOND), ALL);
}

#[test]
fn one_bucket_of_many_points() {
    let mut numbers = Numbers(5);
    for points in [33, 1025, 5000, 70_000] {
        let batch = Batch::of_lengths(&[points], |_| numbers.next() as f64 / 7.0);
        agree(&batch, Bucketing::fixed(SECOND), ALL);
    }
}

/// Two chunks of chunks: the third level of the sum.
#[test]
fn one_bucket_of_millions() {
    let batch = Batch::of_lengths(&[5, 2_100_000, 9], |i| 1.0 / (i + 1) as f64);
    let rule = Bucketing::fixed(SECOND);
    let expected = definition(&batch, rule, SUM | STD);
    let mut scratch = Scratch::new(batch.times.len());
    let found = computed(&batch, rule, SUM | STD, &mut scratch, LAUNCHES[2]);
    assert_eq!(found.difference(&expected), None);
}

#[test]
fn rules_of_the_calendar() {
    let mut numbers = Numbers(3);
    let hour = 3600 * SECOND;
    for calendar in [WEEKS, 1, 3, 6, 12] {
        // From the first moment of 1970 on, and to the last years of 63 bits.
        let batch = Batch::new(
            &[
                evenly(400, 0, 7 * hour),
                evenly(3000, 50 * 365 * 24 * hour, 31 * hour),
                evenly(200, (1 << 63) - 1 - 200 * 100 * hour, 100 * hour),
            ],
            |_| numbers.value(),
        );
        agree(&batch, Bucketing::calendar(calendar), ALL);
    }
}

#[test]
fn gaps_that_wrap_around_32_bits() {
    // Neighbouring points whose buckets' numbers differ by a multiple of 2³².
    let times = (0..100_u64).map(|i| i << 33).collect();
    let batch = Batch::new(&[times], |i| i as f64);
    agree(&batch, Bucketing::fixed(2), ALL);
}

#[test]
fn any_set_of_methods() {
    let mut numbers = Numbers(11);
    let lengths = [3, 32, 1, 33, 2500, 7, 7, 7, 40];
    let batch = Batch::of_lengths(&lengths, |_| numbers.value());
    for methods in [
        0,
        COUNT,
        SUM,
        MEAN | STD,
        STD,
        MIN,
        MAX | COUNT,
        FIRST | LAST,
        LAST,
    ] {
        agree(&batch, Bucketing::fixed(SECOND), methods);
    }
}

/// The kernels' own block: one warp a strip.
#[test]
fn the_block_of_the_device() {
    let mut numbers = Numbers(21);
    let batch = Batch::new(&[evenly(9001, 4, SECOND)], |_| numbers.value());
    let rule = Bucketing::fixed(7 * SECOND);
    let expected = definition(&batch, rule, ALL);
    let mut scratch = Scratch::new(batch.times.len());
    for order in [Order::Ascending, Order::Descending] {
        let found = computed(&batch, rule, ALL, &mut scratch, (2, 512, order));
        assert_eq!(found.difference(&expected), None);
    }
}

/// The specification's large example, cut short: values are numbers of points, 5 s apart from 2015-04-03T23:11:00 UTC,
/// buckets of 35 s, of which the first (23:10:55) has six points.
#[test]
fn the_first_buckets_of_the_published_example() {
    let from = 1_428_102_660 * SECOND;
    let batch = Batch::new(&[evenly(7000, from, 5 * SECOND)], |i| i as f64);
    let rule = Bucketing::fixed(35 * SECOND);
    let mut scratch = Scratch::new(7000);
    let found = computed(&batch, rule, SUM, &mut scratch, LAUNCHES[1]);
    assert_eq!(found.starts[0], (from - 5 * SECOND) as i64);
    let sums = &found.columns[0];
    assert_eq!(f64::from_bits(sums[0]), 15.0);
    for (bucket, sum) in sums.iter().enumerate().take(sums.len() - 1).skip(1) {
        let least = 7 * bucket - 1;
        assert_eq!(f64::from_bits(*sum), (7 * least + 21) as f64);
    }
}

/// Buckets beyond the capacity are counted and left out.
#[test]
fn more_buckets_than_capacity() {
    let batch = Batch::of_lengths(&[1; 3000], |i| i as f64);
    let points = 3000_u32;
    let (times, values, offsets) = (
        copy(&batch.times),
        copy(&batch.values),
        copy(&batch.offsets),
    );
    let mut bits = zeroed(points.div_ceil(32) as usize);
    let mut of_tile = zeroed(tiles(3000) + 1);
    let config = LAUNCHES[1];
    launch(
        &SeriesStarts {
            offsets: offsets.read(),
            bits: bits.write(),
            of_tile: of_tile.write(),
            points,
            series: 1,
        },
        config,
    );
    let capacity = 2500;
    let mut first = zeroed(capacity as usize + 1);
    let mut starts = zeroed(capacity as usize);
    let (mut of_series, mut covering) = (zeroed(2), zeroed(94));
    let (mut facts, mut progress) = (zeroed(8), zeroed(progress_len(3000)));
    let mut columns = zeroed(capacity as usize);
    let rule = Bucketing::fixed(SECOND);
    launch_tiles(
        &SeriesReduceFixed {
            times: times.read(),
            values: values.read(),
            bits: bits.read(),
            of_tile: of_tile.read(),
            offsets: offsets.read(),
            first: first.write(),
            starts: starts.write(),
            of_series: of_series.write(),
            covering: covering.write(),
            facts: facts.write(),
            columns: columns.write(),
            progress: progress.write(),
            progress_length: progress_len(3000) as u32,
            points,
            series: 1,
            capacity,
            column: 0,
            stride: capacity,
            methods: SUM,
            step: rule.step,
            magic: rule.magic,
            shift: rule.shift,
        },
        config,
    );
    assert_eq!(facts.as_slice()[..2], [3000, 8]);
    assert_eq!(first.check_canaries(), Ok(()));
    assert_eq!(starts.check_canaries(), Ok(()));
    assert_eq!(columns.check_canaries(), Ok(()));
    assert!((0..2500).all(|b| columns.as_slice()[b] == b as f64));
}
