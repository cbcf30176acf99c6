//! Times of an iteration of the gradient engines on a GPU, at whole pixels and at exact positions.
//!
//! Usage: `ptycho_gradient [FRAMESxSIDE …]`; without arguments, 1457 frames of 128² and, for ePIE, 371.
//! An iteration is timed with the host's clock over many of them, which is the time that a user waits.

use anyhow::Context;
use ndarray::{Array2, Array3};
use num_complex::Complex;
use std::io::Write;
use std::time::Instant;
use warpstride::data::{Geometry, Scan};
use warpstride::gpu::{CudaDevice, Device};
use warpstride::ptycho::cuda::GpuEngine;
use warpstride::ptycho::{Engine, EngineName, EngineSpec, Problem, Recipe, Step, UpdateVersion};
use warpstride_benches::median;

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

/// A scan with random counts. Zeros would be computed faster.
fn scan(frames: usize, side: usize) -> anyhow::Result<Scan> {
    let mut state = 1_u32;
    let mut next = move || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        f64::from(state >> 8) / f64::from(1 << 24)
    };
    let counts = Array3::from_shape_simple_fn((frames, side, side), || (50.0 * next()) as f32);
    let geometry = Geometry {
        wavelength: 1e-10,
        distance: 1.0,
        pixel_size: [75e-6; 2],
    };
    let pixel = geometry.object_pixel(side, side);
    let across = (frames as f64).sqrt().ceil();
    let step = 0.16 * side as f64;
    let positions = Array2::from_shape_fn((frames, 2), |(i, axis)| {
        let index = if axis == 0 {
            (i as f64 / across).floor()
        } else {
            i as f64 % across
        };
        ((index + 0.3 * next()) * step).round() * pixel[axis]
    });
    let probe = Array3::from_shape_fn((1, side, side), |(_, r, c)| {
        let at = |i: usize| (i as f64 - side as f64 / 2.0) / (side as f64 / 6.0);
        Complex::cis(2.0 * at(r)) * (-(at(r).powi(2) + at(c).powi(2))).exp()
    });
    Ok(Scan::new(counts, None, positions, geometry, Some(probe))?)
}

fn measure(
    out: &mut impl Write,
    name: EngineName,
    [frames, side]: [usize; 2],
    subpixel: bool,
) -> anyhow::Result<()> {
    let device = CudaDevice::new(0, &warpstride::ptycho::cuda::kernels())?;
    let gpu = device.device_name();
    let problem = Problem::new(&scan(frames, side)?, &Recipe::default())?;
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
