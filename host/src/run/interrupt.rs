//! A wish to stop, from Ctrl-C or from another thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Exit code of a process that Ctrl-C ended: 128 + SIGINT.
const ENDED_BY_CTRL_C: i32 = 130;

/// Set once, seen by every clone.
#[derive(Debug, Clone, Default)]
pub struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Not requested.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Requested by the first Ctrl-C (or SIGTERM); the second ends the process at once.
    ///
    /// # Errors
    /// The system refuses a signal handler, or there is one already.
    pub fn on_ctrl_c() -> Result<Self, ctrlc::Error> {
        let interrupt = Self::new();
        let seen = interrupt.clone();
        ctrlc::set_handler(move || {
            if seen.0.swap(true, Ordering::SeqCst) {
                std::process::exit(ENDED_BY_CTRL_C);
            }
        })?;
        Ok(interrupt)
    }

    /// Asks to stop.
    pub fn request(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    /// Whether somebody asked.
    #[must_use]
    pub fn requested(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}
