//! Where a thread stands in its block and grid, barriers, and strides over work.

use crate::stride::Stride;

#[cfg(not(target_arch = "nvptx64"))]
use crate::emulator::context;

/// Two numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Vec2<T> {
    /// Fastest.
    pub x: T,
    /// Slowest.
    pub y: T,
}

/// Three numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Vec3<T> {
    /// Fastest.
    pub x: T,
    /// Middle.
    pub y: T,
    /// Slowest.
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
    /// Thread's place in its block along x.
    thread_idx_x = thread_idx[0];
    /// Thread's place in its block along y.
    thread_idx_y = thread_idx[1];
    /// Thread's place in its block along z.
    thread_idx_z = thread_idx[2];
    /// Block's place in the grid along x.
    block_idx_x = block_idx[0];
    /// Block's place in the grid along y.
    block_idx_y = block_idx[1];
    /// Block's place in the grid along z.
    block_idx_z = block_idx[2];
    /// Threads of a block along x.
    block_dim_x = block_dim[0];
    /// Threads of a block along y.
    block_dim_y = block_dim[1];
    /// Threads of a block along z.
    block_dim_z = block_dim[2];
    /// Blocks of the grid along x.
    grid_dim_x = grid_dim[0];
    /// Blocks of the grid along y.
    grid_dim_y = grid_dim[1];
    /// Blocks of the grid along z.
    grid_dim_z = grid_dim[2];
}

/// Thread's place in its block.
#[inline(always)]
#[must_use]
pub fn thread_idx() -> Vec3<u32> {
    Vec3 {
        x: thread_idx_x(),
        y: thread_idx_y(),
        z: thread_idx_z(),
    }
}

/// Block's place in the grid.
#[inline(always)]
#[must_use]
pub fn block_idx() -> Vec3<u32> {
    Vec3 {
        x: block_idx_x(),
        y: block_idx_y(),
        z: block_idx_z(),
    }
}

/// Threads of a block.
#[inline(always)]
#[must_use]
pub fn block_dim() -> Vec3<u32> {
    Vec3 {
        x: block_dim_x(),
        y: block_dim_y(),
        z: block_dim_z(),
    }
}

/// Blocks of the grid.
#[inline(always)]
#[must_use]
pub fn grid_dim() -> Vec3<u32> {
    Vec3 {
        x: grid_dim_x(),
        y: grid_dim_y(),
        z: grid_dim_z(),
    }
}

/// Index of the thread along x in the whole grid. Wraps beyond 2³²: [`grid_stride`] does not.
#[inline(always)]
#[must_use]
pub fn index_1d() -> u32 {
    block_idx_x()
        .wrapping_mul(block_dim_x())
        .wrapping_add(thread_idx_x())
}

/// Index of the thread along x and y in the whole grid.
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

/// Index of the thread along x, y and z in the whole grid.
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

/// Threads of a warp.
#[inline(always)]
#[must_use]
pub fn warp_size() -> u32 {
    crate::warp::SIZE
}

/// Threads of a block, all axes together.
#[inline(always)]
#[must_use]
pub fn block_threads() -> u32 {
    block_dim_x() * block_dim_y() * block_dim_z()
}

/// Place of the thread in its block, counted over all axes with x fastest.
#[inline(always)]
#[must_use]
pub fn index_in_block() -> u32 {
    thread_idx_x() + block_dim_x() * (thread_idx_y() + block_dim_y() * thread_idx_z())
}

/// This thread's share of `len` elements: all threads of a one-dimensional grid take every
/// element exactly once, whatever the launch's size.
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

/// This block's share of `len` items (frames, tiles): all blocks of a one-dimensional grid take
/// every item exactly once. The same for all threads of the block, so that barriers may stand
/// inside.
#[inline(always)]
#[must_use]
pub fn block_stride(len: u32) -> Stride<u32> {
    Stride::<u32>::new(u64::from(block_idx_x()), u64::from(grid_dim_x()), len)
}

/// This warp's share of `len` items (chunks of an array): all warps of a one-dimensional grid take every item exactly
/// once. The same for all lanes of the warp, so that exchanges may stand inside.
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

/// This thread's share of `len` elements that its block has for itself. Threads may do different
/// numbers of turns: no barrier may stand inside.
#[inline(always)]
#[must_use]
pub fn thread_stride(len: u32) -> Stride<u32> {
    Stride::<u32>::new(u64::from(index_in_block()), u64::from(block_threads()), len)
}

/// Waits until all threads of the block are here; what they wrote is then visible to each other.
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
#[inline(always)]
pub fn sync_threads() {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: a barrier; that all threads reach it is the kernel's contract.
    unsafe {
        crate::nvptx::sync_threads();
    }
    #[cfg(not(target_arch = "nvptx64"))]
    crate::emulator::barrier("sync_threads", 0);
}

/// As [`sync_threads`]; the number of threads with a non-zero predicate.
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
#[inline(always)]
pub fn sync_threads_count(predicate: u32) -> u32 {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: as `sync_threads`.
    return unsafe { crate::nvptx::barrier_count(predicate) };
    #[cfg(not(target_arch = "nvptx64"))]
    return crate::emulator::barrier("sync_threads_count", predicate);
}

/// As [`sync_threads`]; 1 if the predicate is non-zero in all threads, else 0.
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
#[inline(always)]
pub fn sync_threads_and(predicate: u32) -> u32 {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: as `sync_threads`.
    return unsafe { u32::from(crate::nvptx::barrier_and(predicate) != 0) };
    #[cfg(not(target_arch = "nvptx64"))]
    return u32::from(crate::emulator::barrier("sync_threads_and", predicate) == block_threads());
}

/// As [`sync_threads`]; 1 if the predicate is non-zero in any thread, else 0.
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
#[inline(always)]
pub fn sync_threads_or(predicate: u32) -> u32 {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: as `sync_threads`.
    return unsafe { u32::from(crate::nvptx::barrier_or(predicate) != 0) };
    #[cfg(not(target_arch = "nvptx64"))]
    return u32::from(crate::emulator::barrier("sync_threads_or", predicate) != 0);
}

/// The same number, of which the compiler knows nothing: what is computed from it is computed
/// here, and not ahead of a loop in registers that the loop needs.
#[inline(always)]
#[must_use]
pub fn hidden(value: u32) -> u32 {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: no instruction.
    return unsafe { crate::nvptx::hidden(value) };
    #[cfg(not(target_arch = "nvptx64"))]
    return value;
}

/// Orders this thread's writes before its later ones for all threads of the device.
#[inline(always)]
pub fn device_fence() {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: a fence.
    unsafe {
        crate::nvptx::device_fence();
    }
    #[cfg(not(target_arch = "nvptx64"))]
    std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
}
