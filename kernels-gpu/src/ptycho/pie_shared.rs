//! What the threads of a block of `pie_pass` find together, in shared memory.

use super::frame_chi::MetricSums;
use warpstride_device::prelude::*;

/// The most warps of a block.
const WARPS: usize = 16;

/// What the threads of a block share.
pub(super) struct Found {
    /// (warp): the largest |P|² and |O|².
    most: [*mut f32; 2],
    /// (warp): the sums behind the metrics.
    sums: *mut [f32; 4],
    /// The number of the frame, not kept in registers: one that is changed after the inverse transform and one that
    /// follows at the end, so that all threads have read it before.
    pub(super) numbers: [*mut u32; 2],
    /// The object's address, for the same reason.
    pub(super) object: *mut *mut Complex32,
}

impl Found {
    /// Words of shared memory.
    pub(super) const WORDS: usize = 128;

    /// In [`Found::WORDS`] words of dynamic shared memory: static arrays would each need a register for their address.
    #[inline(always)]
    pub(super) unsafe fn new(at: *mut f32) -> Self {
        let numbers: *mut u32 = at.add(6 * WARPS).cast();
        const { assert!(6 * WARPS + 4 <= Self::WORDS) };
        Self {
            most: [at, at.add(WARPS)],
            sums: at.add(2 * WARPS).cast(),
            numbers: [numbers, numbers.add(1)],
            object: numbers.add(2).cast(),
        }
    }

    /// Notes the warp's largest weight `which`.
    #[inline(always)]
    pub(super) unsafe fn note(&self, which: usize, weight: f32) {
        let most = reduce::warp_max(weight);
        if warp::lane_id() == 0 {
            *self.most[which].add(warp_number()) = most;
        }
    }

    /// The largest weight `which` of the block; all lanes of the warp call it.
    #[inline(always)]
    pub(super) unsafe fn largest(&self, which: usize, warps: usize) -> f32 {
        let lane = thread::recomputed(warp::lane_id()) as usize;
        reduce::warp_max(*self.most[which].add(lane.min(warps - 1)))
    }

    /// Notes the warp's sums.
    #[inline(always)]
    pub(super) unsafe fn note_sums(&self, sums: MetricSums) {
        let sums = over_warp(sums);
        if warp::lane_id() == 0 {
            let to = self.sums.add(warp_number());
            *to = [sums.photons, sums.roots, sums.valid, sums.hidden];
        }
    }

    /// The sums of the block; all lanes of the warp call it.
    #[inline(always)]
    pub(super) unsafe fn sums(&self, warps: usize) -> MetricSums {
        let lane = thread::recomputed(warp::lane_id()) as usize;
        let mut of_lane = MetricSums::ZERO;
        if lane < warps {
            let [photons, roots, valid, hidden] = *self.sums.add(lane);
            of_lane = MetricSums {
                photons,
                roots,
                valid,
                hidden,
            };
        }
        over_warp(of_lane)
    }
}

/// The thread's warp, computed again for each use.
#[inline(always)]
pub(super) fn warp_number() -> usize {
    thread::recomputed(thread::thread_idx_x()) as usize / 32
}

/// The sums over the warp.
#[inline(always)]
pub(super) unsafe fn over_warp(sums: MetricSums) -> MetricSums {
    MetricSums {
        photons: reduce::warp_sum(sums.photons),
        roots: reduce::warp_sum(sums.roots),
        valid: reduce::warp_sum(sums.valid),
        hidden: reduce::warp_sum(sums.hidden),
    }
}
