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
//! written, m read, 20 bytes, 12 if ψ is in bf16; object and sums stay in L2. `ptycho_fused_step_*` keep P in shared
//! memory, 49 and 195 KiB a block with what the transform needs; `ptycho_fused_step_*_moved` read P from L2, need 17 and
//! 67 KiB, and give `Σ|Δψ|²`; the waves and sums have the same bits. Kernels whose name ends in `_bf16` have ψ as pairs of
//! bf16 (`wave_storage`); sums and `Σ|Δψ|²` are those of the waves as they are stored.
//!
//! What limits the step is L2 and the waiting for it, so that loads are issued together: ψ of all values, √I of 16, at the end P and
//! O of as many values as the transform has left registers for. The next frame's ψ is brought to L2 during the transforms. The frame's error, known
//! when all of its pixels have been projected, is a factor of the end, so that nothing waits for it.
//!
//! Blocks that began together would all load, all compute and all write at the same time; with `pause` they begin at
//! different times, so that L2 is used evenly.

use super::columns_finish::kept;
use super::fixed_point::{packed, quantum};
use super::frame_chi::prefetch;
use super::wave_storage::{Wave, stored, value};
use crate::fft::frame::{Frame, VALUES, Values};
use crate::fft::registers::reversed;
use warpstride_device::prelude::*;

/// Below it a power counts as this: its magnitude is 1e-8 √counts.
pub(super) const SMALLEST_POWER: f32 = 1e-16;
/// Blocks begin at so many different times.
const PHASES: u32 = 8;
/// Values of the reflected wave whose P and O a thread loads together.
const TOGETHER: usize = 8;
/// Magnitudes that a thread loads together.
const MAGNITUDES: usize = 16;

macro_rules! kernels {
    ($(#[doc = $doc:expr] $name:ident, $a:literal, $threads:literal, $blocks:literal, $keeps:literal, $bytes:literal, $wave:ty;)*) => {$(
        #[doc = $doc]
        #[kernel(block = $threads, exact_block, min_blocks = $blocks, hot, shared = $bytes)]
        #[allow(
            clippy::too_many_arguments,
            reason = "the arrays of the model, their shapes and the engine's coefficients"
        )]
        pub unsafe fn $name(
            #[len(frames * side * side)] psi: *mut $wave,
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
            const { assert!(FusedStep::<$a, $keeps, $wave>::BYTES == $bytes) };
            let memory: *mut f32 = shared::dynamic_shared_mem();
            let own_roots: *mut Complex32 =
                memory.add(FusedStep::<$a, $keeps, $wave>::ROOTS).cast();
            let step = FusedStep::<$a, $keeps, $wave> {
                transform: Frame::<$a>::new(memory, own_roots),
                own_roots,
                psi,
                probe,
                object,
                magnitudes,
                weights,
                corners,
                roots,
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
            step.run();
        }
    )*};
}

kernels! {
    /// One step of every frame of 64² pixels; `side` must be 64. `moved` is not written.
    ptycho_fused_step_64, 2, 128, 4, true, 50_192, Complex32;
    /// One step of every frame of 64² pixels; `side` must be 64.
    ptycho_fused_step_64_moved, 2, 128, 4, false, 17_424, Complex32;
    /// One step of every frame of 128² pixels; `side` must be 128. `moved` is not written.
    ptycho_fused_step_128, 4, 512, 1, true, 199_744, Complex32;
    /// One step of every frame of 128² pixels; `side` must be 128.
    ptycho_fused_step_128_moved, 4, 512, 1, false, 68_672, Complex32;
    /// [`ptycho_fused_step_64`] with ψ in bf16.
    ptycho_fused_step_64_bf16, 2, 128, 4, true, 50_192, u32;
    /// [`ptycho_fused_step_64_moved`] with ψ in bf16.
    ptycho_fused_step_64_moved_bf16, 2, 128, 4, false, 17_424, u32;
    /// [`ptycho_fused_step_128`] with ψ in bf16.
    ptycho_fused_step_128_bf16, 4, 512, 1, true, 199_744, u32;
    /// [`ptycho_fused_step_128_moved`] with ψ in bf16.
    ptycho_fused_step_128_moved_bf16, 4, 512, 1, false, 68_672, u32;
}

/// The step of frames of 32 A × 32 A pixels, with the probe in shared memory or, if not, with `Σ|Δψ|²`.
struct FusedStep<const A: usize, const KEEPS: bool, W> {
    transform: Frame<A>,
    /// `roots` in shared memory. Before them is the probe if it is kept, behind them are the sums of the warps.
    own_roots: *mut Complex32,
    psi: *mut W,
    probe: *const Complex32,
    object: *const Complex32,
    magnitudes: *const f32,
    /// 1/Σw (frame).
    weights: *const f32,
    corners: *const [u32; 2],
    /// exp(−2πi k/SIDE)
    roots: *const Complex32,
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
struct Places<W> {
    psi: *mut W,
    /// The probe, in shared memory if it is kept.
    probe: *const Complex32,
    object: *const Complex32,
    sums: *mut u64,
    quanta: *const u8,
    /// Object pixels from a value to the next.
    stride: u32,
}

/// What a value of the end needs from L2: P unless it is kept, O, the exponent of its quantum, and ψ for `Σ|Δψ|²`.
type Loaded<W> = (Complex32, Complex32, u32, W);

impl<const A: usize, const KEEPS: bool, W: Wave> FusedStep<A, KEEPS, W> {
    const SIDE: usize = Frame::<A>::SIDE;
    const PIXELS: usize = Frame::<A>::PIXELS;
    const THREADS: usize = Frame::<A>::THREADS;
    const WARPS: usize = Self::THREADS / 32;
    /// Words of shared memory before the roots of unity: the exchange of the transform, and the probe if it is kept.
    const ROOTS: usize = Frame::<A>::WORDS + if KEEPS { 2 * Self::PIXELS } else { 0 };
    /// Bytes of shared memory.
    const BYTES: usize = 4 * (Self::ROOTS + 2 * Self::SIDE + Self::WARPS);

    #[inline(always)]
    unsafe fn run(&self) {
        let first = thread::block_idx_x();
        if self.pause > 0 {
            thread::pause(first % PHASES * self.pause);
        }
        self.keep();
        for frame in thread::block_stride(self.frames) {
            let mut x: Values = [Complex32::ZERO; VALUES];
            prefetch::<A>(self.magnitudes.add(frame as usize * Self::PIXELS));
            self.reflect(frame, &mut x);
            if KEEPS {
                self.prefetch_next(frame);
            }
            self.transform.forward(&mut x);
            self.project(frame, &mut x);
            self.transform.inverse(&mut x);
            self.finish(frame, &x);
        }
    }

    /// Copies the roots of unity, and the probe if it is kept, to shared memory.
    #[inline(always)]
    unsafe fn keep(&self) {
        let thread = thread::hidden(thread::thread_idx_x()) as usize;
        if thread < Self::SIDE {
            *self.own_roots.add(thread) = *self.roots.add(thread);
        }
        thread::sync_threads();
        if KEEPS {
            // Every thread reads only what it has written.
            let place = self.transform.place();
            let place = place.0 * Self::SIDE + place.1;
            let (from, to) = (self.probe.add(place), self.own_probe().add(place));
            for group in 0..VALUES / TOGETHER {
                let mut values = [Complex32::ZERO; TOGETHER];
                for u in 0..TOGETHER {
                    values[u] = *from.add((group * TOGETHER + u) * Self::THREADS);
                }
                for u in 0..TOGETHER {
                    *to.add((group * TOGETHER + u) * Self::THREADS) = values[u];
                }
            }
        }
    }

    /// The sums of the warps in shared memory.
    #[inline(always)]
    unsafe fn warp_sums(&self) -> *mut f32 {
        self.own_roots.add(Self::SIDE).cast()
    }

    /// The probe in shared memory.
    #[inline(always)]
    unsafe fn own_probe(&self) -> *mut Complex32 {
        self.own_roots.sub(Self::PIXELS)
    }

    /// Brings ψ of the block's next frame to L2. Not where ψ is read again at the end, which it would displace.
    #[inline(always)]
    unsafe fn prefetch_next(&self, frame: u32) {
        /// Bytes of a cache line.
        const LINE: usize = 128;
        let step = thread::grid_dim_x();
        if self.frames - frame > step {
            let values = LINE / size_of::<W>();
            let next = self.psi.add((frame + step) as usize * Self::PIXELS);
            let thread = thread::hidden(thread::thread_idx_x()) as usize;
            for k in 0..Self::PIXELS / (values * Self::THREADS) {
                mem::prefetch_l2(next.add(values * (k * Self::THREADS + thread)));
            }
        }
    }

    #[inline(always)]
    unsafe fn places(&self, frame: u32) -> Places<W> {
        let [top, left] = *self.corners.add(frame as usize);
        let (row, column) = self.transform.place();
        let place = row * Self::SIDE + column;
        let corner = (top as usize + row) * self.object_columns as usize + left as usize + column;
        let probe = if KEEPS {
            self.own_probe().cast_const()
        } else {
            self.probe
        };
        Places {
            psi: self.psi.add(frame as usize * Self::PIXELS + place),
            probe: probe.add(place),
            object: self.object.add(corner),
            sums: self.sums.add(corner),
            quanta: self.quanta.add(corner),
            stride: thread::hidden(A as u32 * self.object_columns),
        }
    }

    /// `x` becomes the reflected wave (1−c) ψ + c A, in the order that the transform expects.
    #[inline(always)]
    unsafe fn reflect(&self, frame: u32, x: &mut Values) {
        let at = self.places(frame);
        let mut psi = [W::ZERO; VALUES];
        if KEEPS {
            for n in 0..VALUES {
                psi[n] = *at.psi.add(n * Self::THREADS);
            }
        }
        let mut ahead = self.pairs(&at, 0);
        for group in 0..VALUES / TOGETHER {
            let pairs = ahead;
            if group + 1 < VALUES / TOGETHER {
                ahead = self.pairs(&at, group + 1);
            }
            // Keeps the assembler from loading everything at once.
            warp::sync_warp(warp::FULL);
            for u in 0..TOGETHER {
                let n = group * TOGETHER + u;
                let [mut probe, object] = pairs[u];
                if KEEPS {
                    probe = *at.probe.add(n * Self::THREADS);
                } else {
                    psi[n] = *at.psi.add(n * Self::THREADS);
                }
                let psi = value(&psi[n]).scale(1.0 - self.c);
                x[reversed(n, 5)] = (probe * object).scale_add(self.c, psi);
            }
        }
    }

    /// P, unless it is kept, and O of a group of values.
    #[inline(always)]
    unsafe fn pairs(&self, at: &Places<W>, group: usize) -> [[Complex32; 2]; TOGETHER] {
        let mut pairs = [[Complex32::ZERO; 2]; TOGETHER];
        for u in 0..TOGETHER {
            let n = group * TOGETHER + u;
            if !KEEPS {
                pairs[u][0] = *at.probe.add(n * Self::THREADS);
            }
            pairs[u][1] = *at.object.add((n as u32 * at.stride) as usize);
        }
        pairs
    }

    /// The spectrum becomes N times what its projection changes, for the inverse transform. Leaves the sums of the frame's error in
    /// shared memory. The transform is unnormalised: |f| is N times too large before a factor 1/SIDE.
    #[inline(always)]
    unsafe fn project(&self, frame: u32, x: &mut Values) {
        let (row, column) = self.transform.spectrum_place();
        let at = (self.magnitudes).add(frame as usize * Self::PIXELS + row * Self::SIDE + column);
        let unit = 1.0 / Self::SIDE as f32;
        let mut deviation = 0.0;
        for group in 0..VALUES / MAGNITUDES {
            let mut measured = [0.0; MAGNITUDES];
            for u in 0..MAGNITUDES {
                measured[u] = *at.add(Frame::<A>::spectrum_offset(group * MAGNITUDES + u));
            }
            // Keeps the assembler from loading everything at once.
            warp::sync_warp(warp::FULL);
            for u in 0..MAGNITUDES {
                let v = group * MAGNITUDES + u;
                let power = x[v].norm_sqr().max(SMALLEST_POWER);
                let inverse = float::rsqrt_approx(power);
                let valid = measured[u] >= 0.0;
                let by = (power * inverse).mul_add(unit, -measured[u]);
                let by = if valid { by } else { 0.0 };
                let factor = measured[u].mul_add(inverse, -unit);
                let factor = if valid { factor } else { 0.0 };
                deviation = by.mul_add(by, deviation);
                x[v] = x[v].scale(factor);
            }
        }
        self.write_warp_sum(deviation);
    }

    /// Writes ψ = A + b (1−k) `x`/SIDE and the frame's error, and adds to the object's sums.
    #[inline(always)]
    unsafe fn finish(&self, frame: u32, x: &Values) {
        // The barriers of the transform have passed since the sums were written.
        let error = self.block_sum() * *self.weights.add(frame as usize);
        if thread::thread_idx_x() == 0 {
            *self.errors.add(frame as usize) = error;
        }
        let factor = self.b * (1.0 - kept(error, self.bound)) / Self::SIDE as f32;
        let at = self.places(frame);
        let mut end = End {
            factor,
            largest: 0.0,
            change: 0.0,
        };
        // More and more together, as the values before them leave their registers.
        macro_rules! groups {
            ($first:literal + $count:literal $(, $next:literal + $more:literal)* $(,)?) => {
                let ahead = self.load::<$first, $count>(&at);
                groups!(@ ahead $first $count $(, $next $more)*);
            };
            (@ $loaded:ident $first:literal $count:literal, $next:literal $more:literal $(, $later:literal $most:literal)*) => {
                // Before the stores and additions, beyond which no load can be moved.
                let ahead = self.load::<$next, $more>(&at);
                self.end::<$first, $count>(&at, x, &$loaded, &mut end);
                groups!(@ ahead $next $more $(, $later $most)*);
            };
            (@ $loaded:ident $first:literal $count:literal) => {
                self.end::<$first, $count>(&at, x, &$loaded, &mut end);
            };
        }
        if KEEPS {
            groups!(0 + 4, 4 + 4, 8 + 8, 16 + 8, 24 + 8);
        } else {
            macro_rules! each {
                ($($first:literal)*) => {$(
                    let loaded = self.load::<$first, 4>(&at);
                    self.end::<$first, 4>(&at, x, &loaded, &mut end);
                )*};
            }
            each!(0 4 8 12 16 20 24 28);
        }
        if !KEEPS {
            self.write_change(frame, end.change);
        }
        if end.largest > *self.limit {
            atomic::add_u32(self.exceeding, 1);
        }
    }

    /// What `N` values from the first on need from L2.
    #[inline(always)]
    unsafe fn load<const FIRST: usize, const N: usize>(&self, at: &Places<W>) -> [Loaded<W>; N] {
        let mut loaded = [(Complex32::ZERO, Complex32::ZERO, 0, W::ZERO); N];
        for u in 0..N {
            let n = FIRST + u;
            let on_object = (n as u32 * at.stride) as usize;
            loaded[u].1 = *at.object.add(on_object);
            loaded[u].2 = u32::from(*at.quanta.add(on_object));
            if !KEEPS {
                loaded[u].0 = *at.probe.add(n * Self::THREADS);
                loaded[u].3 = *at.psi.add(n * Self::THREADS);
            }
        }
        loaded
    }

    /// Writes `N` values from the first on.
    #[inline(always)]
    unsafe fn end<const FIRST: usize, const N: usize>(
        &self,
        at: &Places<W>,
        x: &Values,
        loaded: &[Loaded<W>; N],
        end: &mut End,
    ) {
        // Keeps the assembler from loading everything at once.
        warp::sync_warp(warp::FULL);
        for u in 0..N {
            let n = FIRST + u;
            let (mut probe, object, exponent, old) = loaded[u];
            if KEEPS {
                probe = *at.probe.add(n * Self::THREADS);
            }
            let new: W = stored(x[n].scale_add(end.factor, probe * object));
            *at.psi.add(n * Self::THREADS) = new;
            let wave = value(&new);
            if !KEEPS {
                end.change += (wave - value(&old)).norm_sqr();
            }
            end.largest = end.largest.max(wave.re.abs()).max(wave.im.abs());
            let share = probe.conj() * wave.scale(quantum(exponent));
            let sum = at.sums.add((n as u32 * at.stride) as usize);
            atomic::add_u64(sum, packed(share));
        }
    }

    /// Writes the sum over the warp.
    #[inline(always)]
    unsafe fn write_warp_sum(&self, value: f32) {
        let sum = reduce::warp_sum(value);
        let thread = thread::hidden(thread::thread_idx_x()) as usize;
        if thread.is_multiple_of(32) {
            *self.warp_sums().add(thread / 32) = sum;
        }
    }

    /// The sum of the warps' sums, after a barrier.
    #[inline(always)]
    unsafe fn block_sum(&self) -> f32 {
        let mut total = 0.0;
        for warp in 0..Self::WARPS {
            total += *self.warp_sums().add(warp);
        }
        total
    }

    /// Adds up Σ|Δψ|² of the frame.
    #[inline(always)]
    unsafe fn write_change(&self, frame: u32, change: f32) {
        // All have read the sums behind the error.
        thread::sync_threads();
        self.write_warp_sum(change);
        thread::sync_threads();
        if thread::thread_idx_x() == 0 {
            *self.moved.add(frame as usize) = self.block_sum();
        }
    }
}

/// Factor and sums of the end of a step.
struct End {
    /// b (1−k)/SIDE
    factor: f32,
    /// Largest part of ψ.
    largest: f32,
    /// Σ|Δψ|² of the thread.
    change: f32,
}
