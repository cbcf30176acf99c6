//! `--threads`.

use super::failure::Failure;

/// More threads than any machine has cores.
const MOST_THREADS: usize = 256;

/// Refuses a number that no machine has.
pub(crate) fn check(threads: Option<usize>) -> Result<(), Failure> {
    match threads {
        Some(n) if !(1..=MOST_THREADS).contains(&n) => Err(Failure::usage(format!(
            "--threads {n}: expected 1 to {MOST_THREADS}"
        ))),
        _ => Ok(()),
    }
}

/// Makes the pool of so many threads, where a number was typed.
pub(crate) fn start(threads: Option<usize>) -> Result<(), Failure> {
    if let Some(n) = threads {
        rayon::ThreadPoolBuilder::new()
            .num_threads(n)
            .build_global()?;
    }
    Ok(())
}
