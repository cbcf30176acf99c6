//! Times of an iteration of the gradient engines on a GPU, at whole pixels and at exact positions
//! between pixels.
//!
//! Usage: `ptycho_gradient [ENGINE …] [FRAMESxSIDE[xMODES] …]`; without engines, all of them;
//! without sizes, 1457 frames of 128² with one and with three modes and, for ePIE, 371 with one. An
//! iteration is timed with the host's clock over many of them, which is the time that a user waits.

use anyhow::Context;
use std::io::Write;
use std::time::Instant;
use warpstride::gpu::{CudaDevice, Device};
use warpstride::ptycho::cuda::GpuEngine;
use warpstride::ptycho::{Engine, EngineName, EngineSpec, Problem, Recipe, Step, UpdateVersion};
use warpstride_benches::median;
use warpstride_benches::scan::random_scan_at;

/// Engines, and whether they are timed with the frames of ePIE's size.
const ENGINES: [(EngineName, bool); 4] = [
    (EngineName::Lsqml, false),
    (EngineName::Rpie, false),
    (EngineName::Ml, false),
    (EngineName::Epie, true),
];
/// (frames, side, modes) of most engines.
const SIZES: [[usize; 3]; 2] = [[1457, 128, 1], [1457, 128, 3]];
/// The same of ePIE.
const FEW: [usize; 3] = [371, 128, 1];
/// Iterations of one measurement.
const ITERATIONS: usize = 40;

fn measure(
    out: &mut impl Write,
    name: EngineName,
    [frames, side, modes]: [usize; 3],
    subpixel: bool,
) -> anyhow::Result<()> {
    let device = CudaDevice::new(0, &warpstride::ptycho::cuda::kernels())?;
    let gpu = device.device_name();
    let recipe = Recipe {
        probe_modes: modes,
        ..Recipe::default()
    };
    let problem = Problem::prepare(&random_scan_at(frames, side, subpixel)?, &recipe)?;
    let mut engine = GpuEngine::new(device, &problem, UpdateVersion::Tiled)?;
    let mut spec = EngineSpec::new(name, ITERATIONS);
    spec.subpixel = Some(subpixel);
    if name == EngineName::Rpie {
        spec.batch = Some(100);
    }
    let mut iteration = 1;
    let mut run = |iterations: usize| -> anyhow::Result<f64> {
        let clock = Instant::now();
        for _ in 0..iterations {
            // The first iteration leaves the probe as it is.
            iteration += 1;
            engine.step(&Step::new(&spec, &problem, iteration))?;
            engine.errors(false)?;
        }
        engine.errors(true)?;
        Ok(clock.elapsed().as_secs_f64() * 1e3 / iterations as f64)
    };
    run(5)?;
    let ms = median(vec![run(ITERATIONS)?, run(ITERATIONS)?, run(ITERATIONS)?]);
    let positions = if subpixel {
        "exact positions"
    } else {
        "whole pixels"
    };
    writeln!(
        out,
        "{:<6} {frames} x {side}x{side}, modes: {modes}, {positions}, {gpu}: {ms:.3} ms an iteration",
        name.as_str()
    )?;
    Ok(())
}

fn main() -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    let (mut sizes, mut engines) = (Vec::new(), Vec::new());
    for text in std::env::args().skip(1) {
        if let Some(engine) = ENGINES.into_iter().find(|(name, _)| name.as_str() == text) {
            engines.push(engine);
            continue;
        }
        let parts: Vec<usize> = text
            .split('x')
            .map(str::parse)
            .collect::<Result<_, _>>()
            .with_context(|| {
                format!("{text}: expected an engine, FRAMESxSIDE or FRAMESxSIDExMODES")
            })?;
        sizes.push(match parts[..] {
            [frames, side] => [frames, side, 1],
            [frames, side, modes] => [frames, side, modes],
            _ => anyhow::bail!("{text}: expected an engine, FRAMESxSIDE or FRAMESxSIDExMODES"),
        });
    }
    if let Err(why) = CudaDevice::new(0, &warpstride::ptycho::cuda::kernels()) {
        writeln!(out, "skipped: {why}")?;
        return Ok(());
    }
    if engines.is_empty() {
        engines.extend(ENGINES);
    }
    for (name, few) in engines {
        let own = if sizes.is_empty() {
            if few { vec![FEW] } else { SIZES.to_vec() }
        } else {
            sizes.clone()
        };
        for size in own {
            for subpixel in [false, true] {
                measure(&mut out, name, size, subpixel)?;
            }
        }
    }
    Ok(())
}
