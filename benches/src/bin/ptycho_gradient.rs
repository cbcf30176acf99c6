//! Times of an iteration of the gradient engines on a GPU, at whole pixels and at exact positions.
//!
//! Usage: `ptycho_gradient [FRAMESxSIDE …]`; without arguments, 1457 frames of 128² and, for ePIE, 371.
//! An iteration is timed with the host's clock over many of them, which is the time that a user waits.

use anyhow::Context;
use std::io::Write;
use std::time::Instant;
use warpstride::gpu::{CudaDevice, Device};
use warpstride::ptycho::cuda::GpuEngine;
use warpstride::ptycho::{Engine, EngineName, EngineSpec, Problem, Recipe, Step, UpdateVersion};
use warpstride_benches::median;
use warpstride_benches::scan::random_scan;

/// Engines, and whether they are timed with the frames of ePIE's size.
const ENGINES: [(EngineName, bool); 4] = [
    (EngineName::Lsqml, false),
    (EngineName::Rpie, false),
    (EngineName::Ml, false),
    (EngineName::Epie, true),
];
/// (frames, side) of most engines and of ePIE.
const SIZES: [[usize; 2]; 2] = [[1457, 128], [371, 128]];
/// Iterations of one measurement.
const ITERATIONS: usize = 40;

fn measure(
    out: &mut impl Write,
    name: EngineName,
    [frames, side]: [usize; 2],
    subpixel: bool,
) -> anyhow::Result<()> {
    let device = CudaDevice::new(0, &warpstride::ptycho::cuda::kernels())?;
    let gpu = device.device_name();
    let problem = Problem::new(&random_scan(frames, side)?, &Recipe::default())?;
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
        "{:<6} {frames} x {side}x{side}, {positions}, {gpu}: {ms:.3} ms an iteration",
        name.as_str()
    )?;
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
        let size = parts.try_into();
        sizes.push(size.map_err(|_| anyhow::anyhow!("{text}: expected FRAMESxSIDE"))?);
    }
    if let Err(why) = CudaDevice::new(0, &warpstride::ptycho::cuda::kernels()) {
        writeln!(out, "skipped: {why}")?;
        return Ok(());
    }
    for (name, few) in ENGINES {
        let own = if sizes.is_empty() {
            vec![SIZES[usize::from(few)]]
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
