//! Benchmark of the ladder of schemes of the relaxation, on 1, 2, 4 … GPUs.
//!
//! Usage: `jacobi_ladder [NYxNX …] [--sweeps N] [--short]`; the default sizes are 16384x16384 and
//! 2048x2048. Prints for each scheme the time in seconds (by the host's clock, from the first
//! launch to the last norm, the median of three runs after a warm-up), the share of the memory
//! floor (from the copy rate measured in the same run) and the efficiency relative to one GPU with
//! the same scheme; then weak scaling (rows times GPUs).

use anyhow::Context as _;
use std::io::Write;
use std::time::Instant;
use warpstride::cuda::list_devices;
use warpstride::gpu::CudaDeviceGroup;
use warpstride::jacobi::cuda::{GroupEngine, Plan, Scheme};
use warpstride::jacobi::{Boundary, Engine, Problem, Stopping};
use warpstride_benches::median;

const REPEATS: usize = 3;

struct Timed {
    seconds: f64,
    last: f64,
    floor: Option<f64>,
    depth: usize,
    setup: f64,
}

fn time(
    group: &CudaDeviceGroup,
    problem: &Problem<f32>,
    rule: Stopping,
    plan: Plan,
) -> anyhow::Result<Timed> {
    let mut seconds = Vec::new();
    let mut timed = Timed {
        seconds: 0.0,
        last: 0.0,
        floor: None,
        depth: 0,
        setup: 0.0,
    };
    for repeat in 0..=REPEATS {
        let start = Instant::now();
        let mut engine = GroupEngine::<f32, &CudaDeviceGroup>::new(group, problem, rule, plan)?;
        timed.setup = start.elapsed().as_secs_f64();
        let start = Instant::now();
        while !engine.finished() {
            if let Some(norm) = engine.advance()?.norms.last() {
                timed.last = norm.norm;
            }
        }
        if repeat > 0 {
            seconds.push(start.elapsed().as_secs_f64());
        }
        let cells = (problem.nx() * problem.ny()) as f64;
        timed.depth = engine.execution().time_block;
        timed.floor = engine
            .execution()
            .copy_bytes_per_second
            .map(|rate| rule.iterations as f64 * 8.0 * cells / rate);
    }
    timed.seconds = median(seconds);
    Ok(timed)
}

fn main() -> anyhow::Result<()> {
    let mut sizes = Vec::new();
    let (mut sweeps, mut short) = (1000, false);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--sweeps" => sweeps = arguments.next().context("--sweeps N")?.parse()?,
            "--short" => short = true,
            size => {
                let (ny, nx) = size.split_once('x').context("sizes are NYxNX")?;
                sizes.push((ny.parse::<usize>()?, nx.parse::<usize>()?));
            }
        }
    }
    if sizes.is_empty() {
        sizes = vec![(16384, 16384), (2048, 2048)];
    }
    let found = list_devices()?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "{} × {}", found.len(), found[0].name)?;
    let counts: Vec<usize> = [1, 2, 4, 8]
        .into_iter()
        .filter(|n| *n <= found.len())
        .collect();
    let all: Vec<usize> = (0..found.len()).collect();
    let start = Instant::now();
    let kernels = warpstride::jacobi::cuda::kernels::<f32>(false);
    let groups: Vec<CudaDeviceGroup> = counts
        .iter()
        .map(|count| CudaDeviceGroup::new(&all[..*count], &kernels))
        .collect::<Result<_, _>>()?;
    writeln!(
        out,
        "device groups created in {:.2} s",
        start.elapsed().as_secs_f64()
    )?;

    for (ny, nx) in sizes {
        for weak in [false, true] {
            if weak && (short || counts.len() < 2) {
                continue;
            }
            let kind = if weak { "rows times GPUs" } else { "one grid" };
            writeln!(out, "{ny} × {nx}, {kind}, {sweeps} sweeps, f32")?;
            writeln!(
                out,
                "{:<16}{:>6}{:>6}{:>6}{:>10}{:>10}{:>8}{:>8}{:>8}",
                "scheme", "p2p", "check", "GPUs", "seconds", "µs/sweep", "share", "eff", "setup"
            )?;
            for (scheme, p2p) in rungs(short || weak) {
                for check_every in [1, 100] {
                    let mut alone = None;
                    for (group, count) in groups.iter().zip(&counts) {
                        if *count == 1 && p2p == Some(false) {
                            continue;
                        }
                        let rows = if weak { (ny - 2) * count + 2 } else { ny };
                        let problem = Problem::new(nx, rows, Boundary::Textbook)?;
                        let rule = Stopping {
                            iterations: sweeps,
                            tolerance: 1e-8,
                            check_every,
                        };
                        let plan = Plan {
                            scheme,
                            p2p,
                            ..Plan::default()
                        };
                        let timed = time(group, &problem, rule, plan)?;
                        let one = *alone.get_or_insert(
                            timed.seconds * if *count == 1 { 1.0 } else { f64::NAN },
                        );
                        let ideal = if weak { 1.0 } else { *count as f64 };
                        let percent = |value: Option<f64>| {
                            value.map_or_else(|| "-".to_owned(), |v| format!("{:.1}%", 100.0 * v))
                        };
                        let name = if timed.depth > 1 {
                            format!("{} T={}", scheme.name(), timed.depth)
                        } else {
                            scheme.name().to_owned()
                        };
                        writeln!(
                            out,
                            "{name:<16}{:>6}{check_every:>6}{count:>6}{:>10.4}{:>10.2}{:>8}{:>8}{:>8.2}  last norm {:.6}",
                            match p2p {
                                Some(false) => "host",
                                _ if *count > 1 => "peer",
                                _ => "-",
                            },
                            timed.seconds,
                            1e6 * timed.seconds / sweeps as f64,
                            percent(timed.floor.map(|floor| floor / timed.seconds)),
                            percent((!one.is_nan()).then_some(one / (ideal * timed.seconds))),
                            timed.setup,
                            timed.last,
                        )?;
                    }
                }
            }
        }
    }
    Ok(())
}

/// The schemes, and whether halos may be sent directly.
fn rungs(short: bool) -> Vec<(Scheme, Option<bool>)> {
    let mut rungs: Vec<(Scheme, Option<bool>)> = Scheme::ALL
        .into_iter()
        .filter(|scheme| {
            !short || matches!(scheme, Scheme::Overlap | Scheme::Graphs | Scheme::Temporal)
        })
        .map(|scheme| (scheme, None))
        .collect();
    if !short {
        rungs.push((Scheme::Overlap, Some(false)));
        rungs.push((Scheme::Temporal, Some(false)));
    }
    rungs
}
