//! Runs a launch on the CPU, block by block, or cluster by cluster.
//!
//! Within a block (or a cluster of blocks) one thread runs at a time, from one barrier or warp exchange to the next, in a fixed order
//! ([`Order`]): the same launch gives the same bits, including atomics. A thread is a coroutine with a stack of its
//! own, on the operating-system thread that launched it; stacks of threads that have ended are reused, so a kernel
//! without barriers needs only one.
//!
//! Failures become an [`EmulatorError`] and never a hang: threads that wait at different barriers, a panic in the
//! kernel, a launch that the device would refuse. Shared memory is filled with 0xFF bytes at the start of every
//! block. To find a missing barrier, run both orders and compare the results.

mod block_scheduler;
mod cluster;
pub(crate) mod context;
mod coroutines;
mod error;
mod memory;
mod shared_memory;
mod stacks;
mod watched;

pub use error::EmulatorError;
pub use memory::Memory;
pub use watched::{Overrun, Watch, WatchedMemory};

use std::rc::Rc;

use crate::launch::{AnyLaunch, Emulated, Launch};
use block_scheduler::BlockScheduler;

/// Size of a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LaunchConfig {
    /// Blocks (x, y, z).
    pub grid: [u32; 3],
    /// Threads of a block (x, y, z).
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory in a block.
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

/// The order in which the threads of a block or cluster run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// From the first thread to the last.
    #[default]
    Ascending,
    /// From the last thread to the first.
    Descending,
}

/// The values that the lanes of a warp exchange.
pub(crate) struct Exchanged {
    /// (lane); all bits are set for lanes that took no part.
    pub(crate) values: [u64; 32],
    /// Lanes that took part, as bits.
    pub(crate) present: u32,
}

impl Exchanged {
    pub(crate) fn ballot(&self) -> u32 {
        (0..32)
            .filter(|lane| self.present >> lane & 1 == 1 && self.values[*lane as usize] != 0)
            .fold(0, |bits, lane| bits | 1 << lane)
    }
}

/// Runs a launch with threads in ascending order.
///
/// # Errors
///
/// The reason why the emulator stopped the launch.
pub fn launch(
    kernel: &(dyn AnyLaunch<Emulated> + Sync),
    config: LaunchConfig,
) -> Result<(), EmulatorError> {
    launch_in(kernel, config, Order::Ascending)
}

/// Runs a launch in the given order of threads.
///
/// # Errors
///
/// The reason why the emulator stopped the launch.
pub fn launch_in(
    kernel: &(dyn AnyLaunch<Emulated> + Sync),
    config: LaunchConfig,
    order: Order,
) -> Result<(), EmulatorError> {
    let threads = check(kernel, &config)?;
    let body = || {
        // SAFETY: this is the emulator; extents were checked; the scheduler has set the index.
        unsafe { kernel.run() }
    };
    let info = kernel.info();
    BlockScheduler::new(info.entry, config, info.cluster, threads, order, &body).run()
}

/// The most shared memory that a block can have, in bytes (compute capability 9.0).
pub const MAX_SHARED_BYTES: usize = 227 * 1024;
/// The most static shared memory that a block can have, in bytes.
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
            "a block of {x} × {y} × {z} threads: expected 1 to 1024"
        ));
    }
    let [x, y, z] = config.grid;
    if x == 0 || y == 0 || z == 0 || x > 0x7fff_ffff || y > 65_535 || z > 65_535 {
        return refuse(format!(
            "a grid of {x} × {y} × {z} blocks: expected 1 to 2147483647 × 65535 × 65535"
        ));
    }
    let cluster = kernel.info().cluster;
    if cluster == 0 || x % cluster != 0 {
        return refuse(format!(
            "a grid of {x} × {y} × {z} blocks: expected a multiple of {cluster} along x, the blocks of a cluster"
        ));
    }
    if config.shared_bytes > MAX_SHARED_BYTES {
        return refuse(format!(
            "dynamic shared memory: expected at most {MAX_SHARED_BYTES} bytes, found {}",
            config.shared_bytes
        ));
    }
    kernel.check_extents()?;
    let threads = threads as u32;
    let needed = kernel.shared_bytes(threads);
    if config.shared_bytes < needed {
        return refuse(format!(
            "dynamic shared memory: expected at least {needed} bytes, found {}",
            config.shared_bytes
        ));
    }
    Ok(threads)
}

/// The calling kernel thread waits for its block. Returns the number of threads with a non-zero predicate.
#[track_caller]
pub(crate) fn barrier(call: &'static str, predicate: u32) -> u32 {
    block_fold(call, u64::from(predicate != 0), &|all| all.iter().sum()) as u32
}

/// The calling kernel thread waits for its block. Every thread gets the `fold` of all values, in the order of the
/// threads. It is unspecified which thread's `fold` is called.
#[track_caller]
pub(crate) fn block_fold(call: &'static str, value: u64, fold: &dyn Fn(&[u64]) -> u64) -> u64 {
    let context = context::current();
    let location = std::panic::Location::caller();
    context
        .scheduler()
        .barrier(&context, call, value, fold, location)
}

/// The calling kernel thread passes `value` to the lanes in `mask` and gets theirs.
#[track_caller]
pub(crate) fn warp_exchange(call: &'static str, mask: u32, value: u64) -> Rc<Exchanged> {
    let context = context::current();
    context
        .scheduler()
        .exchange(&context, call, mask, value, std::panic::Location::caller())
}

/// The calling kernel thread arrives at its cluster's barrier.
#[track_caller]
pub(crate) fn cluster_arrive(call: &'static str) {
    let context = context::current();
    let location = std::panic::Location::caller();
    context.scheduler().cluster_arrive(&context, call, location);
}

/// The calling kernel thread, which has arrived, waits for its cluster.
#[track_caller]
pub(crate) fn cluster_wait(call: &'static str) {
    let context = context::current();
    let location = std::panic::Location::caller();
    context.scheduler().cluster_wait(&context, call, location);
}

/// `address` in the shared memory of the calling thread's block, in block `rank` of its cluster.
#[track_caller]
pub(crate) fn map_shared(address: *mut u8, rank: u32) -> *mut u8 {
    let context = context::current();
    let location = std::panic::Location::caller();
    context
        .scheduler()
        .map_shared(&context, address, rank, location)
}

pub(crate) fn static_shared(key: *const u8, bytes: usize) -> *mut u8 {
    let context = context::current();
    context.scheduler().static_shared(&context, key, bytes)
}

pub(crate) fn dynamic_shared() -> *mut u8 {
    let context = context::current();
    context.scheduler().dynamic_shared(&context)
}
