//! A projection engine's whole step of a frame of 64² or 128² pixels in one kernel: one probe mode, whole-pixel
//! positions.
//!
//! The state is ψ. With A = P·O and the reflected wave `f = F[(1−c) ψ + c A]`, unitary: `err = Σ w (|f| − m)² / Σ w` with
//! m = √I and w = 1 where m ≥ 0; then `ψ ← (1−a−b) ψ + a A + b F⁻¹[g f]` with `g = k + (1 − k) m/|f|`, where k = 0 without a
//! bound, 1 within it and √(bound/err) beyond; g = 1 where masked or free. As a + b c = 1 in all engines, this is
//! `ψ ← A + b (1−k) F⁻¹[(m/|f| − 1) f]`, without the old ψ. The new one is written, and `conj(P) ψ` is
//! added to the object's sums in fixed point (`ptycho::fixed_point`), so that the order of the frames does not change
//! a bit.
//!
//! A block has one frame at a time, 32 values a thread ([`crate::fft::frame`]). Device memory of a pixel: ψ is read and
//! written, m read, 20 bytes; probe, object and sums stay in L2. `ptycho_fused_step_*` keep A in shared
//! memory during the transforms and read the next frame's ψ ahead into its place; they need 49.5 and 194 KiB a block.
//! `ptycho_fused_step_*_moved` read ψ, probe and object again, from L2, need 16.5 and 66 KiB, and give `Σ|Δψ|²`;
//! the waves and sums have the same bits.
//!
//! Blocks that began together would all load, all compute and all write at the same time; with `pause` they begin at
//! different times, so that L2 is used evenly.

use super::columns_finish::kept;
use super::fixed_point::{packed, quantum};
use super::frame_chi::prefetch;
use crate::fft::frame::{Frame, VALUES, Values};
use crate::fft::registers::reversed;
use warpstride_device::prelude::*;

/// Below it a power counts as this: its magnitude is 1e-8 √counts.
pub(super) const SMALLEST_POWER: f32 = 1e-16;
/// Blocks begin at so many different times.
const PHASES: u32 = 8;
/// Values that a thread loads together.
const TOGETHER: usize = 8;
/// Values of the end of a step that a thread has in flight.
const IN_FLIGHT: usize = 4;

macro_rules! kernels {
    ($(#[doc = $doc:expr] $name:ident, $a:literal, $threads:literal, $blocks:literal, $stash:literal, $bytes:literal;)*) => {$(
        #[doc = $doc]
        #[kernel(block = $threads, exact_block, min_blocks = $blocks, hot, shared = $bytes)]
        #[allow(
            clippy::too_many_arguments,
            reason = "the arrays of the model, their shapes and the engine's coefficients"
        )]
        pub unsafe fn $name(
            #[len(frames * side * side)] psi: *mut Complex32,
            #[len(side * side)] probe: *const Complex32,
            #[len(object_rows * object_columns)] object: *const Complex32,
            #[len(frames * side * side)] magnitudes: *const f32,
            #[len(frames)] weights: *const f32,
            #[len(frames)] corners: *const [u32; 2],
            #[len(side)] roots: *const Complex32,
            #[len(object_rows * object_columns)] sums: *mut u64,
            #[len(object_rows * object_columns)] quanta: *const u8,
            #[len(1)] limit: *const f32,
            #[len(1)] exceeding: *mut u32,
            #[len(frames)] errors: *mut f32,
            #[len(frames)] moved: *mut f32,
            frames: u32,
            side: u32,
            object_rows: u32,
            object_columns: u32,
            pause: u32,
            bound: f32,
            b: f32,
            c: f32,
        ) {
            let _ = object_rows;
            if side as usize != Frame::<$a>::SIDE {
                return;
            }
            let exchange: *mut f32 = shared::dynamic_shared_mem();
            let step = FusedStep {
                transform: Frame::<$a>::new(exchange, roots),
                exchange,
                stash: exchange.add(Frame::<$a>::WORDS).cast(),
                psi,
                probe,
                object,
                magnitudes,
                weights,
                corners,
                sums,
                quanta,
                limit,
                exceeding,
                errors,
                moved,
                frames,
                object_columns,
                pause,
                bound,
                b,
                c,
            };
            step.run::<$stash>();
        }
    )*};
}

kernels! {
    /// One step of every frame of 64² pixels; `side` must be 64. `moved` is not written.
    ptycho_fused_step_64, 2, 128, 4, true, 49_664;
    /// One step of every frame of 64² pixels; `side` must be 64.
    ptycho_fused_step_64_moved, 2, 128, 4, false, 16_896;
    /// One step of every frame of 128² pixels; `side` must be 128. `moved` is not written.
    ptycho_fused_step_128, 4, 512, 1, true, 198_656;
    /// One step of every frame of 128² pixels; `side` must be 128.
    ptycho_fused_step_128_moved, 4, 512, 1, false, 67_584;
}

struct FusedStep<const A: usize> {
    transform: Frame<A>,
    exchange: *mut f32,
    /// A frame of complex numbers in shared memory, if the kernel keeps one.
    stash: *mut Complex32,
    psi: *mut Complex32,
    probe: *const Complex32,
    object: *const Complex32,
    magnitudes: *const f32,
    /// 1/Σw (frame).
    weights: *const f32,
    corners: *const [u32; 2],
    sums: *mut u64,
    /// Exponents of the units of a sum in 1, for every object pixel.
    quanta: *const u8,
    /// Largest part of ψ for which no sum leaves its range.
    limit: *const f32,
    exceeding: *mut u32,
    errors: *mut f32,
    moved: *mut f32,
    frames: u32,
    object_columns: u32,
    /// Nanoseconds by which every eighth block begins later than the one before.
    pause: u32,
    bound: f32,
    b: f32,
    c: f32,
}

/// Where a thread finds its first value in the arrays of a frame.
struct Places {
    psi: *mut Complex32,
    probe: *const Complex32,
    object: *const Complex32,
    sums: *mut u64,
    quanta: *const u8,
    stash: *mut Complex32,
    /// Object pixels from a value to the next.
    stride: u32,
}

impl<const A: usize> FusedStep<A> {
    const SIDE: usize = Frame::<A>::SIDE;
    const PIXELS: usize = Frame::<A>::PIXELS;
    const THREADS: usize = Frame::<A>::THREADS;

    #[inline(always)]
    unsafe fn run<const STASH: bool>(&self) {
        let first = thread::block_idx_x();
        if self.pause > 0 {
            thread::pause(first % PHASES * self.pause);
        }
        if STASH && first < self.frames {
            let at = self.places(first);
            for n in 0..VALUES {
                let place = n * Self::THREADS;
                mem::copy_complex_ahead(true, at.stash.add(place), at.psi.add(place));
            }
        }
        for frame in thread::block_stride(self.frames) {
            let mut x: Values = [Complex32::ZERO; VALUES];
            prefetch::<A>(self.magnitudes.add(frame as usize * Self::PIXELS));
            self.reflect::<STASH>(frame, &mut x);
            self.transform.forward(&mut x);
            self.project(frame, &mut x);
            self.transform.inverse(&mut x);
            if STASH {
                self.finish(frame, &x);
            } else {
                self.finish_again(frame, &mut x);
            }
        }
    }

    #[inline(always)]
    unsafe fn places(&self, frame: u32) -> Places {
        let [top, left] = *self.corners.add(frame as usize);
        let (row, column) = self.transform.place();
        let place = row * Self::SIDE + column;
        let corner = (top as usize + row) * self.object_columns as usize + left as usize + column;
        Places {
            psi: self.psi.add(frame as usize * Self::PIXELS + place),
            probe: self.probe.add(place),
            object: self.object.add(corner),
            sums: self.sums.add(corner),
            quanta: self.quanta.add(corner),
            stash: self.stash.add(place),
            stride: thread::hidden(A as u32 * self.object_columns),
        }
    }

    /// `x` becomes the reflected wave (1−c) ψ + c A, in the order that the transform expects.
    #[inline(always)]
    unsafe fn reflect<const STASH: bool>(&self, frame: u32, x: &mut Values) {
        let at = self.places(frame);
        let mut ahead = self.pairs(&at, 0);
        for group in 0..VALUES / TOGETHER {
            let factors = ahead;
            if group + 1 < VALUES / TOGETHER {
                ahead = self.pairs(&at, group + 1);
            }
            // Keeps the assembler from loading everything at once.
            warp::sync_warp(warp::FULL);
            if STASH && group == 0 {
                mem::wait_for_copies();
            }
            for u in 0..TOGETHER {
                let n = group * TOGETHER + u;
                let exit = factors[u][0] * factors[u][1];
                let slot = at.stash.add(n * Self::THREADS);
                let psi = if STASH {
                    *slot
                } else {
                    *at.psi.add(n * Self::THREADS)
                };
                x[reversed(n, 5)] = exit.scale_add(self.c, psi.scale(1.0 - self.c));
                if STASH {
                    *slot = exit;
                }
            }
        }
    }

    /// P and O of a group of values.
    #[inline(always)]
    unsafe fn pairs(&self, at: &Places, group: usize) -> [[Complex32; 2]; TOGETHER] {
        let mut pairs = [[Complex32::ZERO; 2]; TOGETHER];
        for u in 0..TOGETHER {
            let n = group * TOGETHER + u;
            pairs[u] = [
                *at.probe.add(n * Self::THREADS),
                *at.object.add((n as u32 * at.stride) as usize),
            ];
        }
        pairs
    }

    /// The spectrum becomes what its projection changes, b/N times, for the inverse transform; writes the frame's error.
    /// The transform is unnormalised: |f| is N times too large before a factor 1/SIDE.
    #[inline(always)]
    unsafe fn project(&self, frame: u32, x: &mut Values) {
        const GROUP: usize = 4;
        let (row, column) = self.transform.spectrum_place();
        let at = (self.magnitudes).add(frame as usize * Self::PIXELS + row * Self::SIDE + column);
        let unit = 1.0 / Self::SIDE as f32;
        let mut quotients = [0.0_f32; VALUES];
        let mut deviation = 0.0;
        let load = |group: usize| {
            let mut measured = [0.0; GROUP];
            for u in 0..GROUP {
                measured[u] = *at.add(Frame::<A>::spectrum_offset(group * GROUP + u));
            }
            measured
        };
        let mut ahead = load(0);
        for group in 0..VALUES / GROUP {
            let measured = ahead;
            if group + 1 < VALUES / GROUP {
                ahead = load(group + 1);
            }
            for u in 0..GROUP {
                let v = group * GROUP + u;
                let power = x[v].norm_sqr().max(SMALLEST_POWER);
                let inverse = float::rsqrt_approx(power);
                let by = (power * inverse).mul_add(unit, -measured[u]);
                // A selection instead of the branch lets the assembler load all magnitudes first and spill.
                if measured[u] >= 0.0 {
                    quotients[v] = measured[u] * inverse;
                    deviation = by.mul_add(by, deviation);
                } else {
                    quotients[v] = unit;
                }
            }
        }
        let error = reduce::block_sum(deviation) * *self.weights.add(frame as usize);
        if thread::index_in_block() == 0 {
            *self.errors.add(frame as usize) = error;
        }
        let factor = self.b * (1.0 - kept(error, self.bound)) * unit;
        for v in 0..VALUES {
            x[v] = x[v].scale((quotients[v] - unit) * factor);
        }
    }

    /// Writes ψ = A + `x`, begins to read the next frame's, and adds to the object's sums.
    #[inline(always)]
    unsafe fn finish(&self, frame: u32, x: &Values) {
        let at = self.places(frame);
        let step = thread::grid_dim_x();
        let more = self.frames - frame > step;
        let next = at.psi.add(step as usize * Self::PIXELS);
        let mut largest = 0.0_f32;
        let mut ahead = self.factors(&at, 0);
        for group in 0..VALUES / IN_FLIGHT {
            let factors = ahead;
            let mut waves = [Complex32::ZERO; IN_FLIGHT];
            for w in 0..IN_FLIGHT {
                let n = group * IN_FLIGHT + w;
                waves[w] = *at.stash.add(n * Self::THREADS) + x[n];
            }
            for w in 0..IN_FLIGHT {
                let place = (group * IN_FLIGHT + w) * Self::THREADS;
                *at.psi.add(place) = waves[w];
                mem::copy_complex_ahead(more, at.stash.add(place), next.add(place));
            }
            if group + 1 < VALUES / IN_FLIGHT {
                // Before the additions, beyond which no load can be moved.
                ahead = self.factors(&at, group + 1);
            }
            for w in 0..IN_FLIGHT {
                let n = group * IN_FLIGHT + w;
                largest = largest.max(waves[w].re.abs()).max(waves[w].im.abs());
                let (probe, exponent) = factors[w];
                let share = probe.conj() * waves[w].scale(quantum(exponent));
                let sum = at.sums.add((n as u32 * at.stride) as usize);
                atomic::add_u64(sum, packed(share));
            }
        }
        self.note_exceeding(largest);
    }

    /// P and the exponents of the quanta of a group of values.
    #[inline(always)]
    unsafe fn factors(&self, at: &Places, group: usize) -> [(Complex32, u32); IN_FLIGHT] {
        let mut factors = [(Complex32::ZERO, 0); IN_FLIGHT];
        for w in 0..IN_FLIGHT {
            let n = group * IN_FLIGHT + w;
            factors[w] = (
                *at.probe.add(n * Self::THREADS),
                u32::from(*at.quanta.add((n as u32 * at.stride) as usize)),
            );
        }
        factors
    }

    /// As [`Self::finish`], reading ψ, probe and object again; writes Σ|Δψ|².
    #[inline(always)]
    unsafe fn finish_again(&self, frame: u32, x: &mut Values) {
        let at = self.places(frame);
        let mut change = 0.0;
        for group in 0..VALUES / IN_FLIGHT {
            warp::sync_warp(warp::FULL);
            for w in 0..IN_FLIGHT {
                let n = group * IN_FLIGHT + w;
                let place = n * Self::THREADS;
                let psi = *at.psi.add(place);
                let exit = *at.probe.add(place) * *at.object.add((n as u32 * at.stride) as usize);
                x[n] = exit + x[n];
                change += (x[n] - psi).norm_sqr();
                *at.psi.add(place) = x[n];
            }
        }
        self.write_change(frame, change);
        let at = self.places(frame);
        let mut largest = 0.0_f32;
        for group in 0..VALUES / IN_FLIGHT {
            warp::sync_warp(warp::FULL);
            for w in 0..IN_FLIGHT {
                let n = group * IN_FLIGHT + w;
                let probe = *at.probe.add(n * Self::THREADS);
                largest = largest.max(x[n].re.abs()).max(x[n].im.abs());
                let exponent = u32::from(*at.quanta.add((n as u32 * at.stride) as usize));
                let share = probe.conj() * x[n].scale(quantum(exponent));
                let sum = at.sums.add((n as u32 * at.stride) as usize);
                atomic::add_u64(sum, packed(share));
            }
        }
        self.note_exceeding(largest);
    }

    /// Adds up over the block, warp after warp, through the exchange memory; [`reduce::block_sum`] would keep two
    /// registers since its last call.
    #[inline(always)]
    unsafe fn write_change(&self, frame: u32, change: f32) {
        let sum = reduce::warp_sum(change);
        let thread = thread::hidden(thread::thread_idx_x()) as usize;
        thread::sync_threads();
        if thread.is_multiple_of(32) {
            *self.exchange.add(thread / 32) = sum;
        }
        thread::sync_threads();
        if thread == 0 {
            let mut total = 0.0;
            for warp in 0..Self::THREADS / 32 {
                total += *self.exchange.add(warp);
            }
            *self.moved.add(frame as usize) = total;
        }
        thread::sync_threads();
    }

    #[inline(always)]
    unsafe fn note_exceeding(&self, largest: f32) {
        if largest > *self.limit {
            atomic::add_u32(self.exceeding, 1);
        }
    }
}
