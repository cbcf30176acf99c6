//! Benchmarks time-series aggregation on one GPU against the bandwidth of memory and of the link.
//!
//! `series [resident] [ends] [many] [huge] [sort]`; all parts by default. `resident`: 7 340 032
//! points of one series in device memory, 5 s apart, with buckets of 35 s. `ends`: the same from
//! and to page-locked memory, with raw and compressed timestamps, over one to eight streams.
//! `many`: 100 000 series of 20 points, three granularities, twelve aggregates. `huge`: all points
//! in one bucket. `sort`: unordered points.
//!
//! Device times are measured by events, end-to-end times by the host's clock; medians are reported.
//! The floor is the time to move the necessary bytes at the bandwidth of a copy within the device
//! (reading and writing) or over the link, both measured first. Every result is compared with the
//! CPU's, bit for bit.

use std::io::Write;
use std::sync::Arc;
use std::time::Instant;
use warpstride::gpu::{CudaDevice, Device};
use warpstride::series::cpu::CpuEngine;
use warpstride::series::cuda::{GpuEngine, StageTime, kernels};
use warpstride::series::{Aggregate, Batch, Engine, Granularity, NanPolicy, Resample, Resampled};
use warpstride_benches::median;

const SECOND: i64 = 1_000_000_000;
const CALLS: usize = 20;
/// Points of the specification's large example: 7·2²⁰.
const LARGE: usize = 7 << 20;
const ONE_PASS: [&str; 8] = ["count", "sum", "mean", "min", "max", "first", "last", "std"];

struct Trial<W> {
    device: CudaDevice,
    /// 10⁹ bytes per second within the device.
    memory: f64,
    /// 10⁹ bytes per second to the device, and back.
    link: [f64; 2],
    out: W,
}

fn plan(granularities: &[&str], aggregates: &[&str]) -> anyhow::Result<Resample> {
    let granularities = granularities.iter().map(|name| name.parse());
    let aggregates = aggregates.iter().map(|name| name.parse());
    Ok(Resample::new(
        granularities.collect::<Result<Vec<Granularity>, _>>()?,
        aggregates.collect::<Result<Vec<Aggregate>, _>>()?,
        NanPolicy::Keep,
    )?)
}

/// The large example of the specification: value = index, 5 s apart from 2015-04-03T23:11:00 UTC.
fn large() -> anyhow::Result<Batch> {
    let times = (0..LARGE as i64).map(|i| (1_428_102_660 + 5 * i) * SECOND);
    let values = (0..LARGE).map(|i| i as f64);
    Ok(Batch::single(times.collect(), values.collect())?)
}

fn many() -> anyhow::Result<Batch> {
    const SERIES: usize = 100_000;
    let mut times = Vec::new();
    let mut values = Vec::new();
    for series in 0..SERIES as i64 {
        for i in 0..20 {
            times.push((1_428_102_660 + series % 977 + 15 * i) * SECOND);
            values.push(((series * 31 + i * 17) % 1009) as f64 * 0.125);
        }
    }
    let offsets = (0..=SERIES).map(|series| series * 20).collect();
    Ok(Batch::new(times, values, offsets)?)
}

/// Whether both have the same bits; all NaNs are equal.
fn same(a: &Resampled, b: &Resampled) -> bool {
    let equal = |(a, b): (&f64, &f64)| a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan();
    a.duplicates == b.duplicates
        && a.buckets.len() == b.buckets.len()
        && a.buckets.iter().zip(&b.buckets).all(|(a, b)| {
            a.offsets == b.offsets
                && a.starts == b.starts
                && a.counts == b.counts
                && a.columns.len() == b.columns.len()
                && a.columns.iter().zip(&b.columns).all(|(a, b)| {
                    a.values.len() == b.values.len() && a.values.iter().zip(&b.values).all(equal)
                })
        })
}

fn buckets(resampled: &Resampled) -> usize {
    resampled
        .buckets
        .iter()
        .map(|table| table.starts.len())
        .sum()
}

fn stage_ms(times: &[StageTime], stages: &[&str]) -> f64 {
    let of = times.iter().filter(|time| stages.contains(&time.stage));
    of.map(|time| time.milliseconds).sum()
}

impl<W: Write> Trial<W> {
    /// Writes a row of the table.
    fn row(
        &mut self,
        name: &str,
        ms: f64,
        [bytes, floor]: [f64; 2],
        bar: Option<f64>,
        same: bool,
    ) -> anyhow::Result<()> {
        let bar = match bar {
            Some(bar) if ms <= bar => format!("bar {bar} ms met"),
            Some(bar) => format!("bar {bar} ms MISSED"),
            None => String::new(),
        };
        writeln!(
            self.out,
            "  {name:44} {ms:9.4} ms  {:8.1} MB  floor {floor:7.4} ms  {:3.0} %  {}  {bar}",
            bytes / 1e6,
            100.0 * floor / ms,
            if same { "same bits" } else { "OTHER BITS" },
        )?;
        Ok(())
    }

    /// Bytes and milliseconds of the necessary reads and writes on the device.
    fn within(&self, bytes: usize) -> [f64; 2] {
        [bytes as f64, bytes as f64 / (self.memory * 1e6)]
    }

    /// Runs the stages on points in device memory. Returns their times, the number of buckets, and
    /// whether the bits are the CPU's.
    fn stages(
        &self,
        plan: &Resample,
        batch: &Batch,
    ) -> anyhow::Result<(Vec<StageTime>, usize, bool)> {
        let mut engine =
            GpuEngine::new(&self.device, plan.clone())?.chunked(usize::MAX, usize::MAX);
        let staged = engine.stage(batch)?;
        anyhow::ensure!(
            staged.chunks() == 1,
            "the batch does not fit in device memory"
        );
        let results = engine.resample_staged(&staged)?;
        let found = engine.collect(&staged, results)?;
        let times = engine.time_stages(&staged)?;
        let expected = CpuEngine::new(plan.clone()).resample(batch)?;
        Ok((times, buckets(&found), same(&found, &expected)))
    }

    fn resident(&mut self) -> anyhow::Result<()> {
        writeln!(self.out, "resident, {LARGE} points, 5 s to 35 s")?;
        let batch = large()?;
        for (name, aggregates, bar) in [
            ("mean", &["mean"][..], None),
            ("8 methods of one pass", &ONE_PASS, Some(0.060)),
        ] {
            let (times, buckets, same) = self.stages(&plan(&["35s"], aggregates)?, &batch)?;
            let columns = aggregates.iter().filter(|name| **name != "count").count();
            let floor = self.within(16 * LARGE + (12 + 8 * columns) * buckets);
            self.row(name, stage_ms(&times, &["all"]), floor, bar, same)?;
            for stage in ["series", "one pass"] {
                writeln!(self.out, "    {stage} {:.4} ms", stage_ms(&times, &[stage]))?;
            }
        }
        for (name, aggregates, bar) in [
            ("median, 95pct", &["median", "95pct"][..], Some(0.120)),
            ("nunique", &["nunique"], None),
        ] {
            let (times, buckets, same) = self.stages(&plan(&["35s"], aggregates)?, &batch)?;
            let floor = self.within(8 * LARGE + (4 + 8 * aggregates.len()) * buckets);
            self.row(name, stage_ms(&times, &["order"]), floor, bar, same)?;
            let floor = self.within(16 * LARGE + (12 + 8 * aggregates.len()) * buckets);
            let with_heads = format!("{name}, with heads");
            self.row(&with_heads, stage_ms(&times, &["all"]), floor, bar, same)?;
        }
        let rates = plan(&["35s"], &["rate:mean", "rate:max"])?;
        let (times, buckets, same) = self.stages(&rates, &batch)?;
        let floor = self.within((16 + 16 + 16) * LARGE + (12 + 16) * buckets);
        self.row(
            "rate:mean, rate:max",
            stage_ms(&times, &["all"]),
            floor,
            None,
            same,
        )
    }

    fn ends(&mut self) -> anyhow::Result<()> {
        writeln!(
            self.out,
            "from end to end, page-locked, {LARGE} points, 5 s to 35 s"
        )?;
        let batch = large()?;
        let siblings = (0..7).map(|_| self.device.sibling());
        let siblings = siblings.collect::<Result<Vec<_>, _>>()?;
        for (what, aggregates) in [("mean", &["mean"][..]), ("8 methods", &ONE_PASS)] {
            let plan = plan(&["35s"], aggregates)?;
            let expected = CpuEngine::new(plan.clone()).resample(&batch)?;
            let columns = aggregates.iter().filter(|name| **name != "count").count();
            let back = ((12 + 8 * columns) * buckets(&expected)) as f64;
            for coded in [false, true] {
                for (streams, usual) in [
                    (1, 1 << 20),
                    (2, 1 << 20),
                    (4, 1 << 18),
                    (4, 1 << 19),
                    (4, 1 << 20),
                    (8, 1 << 19),
                ] {
                    let devices = [&self.device].into_iter().chain(&siblings).take(streams);
                    let engine = GpuEngine::with_streams(devices.collect(), plan.clone())?;
                    let mut engine = engine.chunked(usual, usize::MAX).coded(coded);
                    let staged = engine.stage(&batch)?;
                    let results = engine.resample_staged(&staged)?;
                    let found = engine.collect(&staged, results)?;
                    let same = same(&found, &expected);
                    let mut times = Vec::new();
                    for _ in 0..CALLS {
                        let start = Instant::now();
                        let results = engine.resample_staged(&staged)?;
                        times.push(start.elapsed().as_secs_f64() * 1e3);
                        engine.recycle(results);
                    }
                    let there = staged.bytes() as f64;
                    let floor = (there / (self.link[0] * 1e6)).max(back / (self.link[1] * 1e6));
                    let coding = if coded { "coded" } else { "raw" };
                    let name = format!(
                        "{what}, {coding}, {streams} streams, {} chunks",
                        staged.chunks()
                    );
                    let bar = (streams == 4 && usual == 1 << 20).then_some(3.0);
                    self.row(&name, median(times), [there + back, floor], bar, same)?;
                }
            }
            let devices = [&self.device].into_iter().chain(&siblings).take(4);
            let mut engine = GpuEngine::with_streams(devices.collect(), plan.clone())?;
            let mut times = Vec::new();
            for _ in 0..5 {
                let start = Instant::now();
                engine.resample(&batch)?;
                times.push(start.elapsed().as_secs_f64() * 1e3);
            }
            writeln!(
                self.out,
                "    from ordinary memory to ordinary memory {:.1} ms",
                median(times)
            )?;
        }
        Ok(())
    }

    fn many(&mut self) -> anyhow::Result<()> {
        let batch = many()?;
        writeln!(
            self.out,
            "resident, {} series of 20 points, 3 granularities, 12 aggregates",
            batch.series()
        )?;
        let mut names: Vec<String> = Aggregate::all().iter().map(ToString::to_string).collect();
        names.push("5pct".to_owned());
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let plan = plan(&["1m", "5m", "1h"], &names)?;
        let (times, buckets, same) = self.stages(&plan, &batch)?;
        let floor = self.within(3 * 16 * batch.len() + (12 + 8 * 11) * buckets);
        self.row("all", stage_ms(&times, &["all"]), floor, Some(3.0), same)?;
        for stage in ["series", "one pass", "order"] {
            writeln!(self.out, "    {stage} {:.4} ms", stage_ms(&times, &[stage]))?;
        }
        Ok(())
    }

    fn huge(&mut self) -> anyhow::Result<()> {
        writeln!(self.out, "resident, {LARGE} points, one bucket")?;
        let batch = large()?;
        let granularity = ["36500d"];
        let (times, _, same) = self.stages(&plan(&granularity, &ONE_PASS)?, &batch)?;
        let floor = self.within(16 * LARGE);
        self.row(
            "8 methods of one pass",
            stage_ms(&times, &["all"]),
            floor,
            None,
            same,
        )?;
        let order = plan(&granularity, &["median", "95pct"])?;
        let (times, _, same) = self.stages(&order, &batch)?;
        let floor = self.within(8 * LARGE);
        self.row(
            "median, 95pct",
            stage_ms(&times, &["order"]),
            floor,
            None,
            same,
        )?;
        let (times, _, same) = self.stages(&plan(&granularity, &["nunique"])?, &batch)?;
        self.row("nunique", stage_ms(&times, &["order"]), floor, None, same)
    }

    fn sort(&mut self) -> anyhow::Result<()> {
        writeln!(self.out, "sort of {LARGE} points in no order")?;
        let (mut times, values, _) = large()?.into_parts();
        // Scrambles the times with a multiplier that is coprime to their number.
        for (index, time) in times.iter_mut().enumerate() {
            let point = (index as i64 * 5_006_471) % LARGE as i64;
            *time = (1_428_102_660 + 5 * point) * SECOND;
        }
        let series = 64;
        let offsets = (0..=series).map(|s| s * LARGE / series).collect();
        for (what, batch) in [
            ("1 series", Batch::single(times.clone(), values.clone())?),
            ("64 series", Batch::new(times, values, offsets)?),
        ] {
            let plan = plan(&["35s"], &["first", "last"])?;
            let engine = GpuEngine::new(&self.device, plan.clone())?;
            let mut engine = engine.chunked(usize::MAX, usize::MAX);
            let staged = engine.stage(&batch)?;
            let results = engine.resample_staged(&staged)?;
            let found = engine.collect(&staged, results)?;
            let expected = CpuEngine::new(plan).resample(&batch)?;
            let ms = engine.time_sort(&staged)?.unwrap_or(f64::NAN);
            let floor = self.within(32 * LARGE);
            self.row(what, ms, floor, None, same(&found, &expected))?;
        }
        Ok(())
    }
}

/// Bandwidths of copies within the device and over the link, 10⁹ bytes per second.
fn bandwidths(device: &CudaDevice) -> anyhow::Result<(f64, [f64; 2])> {
    const WORDS: usize = 1 << 26;
    let mut from = device.alloc::<u64>("a copy", WORDS)?;
    let mut to = device.alloc::<u64>("a copy", WORDS)?;
    let mut within = Vec::new();
    for _ in 0..CALLS {
        within.push(f64::from(
            device.time_ms(&mut || device.copy(&from, &mut to))?,
        ));
    }
    let mut host = Arc::new(device.pinned::<u64>("a copy", WORDS)?);
    let mut there = Vec::new();
    for _ in 0..CALLS {
        let start = Instant::now();
        device.send(&host, 0..WORDS, &mut from, 0)?.wait()?;
        there.push(start.elapsed().as_secs_f64() * 1e3);
    }
    let mut back = Vec::new();
    for _ in 0..CALLS {
        let memory = Arc::into_inner(host).ok_or_else(|| anyhow::anyhow!("a copy holds memory"))?;
        let start = Instant::now();
        let whole = 0..WORDS;
        let memory = device
            .receive(&from, std::slice::from_ref(&whole), memory)?
            .wait()?;
        back.push(start.elapsed().as_secs_f64() * 1e3);
        host = Arc::new(memory);
    }
    let bytes = (8 * WORDS) as f64;
    let rate = |ms| bytes / (ms * 1e6);
    Ok((
        2.0 * rate(median(within)),
        [rate(median(there)), rate(median(back))],
    ))
}

fn main() -> anyhow::Result<()> {
    let mut parts: Vec<String> = std::env::args().skip(1).collect();
    if parts.is_empty() {
        parts = ["resident", "ends", "many", "huge", "sort"]
            .map(String::from)
            .to_vec();
    }
    let start = Instant::now();
    let device = CudaDevice::new(0, &kernels())?;
    let loading = start.elapsed().as_secs_f64() * 1e3;
    let (memory, link) = bandwidths(&device)?;
    let mut trial = Trial {
        device,
        memory,
        link,
        out: std::io::stdout().lock(),
    };
    writeln!(
        trial.out,
        "{}, {} multiprocessors; kernels loaded in {loading:.0} ms; a copy within the device {memory:.0} GB/s read and \
         written, to it {:.1} GB/s, from it {:.1} GB/s",
        trial.device.device_name(),
        trial.device.multiprocessors(),
        link[0],
        link[1],
    )?;
    for part in &parts {
        match part.as_str() {
            "resident" => trial.resident()?,
            "ends" => trial.ends()?,
            "many" => trial.many()?,
            "huge" => trial.huge()?,
            "sort" => trial.sort()?,
            other => anyhow::bail!("{other}: expected resident, ends, many, huge or sort"),
        }
    }
    Ok(())
}
