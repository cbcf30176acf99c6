//! Locking that does not spread the panic of another thread.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks the mutex, even if another thread panicked while it held the lock.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
