//! A pass of ePIE or rPIE at exact positions by a cluster of 4 blocks, as `pie_cluster` at whole pixels: what `exact_chi`,
//! `batch_sums`, `exact_finish` and `exact_advance` do for one frame after the other, in one launch. For one probe mode
//! and frames of 128² pixels (compute capability 9.0).
//!
//! The frame's probe S(P) is the inverse transform of the probe's spectrum times a phase ramp; what the probe's update is
//! made of, conj(O) χ, is shifted back in the same way; and the new probe is transformed for the next frame. These are
//! six transforms a frame in three rounds of the same code, an inverse and a forward one each. The barriers of the second
//! and third round also order the window's update before the next frame reads its own. Reads and writes what `pie_cluster` does.
//! Blocks of 128 threads with as many registers as a thread can have.

use super::cluster_pass::{CHI, ClusterPass, Found, PROBE, SHIFTED, WINDOW};
use super::exact_frame::Ramp;
use super::frame_chi::Errors;
use crate::fft::cluster_frame::ClusterFrame;
use crate::fft::frame::{VALUES, Values};
use crate::fft::registers::reversed;
use warpstride_device::prelude::*;

/// Words before the phase ramp.
const RAMP: usize = ClusterPass::<4>::SLOTS + ClusterPass::<4>::slot_words(4);
/// Words before what the threads find together.
const FOUND: usize = RAMP + Ramp::<4>::WORDS;
/// Words before the roots of unity.
const ROOTS: usize = FOUND + Found::WORDS;
/// Words of shared memory.
pub const WORDS: usize = ROOTS + 2 * ClusterFrame::<4>::SIDE;
/// Values that are updated together.
const TOGETHER: usize = 4;

impl<const A: usize> ClusterPass<A> {
    #[inline(always)]
    unsafe fn run_exact(&self, ramp: &Ramp<A>, fractions: *const [f32; 2]) {
        let mut x = [Complex32::ZERO; VALUES];
        for number in 0..self.frames {
            let frame = *self.order.add(number as usize) as usize;
            self.prefetch(frame);
            ramp.set_in_turns(fractions.add(frame));
            let window = self.window(frame);
            for v in 0..VALUES {
                x[v] = *self.slot(SHIFTED, v);
            }
            ramp.shift(&self.transform, &mut x);
            let mut most = [0.0; 2];
            // A loop, so that the code of the transforms is there once.
            let mut round = thread::hidden(0);
            loop {
                self.transform.inverse(&mut x);
                if round == 0 {
                    self.model(window, &mut x);
                } else {
                    self.keep(CHI, &x);
                    if round == 1 {
                        self.write_metrics(frame);
                        self.update_object(window, most[0]);
                        if number == 0 && self.later == 0 && self.limits[1] >= 0.0 {
                            self.clip_all();
                        }
                        x = self.turned(CHI);
                    } else {
                        self.update_probe(most[1]);
                        x = self.turned(PROBE);
                    }
                }
                self.transform.forward(&mut x);
                if round == 2 {
                    break;
                }
                if round == 0 {
                    // After the barrier of the transform, and before the next one, behind which they are noted again.
                    most = [0, 1].map(|which| self.found.largest(which, Self::WARPS));
                    let given = self.given(frame);
                    let sums = self.deviate(&mut x, &given, *self.scales.add(frame));
                    self.found.note_sums(sums, Self::warp());
                } else {
                    ramp.shift_back(&self.transform, &mut x);
                }
                round = thread::hidden(round + 1);
            }
            self.keep(SHIFTED, &x);
        }
        // No block ends while others write to its memory.
        cluster::sync();
    }

    /// Keeps the probe's spectrum in the slots of the shifted probe.
    #[inline(always)]
    unsafe fn load_spectrum(&self, from: *const Complex32) {
        let (row, column) = self.transform.spectrum_place();
        let from = from.add(row * ClusterFrame::<A>::SIDE + column);
        for v in 0..VALUES {
            *self.slot(SHIFTED, v) = *from.add(ClusterFrame::<A>::spectrum_offset(v));
        }
    }

    /// Writes the probe's spectrum from the slots of the shifted probe.
    #[inline(always)]
    unsafe fn store_spectrum(&self, to: *mut Complex32) {
        let (row, column) = self.transform.spectrum_place();
        let to = to.add(row * ClusterFrame::<A>::SIDE + column);
        for v in 0..VALUES {
            *to.add(ClusterFrame::<A>::spectrum_offset(v)) = *self.slot(SHIFTED, v);
        }
    }

    /// Brings √counts of a frame to the L2 cache.
    #[inline(always)]
    unsafe fn prefetch(&self, frame: usize) {
        /// Values of a cache line.
        const LINE: usize = 32;
        let (row, column) = self.transform.place();
        let line = LINE * (row * ClusterFrame::<A>::SIDE + column);
        mem::prefetch_l2((self.magnitudes).add(frame * ClusterFrame::<A>::PIXELS + line));
    }

    /// Keeps values in the slots of a kind.
    #[inline(always)]
    unsafe fn keep(&self, kind: usize, x: &Values) {
        for n in 0..VALUES {
            *self.slot(kind, n) = x[n];
        }
    }

    /// The values of the slots of a kind where the forward transform takes them.
    #[inline(always)]
    unsafe fn turned(&self, kind: usize) -> Values {
        let mut x = [Complex32::ZERO; VALUES];
        for n in 0..VALUES {
            x[reversed(n, 5)] = *self.slot(kind, n);
        }
        x
    }

    /// From S(P) to S(P)·O; keeps both factors and notes their largest squared moduli.
    #[inline(always)]
    unsafe fn model(&self, window: *const Complex32, x: &mut Values) {
        self.keep(SHIFTED, x);
        let mut most = 0.0_f32;
        for n in 0..VALUES {
            most = most.max(x[n].norm_sqr());
        }
        self.found.note(0, most, Self::warp(), A as u32);
        let o = self.load_window(window);
        // Keeps the assembler from loading what follows before.
        warp::sync_warp(warp::FULL);
        let mut y = [Complex32::ZERO; VALUES];
        for n in 0..VALUES {
            y[reversed(n, 5)] = x[n] * o[n];
        }
        *x = y;
    }

    /// Updates the window by χ; of it conj(O) χ is left.
    #[inline(always)]
    unsafe fn update_object(&self, window: *mut Complex32, most: f32) {
        let of_object = self.update_of(0, most);
        let step = A * self.object_columns as usize;
        let mut first = thread::hidden(0) as usize;
        while first < VALUES {
            for k in 0..TOGETHER {
                let n = first + k;
                let [p, o, x] = [SHIFTED, WINDOW, CHI].map(|kind| *self.slot(kind, n));
                let change = p.conj_mul_add(x, Complex32::ZERO);
                let factor = of_object.factor(p.norm_sqr());
                *window.add(n * step) = self.limited(change.scale_add(factor, o));
                *self.slot(CHI, n) = o.conj_mul_add(x, Complex32::ZERO);
            }
            first += TOGETHER;
        }
    }

    /// Updates the probe by what is left of χ, shifted back.
    #[inline(always)]
    unsafe fn update_probe(&self, most: f32) {
        let of_probe = self.update_of(1, most);
        let mut first = thread::hidden(0) as usize;
        while first < VALUES {
            for k in 0..TOGETHER {
                let n = first + k;
                let [p, o, change] = [PROBE, WINDOW, CHI].map(|kind| *self.slot(kind, n));
                let value = change.scale_add(of_probe.factor(o.norm_sqr()), p);
                *self.slot(PROBE, n) = value.scale(self.supported(n));
            }
            first += TOGETHER;
        }
    }
}

/// As `ptycho_pie_cluster_128`, with the probe shifted by `fractions`, in pixels; `probe_spectrum` is its unnormalised
/// transform, and then that of the new probe, so that several passes one after the other have the bits of one.
#[kernel(block = 128, exact_block, min_blocks = 1, hot, cluster = 4, min_arch = 90, shared = 4 * WORDS)]
#[allow(
    clippy::too_many_arguments,
    reason = "the arrays of the model and the constants of the method"
)]
pub unsafe fn ptycho_pie_cluster_exact_128(
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
    #[len(128 * 128)] probe_spectrum: *mut Complex32,
    #[len(frames)] fractions: *const [f32; 2],
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
    pass.load_probe(probe);
    pass.load_spectrum(probe_spectrum);
    // All blocks have started.
    cluster::sync();
    pass.run_exact(&Ramp::new(memory.add(RAMP)), fractions);
    pass.store_probe(probe);
    pass.store_spectrum(probe_spectrum);
}
