//! Requests to stop a run, from Ctrl-C or from another thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
#[cfg(feature = "cli")]
use std::sync::{Mutex, PoisonError};
#[cfg(feature = "cli")]
use std::time::{Duration, Instant};

/// Exit code of a process ended by Ctrl-C: 128 + SIGINT.
#[cfg(feature = "cli")]
const ENDED_BY_CTRL_C: i32 = 130;

/// Signals within this time are one request: `timeout` signals its child and then the whole group,
/// and a terminal signals every process of a pipeline.
#[cfg(feature = "cli")]
const TOGETHER: Duration = Duration::from_secs(1);

/// A flag that requests a run to stop; all clones share it.
#[derive(Debug, Clone, Default)]
pub struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// A flag that is not set.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The flag that the first Ctrl-C (or SIGTERM) sets; another one more than a second later ends the process
    /// at once. Every call in a process returns the same flag.
    ///
    /// # Errors
    /// The operating system refuses the signal handler, or another one is already installed.
    #[cfg(feature = "cli")]
    pub fn on_ctrl_c() -> Result<Self, ctrlc::Error> {
        static INSTALLED: Mutex<Option<Interrupt>> = Mutex::new(None);
        let mut installed = INSTALLED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(interrupt) = &*installed {
            return Ok(interrupt.clone());
        }
        let interrupt = Self::new();
        let shared = interrupt.clone();
        let mut first = None;
        ctrlc::set_handler(move || {
            shared.request();
            if first.get_or_insert_with(Instant::now).elapsed() > TOGETHER {
                std::process::exit(ENDED_BY_CTRL_C);
            }
        })?;
        *installed = Some(interrupt.clone());
        Ok(interrupt)
    }

    /// Requests a stop.
    pub fn request(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    /// Whether a stop has been requested.
    #[must_use]
    pub fn requested(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}
