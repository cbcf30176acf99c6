//! The option `--threads`, and the variables of the environment that have the same effect.

use super::failure::{FAILED, Failure};
use super::output::complain;
use clap::ArgMatches;
use std::error::Error as _;
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

/// Checks the variables of the environment. Empty ones, and 0, mean the default, as for rayon,
/// which takes texts that are not numbers for the default too.
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

/// What to do about threads that cannot be started.
const REMEDY: &str = "raise the limits of memory and of processes (ulimit -v, ulimit -u), or use fewer threads with --threads";

/// The threads of the global pool, once [`start`] has set them; 0 is the default.
static STARTED: OnceLock<usize> = OnceLock::new();

/// Starts the threads of the global pool, as many as `--threads` says. A command that computes
/// several times has one pool.
///
/// # Errors
/// The operating system does not give the process so many threads, or the memory of their stacks.
pub(crate) fn start(threads: Option<usize>) -> Result<(), Failure> {
    let n = threads.unwrap_or(0);
    if STARTED.get().is_some_and(|started| n == 0 || *started == n) {
        return Ok(());
    }
    match rayon::ThreadPoolBuilder::new()
        .num_threads(n)
        .build_global()
    {
        // A pool that exists already, which has no source, is as good as another by default.
        Err(error) if n != 0 || error.source().is_some() => {
            let which = match n {
                0 => "the threads".to_owned(),
                n => format!("--threads {n}: the threads"),
            };
            Err(Failure::failed(format!(
                "{which} cannot be started: {error}; {REMEDY}"
            )))
        }
        _ => {
            STARTED.get_or_init(|| n);
            Ok(())
        }
    }
}

/// Makes a thread that cannot be started an error of one sentence, where the standard library
/// panics.
pub(super) fn report_as_error() {
    let previous = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        let text = info.payload_as_str().unwrap_or_default();
        if text.starts_with("failed to spawn thread") {
            complain(&format!("{text}; {REMEDY}"));
            std::process::exit(FAILED.into());
        }
        previous(info);
    }));
}

/// Starts the threads of a command, so that a later computation finds them: as many as its own
/// `--threads` says.
pub(super) fn start_for(matches: &ArgMatches) -> Result<(), Failure> {
    let mut command = matches;
    while let Some((_, inner)) = command.subcommand() {
        command = inner;
    }
    let threads = command.try_get_one::<usize>("threads").ok().flatten();
    // The command refuses other numbers.
    match check(threads.copied()) {
        Ok(()) => start(threads.copied()),
        Err(_) => Ok(()),
    }
}
