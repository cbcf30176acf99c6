//! What the tests of several rooms share: a whole reconstruction in one call, and the data of real
//! scans where they are.

pub mod jacobi;
pub mod npz;

use anyhow::{Context, Result};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;
use warpstride::data::{Reconstruction, Scan};
use warpstride::ptycho::cpu::CpuEngine;
use warpstride::ptycho::{
    Engine, EngineSpec, Origin, Precision, Problem, Recipe, Reconstructor, outcome,
};

/// A recipe of these engines (`dm:40`), everything else as it comes.
///
/// # Errors
/// An unknown engine.
pub fn recipe(engines: &[&str]) -> Result<Recipe> {
    let engines = engines
        .iter()
        .map(|text| EngineSpec::parse(text))
        .collect::<Result<_, _>>()?;
    Ok(Recipe {
        engines,
        ..Recipe::default()
    })
}

/// Reconstructs `scan` on the CPU in the recipe's precision.
///
/// # Errors
/// Whatever the library says.
pub fn on_cpu(scan: &Scan, recipe: &Recipe) -> Result<Reconstruction> {
    reconstruct(scan, recipe, |problem| {
        Ok(match recipe.precision {
            Precision::F32 => Box::new(CpuEngine::<f32>::new(problem)),
            Precision::F64 => Box::new(CpuEngine::<f64>::new(problem)),
        })
    })
}

/// Reconstructs `scan` with the engine that `make` makes.
///
/// # Errors
/// Whatever the library or `make` says.
pub fn reconstruct(
    scan: &Scan,
    recipe: &Recipe,
    make: impl FnOnce(&Problem) -> Result<Box<dyn Engine>>,
) -> Result<Reconstruction> {
    let problem = Problem::new(scan, recipe)?;
    let mut run = Reconstructor::new(make(&problem)?, &problem, recipe);
    while !run.finished() {
        run.advance()?;
    }
    run.settle()?;
    let origin = Origin {
        source: "memory".to_owned(),
        recipe: recipe.to_toml()?,
    };
    Ok(outcome(&mut run, scan, &problem, recipe, &origin)?)
}

/// The folder of real scans: `WARPSTRIDE_SHARED_DATA`, or `shared/data` beside the workspace.
///
/// # Errors
/// The file is not there; `skipped` says so.
pub fn shared_data(file: &str) -> Result<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data");
    let folder = std::env::var_os("WARPSTRIDE_SHARED_DATA").map_or(beside, PathBuf::from);
    let path = folder.join(file);
    path.is_file()
        .then(|| path.clone())
        .with_context(|| format!("{} is not there", path.display()))
}

/// Runs `work` on a thread of its own.
///
/// # Panics
/// Where `work` does, and where it takes longer than `limit`: a test that hangs fails.
pub fn within(limit: Duration, work: impl FnOnce() + Send + 'static) {
    let (done, finished) = mpsc::channel();
    let worker = thread::spawn(move || {
        work();
        // Nobody listens any more when the limit is passed.
        done.send(()).unwrap_or_default();
    });
    match finished.recv_timeout(limit) {
        Err(RecvTimeoutError::Timeout) => panic!("not done within {limit:?}"),
        // The sender is gone without a word: the worker panicked.
        Ok(()) | Err(RecvTimeoutError::Disconnected) => {
            if let Err(panic) = worker.join() {
                std::panic::resume_unwind(panic);
            }
        }
    }
}

/// Says, even where a test's output is kept back, that something was not tested.
pub fn skipped(what: &str, why: &dyn std::fmt::Display) {
    let mut err = std::io::stderr().lock();
    // Nobody is left to tell when standard error is closed.
    writeln!(err, "SKIPPED {what}: {why}").unwrap_or_default();
}
