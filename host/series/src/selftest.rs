//! The kernels of time series: compares the device's aggregates with the definition as plain loops,
//! bit for bit.
//!
//! The case of a kernel is a whole batch that depends on the kernel: the lengths of buckets
//! determine the kernels for order statistics and sums, and unordered points, repeated timestamps,
//! rates and distant timestamps involve the others. All NaNs are equal.

use crate::cuda::GpuEngine;
use crate::definition::{self, difference};
use crate::ladder::ladder;
use crate::{Aggregate, Batch, Duplicates, Engine, Granularity, NanPolicy, Resample, SeriesError};
use warpstride_cuda::gpu::{Device, GpuError};
use warpstride_selftest::bench::Size;
use warpstride_selftest::bench::{Bench, Case};

const SECOND: i64 = 1_000_000_000;

/// A deterministic pseudo-random sequence (multiplier and increment from Knuth, MMIX).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end.max(1)
    }

    /// Values with repetitions, zeros of both signs and, if `nans`, occasional NaN.
    fn value(&mut self, nans: bool) -> f64 {
        match self.below(64) {
            0 if nans => f64::NAN,
            1 => -0.0,
            2 => 0.0,
            3..20 => self.below(50) as f64,
            _ => self.below(1 << 31) as f64 / 1024.0 - 1e6,
        }
    }
}

/// Properties of the points of a batch.
#[derive(Clone, Copy)]
struct Kind {
    /// Largest step between points in seconds.
    step: u64,
    /// Smallest step between points in seconds.
    least_step: u64,
    unsorted: bool,
    nans: bool,
}

const USUAL: Kind = Kind {
    step: 9,
    least_step: 1,
    unsorted: false,
    nans: false,
};

fn batch(lengths: &[usize], kind: Kind) -> Option<Batch> {
    let seed = |sum: u64, n: &usize| sum.wrapping_mul(31).wrapping_add(*n as u64);
    let mut numbers = Numbers(lengths.iter().fold(7, seed));
    let (mut times, mut values, mut offsets) = (Vec::new(), Vec::new(), vec![0]);
    for length in lengths {
        let first = times.len();
        let mut time = numbers.below(4_000_000_000) as i64;
        for _ in 0..*length {
            times.push(time * SECOND);
            values.push(numbers.value(kind.nans));
            time += (kind.least_step + numbers.below(kind.step - kind.least_step + 1)) as i64;
        }
        if kind.unsorted {
            for index in (first + 1..times.len()).rev() {
                let other = first + numbers.below((index - first + 1) as u64) as usize;
                times.swap(index, other);
            }
        }
        offsets.push(times.len());
    }
    Batch::new(times, values, offsets).ok()
}

fn plan(granularities: &[&str], aggregates: &[&str]) -> Option<Resample> {
    let granularities = granularities.iter().map(|name| name.parse());
    let granularities: Vec<Granularity> = granularities.collect::<Result<_, _>>().ok()?;
    let aggregates = match aggregates {
        [] => Aggregate::all(),
        names => {
            let names = names.iter().map(|name| name.parse());
            names.collect::<Result<_, _>>().ok()?
        }
    };
    // The first point of a time is used, which a kernel selects.
    let plan = Resample::new(granularities, aggregates, NanPolicy::Keep).ok()?;
    Some(plan.with_duplicates(Duplicates::First))
}

/// Compares a batch, once for each kernel that it depends on.
fn compare<M: Device>(
    bench: &mut Bench<'_, M>,
    kernels: &[&'static str],
    shape: String,
    plan: Option<Resample>,
    batch: Option<Batch>,
) -> Result<(), GpuError> {
    let right = match (plan, batch) {
        (Some(plan), Some(batch)) => {
            let found = GpuEngine::new(bench.device(), plan.clone())
                .and_then(|mut engine| engine.resample(&batch));
            match found {
                Err(SeriesError::Gpu(error)) => return Err(error),
                Err(_) => false,
                Ok(found) => difference(&found, &definition::resample(&plan, &batch)).is_none(),
            }
        }
        _ => false,
    };
    note(bench, kernels, &shape, right);
    Ok(())
}

fn note<M: Device>(bench: &mut Bench<'_, M>, kernels: &[&'static str], shape: &str, right: bool) {
    // A wrong result is recorded as NaN, which fails every case.
    let found = [if right { 1.0 } else { f64::NAN }];
    for kernel in kernels {
        bench.compare(Case::named(kernel, shape).exact(), &found, &[1.0]);
    }
}

/// The cases of its kernels.
///
/// # Errors
/// An error of the device.
pub fn cases<M: Device>(bench: &mut Bench<'_, M>, size: Size) -> Result<(), GpuError> {
    buckets(bench, size)?;
    points(bench, size)?;
    rungs(bench, size)
}

/// Buckets of all lengths.
fn buckets<M: Device>(bench: &mut Bench<'_, M>, size: Size) -> Result<(), GpuError> {
    // The plain loops of the definition take most of the time.
    let scale = if size == Size::Device { 8 } else { 1 };
    let one_pass = ["series_starts", "series_reduce_fixed"];
    let short = [one_pass[0], one_pass[1], "series_order_8"];
    let of_long = [
        "series_reduce_long",
        "series_order_select",
        "series_distinct",
    ];
    for (kernels, lengths, granularity) in [
        (&short[..], vec![1], "1m"),
        (&short, vec![0, 3, 0, 150 * scale, 1, 37], "20s"),
        (&["series_order_32"], vec![20, 300 * scale, 31], "2m"),
        (
            &["series_order_warp", "series_reduce_long"],
            vec![500 * scale, 33, 90],
            "10m",
        ),
        (&["series_order_block"], vec![4000, 700, 4096], "365d"),
        (&of_long, vec![4097, 9 * scale, 12_000], "365d"),
        (
            &["series_distinct_clear", "series_deviations"],
            vec![9000 * scale, 2048],
            "3650d",
        ),
    ] {
        for nans in [false, true] {
            let kind = Kind { nans, ..USUAL };
            let shape = format!("{lengths:?} points, {granularity}, NaN {nans}");
            let batch = batch(&lengths, kind);
            compare(bench, kernels, shape, plan(&[granularity], &[]), batch)?;
        }
    }
    let days = Kind {
        step: 9 * 86_400,
        ..USUAL
    };
    // Up to nine days apart and up to 126 years in total; more would exceed the range of 292 years.
    let lengths = vec![900 * scale, 0, 1, 70];
    let shape = format!("{lengths:?} points, calendar");
    let calendar = plan(&["W", "M", "Q", "H", "Y"], &["count", "std", "median"]);
    compare(
        bench,
        &["series_reduce_calendar"],
        shape,
        calendar,
        batch(&lengths, days),
    )
}

/// Unordered points, repeated timestamps, rates, compressed timestamps.
fn points<M: Device>(bench: &mut Bench<'_, M>, size: Size) -> Result<(), GpuError> {
    let scale = if size == Size::Device { 20 } else { 1 };
    let lengths = vec![0, 70, 1, 4500 * scale, 0, 300, 2];
    let sort = [
        "series_check_sorted",
        "series_sort_count",
        "series_scan_rows",
        "series_sort_move",
        "series_sort_gather",
    ];
    let keep = [
        "series_compact_count",
        "series_compact_move",
        "series_compact_offsets",
    ];
    let unsorted = Kind {
        unsorted: true,
        ..USUAL
    };
    let repeats = Kind {
        least_step: 0,
        step: 2,
        ..USUAL
    };
    let both = Kind {
        unsorted: true,
        ..repeats
    };
    // Distances within a frame that need 16 and 32 bits.
    let far = Kind {
        step: 1000,
        ..USUAL
    };
    let names = ["first", "last", "sum"];
    for (kernels, kind, aggregates, what) in [
        (&sort[..], unsorted, &names[..], "unsorted"),
        (&keep, repeats, &names, "repeats"),
        (&sort, both, &names, "unsorted, repeats"),
        (&keep[1..], USUAL, &["rate:mean", "rate:count"], "rates"),
        (&["series_unpack_16"], USUAL, &names, "16 bits"),
        (&["series_unpack_32"], far, &names, "32 bits"),
    ] {
        let shape = format!("{lengths:?} points, {what}");
        let batch = batch(&lengths, kind);
        compare(bench, kernels, shape, plan(&["1m"], aggregates), batch)?;
    }
    Ok(())
}

/// The kernels of the ladder.
fn rungs<M: Device>(bench: &mut Bench<'_, M>, size: Size) -> Result<(), GpuError> {
    let points = if size == Size::Device { 100_000 } else { 500 };
    let steps = match ladder(&[bench.device()], points) {
        Err(SeriesError::Gpu(error)) => return Err(error),
        steps => steps.unwrap_or_default(),
    };
    for (kernel, names) in [
        ("series_ladder_atomic", &["v1"][..]),
        ("series_ladder_one_block", &["v2"]),
        ("series_ladder_staged", &["v3", "v4"]),
    ] {
        let mut rungs = steps.iter().filter(|step| names.contains(&step.name));
        let right = !steps.is_empty() && rungs.all(|step| step.right);
        note(bench, &[kernel], &format!("{points} points"), right);
    }
    Ok(())
}
