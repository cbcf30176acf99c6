//! Work without Python's lock, also while the interpreter ends.
//!
//! A thread that asks for the lock when the interpreter is ending is ended by Python within the
//! frames of this module, whose memory other threads may still use. So threads other than the one
//! that ends the interpreter stay here from then on, as those of Python do since version 3.14.

use crate::errors::Failure;
use pyo3::prelude::*;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

/// The thread that ends the interpreter, once it does.
static ENDING: OnceLock<ThreadId> = OnceLock::new();
/// Threads that have looked at `ENDING`, and take the lock next.
static RETURNING: AtomicUsize = AtomicUsize::new(0);
/// How long the end of the interpreter waits for these.
const PATIENCE: Duration = Duration::from_secs(1);

/// The process of the first computation; 0 before it.
static PROCESS: AtomicU32 = AtomicU32::new(0);

/// Refuses to compute in a process that was forked after a first computation: the threads that
/// compute are not there, and would be waited for without end.
pub(crate) fn check_process() -> Result<(), Failure> {
    let here = std::process::id();
    let first = PROCESS.compare_exchange(0, here, Ordering::SeqCst, Ordering::SeqCst);
    match first {
        Err(first) if first != here => Err(Failure::Forked(format!(
            "process {here} was forked from process {first} after that had computed or read something, and has not its threads: start processes with multiprocessing's \"spawn\" or \"forkserver\" (multiprocessing.get_context(\"spawn\")), or fork before the first computation"
        ))),
        _ => Ok(()),
    }
}

/// Does `work` without Python's lock.
pub(crate) fn detached<R: Send>(py: Python<'_>, work: impl FnOnce() -> R + Send) -> R {
    let result = py.detach(|| {
        let result = work();
        RETURNING.fetch_add(1, Ordering::SeqCst);
        if ENDING.get().is_some_and(|id| *id != thread::current().id()) {
            RETURNING.fetch_sub(1, Ordering::SeqCst);
            loop {
                thread::park();
            }
        }
        result
    });
    RETURNING.fetch_sub(1, Ordering::SeqCst);
    result
}

/// Called when the interpreter begins to end.
#[pyfunction]
fn interpreter_ends(py: Python<'_>) {
    // It is called once.
    let _ = ENDING.set(thread::current().id());
    py.detach(|| {
        let begun = Instant::now();
        while RETURNING.load(Ordering::SeqCst) > 0 && begun.elapsed() < PATIENCE {
            thread::sleep(Duration::from_millis(1));
        }
    });
}

pub(crate) fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let called = wrap_pyfunction!(interpreter_ends, module)?;
    let atexit = module.py().import("atexit")?;
    atexit.call_method1("register", (called,))?;
    Ok(())
}
