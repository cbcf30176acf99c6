//! Requests to stop a run, from Ctrl-C or from another thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
#[cfg(feature = "terminal")]
use std::sync::{Mutex, MutexGuard, PoisonError};
#[cfg(feature = "terminal")]
use std::time::{Duration, Instant};

/// Exit code of a process ended by Ctrl-C: 128 + SIGINT.
#[cfg(feature = "terminal")]
const ENDED_BY_CTRL_C: i32 = 130;

/// Signals within this time are one request: `timeout` signals its child and then the whole group,
/// and a terminal signals every process of a pipeline.
#[cfg(feature = "terminal")]
const TOGETHER: Duration = Duration::from_secs(1);

/// What a process says that ends at Ctrl-C at once, and how it says it.
#[cfg(feature = "terminal")]
type StopMessage = (String, fn(&str));

/// Set while nothing has to be saved.
#[cfg(feature = "terminal")]
static STOP_MESSAGE: Mutex<Option<StopMessage>> = Mutex::new(None);

#[cfg(feature = "terminal")]
fn stop_message() -> MutexGuard<'static, Option<StopMessage>> {
    STOP_MESSAGE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Ends the process if nothing has to be saved.
#[cfg(feature = "terminal")]
fn end_at_once() {
    // The lock is held until the end, so that nothing is said or begun after this.
    let stop_message = stop_message();
    if let Some((sentence, say)) = &*stop_message {
        say(sentence);
        std::process::exit(ENDED_BY_CTRL_C);
    }
}

/// A part of a run in which nothing has to be saved, and at the end of which it is dropped.
#[cfg(feature = "terminal")]
#[derive(Debug)]
#[must_use]
pub struct NothingToSave(());

#[cfg(feature = "terminal")]
impl Drop for NothingToSave {
    fn drop(&mut self) {
        *stop_message() = None;
    }
}

/// A flag that requests a run to stop; all clones share it.
#[derive(Debug, Clone, Default)]
pub struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// A flag that is not set.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The flag that the first Ctrl-C (or SIGTERM) sets; another one more than a second later ends
    /// the process at once. Every call in a process returns the same flag.
    ///
    /// # Errors
    /// The operating system refuses the signal handler, or another one is already installed.
    #[cfg(feature = "terminal")]
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
            end_at_once();
            if first.get_or_insert_with(Instant::now).elapsed() > TOGETHER {
                std::process::exit(ENDED_BY_CTRL_C);
            }
        })?;
        *installed = Some(interrupt.clone());
        Ok(interrupt)
    }

    /// Ctrl-C (or SIGTERM) ends the process at once, with the exit code 130 after `say` has said
    /// the sentence, until the value that is returned is dropped; also one that the process has got
    /// before. There is one such part of a run at a time.
    ///
    /// # Errors
    /// As [`Interrupt::on_ctrl_c`].
    #[cfg(feature = "terminal")]
    pub fn ends_at_once(sentence: String, say: fn(&str)) -> Result<NothingToSave, ctrlc::Error> {
        *stop_message() = Some((sentence, say));
        let part = NothingToSave(());
        if Self::on_ctrl_c()?.requested() {
            end_at_once();
        }
        Ok(part)
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
