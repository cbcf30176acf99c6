//! Support for tests of several modules: a whole reconstruction in one call, and the files of real
//! data.

pub mod jacobi;
pub mod npz;

use anyhow::{Context, Result};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;
use warpstride::ptycho::cpu::CpuEngine;
use warpstride::ptycho::data::{Reconstruction, Scan};
use warpstride::ptycho::{
    Engine, EngineSpec, Origin, Precision, Problem, Recipe, Reconstructor, result,
};

/// A recipe of these engines (`dm:40`), with defaults for everything else.
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
/// Errors of the library.
pub fn on_cpu(scan: &Scan, recipe: &Recipe) -> Result<Reconstruction> {
    reconstruct(scan, recipe, |problem| {
        Ok(match recipe.precision {
            Precision::F32 => Box::new(CpuEngine::<f32>::new(problem)),
            Precision::F64 => Box::new(CpuEngine::<f64>::new(problem)),
        })
    })
}

/// Reconstructs `scan` with the engine that `make` returns.
///
/// # Errors
/// Errors of the library and of `make`.
pub fn reconstruct(
    scan: &Scan,
    recipe: &Recipe,
    make: impl FnOnce(&Problem) -> Result<Box<dyn Engine>>,
) -> Result<Reconstruction> {
    let problem = Problem::prepare(scan, recipe)?;
    let mut run = Reconstructor::new(make(&problem)?, &problem, recipe);
    while !run.finished() {
        run.advance()?;
    }
    run.flush()?;
    let origin = Origin {
        source: "memory".to_owned(),
        recipe: recipe.to_toml()?,
        trials: String::new(),
    };
    Ok(result(&mut run, scan, &problem, recipe, &origin)?)
}

/// The path of `file` in the folder of real data: `WARPSTRIDE_SHARED_DATA`, or `shared/data` beside
/// the workspace.
///
/// # Errors
/// The file does not exist, which callers report with [`skipped`].
pub fn shared_data(file: &str) -> Result<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data");
    let folder = std::env::var_os("WARPSTRIDE_SHARED_DATA").map_or(beside, PathBuf::from);
    let path = folder.join(file);
    path.is_file()
        .then(|| path.clone())
        .with_context(|| format!("{} does not exist", path.display()))
}

/// Runs `work` on another thread.
///
/// # Panics
/// If `work` panics or takes longer than `limit`, so that a test that hangs fails.
pub fn within(limit: Duration, work: impl FnOnce() + Send + 'static) {
    let (done, finished) = mpsc::channel();
    let worker = thread::spawn(move || {
        work();
        // The receiver is gone if the limit has passed.
        done.send(()).unwrap_or_default();
    });
    match finished.recv_timeout(limit) {
        Err(RecvTimeoutError::Timeout) => panic!("not done within {limit:?}"),
        // The sender was dropped without a message: the worker panicked.
        Ok(()) | Err(RecvTimeoutError::Disconnected) => {
            if let Err(panic) = worker.join() {
                std::panic::resume_unwind(panic);
            }
        }
    }
}

/// Reports a skipped test on standard error, even if the test harness captures output.
pub fn skipped(what: &str, why: &dyn std::fmt::Display) {
    let mut err = std::io::stderr().lock();
    // An error cannot be reported if standard error is closed.
    writeln!(err, "SKIPPED {what}: {why}").unwrap_or_default();
}
