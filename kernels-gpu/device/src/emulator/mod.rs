//! Runs a launch on the CPU, block by block.
//!
//! Within a block one thread runs at a time, from one barrier or warp exchange to the next, in a
//! fixed order ([`Order`]): the same launch gives the same bits, atomics included. A thread is a
//! coroutine with a stack of its own, on the operating-system thread that launched; stacks of
//! threads that have ended are used again, so a kernel without barriers needs one.
//!
//! What goes wrong becomes an [`EmulatorError`], never a hang: threads that disagree on a barrier,
//! a panic in the kernel, a launch that the device would refuse. Shared memory is filled with 0xFF
//! bytes at every block's start. To show a missing barrier, run both orders and compare.

mod block;
pub(crate) mod context;
mod error;
mod memory;
mod shared_memory;
mod stacks;
mod stands;
mod team;
mod watched;

pub use error::EmulatorError;
pub use memory::Memory;
pub use watched::{Overrun, Watch, WatchedMemory};

use crate::launch::{AnyLaunch, Emulated, Launch};
use team::Team;

/// Size of a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LaunchConfig {
    /// Blocks (x, y, z).
    pub grid: [u32; 3],
    /// Threads of a block (x, y, z).
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory of a block.
    pub shared_bytes: usize,
}

impl LaunchConfig {
    /// `grid` blocks of `block` threads along x, with the dynamic shared memory that the kernel
    /// states.
    #[must_use]
    pub fn linear<L: Launch<Emulated>>(kernel: &L, grid: u32, block: u32) -> Self {
        Self {
            grid: [grid, 1, 1],
            block: [block, 1, 1],
            shared_bytes: kernel.dynamic_shared_bytes(block),
        }
    }
}

/// In which order the threads of a block take their turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// From the first thread up.
    #[default]
    Ascending,
    /// From the last thread down.
    Descending,
}

/// What the lanes of a warp gave to an exchange.
#[derive(Clone, Copy)]
pub(crate) struct Exchanged {
    /// By lane; all bits set for lanes that took no part.
    pub(crate) values: [u64; 32],
    /// Lanes that took part.
    pub(crate) present: u32,
}

impl Exchanged {
    pub(crate) fn ballot(&self) -> u32 {
        (0..32)
            .filter(|lane| self.present >> lane & 1 == 1 && self.values[*lane as usize] != 0)
            .fold(0, |bits, lane| bits | 1 << lane)
    }
}

/// Runs a launch, threads in ascending order.
///
/// # Errors
/// [`EmulatorError`].
pub fn launch(
    kernel: &(dyn AnyLaunch<Emulated> + Sync),
    config: LaunchConfig,
) -> Result<(), EmulatorError> {
    launch_in(kernel, config, Order::Ascending)
}

/// Runs a launch in the given order of threads.
///
/// # Errors
/// [`EmulatorError`].
pub fn launch_in(
    kernel: &(dyn AnyLaunch<Emulated> + Sync),
    config: LaunchConfig,
    order: Order,
) -> Result<(), EmulatorError> {
    let threads = check(kernel, &config)?;
    let body = || {
        // SAFETY: this is the emulator; extents were checked; the team has set the index.
        unsafe { kernel.run() }
    };
    Team::new(kernel.info().entry, config, threads, order, &body).run()
}

/// Most bytes of shared memory that a block can have (compute capability 9.0).
pub const MAX_SHARED_BYTES: usize = 227 * 1024;
/// Most bytes of static shared memory that a block can have.
pub const MAX_STATIC_SHARED_BYTES: usize = 48 * 1024;

fn check(kernel: &dyn AnyLaunch<Emulated>, config: &LaunchConfig) -> Result<u32, EmulatorError> {
    let refuse = |reason: String| {
        Err(EmulatorError::Refused {
            kernel: kernel.info().entry,
            reason,
        })
    };
    let [x, y, z] = config.block;
    let threads = u64::from(x) * u64::from(y) * u64::from(z.min(64));
    if x > 1024 || y > 1024 || z > 64 || threads == 0 || threads > 1024 {
        return refuse(format!(
            "a block of {x} × {y} × {z} threads: 1 … 1024 are possible"
        ));
    }
    let [x, y, z] = config.grid;
    if x == 0 || y == 0 || z == 0 || x > 0x7fff_ffff || y > 65_535 || z > 65_535 {
        return refuse(format!(
            "a grid of {x} × {y} × {z} blocks: 1 … 2147483647 × 65535 × 65535 are possible"
        ));
    }
    if config.shared_bytes > MAX_SHARED_BYTES {
        return refuse(format!(
            "{} bytes of dynamic shared memory: {MAX_SHARED_BYTES} are possible",
            config.shared_bytes
        ));
    }
    kernel.check_extents()?;
    let threads = threads as u32;
    let needed = kernel.shared_bytes(threads);
    if config.shared_bytes < needed {
        return refuse(format!(
            "{} bytes of dynamic shared memory: it needs {needed}",
            config.shared_bytes
        ));
    }
    Ok(threads)
}

/// The calling kernel thread waits for its block; in how many threads the predicate is not 0.
#[track_caller]
pub(crate) fn barrier(call: &'static str, predicate: u32) -> u32 {
    block_fold(call, u64::from(predicate != 0), &|all| all.iter().sum()) as u32
}

/// The calling kernel thread waits for its block; every thread gets `fold` of what all gave, in
/// the order of the threads. Which thread's `fold` is called is not told.
#[track_caller]
pub(crate) fn block_fold(call: &'static str, value: u64, fold: &dyn Fn(&[u64]) -> u64) -> u64 {
    let context = context::current();
    let location = std::panic::Location::caller();
    context
        .team()
        .barrier(&context, call, value, fold, location)
}

/// The calling kernel thread gives `value` and gets those of the lanes in `mask`.
#[track_caller]
pub(crate) fn warp_exchange(call: &'static str, mask: u32, value: u64) -> Exchanged {
    let context = context::current();
    context
        .team()
        .exchange(&context, call, mask, value, std::panic::Location::caller())
}

pub(crate) fn static_shared(key: *const u8, bytes: usize) -> *mut u8 {
    context::current().team().static_shared(key, bytes)
}

pub(crate) fn dynamic_shared() -> *mut u8 {
    context::current().team().dynamic_shared()
}
