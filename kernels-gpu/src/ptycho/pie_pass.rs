//! A pass of ePIE or rPIE with one frame a batch, one launch: one block takes the frames in their order and updates
//! object and probe after each. For one probe mode at whole pixels and frames of 64² or 128², which the block holds in
//! its registers ([`Frame`]).
//!
//! A frame's update needs the one before it, so a second block would wait. A thread has the same pixels of the probe for
//! all frames. `ptycho_pie_pass_64` keeps the probe in shared memory and needs 49.5 KiB a block; `ptycho_pie_pass_128`
//! reads and writes it in L2 and needs 67.5 KiB: where a block can have more, `pie_cluster` is faster.
//!
//! The floor is that of one multiprocessor: of a pixel of a frame, 16 bytes of the object are read, 8 written, and 4
//! (√counts) read from device memory, at 64 bytes a clock 7200 clocks or 4 µs for 128²; the operations of the two
//! transforms are about 10 µs. With the probe in L2, 24 more bytes are read and 8 written, 9 µs in all. What the threads
//! of a warp find together (the largest weights, the metrics) goes through shared memory and is read after a barrier
//! that there is anyway. Blocks of 512 or 128 threads, 32 pixels each.

use super::frame_chi::{Errors, corner_of, deviate, load_product, prefetch};
use super::object_finish::clipped;
use super::pie_shared::{Found, warp_number};
use crate::fft::frame::{Frame, VALUES, Values};
use warpstride_device::prelude::*;

/// Values that a thread loads together.
const TOGETHER: usize = 4;
/// √counts that a thread loads together.
const FEW: usize = 4;

/// Below every denominator but 0.
const SMALLEST: f32 = 1e-30;

/// In `updates`: the object is updated.
pub const OBJECT: u32 = 1;
/// In `updates`: the probe is updated.
pub const PROBE: u32 = 2;

/// An update: `step / ((1 − alpha) W + alpha · max W)`.
#[derive(Clone, Copy)]
pub(super) struct Update {
    pub(super) alpha: f32,
    pub(super) step: f32,
    pub(super) most: f32,
}

impl Update {
    #[inline(always)]
    pub(super) fn factor(&self, weight: f32) -> f32 {
        let divisor = (1.0 - self.alpha).mul_add(weight, self.alpha * self.most);
        // 0 where the denominator is 0, and with it what is divided.
        float::div_approx(self.step, divisor.max(SMALLEST))
    }
}

/// What a pass reads and writes.
struct Pass<const A: usize> {
    transform: Frame<A>,
    found: Found,
    object: *mut Complex32,
    /// The probe while the pass runs, in shared memory or not.
    probe: *mut Complex32,
    support: *const f32,
    magnitudes: *const f32,
    scales: *const f32,
    corners: *const [u32; 2],
    order: *const u32,
    to: Errors,
    frames: u32,
    object_rows: u32,
    object_columns: u32,
    alpha: [f32; 2],
    step: [f32; 2],
    limits: [f32; 2],
    supported: u32,
    later: u32,
}

impl<const A: usize> Pass<A> {
    const WARPS: usize = Frame::<A>::THREADS / 32;

    #[inline(always)]
    unsafe fn run(&self) {
        self.found.note(0, self.largest_probe());
        let [ahead, behind] = self.found.numbers;
        if thread::index_in_block() == 0 {
            (*ahead, *behind) = (0, 0);
            *self.found.object = self.object;
        }
        thread::sync_threads();
        while *ahead < self.frames {
            let mut x = [Complex32::ZERO; VALUES];
            self.load_model(&mut x);
            self.transform.forward(&mut x);
            let scale = *self.scales.add(self.frame(*ahead));
            let sums = deviate::<A, FEW>(&self.transform, &mut x, self.given(0), scale);
            self.found.note_sums(sums);
            prefetch::<A>(self.given(1));
            self.transform.inverse(&mut x);
            if thread::hidden(thread::thread_idx_x()) == 0 {
                *ahead += 1;
            }
            self.update(&x);
            if self.limits[1] >= 0.0 {
                self.clip_window();
            }
            let most = self.support();
            // From here on threads work on each other's pixels, and have read what the warps had found.
            thread::sync_threads();
            self.found.note(0, most);
            // Here, where no frame is in registers.
            if warp_number() == 0 {
                let sums = self.found.sums(Self::WARPS);
                if warp::lane_id() == 0 {
                    let frame = self.frame(*behind);
                    sums.write(frame, *self.scales.add(frame), &self.to);
                    *behind = *ahead;
                }
            }
            if *ahead == 1 && self.later == 0 && self.limits[1] >= 0.0 {
                // Before the first update the object may exceed the limits anywhere.
                self.clip_all();
                thread::sync_threads();
            }
        }
    }

    /// [`Frame::place`], computed again for each use, so that the transforms have the registers.
    #[inline(always)]
    fn place() -> (usize, usize) {
        let thread = thread::recomputed(thread::thread_idx_x()) as usize;
        (thread / Frame::<A>::SIDE, thread % Frame::<A>::SIDE)
    }

    /// The frame with this number in the order; the last one beyond it.
    #[inline(always)]
    unsafe fn frame(&self, number: u32) -> usize {
        *self.order.add(number.min(self.frames - 1) as usize) as usize
    }

    /// √counts of the frame, or of one `further` on.
    #[inline(always)]
    unsafe fn given(&self, further: u32) -> *const f32 {
        let frame = self.frame(*self.found.numbers[0] + further);
        self.magnitudes.add(frame * Frame::<A>::PIXELS)
    }

    /// The thread's first pixel of the object in the window of frame `numbers[which]`, and of the probe.
    #[inline(always)]
    unsafe fn own(&self, which: usize) -> (*mut Complex32, *mut Complex32) {
        let (row, column) = Self::place();
        let frame = self.frame(*self.found.numbers[which]);
        let corner = corner_of(self.corners, frame, self.object_columns);
        // In 32 bits, which is what an object has.
        let below = row as u32 * self.object_columns + column as u32;
        let window = corner + below as usize;
        let own = row * Frame::<A>::SIDE + column;
        ((*self.found.object).add(window), self.probe.add(own))
    }

    /// P·O as [`Frame::forward`] takes it; notes the largest |O|².
    #[inline(always)]
    unsafe fn load_model(&self, x: &mut Values) {
        let (window, probe) = self.own(0);
        let mut most = 0.0_f32;
        load_product::<A, false>(x, probe, window, self.object_columns, |o| {
            most = most.max(o.norm_sqr());
        });
        self.found.note(1, most);
    }

    /// Updates object and probe by `x`, the frame's χ.
    #[inline(always)]
    unsafe fn update(&self, x: &Values) {
        let of = |which: usize| Update {
            // Hidden, so that 1 − α is not kept in a register for all frames.
            alpha: f32::from_bits(thread::hidden(self.alpha[which].to_bits())),
            step: self.step[which],
            most: self.found.largest(which, Self::WARPS),
        };
        let (of_object, of_probe) = (of(0), of(1));
        let (window, probe) = self.own(1);
        for group in 0..VALUES / TOGETHER {
            let step = A * thread::hidden(self.object_columns) as usize;
            let mut p = [Complex32::ZERO; TOGETHER];
            let mut o = [Complex32::ZERO; TOGETHER];
            for k in 0..TOGETHER {
                let n = group * TOGETHER + k;
                p[k] = *probe.add(n * A * Frame::<A>::SIDE);
                o[k] = *window.add(n * step);
            }
            warp::sync_warp(warp::FULL);
            for k in 0..TOGETHER {
                let n = group * TOGETHER + k;
                let factor = of_object.factor(p[k].norm_sqr());
                let change = p[k].conj_mul_add(x[n], Complex32::ZERO);
                *window.add(n * step) = change.scale_add(factor, o[k]);
                let factor = of_probe.factor(o[k].norm_sqr());
                let change = o[k].conj_mul_add(x[n], Complex32::ZERO);
                *probe.add(n * A * Frame::<A>::SIDE) = change.scale_add(factor, p[k]);
            }
        }
    }

    /// The largest |P|² of the thread's pixels.
    #[inline(always)]
    unsafe fn largest_probe(&self) -> f32 {
        let (row, column) = self.transform.place();
        let probe = self.probe.add(row * Frame::<A>::SIDE + column);
        let mut most = 0.0_f32;
        for n in 0..VALUES {
            most = most.max((*probe.add(n * A * Frame::<A>::SIDE)).norm_sqr());
        }
        most
    }

    /// Multiplies the thread's pixels of the probe by the support, if it has one; returns the largest |P|² of them.
    #[inline(always)]
    unsafe fn support(&self) -> f32 {
        let (row, column) = Self::place();
        let own = row * Frame::<A>::SIDE + column;
        let (probe, support) = (self.probe.add(own), self.support.add(own));
        let supported = thread::hidden(self.supported) != 0;
        let mut most = 0.0_f32;
        for n in 0..VALUES {
            let at = n * A * Frame::<A>::SIDE;
            let mut value = *probe.add(at);
            if supported {
                value = value.scale(*support.add(at));
                *probe.add(at) = value;
            }
            most = most.max(value.norm_sqr());
        }
        most
    }

    /// Clips the object's modulus at the thread's pixels of the frame's window.
    #[inline(always)]
    unsafe fn clip_window(&self) {
        let (window, _) = self.own(1);
        let step = A * thread::hidden(self.object_columns) as usize;
        for n in 0..VALUES {
            let value = window.add(n * step);
            *value = clipped(*value, self.limits[0], self.limits[1]);
        }
    }

    /// Clips the object's modulus everywhere.
    #[inline(always)]
    unsafe fn clip_all(&self) {
        let mut at = thread::hidden(thread::thread_idx_x());
        while at < self.object_rows * self.object_columns {
            let value = self.object.add(at as usize);
            *value = clipped(*value, self.limits[0], self.limits[1]);
            at += Frame::<A>::THREADS as u32;
        }
    }

    /// Copies the thread's pixels of a probe.
    #[inline(always)]
    unsafe fn copy_probe(&self, from: *const Complex32, to: *mut Complex32) {
        let (row, column) = self.transform.place();
        let own = row * Frame::<A>::SIDE + column;
        let (from, to) = (from.add(own), to.add(own));
        for n in 0..VALUES {
            *to.add(n * A * Frame::<A>::SIDE) = *from.add(n * A * Frame::<A>::SIDE);
        }
    }
}

macro_rules! sizes {
    ($($name:ident, $a:literal, $side:literal, $threads:literal, $keeps:literal, $bytes:literal;)*) => {$(
        /// Updates `object` and `probe` by the frames `order`, one after the other, with the denominators
        /// `(1 − alpha) W + alpha · max W`; writes the metrics of each frame before its update, at its own number, as
        /// `magnitude_deviation`. With a step of 0, that one is not updated. After an update the object is clipped as in
        /// `object_update_tiled`, and the probe multiplied by `support` if `supported` is not 0. The first update clips
        /// the object everywhere, unless a pass over other frames has done so, and `later` is not 0. `roots` are
        /// exp(−2πi k/side).
        #[kernel(block = $threads, exact_block, min_blocks = 1, hot, shared = $bytes)]
        #[allow(
            clippy::too_many_arguments,
            reason = "the arrays of the model and the constants of the method"
        )]
        pub unsafe fn $name(
            #[len(object_rows * object_columns)] object: *mut Complex32,
            #[len($side * $side)] probe: *mut Complex32,
            #[len(frames)] errors: *mut f32,
            #[len(frames)] moved: *mut f32,
            #[len(frames)] photon: *mut f32,
            #[len(frames)] residual: *mut f32,
            #[len(frames)] free: *mut f32,
            #[len($side * $side)] support: *const f32,
            #[len(frames * $side * $side)] magnitudes: *const f32,
            #[len(frames)] scales: *const f32,
            #[len(frames)] corners: *const [u32; 2],
            #[len(frames)] order: *const u32,
            #[len($side)] roots: *const Complex32,
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
            const { assert!($bytes == 4 * (Frame::<$a>::WORDS + Found::WORDS + 2 * $side + if $keeps { 2 * Frame::<$a>::PIXELS } else { 0 })) };
            if thread::block_idx_x() != 0 || frames == 0 {
                return;
            }
            let exchange: *mut f32 = shared::dynamic_shared_mem();
            let frame = if $keeps { 2 * Frame::<$a>::PIXELS } else { 0 };
            let found = exchange.add(Frame::<$a>::WORDS + frame);
            // In shared memory, where their addresses have 32 bits.
            let table = found.add(Found::WORDS).cast::<Complex32>();
            for at in thread::thread_stride($side) {
                *table.add(at as usize) = *roots.add(at as usize);
            }
            thread::sync_threads();
            let kept: *mut Complex32 = if $keeps {
                exchange.add(Frame::<$a>::WORDS).cast()
            } else {
                probe
            };
            let pass = Pass {
                transform: Frame::<$a>::new(exchange, table),
                found: Found::new(found),
                object,
                probe: kept,
                support,
                magnitudes,
                scales,
                corners,
                order,
                to: Errors { errors, moved, photon, residual, free },
                frames,
                object_rows,
                object_columns,
                alpha: [object_alpha, probe_alpha],
                step: [object_step, probe_step],
                limits: [clip_low, clip_high],
                supported,
                later,
            };
            if $keeps {
                pass.copy_probe(probe, kept);
            }
            pass.run();
            if $keeps {
                pass.copy_probe(kept, probe);
            }
        }
    )*};
}

sizes! {
    ptycho_pie_pass_64, 2, 64, 128, true, 50_688;
    ptycho_pie_pass_128, 4, 128, 512, false, 69_120;
}
