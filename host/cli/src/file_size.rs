//! The limit on the size of files (`ulimit -f`).

use super::failure::Failure;

/// Makes a write beyond the limit fail with an error, which is reported like that of a full disk.
/// Otherwise the signal SIGXFSZ would end the process in the middle of a file.
#[cfg(unix)]
pub(super) fn report_as_error() -> Result<(), Failure> {
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;
    // Any handler will do: the write fails once it returns.
    let received = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(signal_hook::consts::SIGXFSZ, received)
        .map(drop)
        .map_err(|e| Failure::failed(format!("the signal SIGXFSZ cannot be handled: {e}")))
}

#[cfg(not(unix))]
pub(super) fn report_as_error() -> Result<(), Failure> {
    Ok(())
}
