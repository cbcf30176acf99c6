//! The gradient of a likelihood for every frame with several probe modes, as `frame_gradient` and `exact_gradient` with
//! one, one launch. The block makes the modes of a frame one after the other, twice: first their probes S(P), models
//! S(P)·O and transforms f, of which it adds up Σ|f|²; then, with D of the sum, ξ = F⁻¹[c D f], and what the probe's
//! gradient is the sum of, conj(O) ξ, or where probes are shifted the spectrum of S*(conj(O) ξ), added up over the
//! frames of a slice. For frames of 64² or 128², which a block holds in its registers ([`Frame`]).
//!
//! The sums of the modes, later the factors of f, are in shared memory, 4 bytes per pixel. A thread has the same pixels
//! of all spectra, so it reads only what it has written. The second round goes through the modes backwards, to begin
//! with what has been written last. Four transforms a mode, two at whole pixels, 10 log₂ N operations per pixel each.
//! Reads 4 and writes 4 bytes per pixel of device memory (√counts, D), and per pixel and mode writes 24 (S(P), f and ξ;
//! at whole pixels 16) and reads 8 (f) of the L2 cache or, if it has been displaced, of device memory; reads and writes
//! a slice's sum, 16, as well. Blocks of 512 or 128 threads, 32 pixels each, 128 registers.

use super::exact_frame::{
    Members, Ramp, add_spectrum, load_spectrum, store_spectrum, times_window, window_of, words,
};
use super::exact_modes::{add_intensities, times_factors};
use super::frame_chi::{Errors, MetricSums, prefetch, store_waves};
use super::frame_gradient::{Sums, slope_at};
use super::likelihood_noise::{AMPLITUDE, POISSON};
use super::pie_shared::warp_number;
use super::warp_sums::WarpSums;
use crate::fft::frame::{Frame, VALUES, Values};
use crate::fft::registers::reversed;
use warpstride_device::prelude::*;

/// Values that a thread loads together.
pub(super) const TOGETHER: usize = 4;
/// The same where it has nothing else to add them to.
const MANY: usize = 8;

/// √counts of pixels of a thread, the first of which is `from`.
#[inline(always)]
pub(super) unsafe fn given<const A: usize>(from: *const f32, first: usize) -> [f32; TOGETHER] {
    let mut given = [0.0_f32; TOGETHER];
    for k in 0..TOGETHER {
        given[k] = *from.add(Frame::<A>::spectrum_offset(first + k));
    }
    given
}

/// Replaces the sums Σ|f|² by the factors c D/N, and writes D to `slopes`, both 0 where masked or free; returns the
/// thread's sums behind loss and metrics. I_m = scale/N · Σ|f|², `factor` is scale/N.
#[inline(always)]
unsafe fn derive<const A: usize>(
    frame: &Frame<A>,
    sums: *mut f32,
    magnitudes: *const f32,
    slopes: *mut f32,
    noise: u32,
    factor: f32,
) -> Sums {
    let (row, column) = frame.spectrum_place();
    let own = row * Frame::<A>::SIDE + column;
    let (magnitudes, slopes) = (magnitudes.add(own), slopes.add(own));
    let mut found = Sums {
        metrics: MetricSums::ZERO,
        losses: 0.0,
    };
    // A loop of groups: nothing else is in registers, and the code is short.
    let mut first = thread::hidden(0) as usize;
    while first < VALUES {
        let given = given::<A>(magnitudes, first);
        for k in 0..TOGETHER {
            let at = sums.add((first + k) * Frame::<A>::THREADS);
            let model = *at * factor;
            let slope = if noise == AMPLITUDE {
                slope_at::<AMPLITUDE>(model, given[k], &mut found)
            } else {
                slope_at::<POISSON>(model, given[k], &mut found)
            };
            *at = slope * factor;
            *slopes.add(Frame::<A>::spectrum_offset(first + k)) = slope;
        }
        first += TOGETHER;
    }
    found
}

/// Loads waves (row, column) as [`Frame::inverse`] leaves them.
#[inline(always)]
unsafe fn load_waves<const A: usize>(frame: &Frame<A>, x: &mut Values, from: *const Complex32) {
    let (row, column) = frame.place();
    let from = from.add(row * Frame::<A>::SIDE + column);
    for n in 0..VALUES {
        x[n] = *from.add(n * A * Frame::<A>::SIDE);
    }
}

/// Stores waves, as [`Frame::forward`] takes them, to (row, column), or adds them to what is there.
#[inline(always)]
unsafe fn add_turned<const A: usize>(frame: &Frame<A>, x: &Values, to: *mut Complex32, adds: bool) {
    let (row, column) = frame.place();
    let to = to.add(row * Frame::<A>::SIDE + column);
    for group in 0..VALUES / MANY {
        let mut old = [Complex32::ZERO; MANY];
        if adds {
            for k in 0..MANY {
                old[k] = *to.add((group * MANY + k) * A * Frame::<A>::SIDE);
            }
        }
        for k in 0..MANY {
            let n = group * MANY + k;
            *to.add(n * A * Frame::<A>::SIDE) = x[reversed(n, 5)] + old[k];
        }
    }
}

macro_rules! sizes {
    ($($name:ident, $a:literal, $side:literal, $threads:literal, $blocks:literal;)*) => {$(
        /// For `noise` Poisson or amplitude and `modes` > 0: `xi` and `spectra` (f, unnormalised), (frame, mode, row,
        /// column), and `slopes`, D (frame, row, column), of all frames; their losses, and their metrics as
        /// `likelihood_deviation`; `sums` (slice, mode, row, column) unless `summed` is 0: those of the frames n,
        /// n + `slices`, … are slice n. If `kept` is 0, `layers` is the probe, and `sums` are those of conj(O) ξ.
        /// Otherwise `kept`, at least `frames`, is the number of `probes` (S(P)), `layers` are the probe's unnormalised
        /// transforms, shifted by `fractions`, and `sums` are those of the spectra, divided by the number of pixels, of
        /// S*(conj(O) ξ). `roots` are exp(−2πi k/side).
        #[kernel(block = $threads, exact_block, min_blocks = $blocks, hot, f64, shared = 4 * (words::<$a>() + Frame::<$a>::PIXELS + WarpSums::<5>::WORDS))]
        #[allow(
            clippy::too_many_arguments,
            reason = "the arrays of the model and their shapes"
        )]
        pub unsafe fn $name(
            #[len(frames * modes * $side * $side)] xi: *mut Complex32,
            #[len(frames * modes * $side * $side)] spectra: *mut Complex32,
            #[len(kept * modes * $side * $side)] probes: *mut Complex32,
            #[len(slices * modes * $side * $side)] sums: *mut Complex32,
            #[len(frames * $side * $side)] slopes: *mut f32,
            #[len(frames)] losses: *mut f64,
            #[len(frames)] errors: *mut f32,
            #[len(frames)] moved: *mut f32,
            #[len(frames)] photon: *mut f32,
            #[len(frames)] residual: *mut f32,
            #[len(frames)] free: *mut f32,
            #[len(modes * $side * $side)] layers: *const Complex32,
            #[len(object_rows * object_columns)] object: *const Complex32,
            #[len(frames * $side * $side)] magnitudes: *const f32,
            #[len(frames)] scales: *const f32,
            #[len(frames)] corners: *const [u32; 2],
            #[len(frames)] fractions: *const [f32; 2],
            #[len($side)] roots: *const Complex32,
            frames: u32,
            kept: u32,
            slices: u32,
            modes: u32,
            object_rows: u32,
            object_columns: u32,
            summed: u32,
            noise: u32,
        ) {
            let _ = object_rows;
            if modes == 0 || (kept != 0 && kept < frames) {
                return;
            }
            let exchange = shared::dynamic_shared_mem::<f32>();
            let transform = Frame::<$a>::new(exchange, roots);
            let ramp = Ramp::<$a>::new(exchange.add(Frame::<$a>::WORDS));
            let members = exchange.add(Frame::<$a>::WORDS + Ramp::<$a>::WORDS);
            let intensities = members.add(Members::WORDS);
            let members = Members::new(members, slices, frames);
            let found = || {
                let behind = words::<$a>() + Frame::<$a>::PIXELS;
                WarpSums::<5>::new(shared::dynamic_shared_mem::<f32>().add(behind))
            };
            let own = || intensities.add(thread::recomputed(thread::thread_idx_x()) as usize);
            let frame = || members.present() as usize;
            // Asked on both sides of barriers.
            let shifted = || thread::hidden(kept) != 0;
            while members.more() {
                prefetch::<$a>(magnitudes.add(frame() * Frame::<$a>::PIXELS));
                if shifted() {
                    ramp.set(fractions.add(frame()));
                }
                // The modes once, and then backwards.
                let mut round = thread::hidden(0);
                while round < 2 * modes {
                    // Two transforms in the same direction that follow each other use the same memory.
                    thread::sync_threads();
                    let number = round;
                    round += 1;
                    let again = || thread::hidden(number) >= modes;
                    let mode = if again() { 2 * modes - 1 - number } else { number };
                    let place = || (members.present() * modes + mode) as usize * Frame::<$a>::PIXELS;
                    let mut x = [Complex32::ZERO; VALUES];
                    if again() {
                        load_spectrum(&transform, &mut x, spectra.add(place()));
                        times_factors::<$a>(&mut x, own());
                    } else {
                        let from = layers.add(mode as usize * Frame::<$a>::PIXELS);
                        if shifted() {
                            ramp.load_shifted(&transform, &mut x, from);
                        } else {
                            load_waves(&transform, &mut x, from);
                        }
                    }
                    if again() || shifted() {
                        transform.inverse(&mut x);
                        let to = if again() { xi } else { probes };
                        store_waves(&transform, &x, to.add(place()));
                    }
                    if again() && summed == 0 {
                        continue;
                    }
                    let window = window_of(object, corners, frame(), object_columns);
                    let sign = if again() { -1.0 } else { 1.0 };
                    times_window(&transform, &mut x, window, object_columns, sign);
                    if !again() || shifted() {
                        transform.forward(&mut x);
                    }
                    if again() {
                        let slice = members.slice();
                        let to = sums.add((slice * modes + mode) as usize * Frame::<$a>::PIXELS);
                        let adds = members.present() != slice;
                        if shifted() {
                            ramp.shift_back(&transform, &mut x);
                            add_spectrum(&transform, &x, to, adds);
                        } else {
                            add_turned(&transform, &x, to, adds);
                        }
                        continue;
                    }
                    add_intensities::<$a>(&x, own(), mode == 0);
                    store_spectrum(&transform, &x, spectra.add(place()));
                    if round != modes {
                        continue;
                    }
                    let start = frame() * Frame::<$a>::PIXELS;
                    let factor = *scales.add(frame()) / Frame::<$a>::PIXELS as f32;
                    let (given, to) = (magnitudes.add(start), slopes.add(start));
                    let sums = derive(&transform, own(), given, to, noise, factor);
                    sums.note(&found());
                }
                if warp_number() == 0 {
                    let [photons, roots, valid, hidden, loss] = found().total($threads / 32);
                    let metrics = MetricSums::of_block([photons, roots, valid, hidden]);
                    if warp::lane_id() == 0 {
                        let to = Errors { errors, moved, photon, residual, free };
                        *losses.add(frame()) = loss;
                        metrics.write(frame(), *scales.add(frame()), &to);
                    }
                }
                members.advance();
            }
        }
    )*};
}

sizes! {
    ptycho_modes_gradient_64, 2, 64, 128, 4;
    ptycho_modes_gradient_128, 4, 128, 512, 1;
}
