//! Work without Python's lock, also while the interpreter ends.
//!
//! A thread that asks for the lock when the interpreter is ending is ended by Python within the frames of this module, whose memory
//! other threads may still use. So threads other than the one that ends the interpreter stay here from then on, as those of Python
//! do since version 3.14.

use pyo3::prelude::*;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

/// The thread that ends the interpreter, once it does.
static ENDING: OnceLock<ThreadId> = OnceLock::new();
/// Threads that have looked at `ENDING`, and take the lock next.
static RETURNING: AtomicUsize = AtomicUsize::new(0);
/// How long the end of the interpreter waits for these.
const PATIENCE: Duration = Duration::from_secs(1);

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
