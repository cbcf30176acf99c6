//! Frees that wait until no graph holds the address any more.
//!
//! Graphs are counted for the process and not for each device: a graph of one device may hold
//! addresses of another device's memory.

use std::sync::Mutex;

use super::lock::lock;

type Free = Box<dyn FnOnce() + Send>;

static DEFERRED: Mutex<DeferredFrees> = Mutex::new(DeferredFrees {
    graphs: 0,
    waiting: Vec::new(),
});

struct DeferredFrees {
    /// Graphs that exist or are being captured.
    graphs: usize,
    waiting: Vec<Free>,
}

/// Runs `free` now, or when the last graph of the process is gone.
///
/// The lock is held while `free` runs, so that no capture begins meanwhile: the driver refuses to
/// wait for a device that is capturing.
pub(super) fn free_or_defer(free: impl FnOnce() + Send + 'static) {
    let mut deferred = lock(&DEFERRED);
    if deferred.graphs > 0 {
        deferred.waiting.push(Box::new(free));
    } else {
        free();
    }
}

/// Defers all frees of the process for as long as it lives. A graph holds one from before its
/// capture until after it is destroyed.
pub(super) struct DeferralGuard(());

impl DeferralGuard {
    pub(super) fn new() -> Self {
        lock(&DEFERRED).graphs += 1;
        Self(())
    }
}

impl Drop for DeferralGuard {
    fn drop(&mut self) {
        let mut deferred = lock(&DEFERRED);
        deferred.graphs -= 1;
        if deferred.graphs == 0 {
            for free in std::mem::take(&mut deferred.waiting) {
                free();
            }
        }
    }
}
