//! Benchmarks time-series aggregation on the CPU: times of whole calls with ten methods at once.
//!
//! `series_cpu [--repeats N] [--threads N] [--plain] [CASE …]`; all cases by default. A call covers
//! the way from points to aggregates, including memory allocation; its time is the minimum over N
//! calls. `benches/series/compare.py` runs polars and pandas on the same points, for which
//! `--plain` also prints the sum of each column.
//!
//! The floor is the memory traffic that is necessary at least: 16 B read per point; 8 B per method,
//! and 12 B for start and count, written per bucket; at the rate at which the same threads sum up
//! the points' times. `busy` is the processor time of the process, the value to use on a shared
//! computer.

use rayon::prelude::*;
use std::io::Write;
use std::time::Instant;
use warpstride::series::cpu::CpuEngine;
use warpstride::series::{Aggregate, Batch, Engine, Granularity, Method, NanPolicy, Resample};
use warpstride_kernels::series::sums::ordered_sum;

const SECOND: u64 = 1_000_000_000;
/// 2015-04-03T23:11:00 UTC.
const BEGIN: i64 = 1_428_102_660 * SECOND as i64;
/// 7 · 2²⁰.
const POINTS: usize = 7_340_032;

/// Values are the index of the point, or noise; times are 5 s apart, or between 0 and 10 s.
const CASES: [(&str, bool, bool, u64); 4] = [
    ("index", false, false, 35),
    ("noise", true, false, 35),
    ("uneven", true, true, 35),
    ("days", true, false, 86_400),
];

const METHODS: [Method; 10] = [
    Method::Count,
    Method::Sum,
    Method::Mean,
    Method::Min,
    Method::Max,
    Method::First,
    Method::Last,
    Method::Std,
    Method::Median,
    Method::Percentile(95.0),
];

/// Fractional parts of multiples of an irrational number.
fn fraction(i: usize, of: f64) -> f64 {
    ((i + 1) as f64 * of).fract()
}

fn batch(noise: bool, uneven: bool) -> anyhow::Result<Batch> {
    let value = |i: usize| {
        if noise {
            100.0 * fraction(i, 0.618_033_988_749_894_9)
        } else {
            i as f64
        }
    };
    let gap = |i: usize| {
        if uneven {
            1 + (1e10 * fraction(i, 0.754_877_666_246_692_8)) as i64
        } else {
            5 * SECOND as i64
        }
    };
    let times = (0..POINTS).scan(BEGIN, |time, i| {
        let now = *time;
        *time += gap(i);
        Some(now)
    });
    Ok(Batch::single(
        times.collect(),
        (0..POINTS).map(value).collect(),
    )?)
}

/// Processor time of this process in milliseconds, if the system reports it.
fn processor_time() -> f64 {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten();
    let nanoseconds = tasks.filter_map(|task| {
        let text = std::fs::read_to_string(task.ok()?.path().join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse::<u64>().ok()
    });
    1e-6 * nanoseconds.sum::<u64>() as f64
}

/// Bytes per millisecond that all threads read together.
fn bandwidth(batch: &Batch) -> f64 {
    let pass = || {
        let start = Instant::now();
        let sum: i64 = batch
            .times()
            .par_chunks(1 << 15)
            .map(|part| part.iter().sum::<i64>() >> 20)
            .sum();
        std::hint::black_box(sum);
        size_of_val(batch.times()) as f64 / (1e3 * start.elapsed().as_secs_f64())
    };
    (0..10).map(|_| pass()).fold(0.0, f64::max)
}

struct Options {
    repeats: usize,
    threads: usize,
    plain: bool,
    cases: Vec<String>,
}

fn options() -> anyhow::Result<Options> {
    let mut options = Options {
        repeats: 5,
        threads: 0,
        plain: false,
        cases: Vec::new(),
    };
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || {
            arguments
                .next()
                .ok_or_else(|| anyhow::anyhow!("{argument}: expected a value"))
        };
        match argument.as_str() {
            "--repeats" => options.repeats = value()?.parse()?,
            "--threads" => options.threads = value()?.parse()?,
            "--plain" => options.plain = true,
            _ => options.cases.push(argument),
        }
    }
    Ok(options)
}

fn main() -> anyhow::Result<()> {
    let options = options()?;
    rayon::ThreadPoolBuilder::new()
        .num_threads(options.threads)
        .build_global()?;
    let threads = rayon::current_num_threads();
    let mut out = std::io::stdout().lock();
    if !options.plain {
        writeln!(
            out,
            "{POINTS} points, {} methods, {threads} threads",
            METHODS.len()
        )?;
        writeln!(
            out,
            "case    granularity   buckets | ms         busy ms  ns/point  Mpoints/s | floor ms  share"
        )?;
    }
    for (name, noise, uneven, seconds) in CASES {
        if !options.cases.is_empty() && !options.cases.iter().any(|case| case == name) {
            continue;
        }
        let batch = batch(noise, uneven)?;
        let plan = Resample::new(
            vec![Granularity::Fixed(seconds * SECOND)],
            METHODS.map(Aggregate::of).to_vec(),
            NanPolicy::Keep,
        )?;
        let mut engine = CpuEngine::new(plan);
        let (mut best, mut busy) = (f64::INFINITY, f64::INFINITY);
        let mut result = None;
        for _ in 0..options.repeats {
            // Frees its memory before the clock starts.
            result.take();
            let (start, before) = (Instant::now(), processor_time());
            result = Some(engine.resample(&batch)?);
            best = best.min(1e3 * start.elapsed().as_secs_f64());
            busy = busy.min(processor_time() - before);
        }
        let Some(result) = result else {
            anyhow::bail!("--repeats: expected at least 1");
        };
        let buckets = &result.buckets[0];
        let count = buckets.starts.len();
        if options.plain {
            write!(out, "{best} {busy} {count}")?;
            for column in &buckets.columns {
                let values: Vec<f64> = buckets.of(column, 0).map(|(_, value)| value).collect();
                write!(out, " {:e}", ordered_sum(values.len(), &|i| values[i]))?;
            }
            writeln!(out)?;
            continue;
        }
        let bytes = 16 * POINTS + count * (12 + 8 * METHODS.len());
        let floor = bytes as f64 / bandwidth(&batch);
        let points = POINTS as f64;
        writeln!(
            out,
            "{name:7} {:>9} s {count:9} | {best:7.2} {busy:9.2} {:8.2} {:10.1} | {floor:8.2} {:5.0} %",
            seconds,
            1e6 * best / points,
            1e-3 * points / best,
            100.0 * floor / best,
        )?;
    }
    Ok(())
}
