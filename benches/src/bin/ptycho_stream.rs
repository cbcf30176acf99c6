//! Times of an iteration of `lsqml` and `dm` on a GPU with everything there, and with blocks of
//! frames that travel from and to page-locked host memory.
//!
//! Usage: `ptycho_stream [--scratch FOLDER] [ENGINE[:REGIONS] …] [FRAMESxSIDE …]`; without engines
//! both, without regions those that the engine chooses, without sizes 20 000 frames of 256² and 60
//! 000 of 128². The device memory of the run in blocks is a tenth of what counts and exit waves
//! need. The floor is the larger one of the iteration with everything there and of the bytes that
//! travel in either direction, at the rate of one large copy, which is measured first.
//!
//! With `--scratch` the counts of `lsqml` are in a temporary file in the folder, from which blocks
//! travel; the largest memory of the process (`VmHWM`) is printed after that run, which comes
//! first.

use anyhow::Context;
use std::io::Write;
use std::path::Path;
use std::slice;
use std::sync::Arc;
use std::time::Instant;
use warpstride::gpu::{CudaDevice, Device};
use warpstride::ptycho::cuda::{GpuEngine, kernels_for};
use warpstride::ptycho::data::Scan;
use warpstride::ptycho::{
    CountCodes, Engine, EngineName, EngineSpec, Problem, Recipe, Step, StreamPlan, UpdateVersion,
};
use warpstride_benches::median;
use warpstride_benches::scan::{random_scan_at, random_scan_in};

const SIZES: [[usize; 2]; 2] = [[20_000, 256], [60_000, 128]];
/// Iterations of one measurement.
const ITERATIONS: usize = 5;
/// Bytes of the copy whose rate is measured.
const COPY: usize = 1 << 30;
/// Parts of counts and exit waves that the device holds.
const PARTS: usize = 10;
/// Frames of a batch.
const BATCH: usize = 100;

/// The first device, with the kernels of `recipe` for frames of `side` rows and columns.
fn open(recipe: &Recipe, side: usize) -> Result<CudaDevice, warpstride::gpu::GpuError> {
    CudaDevice::new(0, &kernels_for(recipe, [side; 2]))
}

/// What is measured: an engine at whole pixels, `lsqml` with its batches on so many regions, or on
/// those that it chooses.
fn spec_of(name: EngineName, regions: Option<usize>) -> EngineSpec {
    let mut spec = EngineSpec::new(name, 100);
    spec.subpixel = Some(false);
    if name == EngineName::Lsqml {
        spec.batch = Some(BATCH);
        spec.regions = regions;
    }
    spec
}

fn recipe(spec: &EngineSpec) -> Recipe {
    Recipe {
        engines: vec![spec.clone()],
        ..Recipe::default()
    }
}

/// GB/s of a copy from page-locked memory.
fn copy_rate(device: &CudaDevice) -> anyhow::Result<f64> {
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
    spec: &EngineSpec,
    plan: Option<StreamPlan>,
) -> anyhow::Result<(f64, u64)> {
    let device = open(&recipe(spec), problem.shape()[2])?;
    let mut engine = GpuEngine::streamed(device, problem, UpdateVersion::Tiled, plan)?;
    let mut iteration = 1;
    let mut last = 0;
    let mut run = |iterations: usize| -> anyhow::Result<f64> {
        let clock = Instant::now();
        for _ in 0..iterations {
            // The first iteration leaves the probe as it is.
            iteration += 1;
            engine.step(&Step::new(spec, problem, iteration))?;
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

/// Blocks with counts in 16 bits, and for engines by batches in 32 bits too.
fn plans(problem: &Problem, name: EngineName) -> Vec<StreamPlan> {
    let [frames, modes, rows, columns] = problem.shape();
    let (all, pixels) = ([frames, rows * columns], rows * columns);
    let codes = problem.magnitudes.codes();
    if name.projects() {
        let block = ((1 << 22) / (modes * pixels)).max(1);
        let slots = (frames / PARTS / block).max(4);
        let plan = StreamPlan::new(all, block, slots, codes);
        return vec![plan.with_waves(modes, problem.gpu_waves, slots)];
    }
    let block = BATCH.max((1 << 20) / pixels);
    let of = |codes: Option<CountCodes>| {
        let bytes = if codes.is_some() { 2 } else { 4 };
        StreamPlan::new(all, block, frames * 4 / PARTS / block / bytes, codes)
    };
    vec![of(codes), of(None)]
}

fn compare(
    out: &mut impl Write,
    spec: &EngineSpec,
    problem: &Problem,
    rate: f64,
) -> anyhow::Result<()> {
    let name = spec.name;
    let [frames, _, _, side] = problem.shape();
    let (inside, expected) = measure(problem, spec, None)?;
    let regions = if problem.has_regions() {
        " on regions"
    } else {
        ""
    };
    writeln!(
        out,
        "{frames} x {side}x{side}, {}{regions}, host to device {rate:.1} GB/s: {inside:.2} ms an iteration with everything on the device",
        name.as_str()
    )?;
    for plan in plans(problem, name) {
        let (ms, found) = measure(problem, spec, Some(plan))?;
        anyhow::ensure!(found == expected, "blocks gave another error");
        let [up, down] = plan.wave_bytes();
        let bytes = (plan.pass_bytes() + up).max(down);
        let copies = bytes as f64 / (rate * 1e6);
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

/// The largest memory of this process so far, GB.
fn peak_memory() -> anyhow::Result<f64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find(|line| line.starts_with("VmHWM"));
    let number = line.and_then(|line| line.split_whitespace().nth(1));
    let kib: f64 = number
        .context("expected VmHWM in /proc/self/status")?
        .parse()?;
    Ok(kib * 1024.0 / 1e9)
}

/// Times an engine with counts in a temporary file in `folder`, with a tenth of them on the device
/// and with all of them.
fn from_file(
    out: &mut impl Write,
    folder: &Path,
    [frames, side]: [usize; 2],
    (spec, rate): (&EngineSpec, f64),
) -> anyhow::Result<()> {
    let clock = Instant::now();
    let scan = random_scan_in(folder, frames, side)?;
    let problem = Problem::prepare(&scan, &recipe(spec))?;
    let prepared = clock.elapsed().as_secs_f64();
    drop(scan);
    let plans = plans(&problem, spec.name);
    let plan = plans.first().context("expected a plan")?.in_file();
    let (ms, found) = measure(&problem, spec, Some(plan))?;
    let peak = peak_memory()?;
    let (pinned_ms, _) = measure(&problem, spec, plans.first().copied())?;
    let (inside, expected) = measure(&problem, spec, None)?;
    anyhow::ensure!(found == expected, "blocks of a file gave another error");
    let copies = plan.pass_bytes() as f64 / (rate * 1e6);
    let floor = inside.max(copies);
    writeln!(
        out,
        "{frames} x {side}x{side}, {}, prepared in {prepared:.1} s: {inside:.2} ms an iteration with everything on the device\n  {plan}: {ms:.2} ms, {:.3} of the floor {floor:.2} (copies {copies:.2} ms), from page-locked memory {pinned_ms:.2} ms; largest host memory {peak:.2} GB",
        spec.name.as_str(),
        ms / floor
    )?;
    Ok(())
}

/// The problem of an engine, with whole counts.
fn problem(scan: &Scan, spec: &EngineSpec) -> anyhow::Result<Problem> {
    let mut problem = Problem::prepare(scan, &recipe(spec))?;
    if let Some(magnitudes) = problem.magnitudes.in_memory_mut() {
        magnitudes.mapv_inplace(|root| (root * root).round().sqrt());
    }
    Ok(problem)
}

fn main() -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    let (mut sizes, mut specs, mut scratch) = (Vec::new(), Vec::new(), None);
    let mut args = std::env::args().skip(1);
    while let Some(text) = args.next() {
        if text == "--scratch" {
            scratch = Some(args.next().context("--scratch: expected a folder")?);
            continue;
        }
        let (name, regions) = match text.split_once(':') {
            Some((name, regions)) => {
                let parsed = regions.parse();
                let known = parsed.ok().filter(|regions| matches!(regions, 1 | 4));
                (
                    name,
                    Some(known.with_context(|| format!("{text}: expected 1 or 4 regions"))?),
                )
            }
            None => (text.as_str(), None),
        };
        if let Some(name) = EngineName::from_name(name) {
            specs.push(spec_of(name, regions));
            continue;
        }
        let parts: Vec<usize> = text
            .split('x')
            .map(str::parse)
            .collect::<Result<_, _>>()
            .with_context(|| format!("{text}: expected an engine or FRAMESxSIDE"))?;
        let [frames, side] = parts[..] else {
            anyhow::bail!("{text}: expected an engine or FRAMESxSIDE");
        };
        sizes.push([frames, side]);
    }
    let rate = match open(&recipe(&spec_of(EngineName::Epie, None)), 1) {
        Ok(device) => copy_rate(&device)?,
        Err(why) => {
            writeln!(out, "skipped: {why}")?;
            return Ok(());
        }
    };
    if sizes.is_empty() {
        sizes.extend(SIZES);
    }
    if let Some(folder) = scratch {
        if specs.is_empty() {
            specs.push(spec_of(EngineName::Lsqml, None));
        }
        for size in sizes {
            for spec in &specs {
                from_file(&mut out, Path::new(&folder), size, (spec, rate))?;
            }
        }
        return Ok(());
    }
    if specs.is_empty() {
        specs.extend([EngineName::Lsqml, EngineName::Dm].map(|name| spec_of(name, None)));
    }
    for [frames, side] in sizes {
        let scan = random_scan_at(frames, side, false)?;
        for spec in &specs {
            compare(&mut out, spec, &problem(&scan, spec)?, rate)?;
        }
    }
    Ok(())
}
