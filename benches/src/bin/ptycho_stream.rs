//! Times of an iteration of `lsqml` on a GPU with all counts there, and with blocks of frames that travel from page-locked host
//! memory.
//!
//! Usage: `ptycho_stream [FRAMESxSIDE …]`; without sizes, 20 000 frames of 256² and 60 000 of 128². The device memory of the
//! run in blocks is a tenth of what all counts need besides the rest. The floor is the larger one of the iteration
//! with all counts and of the bytes that travel, at the rate of one large copy, which is measured first.

use anyhow::Context;
use std::io::Write;
use std::slice;
use std::sync::Arc;
use std::time::Instant;
use warpstride::gpu::{CudaDevice, Device};
use warpstride::ptycho::cuda::GpuEngine;
use warpstride::ptycho::{
    CountCodes, Engine, EngineName, EngineSpec, Problem, Recipe, Step, StreamPlan, UpdateVersion,
};
use warpstride_benches::median;
use warpstride_benches::scan::random_scan_at;

const SIZES: [[usize; 2]; 2] = [[20_000, 256], [60_000, 128]];
/// Iterations of one measurement.
const ITERATIONS: usize = 5;
/// Bytes of the copy whose rate is measured.
const COPY: usize = 1 << 30;
/// Parts of the counts that the device holds.
const PARTS: usize = 10;

fn open() -> Result<CudaDevice, warpstride::gpu::GpuError> {
    CudaDevice::new(0, &warpstride::ptycho::cuda::kernels())
}

/// GB/s of a copy from page-locked memory.
fn copy_rate() -> anyhow::Result<f64> {
    let device = open()?;
    let host = Arc::new(device.pinned::<u8>("a copy", COPY)?);
    let mut buffer = device.alloc::<u8>("a copy", COPY)?;
    let mut rates = Vec::new();
    let whole = 0..COPY;
    for _ in 0..5 {
        let clock = Instant::now();
        let arriving = device.send_beside(&host, slice::from_ref(&whole), buffer)?;
        buffer = device.arrived(arriving)?;
        device.synchronize()?;
        rates.push(COPY as f64 / clock.elapsed().as_secs_f64() / 1e9);
    }
    Ok(median(rates))
}

/// Milliseconds of an iteration, and the last error.
fn measure(
    problem: &Problem,
    batch: usize,
    plan: Option<StreamPlan>,
) -> anyhow::Result<(f64, u64)> {
    let device = open()?;
    let mut engine = GpuEngine::streamed(device, problem, UpdateVersion::Tiled, plan)?;
    let mut spec = EngineSpec::new(EngineName::Lsqml, 100);
    spec.subpixel = Some(false);
    spec.batch = Some(batch);
    let mut iteration = 1;
    let mut last = 0;
    let mut run = |iterations: usize| -> anyhow::Result<f64> {
        let clock = Instant::now();
        for _ in 0..iterations {
            // The first iteration leaves the probe as it is.
            iteration += 1;
            engine.step(&Step::new(&spec, problem, iteration))?;
            engine.errors(false)?;
        }
        for errors in engine.errors(true)? {
            last = errors.fourier.to_bits();
        }
        Ok(clock.elapsed().as_secs_f64() * 1e3 / iterations as f64)
    };
    run(2)?;
    let ms = median(vec![run(ITERATIONS)?, run(ITERATIONS)?, run(ITERATIONS)?]);
    Ok((ms, last))
}

fn compare(out: &mut impl Write, [frames, side]: [usize; 2], rate: f64) -> anyhow::Result<()> {
    let recipe = Recipe::default();
    let mut problem = Problem::new(&random_scan_at(frames, side, false)?, &recipe)?;
    // Whole counts.
    problem
        .magnitudes
        .mapv_inplace(|root| (root * root).round().sqrt());
    let codes = CountCodes::of(&problem.magnitudes);
    let batch = 100;
    let (inside, expected) = measure(&problem, batch, None)?;
    writeln!(
        out,
        "{frames} x {side}x{side}, lsqml, batches of {batch}, host to device {rate:.1} GB/s: {inside:.2} ms an iteration with all counts on the device"
    )?;
    for codes in [codes, None] {
        let block = batch.max((1 << 20) / (side * side));
        let bytes = if codes.is_some() { 2 } else { 4 };
        let slots = frames * 4 / PARTS / block / bytes;
        let plan = StreamPlan::new([frames, side * side], block, slots, codes);
        let (ms, found) = measure(&problem, batch, Some(plan))?;
        anyhow::ensure!(found == expected, "streamed counts gave another error");
        let copies = plan.pass_bytes() as f64 / (rate * 1e6);
        let floor = inside.max(copies);
        writeln!(
            out,
            "  {plan}: {ms:.2} ms, {:.3} of the floor {floor:.2} (copies {copies:.2} ms); device memory {:.2} GB",
            ms / floor,
            plan.device_bytes() as f64 / 1e9
        )?;
    }
    Ok(())
}

fn main() -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    let mut sizes = Vec::new();
    for text in std::env::args().skip(1) {
        let parts: Vec<usize> = text
            .split('x')
            .map(str::parse)
            .collect::<Result<_, _>>()
            .with_context(|| format!("{text}: expected FRAMESxSIDE"))?;
        let [frames, side] = parts[..] else {
            anyhow::bail!("{text}: expected FRAMESxSIDE");
        };
        sizes.push([frames, side]);
    }
    if let Err(why) = open() {
        writeln!(out, "skipped: {why}")?;
        return Ok(());
    }
    if sizes.is_empty() {
        sizes.extend(SIZES);
    }
    let rate = copy_rate()?;
    for size in sizes {
        compare(&mut out, size, rate)?;
    }
    Ok(())
}
