//! Times of an iteration on one GPU and on several that divide the frames, and whether the bits are
//! the same.
//!
//! Usage: `ptycho_devices [ENGINE[:BATCH[:REGIONS]] …] [FRAMESxSIDE …]`, as `ptycho_devices dm
//! lsqml:100 lsqml:100:1 16000x256`; without engines `dm` and `lsqml` with batches of 100 frames,
//! without sizes 16 000 frames of 256² and 60 000 of 128². It runs on one GPU, then on 2, 3, … up
//! to all GPUs of the computer, with direct copies between them, by NCCL if it is installed, and
//! `dm` through the host too. The floor is the time of one GPU divided by their number.

use anyhow::Context;
use num_complex::Complex;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::sync::Arc;
use std::thread;
use std::time::Instant;
use warpstride::cuda::{
    CudaPeers, NcclId, NcclPeers, PeerInvitation, find_nccl, invite_peers, list_devices,
};
use warpstride::gpu::CudaDevice;
use warpstride::ptycho::cuda::{GpuEngine, kernels_for};
use warpstride::ptycho::{
    Engine, EngineName, EngineSpec, Problem, Ranks, Recipe, Step, UpdateVersion,
};
use warpstride::ranks::threads;
use warpstride_benches::median;
use warpstride_benches::scan::random_scan_at;

const SIZES: [[usize; 2]; 2] = [[16_000, 256], [60_000, 128]];
const ENGINES: [Measure; 2] = [
    (EngineName::Dm, None, None),
    (EngineName::Lsqml, Some(100), None),
];
/// How devices exchange arrays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Route {
    /// Copies between them, which their threads queue.
    Direct,
    Nccl,
    Host,
}

/// What a thread joins the others with.
enum Joining {
    Threads(PeerInvitation),
    Nccl(NcclId),
    Host,
}

/// Iterations of one measurement.
const ITERATIONS: usize = 10;

/// An engine, and the frames of a batch and the regions if it has batches.
type Measure = (EngineName, Option<usize>, Option<usize>);

fn spec_of((name, batch, regions): Measure) -> EngineSpec {
    let mut spec = EngineSpec::new(name, 100);
    spec.subpixel = Some(false);
    spec.batch = batch;
    spec.regions = regions;
    spec
}

/// An engine of the arguments.
fn engine_of(text: &str) -> anyhow::Result<Measure> {
    let mut parts = text.split(':');
    let name = parts.next().unwrap_or_default();
    let mut number = || -> anyhow::Result<Option<usize>> {
        let parsed = parts.next().map(str::parse).transpose();
        parsed.with_context(|| text.to_owned())
    };
    let (batch, regions) = (number()?, number()?);
    let known = [
        EngineName::Dm,
        EngineName::Raar,
        EngineName::Lsqml,
        EngineName::Rpie,
    ];
    let found = known.into_iter().find(|known| known.as_str() == name);
    let name = found.with_context(|| format!("{text}: expected dm, raar, lsqml or rpie"))?;
    Ok((name, batch, regions))
}

/// What a run ends with.
struct Measured {
    ms: f64,
    /// A hash of object, probe and all metrics.
    hash: u64,
    /// Milliseconds of the kernels with the longest total time, from a timeline of one iteration.
    stages: Vec<(&'static str, f64)>,
}

/// Milliseconds of an iteration of one of several devices.
fn measure(
    (problem, spec): (&Problem, &EngineSpec),
    device: usize,
    (ranks, way): (Ranks, Joining),
) -> anyhow::Result<Measured> {
    let recipe = Recipe {
        engines: vec![spec.clone()],
        ..Recipe::default()
    };
    let device = CudaDevice::new(device, &kernels_for(&recipe, [problem.shape()[2]; 2]))?;
    let context = device.context();
    let peers = match way {
        Joining::Threads(invitation) => Some(CudaPeers::Threads(invitation.join(context)?)),
        Joining::Nccl(id) => {
            let peers = NcclPeers::join(context, id, ranks.rank(), ranks.size())?;
            Some(CudaPeers::Nccl(peers))
        }
        Joining::Host => None,
    };
    let direct = peers.is_some();
    let version = UpdateVersion::Tiled;
    let mut engine = GpuEngine::among(device, problem, version, None, (ranks, peers))?;
    if direct {
        engine = engine.with_divided_batches();
    }
    let mut iteration = 1;
    let mut finished = Vec::new();
    let mut run = |engine: &mut GpuEngine<CudaDevice>, iterations: usize| -> anyhow::Result<f64> {
        let clock = Instant::now();
        for _ in 0..iterations {
            // The first iteration leaves the probe as it is.
            iteration += 1;
            let step = Step {
                metrics: warpstride::ptycho::StepMetrics::NONE,
                ..Step::new(spec, problem, iteration)
            };
            engine.step(&step)?;
            finished.extend(engine.errors(false)?);
        }
        finished.extend(engine.errors(true)?);
        Ok(clock.elapsed().as_secs_f64() * 1e3 / iterations as f64)
    };
    run(&mut engine, 3)?;
    let mut times = Vec::new();
    for _ in 0..3 {
        times.push(run(&mut engine, ITERATIONS)?);
    }
    engine.start_profile()?;
    run(&mut engine, 1)?;
    let mut stages: Vec<(&'static str, f64)> = Vec::new();
    for span in engine.take_profile()? {
        let ms = (span.end_us - span.start_us) / 1e3;
        match stages.iter_mut().find(|(name, _)| *name == span.name) {
            Some((_, total)) => *total += ms,
            None => stages.push((span.name, ms)),
        }
    }
    stages.sort_by(|a, b| b.1.total_cmp(&a.1));
    stages.truncate(9);
    let mut hasher = DefaultHasher::new();
    for errors in &finished {
        errors.fourier.to_bits().hash(&mut hasher);
    }
    let mut add = |values: &mut dyn Iterator<Item = Complex<f64>>| {
        for value in values {
            [value.re.to_bits(), value.im.to_bits()].hash(&mut hasher);
        }
    };
    add(&mut engine.object()?.into_iter());
    add(&mut engine.probe()?.into_iter());
    Ok(Measured {
        ms: median(times),
        hash: hasher.finish(),
        stages,
    })
}

/// The measurement of the first of `count` devices.
fn on_devices(of: (&Problem, &EngineSpec), count: usize, way: Route) -> anyhow::Result<Measured> {
    let invitations = invite_peers(count);
    let id = (way == Route::Nccl).then(NcclId::new).transpose()?;
    thread::scope(|scope| {
        let members = threads(count).into_iter().zip(invitations).enumerate();
        let started: Vec<_> = members
            .map(|(device, (rank, invitation))| {
                let ranks = Ranks::of(Arc::new(rank));
                let joining = match (way, id) {
                    (Route::Direct, _) => Joining::Threads(invitation),
                    (Route::Nccl, Some(id)) => Joining::Nccl(id),
                    (Route::Nccl | Route::Host, _) => Joining::Host,
                };
                scope.spawn(move || measure(of, device, (ranks, joining)))
            })
            .collect();
        let joined = started.into_iter().map(|thread| {
            let panicked = || anyhow::anyhow!("a thread panicked");
            thread.join().unwrap_or_else(|_| Err(panicked()))
        });
        let mut all = joined.collect::<anyhow::Result<Vec<_>>>()?;
        Ok(all.swap_remove(0))
    })
}

fn main() -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    let (mut sizes, mut engines) = (Vec::new(), Vec::new());
    for text in std::env::args().skip(1) {
        if text.starts_with(|first: char| first.is_ascii_alphabetic()) {
            engines.push(engine_of(&text)?);
            continue;
        }
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
    if sizes.is_empty() {
        sizes.extend(SIZES);
    }
    if engines.is_empty() {
        engines.extend(ENGINES);
    }
    let devices = match list_devices() {
        Ok(devices) => devices.len(),
        Err(why) => {
            writeln!(out, "skipped: {why}")?;
            return Ok(());
        }
    };
    for [frames, side] in sizes {
        let scan = random_scan_at(frames, side, false)?;
        for engine in &engines {
            let spec = spec_of(*engine);
            let recipe = Recipe {
                engines: vec![spec.clone()],
                ..Recipe::default()
            };
            let mut problem = Problem::prepare(&scan, &recipe)?;
            problem.projects_first = true;
            compare(&mut out, (&problem, &spec), devices)?;
        }
    }
    Ok(())
}

/// Writes the times of one GPU, and of up to `devices`.
fn compare(
    out: &mut impl Write,
    (problem, spec): (&Problem, &EngineSpec),
    devices: usize,
) -> anyhow::Result<()> {
    let of = (problem, spec);
    let one = on_devices(of, 1, Route::Direct)?;
    let [frames, _, height, width] = problem.shape();
    let [rows, columns] = problem.positions.object_shape;
    let regions = spec.regions.map(|count| format!(", regions {count}"));
    let batch = spec.batch.map(|size| {
        let regions = regions.unwrap_or_default();
        format!(" with batches of {size}{regions}")
    });
    writeln!(
        out,
        "{frames} x {height}x{width}, object {rows}x{columns}, {}{}: {:.3} ms an iteration on one GPU",
        spec.name.as_str(),
        batch.unwrap_or_default(),
        one.ms
    )?;
    writeln!(out, "    {}", stages(&one))?;
    let mut ways = vec![Route::Direct];
    if find_nccl().is_ok() {
        ways.push(Route::Nccl);
    }
    // Batches are not divided through the host.
    if spec.batch.is_none() {
        ways.push(Route::Host);
    }
    for count in 2..=devices {
        for way in &ways {
            let found = on_devices(of, count, *way)?;
            writeln!(
                out,
                "  {count} GPUs, {}: {:.3} ms, {:.3} times as fast as one; {}",
                match way {
                    Route::Direct => "direct copies",
                    Route::Nccl => "NCCL",
                    Route::Host => "through the host",
                },
                found.ms,
                one.ms / found.ms,
                if found.hash == one.hash {
                    "the same bits"
                } else {
                    "OTHER BITS"
                }
            )?;
            writeln!(out, "    {}", stages(&found))?;
        }
    }
    Ok(())
}

fn stages(of: &Measured) -> String {
    let parts = of.stages.iter().map(|(name, ms)| format!("{name} {ms:.3}"));
    parts.collect::<Vec<_>>().join(", ")
}
