//! Scratch memory that threads use one after the other, so that it stays in their caches.

use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Scratch memory that is not in use.
#[derive(Default)]
pub(in crate::engines::cpu) struct Pool<S>(Mutex<Vec<S>>);

impl<S: Default> Pool<S> {
    /// The scratch memory that was given back last, or a new one.
    pub(in crate::engines::cpu) fn take(&self, make: impl FnOnce() -> S) -> Pooled<'_, S> {
        let free = self.free().pop();
        Pooled {
            scratch: free.unwrap_or_else(make),
            pool: self,
        }
    }

    fn free(&self) -> MutexGuard<'_, Vec<S>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Scratch memory in use; it is given back when this is dropped.
pub(in crate::engines::cpu) struct Pooled<'a, S: Default> {
    scratch: S,
    pool: &'a Pool<S>,
}

impl<S: Default> Deref for Pooled<'_, S> {
    type Target = S;

    fn deref(&self) -> &S {
        &self.scratch
    }
}

impl<S: Default> DerefMut for Pooled<'_, S> {
    fn deref_mut(&mut self) -> &mut S {
        &mut self.scratch
    }
}

impl<S: Default> Drop for Pooled<'_, S> {
    fn drop(&mut self) {
        let scratch = std::mem::take(&mut self.scratch);
        self.pool.free().push(scratch);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_used_again_and_never_by_two_at_once() {
        let pool = Pool::<Vec<u8>>::default();
        let (first, second) = (pool.take(|| vec![1]), pool.take(|| vec![2]));
        assert_eq!((&*first, &*second), (&vec![1], &vec![2]));
        drop(first);
        assert_eq!(*pool.take(|| vec![3]), [1]);
        assert_eq!(*second, [2]);
    }
}
