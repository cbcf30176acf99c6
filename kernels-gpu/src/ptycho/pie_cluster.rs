//! A pass of ePIE or rPIE as `pie_pass`, by a cluster of 4 blocks on as many multiprocessors (compute capability 9.0), each
//! with a quarter of a frame's rows: a frame needs the one before it, so that only a shorter time for each frame helps.
//!
//! The cluster has a frame of 128² pixels in its registers ([`crate::fft::cluster_frame`]), 32 values a thread. A thread
//! has the same pixels of the probe for all frames, in shared memory; O of the frame's window is there too until the
//! update. √counts are loaded into registers while the thread waits for the other blocks' updates of the frame before.
//! Three barriers of the cluster a frame: one in each transform, and one before the next frame's window is read. Of a
//! pixel of a frame 8 bytes of the object are read, 8 written, and 4 (√counts) read: at 64 bytes a clock and
//! multiprocessor 1300 clocks; the operations of the two transforms take about 2.7 µs. Measured on an H200 by
//! `ptycho_gradient`: 12.1 µs a frame, before with one block 19.7. What takes the rest are the barriers, each with a fence of
//! all memory, and the fetching of code (docs/optimisation-log.md, section 21).
//! Blocks of 128 threads: one warp for each scheduler of a multiprocessor, with as many registers as a thread can have.

use super::cluster_pass::{CHI, ClusterPass, Found, PROBE, WINDOW};
use super::frame_chi::Errors;
use crate::fft::cluster_frame::ClusterFrame;
use crate::fft::frame::{VALUES, Values};
use crate::fft::registers::reversed;
use warpstride_device::prelude::*;

/// Words before what the threads find together.
const FOUND: usize = ClusterPass::<4>::SLOTS + ClusterPass::<4>::slot_words(3);
/// Words before the roots of unity.
const ROOTS: usize = FOUND + Found::WORDS;
/// Words of shared memory.
const WORDS: usize = ROOTS + 2 * ClusterFrame::<4>::SIDE;
/// Values that are updated together.
const TOGETHER: usize = 4;

impl<const A: usize> ClusterPass<A> {
    #[inline(always)]
    unsafe fn run(&self, largest_probe: f32) {
        self.found.note(0, largest_probe, Self::warp(), A as u32);
        cluster::arrive();
        for number in 0..self.frames {
            let frame = *self.order.add(number as usize) as usize;
            let given = self.given(frame);
            cluster::wait();
            let window = self.window(frame);
            let o = self.load_window(window);
            let mut x = [Complex32::ZERO; VALUES];
            for n in 0..VALUES {
                x[reversed(n, 5)] = *self.slot(PROBE, n) * o[n];
            }
            self.transform.forward(&mut x);
            // After the barrier of the transform, and before the next one, behind which they are noted again.
            let most = [0, 1].map(|which| self.found.largest(which, Self::WARPS));
            let sums = self.deviate(&mut x, &given, *self.scales.add(frame));
            self.found.note_sums(sums, Self::warp());
            self.transform.inverse(&mut x);
            let most = self.update(window, &x, most);
            self.found.note(0, most, Self::warp(), A as u32);
            self.write_metrics(frame);
            if number == 0 && self.later == 0 && self.limits[1] >= 0.0 {
                self.clip_all();
            }
            cluster::arrive();
        }
        cluster::wait();
    }

    /// Updates object and probe by `x`, the frame's χ, with the largest |P|² and |O|²; returns the largest |P|² of the
    /// thread's pixels afterwards.
    #[inline(always)]
    unsafe fn update(&self, window: *mut Complex32, x: &Values, most: [f32; 2]) -> f32 {
        for n in 0..VALUES {
            *self.slot(CHI, n) = x[n];
        }
        let (of_object, of_probe) = (self.update_of(0, most[0]), self.update_of(1, most[1]));
        let step = A * self.object_columns as usize;
        let mut largest = 0.0_f32;
        let mut first = thread::hidden(0) as usize;
        while first < VALUES {
            for k in 0..TOGETHER {
                let n = first + k;
                let [p, o, x] = [PROBE, WINDOW, CHI].map(|kind| *self.slot(kind, n));
                let change = p.conj_mul_add(x, Complex32::ZERO);
                let factor = of_object.factor(p.norm_sqr());
                *window.add(n * step) = self.limited(change.scale_add(factor, o));
                let factor = of_probe.factor(o.norm_sqr());
                let change = o.conj_mul_add(x, Complex32::ZERO);
                let value = change.scale_add(factor, p).scale(self.supported(n));
                *self.slot(PROBE, n) = value;
                largest = largest.max(value.norm_sqr());
            }
            first += TOGETHER;
        }
        largest
    }
}

/// The same as `ptycho_pie_pass_128`; one cluster works.
#[kernel(block = 128, exact_block, min_blocks = 1, hot, cluster = 4, min_arch = 90, shared = 4 * WORDS)]
#[allow(
    clippy::too_many_arguments,
    reason = "the arrays of the model and the constants of the method"
)]
pub unsafe fn ptycho_pie_cluster_128(
    #[len(object_rows * object_columns)] object: *mut Complex32,
    #[len(128 * 128)] probe: *mut Complex32,
    #[len(frames)] errors: *mut f32,
    #[len(frames)] moved: *mut f32,
    #[len(frames)] photon: *mut f32,
    #[len(frames)] residual: *mut f32,
    #[len(frames)] free: *mut f32,
    #[len(128 * 128)] support: *const f32,
    #[len(frames * 128 * 128)] magnitudes: *const f32,
    #[len(frames)] scales: *const f32,
    #[len(frames)] corners: *const [u32; 2],
    #[len(frames)] order: *const u32,
    #[len(128)] roots: *const Complex32,
    frames: u32,
    object_rows: u32,
    object_columns: u32,
    object_alpha: f32,
    probe_alpha: f32,
    object_step: f32,
    probe_step: f32,
    clip_low: f32,
    clip_high: f32,
    supported: u32,
    later: u32,
) {
    if cluster::index() != 0 {
        return;
    }
    let memory: *mut f32 = shared::dynamic_shared_mem();
    let own = thread::thread_idx_x() as usize;
    let table = memory.add(ROOTS).cast::<Complex32>();
    *table.add(own) = *roots.add(own);
    thread::sync_threads();
    let pass = ClusterPass::<4> {
        transform: ClusterFrame::new(memory, table),
        found: Found::new(memory.add(FOUND)),
        object,
        slots: memory
            .add(ClusterPass::<4>::SLOTS)
            .cast::<Complex32>()
            .add(own),
        support,
        magnitudes,
        scales,
        corners,
        order,
        to: Errors {
            errors,
            moved,
            photon,
            residual,
            free,
        },
        frames,
        object_rows,
        object_columns,
        alpha: [object_alpha, probe_alpha],
        step: [object_step, probe_step],
        limits: [clip_low, clip_high],
        supported,
        later,
    };
    let largest = pass.load_probe(probe);
    // All blocks have started.
    cluster::sync();
    pass.run(largest);
    pass.store_probe(probe);
}
