//! Simulates a ptychographic scan and reconstructs it with the library, on a GPU if one can be used and
//! otherwise on the CPU.

use anyhow::{Context, Result, ensure};
use warpstride::ptycho::cpu::CpuEngine;
use warpstride::ptycho::cuda::{kernels, on_cuda, on_emulator};
use warpstride::ptycho::{
    Engine, EngineName, EngineSpec, Problem, Recipe, Reconstructor, SimulateOptions, UpdateVersion,
    simulate,
};
use warpstride::run::{BackendKind, BackendName, BackendRequest};

fn main() -> Result<()> {
    let scan = simulate(&SimulateOptions {
        frame: 32,
        positions: 20,
        ..SimulateOptions::default()
    })?;
    let recipe = Recipe {
        engines: vec![
            EngineSpec::new(EngineName::Dm, 20),
            EngineSpec::new(EngineName::Raar, 10),
        ],
        ..Recipe::default()
    };
    let problem = Problem::prepare(&scan, &recipe)?;
    let version = UpdateVersion::choose(
        recipe.gpu.updates,
        problem.shape(),
        problem.positions.object_shape,
    );
    let chosen = BackendRequest::new(BackendName::Auto, None)
        .open(None, kernels)?
        .engine(
            || Ok::<_, anyhow::Error>(()),
            |kind| {
                Ok(match kind {
                    BackendKind::Cpu => {
                        Box::new(CpuEngine::<f32>::new(&problem)) as Box<dyn Engine>
                    }
                    BackendKind::Cuda(device) => on_cuda(*device, &problem, version, None)?,
                    BackendKind::Emulator(device) => on_emulator(device, &problem, version, None)?,
                })
            },
        )?;
    if let Some(note) = chosen.note {
        println!("note: {note}");
    }

    let mut run = Reconstructor::new(chosen.engine, &problem, &recipe);
    while !run.finished() {
        run.advance()?;
    }
    run.flush()?;
    let r: Vec<f64> = run
        .progress()
        .history
        .iter()
        .filter_map(|entry| entry.r_factor)
        .collect();
    let (first, last) = r.first().zip(r.last()).context("no R was computed")?;
    let object = run.engine().object()?;
    println!(
        "object of {} x {} pixels, R from {first:.3} to {last:.4}",
        object.nrows(),
        object.ncols()
    );
    ensure!(last < &(0.2 * first), "the reconstruction did not converge");
    Ok(())
}
