//! The kernels of time series: the machine's aggregates against the definition written as plain loops, bit for bit.
//!
//! A kernel's case is a whole batch, made so that it depends on the kernel: lengths of buckets decide which of those for
//! order statistics and sums work, and points in no order, repeated timestamps, rates, and timestamps far apart bring in
//! the others. All NaNs are one.

use super::Size;
use super::bench::{Bench, Case};
use crate::gpu::{GpuError, Machine};
use crate::series::cuda::GpuEngine;
use crate::series::definition::{self, difference};
use crate::series::ladder::ladder;
use crate::series::{Aggregate, Batch, Engine, Granularity, NanPolicy, Resample, SeriesError};

const SECOND: i64 = 1_000_000_000;

/// Numbers that repeat (multiplier and increment of Knuth, MMIX).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end.max(1)
    }

    /// Some of them equal, zeros of both signs, now and then no number.
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

/// What the points of a batch are like.
#[derive(Clone, Copy)]
struct Kind {
    /// Seconds from one point to the next, at most.
    step: u64,
    /// Seconds from one point to the next, at least.
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
            for place in (first + 1..times.len()).rev() {
                let other = first + numbers.below((place - first + 1) as u64) as usize;
                times.swap(place, other);
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
    Resample::new(granularities, aggregates, NanPolicy::Keep).ok()
}

/// A batch's case, for each of the kernels that it depends on.
fn compare<M: Machine>(
    bench: &mut Bench<'_, M>,
    kernels: &[&'static str],
    shape: String,
    plan: Option<Resample>,
    batch: Option<Batch>,
) -> Result<(), GpuError> {
    let right = match (plan, batch) {
        (Some(plan), Some(batch)) => {
            let found = GpuEngine::new(bench.machine(), plan.clone())
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

fn note<M: Machine>(bench: &mut Bench<'_, M>, kernels: &[&'static str], shape: &str, right: bool) {
    // What is not right is no number, which no case passes with.
    let found = [if right { 1.0 } else { f64::NAN }];
    for kernel in kernels {
        bench.compare(Case::named(kernel, shape).exact(), &found, &[1.0]);
    }
}

pub(super) fn cases<M: Machine>(bench: &mut Bench<'_, M>, size: Size) -> Result<(), GpuError> {
    buckets(bench, size)?;
    points(bench, size)?;
    rungs(bench, size)
}

/// Buckets of all lengths.
fn buckets<M: Machine>(bench: &mut Bench<'_, M>, size: Size) -> Result<(), GpuError> {
    // The definition's plain loops take most of the time.
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
    // Up to nine days apart, from up to 126 years on: more would leave the 292 years that there are.
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

/// Points in no order, repeated timestamps, rates, coded timestamps.
fn points<M: Machine>(bench: &mut Bench<'_, M>, size: Size) -> Result<(), GpuError> {
    let scale = if size == Size::Device { 20 } else { 1 };
    let lengths = vec![0, 70, 1, 4500 * scale, 0, 300, 2];
    let sort = [
        "series_survey",
        "series_sort_count",
        "series_scan_rows",
        "series_sort_move",
        "series_sort_gather",
    ];
    let keep = [
        "series_keep_count",
        "series_keep_move",
        "series_keep_offsets",
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
    // Distances of one frame that have 16 and 32 bits.
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

/// The ladder's.
fn rungs<M: Machine>(bench: &mut Bench<'_, M>, size: Size) -> Result<(), GpuError> {
    let points = if size == Size::Device { 100_000 } else { 500 };
    let steps = match ladder(&[bench.machine()], points) {
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
