//! A thread's indices in its block and grid, barriers, and strides over work.

use crate::stride::Stride;

#[cfg(not(target_arch = "nvptx64"))]
use crate::emulator::context;

/// Two numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Vec2<T> {
    /// The fastest axis.
    pub x: T,
    /// The slowest axis.
    pub y: T,
}

/// Three numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Vec3<T> {
    /// The fastest axis.
    pub x: T,
    /// The middle axis.
    pub y: T,
    /// The slowest axis.
    pub z: T,
}

macro_rules! register {
    ($($(#[$doc:meta])* $name:ident = $field:ident[$axis:literal];)*) => {$(
        $(#[$doc])*
        #[inline(always)]
        #[must_use]
        pub fn $name() -> u32 {
            #[cfg(target_arch = "nvptx64")]
            // SAFETY: reads a special register.
            return unsafe { crate::nvptx::$name() };
            #[cfg(not(target_arch = "nvptx64"))]
            return context::current().$field[$axis];
        }
    )*};
}

register! {
    /// The thread's index in its block along x.
    thread_idx_x = thread_idx[0];
    /// The thread's index in its block along y.
    thread_idx_y = thread_idx[1];
    /// The thread's index in its block along z.
    thread_idx_z = thread_idx[2];
    /// The block's index in the grid along x.
    block_idx_x = block_idx[0];
    /// The block's index in the grid along y.
    block_idx_y = block_idx[1];
    /// The block's index in the grid along z.
    block_idx_z = block_idx[2];
    /// Threads in a block along x.
    block_dim_x = block_dim[0];
    /// Threads in a block along y.
    block_dim_y = block_dim[1];
    /// Threads in a block along z.
    block_dim_z = block_dim[2];
    /// Blocks in the grid along x.
    grid_dim_x = grid_dim[0];
    /// Blocks in the grid along y.
    grid_dim_y = grid_dim[1];
    /// Blocks in the grid along z.
    grid_dim_z = grid_dim[2];
}

/// The thread's index in its block.
#[inline(always)]
#[must_use]
pub fn thread_idx() -> Vec3<u32> {
    Vec3 {
        x: thread_idx_x(),
        y: thread_idx_y(),
        z: thread_idx_z(),
    }
}

/// The block's index in the grid.
#[inline(always)]
#[must_use]
pub fn block_idx() -> Vec3<u32> {
    Vec3 {
        x: block_idx_x(),
        y: block_idx_y(),
        z: block_idx_z(),
    }
}

/// Threads in a block.
#[inline(always)]
#[must_use]
pub fn block_dim() -> Vec3<u32> {
    Vec3 {
        x: block_dim_x(),
        y: block_dim_y(),
        z: block_dim_z(),
    }
}

/// Blocks in the grid.
#[inline(always)]
#[must_use]
pub fn grid_dim() -> Vec3<u32> {
    Vec3 {
        x: grid_dim_x(),
        y: grid_dim_y(),
        z: grid_dim_z(),
    }
}

/// The thread's index along x in the whole grid. It wraps beyond 2³²; [`grid_stride`] does not.
#[inline(always)]
#[must_use]
pub fn index_1d() -> u32 {
    block_idx_x()
        .wrapping_mul(block_dim_x())
        .wrapping_add(thread_idx_x())
}

/// The thread's indices along x and y in the whole grid.
#[inline(always)]
#[must_use]
pub fn index_2d() -> Vec2<u32> {
    Vec2 {
        x: index_1d(),
        y: block_idx_y()
            .wrapping_mul(block_dim_y())
            .wrapping_add(thread_idx_y()),
    }
}

/// The thread's indices along x, y and z in the whole grid.
#[inline(always)]
#[must_use]
pub fn index_3d() -> Vec3<u32> {
    let Vec2 { x, y } = index_2d();
    Vec3 {
        x,
        y,
        z: block_idx_z()
            .wrapping_mul(block_dim_z())
            .wrapping_add(thread_idx_z()),
    }
}

/// Whether this is the first thread of the grid.
#[inline(always)]
#[must_use]
pub fn first() -> bool {
    block_idx() == Vec3 { x: 0, y: 0, z: 0 } && thread_idx() == Vec3 { x: 0, y: 0, z: 0 }
}

/// Threads in a warp.
#[inline(always)]
#[must_use]
pub fn warp_size() -> u32 {
    crate::warp::SIZE
}

/// Threads in a block, over all axes.
#[inline(always)]
#[must_use]
pub fn block_threads() -> u32 {
    block_dim_x() * block_dim_y() * block_dim_z()
}

/// The thread's index in its block, counted over all axes with x fastest.
#[inline(always)]
#[must_use]
pub fn index_in_block() -> u32 {
    thread_idx_x() + block_dim_x() * (thread_idx_y() + block_dim_y() * thread_idx_z())
}

/// This thread's share of `len` elements: the threads of a one-dimensional grid take every element exactly once,
/// whatever the size of the launch.
#[inline(always)]
#[must_use]
pub fn grid_stride(len: usize) -> Stride<usize> {
    let block = u64::from(block_dim_x());
    Stride::<usize>::new(
        u64::from(block_idx_x()) * block + u64::from(thread_idx_x()),
        u64::from(grid_dim_x()) * block,
        len,
    )
}

/// This block's share of `len` items (frames, tiles): the blocks of a one-dimensional grid take every item exactly
/// once. All threads of the block get the same items, so the loop may contain barriers.
#[inline(always)]
#[must_use]
pub fn block_stride(len: u32) -> Stride<u32> {
    Stride::<u32>::new(u64::from(block_idx_x()), u64::from(grid_dim_x()), len)
}

/// The numbers `first, first + step, …` below `len`, for other shares of items than [`block_stride`]'s.
#[inline(always)]
#[must_use]
pub fn every(first: u32, step: u32, len: u32) -> Stride<u32> {
    Stride::<u32>::new(u64::from(first), u64::from(step), len)
}

/// This cluster's share of `len` items (frames, tiles): the clusters of a one-dimensional grid take every item exactly
/// once. All threads of the cluster get the same items, so the loop may contain barriers of the block and of the
/// [`cluster`](crate::cluster).
#[inline(always)]
#[must_use]
pub fn cluster_stride(len: u32) -> Stride<u32> {
    Stride::<u32>::new(
        u64::from(crate::cluster::index()),
        u64::from(crate::cluster::clusters()),
        len,
    )
}

/// This warp's share of `len` items (chunks of an array): the warps of a one-dimensional grid take every item exactly
/// once. All lanes of the warp get the same items, so the loop may contain warp exchanges.
#[inline(always)]
#[must_use]
pub fn warp_stride(len: u32) -> Stride<u32> {
    let warps = u64::from(block_threads().div_ceil(crate::warp::SIZE));
    Stride::<u32>::new(
        u64::from(block_idx_x()) * warps + u64::from(crate::warp::warp_id()),
        u64::from(grid_dim_x()) * warps,
        len,
    )
}

/// This thread's share of `len` elements that belong to its block. Threads may run different numbers of iterations:
/// the loop must not contain barriers.
#[inline(always)]
#[must_use]
pub fn thread_stride(len: u32) -> Stride<u32> {
    Stride::<u32>::new(u64::from(index_in_block()), u64::from(block_threads()), len)
}

/// Waits until all threads of the block have arrived; their earlier writes are then visible to each other.
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
#[inline(always)]
pub fn sync_threads() {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: a barrier; the kernel must ensure that all threads reach it.
    unsafe {
        crate::nvptx::sync_threads();
    }
    #[cfg(not(target_arch = "nvptx64"))]
    crate::emulator::barrier("sync_threads", 0);
}

/// [`sync_threads`] that returns the number of threads with a non-zero predicate.
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
#[inline(always)]
pub fn sync_threads_count(predicate: u32) -> u32 {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: a barrier, as in `sync_threads`.
    return unsafe { crate::nvptx::barrier_count(predicate) };
    #[cfg(not(target_arch = "nvptx64"))]
    return crate::emulator::barrier("sync_threads_count", predicate);
}

/// [`sync_threads`] that returns 1 if the predicate is non-zero in all threads, otherwise 0.
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
#[inline(always)]
pub fn sync_threads_and(predicate: u32) -> u32 {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: a barrier, as in `sync_threads`.
    return unsafe { u32::from(crate::nvptx::barrier_and(predicate) != 0) };
    #[cfg(not(target_arch = "nvptx64"))]
    return u32::from(crate::emulator::barrier("sync_threads_and", predicate) == block_threads());
}

/// [`sync_threads`] that returns 1 if the predicate is non-zero in any thread, otherwise 0.
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
#[inline(always)]
pub fn sync_threads_or(predicate: u32) -> u32 {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: a barrier, as in `sync_threads`.
    return unsafe { u32::from(crate::nvptx::barrier_or(predicate) != 0) };
    #[cfg(not(target_arch = "nvptx64"))]
    return u32::from(crate::emulator::barrier("sync_threads_or", predicate) != 0);
}

/// Suspends the thread for about so many nanoseconds, at most twice as long and at most a millisecond
/// (PTX ISA, `nanosleep`); returns at once in the emulator. It orders nothing: only times depend on it.
#[inline(always)]
pub fn pause(nanoseconds: u32) {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the thread waits.
    unsafe {
        crate::nvptx::pause(nanoseconds);
    }
    #[cfg(not(target_arch = "nvptx64"))]
    let _ = nanoseconds;
}

/// The same number, hidden from the optimiser: values derived from it are computed after this call, and not ahead of
/// a loop in registers that the loop needs.
#[inline(always)]
#[must_use]
pub fn hidden(value: u32) -> u32 {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: no instruction.
    return unsafe { crate::nvptx::hidden(value) };
    #[cfg(not(target_arch = "nvptx64"))]
    return value;
}

/// The same number, hidden from the assembler too, at the cost of reading a special register: values derived from it are
/// computed again and not kept in registers since an earlier use.
#[inline(always)]
#[must_use]
pub fn recomputed(value: u32) -> u32 {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: adds 0.
    return unsafe { crate::nvptx::recomputed(value) };
    #[cfg(not(target_arch = "nvptx64"))]
    return value;
}

/// Orders this thread's earlier writes before its later ones for all threads of the device (a memory fence).
#[inline(always)]
pub fn device_fence() {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: a memory fence.
    unsafe {
        crate::nvptx::device_fence();
    }
    #[cfg(not(target_arch = "nvptx64"))]
    std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
}
