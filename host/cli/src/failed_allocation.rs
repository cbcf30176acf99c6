//! Allocations that fail, as any may under a limit of the address space (`ulimit -v`).
//!
//! What a command needs is compared with [`warpstride::system::Memory`] before, and refused with what to
//! do. This is for what is left.

use super::failure::Failure;

/// Makes a failed allocation end the process with the exit code of a failure. The standard library
/// writes how many bytes could not be had, and raises SIGABRT.
#[cfg(unix)]
pub(super) fn end_as_failure() -> Result<(), Failure> {
    use super::failure::FAILED;
    use signal_hook::{consts::SIGABRT, flag};
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;
    let always = Arc::new(AtomicBool::new(true));
    flag::register_conditional_shutdown(SIGABRT, FAILED.into(), always)
        .map(drop)
        .map_err(|e| Failure::failed(format!("the signal SIGABRT cannot be handled: {e}")))
}

#[cfg(not(unix))]
pub(super) fn end_as_failure() -> Result<(), Failure> {
    Ok(())
}
