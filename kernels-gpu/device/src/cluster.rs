//! Thread block clusters (compute capability 9.0): blocks that run at the same time on neighbouring multiprocessors,
//! wait for each other, and read and write each other's shared memory.
//!
//! `#[kernel(cluster = 4, min_arch = 90, …)]` makes clusters of 4 blocks along x; a kernel without this option has
//! clusters of one block. [`crate::thread::cluster_stride`] distributes items over clusters.
//!
//! Two rules follow from the blocks being independent otherwise:
//!
//! * another block's shared memory may be accessed only after that block has started: after a first [`sync`];
//! * a block must not end while others may still access its shared memory: a last [`sync`] after their accesses.

#[cfg(not(target_arch = "nvptx64"))]
use crate::emulator::context;

/// The index of this block in its cluster.
#[inline(always)]
#[must_use]
pub fn block_rank() -> u32 {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: reads a special register.
    return unsafe { crate::nvptx::cluster_block_rank() };
    #[cfg(not(target_arch = "nvptx64"))]
    return context::current().rank();
}

/// Blocks in a cluster.
#[inline(always)]
#[must_use]
pub fn blocks() -> u32 {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: reads a special register.
    return unsafe { crate::nvptx::cluster_blocks() };
    #[cfg(not(target_arch = "nvptx64"))]
    return context::current().cluster_blocks();
}

/// The index of this cluster in the grid along x.
#[inline(always)]
#[must_use]
pub fn index() -> u32 {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: reads a special register.
    return unsafe { crate::nvptx::cluster_index() };
    #[cfg(not(target_arch = "nvptx64"))]
    return crate::thread::block_idx_x() / blocks();
}

/// Clusters in the grid along x.
#[inline(always)]
#[must_use]
pub fn clusters() -> u32 {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: reads a special register.
    return unsafe { crate::nvptx::clusters() };
    #[cfg(not(target_arch = "nvptx64"))]
    return crate::thread::grid_dim_x() / blocks();
}

/// Waits until all threads of the cluster have arrived; their earlier writes, to shared memory of any of its blocks
/// too, are then visible to each other.
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
#[inline(always)]
pub fn sync() {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: a barrier; the kernel must ensure that all threads of the cluster reach it.
    unsafe {
        crate::nvptx::cluster_arrive();
        crate::nvptx::cluster_wait();
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        crate::emulator::cluster_arrive("cluster::sync");
        crate::emulator::cluster_wait("cluster::sync");
    }
}

/// The first half of [`sync`]: this thread's earlier writes are complete. It does not wait; other work may stand
/// between it and [`wait`], which every thread must call before it arrives again or ends.
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
#[inline(always)]
pub fn arrive() {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: as in `sync`.
    unsafe {
        crate::nvptx::cluster_arrive();
    }
    #[cfg(not(target_arch = "nvptx64"))]
    crate::emulator::cluster_arrive("cluster::arrive");
}

/// The second half of [`sync`]: waits until all threads of the cluster have called [`arrive`].
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
#[inline(always)]
pub fn wait() {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: as in `sync`.
    unsafe {
        crate::nvptx::cluster_wait();
    }
    #[cfg(not(target_arch = "nvptx64"))]
    crate::emulator::cluster_wait("cluster::wait");
}

/// The address in the shared memory of block `rank` of the cluster that corresponds to `address` in this block's
/// (`mapa`): the same element of the same static or dynamic array. It can be read and written like any other, and by
/// the atomic functions for any memory.
///
/// # Safety
///
/// `address` must be in this block's own shared memory, and `rank` below [`blocks`]. The result may be accessed only
/// while block `rank` runs (see the rules of this module).
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
#[inline(always)]
#[must_use]
pub unsafe fn map_shared<T>(address: *mut T, rank: u32) -> *mut T {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the caller guarantees the conditions.
    return unsafe { crate::nvptx::warpstride_map_shared(address.cast(), rank).cast() };
    #[cfg(not(target_arch = "nvptx64"))]
    return crate::emulator::map_shared(address.cast(), rank).cast();
}
