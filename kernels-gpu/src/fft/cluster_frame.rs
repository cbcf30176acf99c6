//! The transform of [`super::frame`] by a cluster of A blocks of 32 A threads (compute capability 9.0): the block of rank n₂
//! has the rows A n₁ + n₂ of a frame and 32/A of the values k₁. Each multiprocessor has a part of the work, so that a single
//! frame takes less time; many frames take more, because blocks wait for each other.
//!
//! Between stages 1 and 2 values change blocks: a thread writes them to the shared memory of the block that goes on with
//! them, real and imaginary parts together, and one barrier of the cluster follows. Forward and inverse transform have
//! memory of their own, so that the barrier of one is also the end of the reads of the other. Rows of 33 A complex numbers
//! keep the lanes of a half-warp on different banks (A = 4).

use super::frame::{Group, GroupFrame, VALUES, Values, WARP_ROW, register};
use super::registers::reversed;
use warpstride_device::prelude::*;

/// A thread block cluster of A blocks.
pub struct Cluster;

/// The transform by a cluster. A forward and an inverse transform must follow each other in turn.
pub type ClusterFrame<const A: usize> = GroupFrame<A, Cluster>;

impl Cluster {
    /// Complex numbers of a row of both exchanges.
    const fn row(a: usize) -> usize {
        33 * a
    }

    /// Complex numbers of an exchange: 32 rows of one block.
    const fn exchange(a: usize) -> usize {
        32 * Self::row(a)
    }

    /// Words of shared memory.
    const fn words(a: usize) -> usize {
        2 * 2 * Self::exchange(a) + a * 32 * WARP_ROW
    }

    /// The index of the thread in its block.
    #[inline(always)]
    fn own() -> usize {
        thread::hidden(thread::thread_idx_x()) as usize
    }

    /// The same address in the shared memory of each block.
    #[inline(always)]
    unsafe fn mapped<const A: usize, T>(address: *mut T) -> [*mut T; A] {
        let mut all = [address; A];
        for block in 0..A {
            all[block] = cluster::map_shared(address, block as u32);
        }
        all
    }

    /// The memory of a forward and of an inverse exchange.
    #[inline(always)]
    unsafe fn exchanges<const A: usize>(memory: *mut f32) -> [*mut Complex32; 2] {
        let first: *mut Complex32 = memory.cast();
        [first, first.add(Self::exchange(A))]
    }
}

impl Group for Cluster {
    const WORDS: [usize; 5] = [0, 0, Self::words(2), 0, Self::words(4)];

    #[inline(always)]
    fn thread<const A: usize>() -> usize {
        cluster::block_rank() as usize * (32 * A) + Self::own()
    }

    #[inline(always)]
    unsafe fn rows_of_warp<const A: usize>(memory: *mut f32) -> *mut f32 {
        memory.add(2 * 2 * Self::exchange(A) + Self::own() / 32 * (32 * WARP_ROW))
    }

    #[inline(always)]
    unsafe fn outer_to_inner<const A: usize>(memory: *mut f32, x: &Values, y: &mut Values) {
        let [memory, _] = Self::exchanges::<A>(memory);
        let (row, there) = (Self::row(A), 32 / A);
        // Rows (k₁ of the block, n₂).
        let outer = memory.add(cluster::block_rank() as usize * row + Self::own());
        let outer = Self::mapped::<A, _>(outer);
        for k1 in 0..VALUES {
            *outer[k1 / there].add(k1 % there * A * row) = x[k1];
        }
        cluster::sync();
        let inner = memory.add(Self::own() / (A * A) * A * row + Self::own() % (A * A));
        for n2 in 0..A {
            for m1 in 0..there {
                y[register::<A>(n2, m1)] = *inner.add(n2 * row + A * A * m1);
            }
        }
    }

    #[inline(always)]
    unsafe fn inner_to_outer<const A: usize>(memory: *mut f32, y: &Values, x: &mut Values) {
        let [_, memory] = Self::exchanges::<A>(memory);
        let row = Self::row(A);
        // Rows k₁.
        let k1 = Self::thread::<A>() / (A * A);
        let inner = memory.add(k1 * row + Self::own() % (A * A));
        let inner = Self::mapped::<A, _>(inner);
        for v in 0..VALUES {
            *inner[v / (32 / A)].add(A * A * (v % (32 / A))) = y[v];
        }
        cluster::sync();
        let outer = memory.add(Self::own());
        for k1 in 0..VALUES {
            x[reversed(k1, 5)] = *outer.add(k1 * row);
        }
    }
}
