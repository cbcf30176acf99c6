//! The option `--threads`, and the variables of the environment that have the same effect.

use super::failure::Failure;
use std::sync::OnceLock;

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

/// The variables from which rayon takes the number of threads if `--threads` is not given.
const VARIABLES: [&str; 2] = ["RAYON_NUM_THREADS", "RAYON_RS_NUM_CPUS"];

/// Checks the variables of the environment. Empty ones, and 0, mean the default, as for rayon, which
/// takes texts that are not numbers for the default too.
pub(crate) fn check_environment() -> Result<(), Failure> {
    for name in VARIABLES {
        let value = std::env::var_os(name).unwrap_or_default();
        let text = value.to_string_lossy();
        let threads = text.parse::<usize>();
        if !text.is_empty() && !threads.is_ok_and(|n| n <= MOST_THREADS) {
            return Err(Failure::usage(format!(
                "{name} {text}: expected 1 to {MOST_THREADS}, or 0 for the default"
            )));
        }
    }
    Ok(())
}

/// The threads of the global pool, once [`start`] has set them.
static STARTED: OnceLock<usize> = OnceLock::new();

/// Sets the size of the global thread pool, if `--threads` is given. A command that computes several times has one pool.
pub(crate) fn start(threads: Option<usize>) -> Result<(), Failure> {
    if let Some(n) = threads
        && STARTED.get() != Some(&n)
    {
        rayon::ThreadPoolBuilder::new()
            .num_threads(n)
            .build_global()?;
        STARTED.get_or_init(|| n);
    }
    Ok(())
}
