//! Aggregates two series from plain arrays: points make a [`Batch`], granularities and methods make
//! a [`Resample`], and an engine computes the results, which are written as CSV.
//!
//! `cargo run --release --example series`

use std::error::Error;
use warpstride::series::cpu::CpuEngine;
use warpstride::series::io::{ResultWriter, Timestamps};
use warpstride::series::{Batch, Engine, NanPolicy, Resample};

/// Nanoseconds in a second.
const SECOND: i64 = 1_000_000_000;
/// 2014-01-01T12:00:00Z, seconds since 1970.
const NOON: i64 = 1_388_577_600;
/// Points of each series, one every ten seconds.
const POINTS: i64 = 720;

fn main() -> Result<(), Box<dyn Error>> {
    let names = ["load", "temperature"];
    let times = (0..POINTS).map(|point| (NOON + 10 * point) * SECOND);
    let load = (0..POINTS).map(|point| (point % 7) as f64);
    let temperature = (0..POINTS).map(|point| 20.0 + (point as f64 / 60.0).sin());
    // Series are stored one after another; their points may come in any order.
    let batch = Batch::new(
        times.clone().chain(times).collect(),
        load.chain(temperature).collect(),
        vec![0, POINTS as usize, 2 * POINTS as usize],
    )?;
    let plan = Resample::new(
        vec!["30m".parse()?, "1h".parse()?],
        vec!["mean".parse()?, "95pct".parse()?],
        NanPolicy::Keep,
    )?;
    // A `GpuEngine` accepts the same plan and gives the same bits.
    let mut engine = CpuEngine::new(plan);
    let resampled = engine.resample(&batch)?;
    let mut writer = ResultWriter::to_standard_output(Timestamps::Iso)?;
    writer.append(&names, &resampled)?;
    Ok(writer.finish()?)
}
