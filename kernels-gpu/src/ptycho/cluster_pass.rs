//! What the passes of ePIE and rPIE by a cluster of blocks share (`pie_cluster`, `pie_cluster_exact`): a frame in the
//! registers of its threads ([`crate::fft::cluster_frame`]), 32 values each, and a thread's pixels of the probe, of the frame's
//! window, of χ and of the shifted probe in shared memory, its own slots, for which no barrier is needed.
//!
//! Loops over a thread's slots are not unrolled: code of more than 128 KiB does not stay in a multiprocessor's cache.

use super::FREE;
use super::frame_chi::{Errors, MetricSums, corner_of, root_of};
use super::object_finish::clipped;
use super::pie_pass::Update;
use super::pie_shared::over_warp;
use crate::fft::cluster_frame::ClusterFrame;
use crate::fft::frame::{VALUES, Values};
use warpstride_device::prelude::*;

/// Values whose deviations are computed together.
const TOGETHER: usize = 8;
/// The most warps of a cluster.
const WARPS: usize = 16;

/// What the threads of a cluster find together, in the shared memory of its blocks.
pub(super) struct Found {
    /// (warp of the cluster): the largest |P|² and |O|², in every block.
    most: [*mut f32; 2],
    /// (warp of the cluster): the sums behind the metrics, in the first block.
    sums: *mut [f32; 4],
}

impl Found {
    /// Words of shared memory.
    pub(super) const WORDS: usize = 6 * WARPS;

    #[inline(always)]
    pub(super) unsafe fn new(at: *mut f32) -> Self {
        Self {
            most: [at, at.add(WARPS)],
            sums: at.add(2 * WARPS).cast(),
        }
    }

    /// Notes the warp's largest weight `which` in all `blocks`.
    #[inline(always)]
    pub(super) unsafe fn note(&self, which: usize, weight: f32, warp: usize, blocks: u32) {
        let most = reduce::warp_max(weight);
        let lane = warp::lane_id();
        if lane < blocks {
            *cluster::map_shared(self.most[which].add(warp), lane) = most;
        }
    }

    /// The largest weight `which` of the cluster's `warps`; all lanes of a warp call it.
    #[inline(always)]
    pub(super) unsafe fn largest(&self, which: usize, warps: usize) -> f32 {
        let lane = warp::lane_id() as usize;
        reduce::warp_max(*self.most[which].add(lane.min(warps - 1)))
    }

    /// Notes the warp's sums in the first block.
    #[inline(always)]
    pub(super) unsafe fn note_sums(&self, sums: MetricSums, warp: usize) {
        let sums = over_warp(sums);
        if warp::lane_id() == 0 {
            *cluster::map_shared(self.sums.add(warp), 0) =
                [sums.photons, sums.roots, sums.valid, sums.hidden];
        }
    }

    /// The sums of the cluster's `warps`; all lanes of a warp of the first block call it.
    #[inline(always)]
    pub(super) unsafe fn sums(&self, warps: usize) -> MetricSums {
        let lane = warp::lane_id() as usize;
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

/// A thread's slots in shared memory: of the probe, of the window before its update, of χ, and of the shifted probe or its
/// spectrum.
pub(super) const PROBE: usize = 0;
pub(super) const WINDOW: usize = 1;
pub(super) const CHI: usize = 2;
pub(super) const SHIFTED: usize = 3;

/// What a pass reads and writes.
pub(super) struct ClusterPass<const A: usize> {
    pub(super) transform: ClusterFrame<A>,
    pub(super) found: Found,
    pub(super) object: *mut Complex32,
    /// The thread's first slot; value n is [`ClusterPass::OWN`] n slots on, the next kind of them `VALUES` times as far.
    pub(super) slots: *mut Complex32,
    pub(super) support: *const f32,
    pub(super) magnitudes: *const f32,
    pub(super) scales: *const f32,
    pub(super) corners: *const [u32; 2],
    pub(super) order: *const u32,
    pub(super) to: Errors,
    pub(super) frames: u32,
    pub(super) object_rows: u32,
    pub(super) object_columns: u32,
    pub(super) alpha: [f32; 2],
    pub(super) step: [f32; 2],
    pub(super) limits: [f32; 2],
    pub(super) supported: u32,
    pub(super) later: u32,
}

impl<const A: usize> ClusterPass<A> {
    /// Threads of a block.
    pub(super) const OWN: usize = 32 * A;
    /// Warps of the cluster.
    pub(super) const WARPS: usize = A * A;
    /// Words of shared memory before the slots.
    pub(super) const SLOTS: usize = ClusterFrame::<A>::WORDS;

    /// Words of `kinds` of slots of a block.
    pub(super) const fn slot_words(kinds: usize) -> usize {
        2 * kinds * VALUES * Self::OWN
    }

    /// The thread's warp in the cluster.
    #[inline(always)]
    pub(super) fn warp() -> usize {
        cluster::block_rank() as usize * A + thread::thread_idx_x() as usize / 32
    }

    /// The thread's slot of a kind for value `n`.
    #[inline(always)]
    pub(super) unsafe fn slot(&self, kind: usize, n: usize) -> *mut Complex32 {
        self.slots.add((kind * VALUES + n) * Self::OWN)
    }

    /// Offset of the thread's first pixel in a frame; value n is A n rows below.
    #[inline(always)]
    pub(super) fn place(&self) -> usize {
        let (row, column) = self.transform.place();
        row * ClusterFrame::<A>::SIDE + column
    }

    /// Copies the probe to the slots and returns the largest |P|² of them.
    #[inline(always)]
    pub(super) unsafe fn load_probe(&self, probe: *const Complex32) -> f32 {
        let from = probe.add(self.place());
        let mut most = 0.0_f32;
        for n in 0..VALUES {
            let value = *from.add(n * A * ClusterFrame::<A>::SIDE);
            *self.slot(PROBE, n) = value;
            most = most.max(value.norm_sqr());
        }
        most
    }

    /// Copies the probe from the slots.
    #[inline(always)]
    pub(super) unsafe fn store_probe(&self, probe: *mut Complex32) {
        let to = probe.add(self.place());
        for n in 0..VALUES {
            *to.add(n * A * ClusterFrame::<A>::SIDE) = *self.slot(PROBE, n);
        }
    }

    /// The frame's √counts at the thread's values of the spectrum.
    #[inline(always)]
    pub(super) unsafe fn given(&self, frame: usize) -> [f32; VALUES] {
        let (row, column) = self.transform.spectrum_place();
        let place = row * ClusterFrame::<A>::SIDE + column;
        let magnitudes = (self.magnitudes).add(frame * ClusterFrame::<A>::PIXELS + place);
        let mut given = [0.0; VALUES];
        for v in 0..VALUES {
            given[v] = *magnitudes.add(ClusterFrame::<A>::spectrum_offset(v));
        }
        given
    }

    /// The thread's first pixel of the object in the frame's window; value n is A n rows below.
    #[inline(always)]
    pub(super) unsafe fn window(&self, frame: usize) -> *mut Complex32 {
        let (row, column) = self.transform.place();
        let corner = corner_of(self.corners, frame, self.object_columns);
        let below = row as u32 * self.object_columns + column as u32;
        self.object.add(corner + below as usize)
    }

    /// Loads the window, keeps it in the slots, and notes the largest |O|².
    #[inline(always)]
    pub(super) unsafe fn load_window(&self, window: *const Complex32) -> Values {
        let step = A * self.object_columns as usize;
        let mut o = [Complex32::ZERO; VALUES];
        for n in 0..VALUES {
            o[n] = *window.add(n * step);
        }
        let mut most = 0.0_f32;
        for n in 0..VALUES {
            most = most.max(o[n].norm_sqr());
            *self.slot(WINDOW, n) = o[n];
        }
        self.found.note(1, most, Self::warp(), A as u32);
        o
    }

    /// As `frame_chi::deviate`, with more pixels at once.
    #[inline(always)]
    pub(super) unsafe fn deviate(
        &self,
        x: &mut Values,
        given: &[f32; VALUES],
        scale: f32,
    ) -> MetricSums {
        let per_pixel = 1.0 / ClusterFrame::<A>::PIXELS as f32;
        let factor = per_pixel * scale;
        let mut sums = MetricSums::ZERO;
        for v in 0..VALUES {
            if v % TOGETHER == 0 {
                // Keeps the assembler from computing everything at once.
                warp::sync_warp(warp::FULL);
            }
            let magnitude = given[v];
            let valid = magnitude >= 0.0;
            let model = x[v].norm_sqr() * factor;
            let (root, inverse) = root_of(model);
            let by_root = if valid { root - magnitude } else { 0.0 };
            let counts = magnitude * magnitude;
            let by_count = if valid { model - counts } else { 0.0 };
            let by_hidden = if magnitude <= FREE {
                root - (FREE - magnitude)
            } else {
                0.0
            };
            sums.photons += float::div_approx(by_count * by_count, counts + 1.0);
            sums.roots = by_root.mul_add(by_root, sums.roots);
            sums.valid += if valid { 1.0 } else { 0.0 };
            sums.hidden = by_hidden.mul_add(by_hidden, sums.hidden);
            x[v] = x[v].scale(-by_root * inverse * per_pixel);
        }
        sums
    }

    /// The update `which` (0: object, 1: probe) with the largest weight.
    #[inline(always)]
    pub(super) fn update_of(&self, which: usize, most: f32) -> Update {
        Update {
            alpha: self.alpha[which],
            step: self.step[which],
            most,
        }
    }

    /// A value of the object, its modulus clipped.
    #[inline(always)]
    pub(super) fn limited(&self, value: Complex32) -> Complex32 {
        if self.limits[1] >= 0.0 {
            clipped(value, self.limits[0], self.limits[1])
        } else {
            value
        }
    }

    /// The factor of the support for value `n`.
    #[inline(always)]
    pub(super) unsafe fn supported(&self, n: usize) -> f32 {
        if self.supported == 0 {
            return 1.0;
        }
        *self
            .support
            .add(self.place() + n * A * ClusterFrame::<A>::SIDE)
    }

    /// Writes the metrics of a frame, whose sums have been noted before a barrier.
    #[inline(always)]
    pub(super) unsafe fn write_metrics(&self, frame: usize) {
        if Self::warp() == 0 {
            let sums = self.found.sums(Self::WARPS);
            if warp::lane_id() == 0 {
                sums.write(frame, *self.scales.add(frame), &self.to);
            }
        }
    }

    /// After the first update, before which the object may exceed the limits anywhere: clips its modulus everywhere.
    #[inline(always)]
    pub(super) unsafe fn clip_all(&self) {
        cluster::sync();
        let mut at = self.place() as u32;
        while at < self.object_rows * self.object_columns {
            let value = self.object.add(at as usize);
            *value = clipped(*value, self.limits[0], self.limits[1]);
            at += ClusterFrame::<A>::THREADS as u32;
        }
    }
}
