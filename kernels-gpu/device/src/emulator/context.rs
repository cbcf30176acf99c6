//! Which thread of which block the calling operating-system thread is.

use std::cell::Cell;
use std::ptr::NonNull;

use super::LaunchConfig;
use super::stands::{Turn, Yielder};
use super::team::Team;

/// One kernel thread.
#[derive(Clone, Copy)]
pub(crate) struct Context {
    pub(crate) thread_idx: [u32; 3],
    pub(crate) block_idx: [u32; 3],
    pub(crate) block_dim: [u32; 3],
    pub(crate) grid_dim: [u32; 3],
    /// Place in the block, x fastest.
    pub(super) thread: usize,
    team: NonNull<Team<'static>>,
    yielder: NonNull<Yielder>,
}

thread_local! {
    static CONTEXT: Cell<Option<Context>> = const { Cell::new(None) };
}

impl Context {
    /// # Safety
    /// While the context is used, `team` is borrowed and `yielder` is that of the coroutine that
    /// uses it.
    pub(super) unsafe fn new(
        team: NonNull<Team<'static>>,
        yielder: &Yielder,
        block_idx: [u32; 3],
        thread: usize,
    ) -> Self {
        // SAFETY: the team is borrowed, says the caller.
        let LaunchConfig { grid, block, .. } = unsafe { team.as_ref() }.config;
        let [x, y, _] = block;
        let linear = thread as u32;
        Self {
            thread_idx: [linear % x, linear / x % y, linear / (x * y)],
            block_idx,
            block_dim: block,
            grid_dim: grid,
            thread,
            team,
            yielder: NonNull::from(yielder),
        }
    }

    pub(super) fn team(&self) -> &Team<'_> {
        // SAFETY: by the contract of `new`.
        unsafe { self.team.as_ref() }
    }

    /// From now on the calling operating-system thread is this kernel thread.
    pub(super) fn enter(&self) {
        CONTEXT.set(Some(*self));
    }

    /// Lets other threads of the block run, until it is this one's turn again.
    pub(super) fn suspend(&self) -> Turn {
        // SAFETY: by the contract of `new`; a coroutine's yielder lives as long as its body runs.
        let turn = unsafe { self.yielder.as_ref() }.suspend(());
        self.enter();
        turn
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

/// Runs `launch`, after which the calling operating-system thread is again the kernel thread that
/// it was before, or none.
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
