//! The kernel thread that the calling operating-system thread currently runs.

use std::cell::Cell;
use std::ptr::NonNull;

use super::LaunchConfig;
use super::block_scheduler::BlockScheduler;
use super::coroutines::{Resume, Yielder};

/// One kernel thread.
#[derive(Clone, Copy)]
pub(crate) struct Context {
    pub(crate) thread_idx: [u32; 3],
    pub(crate) block_idx: [u32; 3],
    pub(crate) block_dim: [u32; 3],
    pub(crate) grid_dim: [u32; 3],
    /// Index in the block, x fastest.
    pub(super) thread: usize,
    /// The block's index in its cluster.
    rank: u32,
    scheduler: NonNull<BlockScheduler<'static>>,
    yielder: NonNull<Yielder>,
}

thread_local! {
    static CONTEXT: Cell<Option<Context>> = const { Cell::new(None) };
}

impl Context {
    /// # Safety
    ///
    /// While the context is used, `scheduler` must be borrowed, and `yielder` must belong to the coroutine that uses
    /// it.
    pub(super) unsafe fn new(
        scheduler: NonNull<BlockScheduler<'static>>,
        yielder: &Yielder,
        block_idx: [u32; 3],
        rank: usize,
        thread: usize,
    ) -> Self {
        // SAFETY: the caller guarantees that the scheduler is borrowed.
        let LaunchConfig { grid, block, .. } = unsafe { scheduler.as_ref() }.config;
        let [x, y, _] = block;
        let linear = thread as u32;
        Self {
            thread_idx: [linear % x, linear / x % y, linear / (x * y)],
            block_idx,
            block_dim: block,
            grid_dim: grid,
            thread,
            rank: rank as u32,
            scheduler,
            yielder: NonNull::from(yielder),
        }
    }

    /// The block's index in its cluster.
    pub(crate) fn rank(&self) -> u32 {
        self.rank
    }

    /// Blocks in a cluster.
    pub(crate) fn cluster_blocks(&self) -> u32 {
        self.scheduler().cluster_blocks() as u32
    }

    pub(super) fn scheduler(&self) -> &BlockScheduler<'_> {
        // SAFETY: guaranteed by the contract of `new`.
        unsafe { self.scheduler.as_ref() }
    }

    /// Makes the calling operating-system thread run this kernel thread.
    pub(super) fn enter(&self) {
        CONTEXT.set(Some(*self));
    }

    /// Runs other threads of the cluster until this one is resumed.
    pub(super) fn suspend(&self) -> Resume {
        // SAFETY: guaranteed by the contract of `new`; a coroutine's yielder lives as long as its body runs.
        let resume = unsafe { self.yielder.as_ref() }.suspend(());
        self.enter();
        resume
    }
}

/// The calling kernel thread.
#[track_caller]
pub(crate) fn current() -> Context {
    match CONTEXT.get() {
        Some(context) => context,
        None => panic!("device functions can be called inside a kernel launch only"),
    }
}

/// Runs `launch`; afterwards the calling operating-system thread runs the same kernel thread as before, or none.
pub(super) fn around<R>(launch: impl FnOnce() -> R) -> R {
    struct Restore(Option<Context>);
    impl Drop for Restore {
        fn drop(&mut self) {
            CONTEXT.set(self.0);
        }
    }
    let _restore = Restore(CONTEXT.get());
    launch()
}
