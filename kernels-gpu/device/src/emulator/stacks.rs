//! Stacks for kernel threads, reused by later threads, blocks and launches.

use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use corosensei::stack::DefaultStack;

/// Kernels need little stack, also in debug builds; handling a panic needs the most. The operating system provides
/// memory only for pages that were touched.
const STACK_BYTES: usize = 512 * 1024;

/// The most stacks that are retained while no launch uses them: those of two of the largest blocks.
const MOST_IDLE: usize = 2048;

/// Stacks that belong to no launch. A stack is not tied to an operating-system thread; only a coroutine on it is.
pub(super) struct Pool {
    idle: Mutex<Vec<DefaultStack>>,
    most: usize,
}

/// The pool of all launches.
pub(super) static POOL: Pool = Pool::new(MOST_IDLE);

impl Pool {
    const fn new(most: usize) -> Self {
        Self {
            idle: Mutex::new(Vec::new()),
            most,
        }
    }

    fn idle(&self) -> MutexGuard<'_, Vec<DefaultStack>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The free stacks of one launch; dropping it returns them to the pool.
pub(super) struct Stacks<'p> {
    pool: &'p Pool,
    free: Vec<DefaultStack>,
}

impl<'p> Stacks<'p> {
    pub(super) fn of(pool: &'p Pool) -> Self {
        Self {
            pool,
            free: Vec::new(),
        }
    }

    /// A stack, the most recently used first, with a guard page below it.
    ///
    /// # Errors
    ///
    /// The operating system has no memory, or no more mappings.
    pub(super) fn take(&mut self) -> io::Result<DefaultStack> {
        if let Some(stack) = self.free.pop() {
            return Ok(stack);
        }
        let idle = self.pool.idle().pop();
        idle.map_or_else(|| DefaultStack::new(STACK_BYTES), Ok)
    }

    /// Returns a stack for the next thread.
    pub(super) fn give_back(&mut self, stack: DefaultStack) {
        self.free.push(stack);
    }
}

impl Drop for Stacks<'_> {
    fn drop(&mut self) {
        let mut idle = self.pool.idle();
        let kept = self
            .free
            .len()
            .min(self.pool.most.saturating_sub(idle.len()));
        idle.extend(self.free.drain(..kept));
    }
}

#[cfg(test)]
mod tests {
    use corosensei::stack::Stack;

    use super::{Pool, STACK_BYTES, Stacks};

    #[test]
    fn launches_share_stacks_and_give_them_back() {
        let pool = Pool::new(2);
        let mut one = Stacks::of(&pool);
        let mut other = Stacks::of(&pool);
        let (a, b) = (one.take().expect("memory"), other.take().expect("memory"));
        let (base_a, base_b) = (a.base(), b.base());
        assert!(base_a.get().abs_diff(base_b.get()) >= STACK_BYTES);
        assert!(a.base().get() - a.limit().get() > STACK_BYTES, "with guard");
        one.give_back(a);
        other.give_back(b);
        assert_eq!(one.take().expect("memory").base(), base_a);
        assert_eq!(pool.idle().len(), 0);
        drop(other);
        assert_eq!(pool.idle().len(), 1);
        assert_eq!(one.take().expect("memory").base(), base_b);
        assert_eq!(pool.idle().len(), 0);
    }

    #[test]
    fn only_so_many_are_kept() {
        let pool = Pool::new(5);
        for launch in 0..2 {
            let mut stacks = Stacks::of(&pool);
            let taken: Result<Vec<_>, _> = (0..8).map(|_| stacks.take()).collect();
            assert_eq!(pool.idle().len(), 0);
            for stack in taken.expect("memory") {
                stacks.give_back(stack);
            }
            drop(stacks);
            assert_eq!(pool.idle().len(), 5, "launch {launch}");
        }
    }
}
