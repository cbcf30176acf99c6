//! Frees that wait until no graph holds the address any more.
//!
//! Graphs are counted for the process and not for each device: a graph of one device may hold
//! addresses of another device's memory.

use std::sync::Mutex;

use super::lock::lock;
use std::any::Any;

/// What keeps memory of another library alive until it is dropped.
pub type Owner = Box<dyn Any + Send + Sync>;

/// Frees memory; returns what else keeps it alive, which is dropped without the lock.
type Free = Box<dyn FnOnce() -> Option<Owner> + Send>;

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
/// wait for a device that is capturing. The owner that `free` returns is code of another library,
/// which may wait for a lock (that of Python's interpreter) whose holder waits for this one, so it
/// is dropped afterwards.
pub(super) fn free_or_defer(free: impl FnOnce() -> Option<Owner> + Send + 'static) {
    let mut deferred = lock(&DEFERRED);
    if deferred.graphs > 0 {
        deferred.waiting.push(Box::new(free));
        return;
    }
    let owner = free();
    drop(deferred);
    drop(owner);
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
        let mut owners = Vec::new();
        if deferred.graphs == 0 {
            let waiting = std::mem::take(&mut deferred.waiting);
            owners.extend(waiting.into_iter().filter_map(|free| free()));
        }
        drop(deferred);
        drop(owners);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;
    use std::thread;
    use std::time::Duration;

    /// An owner whose drop waits until another thread has freed memory, as one does that needs a
    /// lock of that thread.
    struct Waiting(mpsc::Receiver<()>);

    impl Drop for Waiting {
        fn drop(&mut self) {
            let freed = self.0.recv_timeout(Duration::from_secs(20));
            assert!(freed.is_ok(), "the other thread could not free memory");
        }
    }

    #[test]
    fn an_owner_is_dropped_without_the_lock() {
        for graph in [false, true] {
            let (freed, waits) = mpsc::channel();
            let guard = graph.then(DeferralGuard::new);
            // Receivers of channels are not shared between threads, owners are.
            let owner: Owner = Box::new(Mutex::new(Waiting(waits)));
            let (begun, begins) = mpsc::channel();
            let first = thread::spawn(move || {
                free_or_defer(move || {
                    begun.send(()).unwrap();
                    Some(owner)
                });
                drop(guard);
            });
            begins.recv_timeout(Duration::from_secs(20)).unwrap();
            let second = thread::spawn(move || {
                free_or_defer(move || {
                    freed.send(()).unwrap();
                    None
                });
            });
            first.join().unwrap();
            second.join().unwrap();
        }
    }
}
