//! Sums over a block for which no thread waits: each warp writes its own to shared memory, and behind a barrier that there is
//! anyway, such as one of the next transform, the first warp adds them up. Sums over the block where they are needed
//! (`reduce`) cost two barriers each.

use super::pie_shared::warp_number;
use warpstride_device::prelude::*;

/// The most warps of a block.
const WARPS: usize = 16;

/// `N` sums of each warp.
pub(super) struct WarpSums<const N: usize> {
    /// (warp)
    sums: *mut [f64; N],
}

impl<const N: usize> WarpSums<N> {
    /// Words of shared memory.
    pub(super) const WORDS: usize = 2 * N * WARPS;

    /// In [`WarpSums::WORDS`] words of shared memory.
    #[inline(always)]
    pub(super) unsafe fn new(at: *mut f32) -> Self {
        Self { sums: at.cast() }
    }

    /// Notes a sum of the warp, which all of its lanes have.
    #[inline(always)]
    pub(super) unsafe fn note(&self, which: usize, of_warp: f64) {
        // Asked again for each sum, between which there are shuffles.
        if thread::recomputed(warp::lane_id()) == 0 {
            (*self.sums.add(warp_number()))[which] = of_warp;
        }
    }

    /// Adds a sum of the warp, which all of its lanes have, to what is noted, or notes it if it is the `first`.
    #[inline(always)]
    pub(super) unsafe fn add(&self, which: usize, of_warp: f64, first: bool) {
        if thread::recomputed(warp::lane_id()) == 0 {
            let noted = &mut (*self.sums.add(warp_number()))[which];
            *noted = if first { of_warp } else { *noted + of_warp };
        }
    }

    /// Notes all sums of the warp, which all of its lanes have.
    #[inline(always)]
    pub(super) unsafe fn note_all(&self, of_warp: [f64; N]) {
        if warp::lane_id() == 0 {
            *self.sums.add(warp_number()) = of_warp;
        }
    }

    /// The sums of the first `warps` warps; all lanes of a warp call it, after a barrier.
    #[inline(always)]
    pub(super) unsafe fn total(&self, warps: usize) -> [f64; N] {
        let lane = thread::recomputed(warp::lane_id()) as usize;
        let mut of_lane = [0.0; N];
        if lane < warps {
            of_lane = *self.sums.add(lane);
        }
        for n in 0..N {
            of_lane[n] = reduce::warp_sum_f64(of_lane[n]);
        }
        of_lane
    }
}
