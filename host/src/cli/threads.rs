//! The option `--threads`.

use super::failure::Failure;

/// Most threads that `--threads` accepts.
const MOST_THREADS: usize = 256;

/// Checks the value of `--threads`.
pub(crate) fn check(threads: Option<usize>) -> Result<(), Failure> {
    match threads {
        Some(n) if !(1..=MOST_THREADS).contains(&n) => Err(Failure::usage(format!(
            "--threads {n}: expected 1 to {MOST_THREADS}"
        ))),
        _ => Ok(()),
    }
}

/// Sets the size of the global thread pool, if `--threads` is given.
pub(crate) fn start(threads: Option<usize>) -> Result<(), Failure> {
    if let Some(n) = threads {
        rayon::ThreadPoolBuilder::new()
            .num_threads(n)
            .build_global()?;
    }
    Ok(())
}
