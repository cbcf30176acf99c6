//! Which thread of which block the calling operating-system thread is.

use std::cell::Cell;
use std::ptr::NonNull;

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
    /// The operating-system thread that it runs on, as numbered by its team.
    pub(super) worker: usize,
    team: NonNull<Team<'static>>,
}

thread_local! {
    static CONTEXT: Cell<Option<Context>> = const { Cell::new(None) };
}

impl Context {
    pub(super) fn new(team: &Team<'_>, block_idx: [u32; 3], thread: usize, worker: usize) -> Self {
        let [x, y, _] = team.config.block;
        let linear = thread as u32;
        Self {
            thread_idx: [linear % x, linear / x % y, linear / (x * y)],
            block_idx,
            block_dim: team.config.block,
            grid_dim: team.config.grid,
            thread,
            worker,
            team: NonNull::from(team).cast(),
        }
    }

    pub(super) fn team(&self) -> &Team<'_> {
        // SAFETY: `enter` keeps the context set only while it runs the kernel's body, during which
        // its caller borrows the team.
        unsafe { self.team.as_ref() }
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

/// Runs `body` as the kernel thread `context`.
pub(super) fn enter<R>(context: Context, body: impl FnOnce() -> R) -> R {
    struct Leave(Option<Context>);
    impl Drop for Leave {
        fn drop(&mut self) {
            CONTEXT.set(self.0);
        }
    }
    let _leave = Leave(CONTEXT.replace(Some(context)));
    body()
}
