//! Times of an iteration of the difference map on a GPU, whole and by stages, compared with the
//! least time that memory bandwidth allows.
//!
//! Usage: `ptycho_iteration [FRAMESxSIDExMODES …]`; without arguments, the sizes of the baselines.
//! Each stage is timed with events, as the median of several runs; the whole iteration with the
//! host's clock over many queued ones, which is the time that a user waits.

use anyhow::Context;
use std::io::Write;
use std::time::Instant;
use warpstride::gpu::{CudaDevice, Device};
use warpstride::ptycho::cuda::GpuEngine;
use warpstride::ptycho::{
    Engine, EngineName, EngineSpec, GpuStep, GpuWaves, Problem, Recipe, Step, StepMetrics,
    StepPlan, UpdateVersion,
};
use warpstride_benches::median;
use warpstride_benches::scan::random_scan;

/// Sizes with published or measured speeds: (frames, side, modes).
/// 1452 frames are whole rounds of 132 multiprocessors.
const DEFAULT: &[[usize; 3]] = &[
    [1457, 128, 1],
    [1452, 128, 1],
    [1457, 64, 1],
    [1457, 256, 1],
    [364, 512, 1],
    [1457, 128, 4],
];
/// Timed repetitions of each stage.
const REPEATS: usize = 9;
/// Iterations queued together.
const ITERATIONS: usize = 100;

/// Rate of copies within device memory, bytes per second, reads and writes.
fn copy_rate(device: &CudaDevice) -> anyhow::Result<f64> {
    const ELEMENTS: usize = 1 << 28;
    let from = device.alloc::<f32>("copy source", ELEMENTS)?;
    let mut to = device.alloc::<f32>("copy target", ELEMENTS)?;
    let mut times = Vec::new();
    for _ in 0..REPEATS {
        times.push(f64::from(
            device.time_ms(&mut || device.copy(&from, &mut to))?,
        ));
    }
    Ok(8.0 * ELEMENTS as f64 / (median(times) * 1e-3))
}

/// Bytes that a stage must move through device memory: every exit-wave array once in each
/// direction, values of the stored exit waves with `wave` bytes each. Object and probe, shared by
/// all frames, are assumed to be cached.
fn floor_bytes(stage: &str, pixels: f64, modes: f64, wave: f64) -> f64 {
    match stage {
        "exit-wave build" => wave * pixels * modes,
        "transform, forward" | "transform, inverse" => 16.0 * pixels * modes,
        "Fourier step" => (24.0 * modes + 4.0) * pixels,
        "object update" | "probe update" => wave * pixels * modes,
        "fused step" | "fused step, err_exit" => (2.0 * wave * modes + 4.0) * pixels,
        "columns, reflected" => (8.0 + wave) * pixels * modes,
        "rows, projected" => (16.0 * modes + 4.0) * pixels,
        "columns, finished" => (8.0 + 2.0 * wave) * pixels * modes,
        "model metrics" => 4.0 * pixels,
        _ => 0.0,
    }
}

fn measure(
    out: &mut impl Write,
    [frames, side, modes]: [usize; 3],
    (step, waves): (GpuStep, GpuWaves),
    version: UpdateVersion,
) -> anyhow::Result<()> {
    let device = CudaDevice::new(0, &warpstride::ptycho::cuda::kernels())?;
    let rate = copy_rate(&device)?;
    let scan = random_scan(frames, side)?;
    let mut recipe = Recipe {
        probe_modes: modes,
        ..Recipe::default()
    };
    (recipe.gpu.step, recipe.gpu.waves) = (step, waves);
    let problem = Problem::prepare(&scan, &recipe)?;
    let pixels = (frames * side * side) as f64;
    let object = problem.positions.object_shape;
    let name = device.device_name();
    writeln!(
        out,
        "\n{frames} frames {side}x{side}, modes: {modes}, object {}x{}, {version:?} updates, {name}, copy {:.2} TB/s",
        object[0],
        object[1],
        rate * 1e-12
    )?;
    let plan = StepPlan::new(step, problem.shape(), device.shared_memory()).with_waves(waves);
    let wave = match plan.waves() {
        GpuWaves::F32 => 8.0,
        GpuWaves::Bf16 => 4.0,
    };
    writeln!(out, "  {plan}")?;
    let mut engine = GpuEngine::new(device, &problem, version)?;
    // The second iteration is the first that updates the probe.
    let step = Step::new(&EngineSpec::new(EngineName::Dm, 2), &problem, 2);
    let mut stages: Vec<(&'static str, Vec<f64>)> = Vec::new();
    for repeat in 0..=REPEATS {
        for (i, (name, ms)) in engine.stage_times(&step)?.into_iter().enumerate() {
            if repeat == 0 {
                stages.push((name, Vec::new()));
            } else {
                stages[i].1.push(f64::from(ms));
            }
        }
    }
    writeln!(
        out,
        "  {:<20} {:>9} {:>9} {:>6}",
        "stage", "ms", "floor ms", "share"
    )?;
    for (name, times) in stages {
        let (ms, bytes) = (median(times), floor_bytes(name, pixels, modes as f64, wave));
        let floor = bytes / rate * 1e3;
        writeln!(
            out,
            "  {name:<20} {ms:>9.4} {floor:>9.4} {:>5.0}%",
            100.0 * floor / ms
        )?;
    }
    // ψ, m and ψ for the projection; ψ again for the probe.
    let fused_floor = (3.0 * wave * modes as f64 + 4.0) * pixels / rate * 1e3;
    let mut run = |every: usize| -> anyhow::Result<f64> {
        let clock = Instant::now();
        for iteration in 1..=ITERATIONS {
            let metrics = if iteration.is_multiple_of(every) {
                StepMetrics::ALL
            } else {
                StepMetrics::NONE
            };
            engine.step(&Step { metrics, ..step })?;
            engine.errors(false)?;
        }
        engine.errors(true)?;
        Ok(clock.elapsed().as_secs_f64() * 1e3 / ITERATIONS as f64)
    };
    run(10)?;
    for every in [10, 1] {
        let ms = median(vec![run(every)?, run(every)?, run(every)?]);
        writeln!(
            out,
            "  whole iteration, all metrics every {every}: {ms:.4} ms (fused floor {fused_floor:.4} ms: {:.0}%)",
            100.0 * fused_floor / ms
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
            .with_context(|| format!("{text}: expected FRAMESxSIDExMODES"))?;
        let size = parts.try_into();
        sizes.push(size.map_err(|_| anyhow::anyhow!("{text}: expected FRAMESxSIDExMODES"))?);
    }
    if sizes.is_empty() {
        sizes = DEFAULT.to_vec();
    }
    if let Err(why) = CudaDevice::new(0, &warpstride::ptycho::cuda::kernels()) {
        writeln!(out, "skipped: {why}")?;
        return Ok(());
    }
    for size in sizes {
        let (auto, unfused) = (GpuStep::Auto, GpuStep::Unfused);
        let version = UpdateVersion::Tiled;
        measure(&mut out, size, (auto, GpuWaves::F32), version)?;
        let [_, side, modes] = size;
        if StepPlan::on_hopper(auto, [1, modes, side, side]).is_fused() {
            measure(&mut out, size, (auto, GpuWaves::Bf16), version)?;
            measure(&mut out, size, (unfused, GpuWaves::F32), version)?;
        }
    }
    Ok(())
}
