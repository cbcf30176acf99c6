//! χ of a batch with several probe modes, as `exact_chi` with one, one launch. The block makes the modes of a frame one
//! after the other, twice: first their shifted probes and spectra f, of which it adds up Σ|f|²; then χ, with the
//! factors that follow, and the spectra of S*(conj(O) χ). At whole pixels the shifts are 0. For frames of 64² or 128²,
//! which a block holds in its registers ([`Frame`]).
//!
//! The sums of the modes, later the factors, are in shared memory, 4 bytes per pixel. A thread has the same pixels of
//! all spectra, so it reads only what it has written. Reads 4 bytes per pixel of device memory (√counts), and per pixel
//! and mode 40 of the L2 cache if the batch is small; object and the probe's spectra come from the caches. Four
//! transforms a mode, 40 log₂ N operations per pixel: four modes of a frame of 128² need 80 µs of a multiprocessor, and
//! so does a batch of up to 132 frames. Blocks of 512 or 128 threads, 32 pixels each, 128 registers.

use super::FREE;
use super::exact_frame::{Members, Ramp, load_spectrum, store_spectrum, times_window, window_of};
use super::frame_chi::{Errors, MetricSums, prefetch, range_of, root_of, store_waves};
use super::pie_pass::PROBE;
use super::pie_shared::warp_number;
use super::warp_sums::WarpSums;
use crate::fft::frame::{Frame, VALUES, Values};
use warpstride_device::prelude::*;

/// Values that a thread loads together.
const TOGETHER: usize = 4;

/// Words of shared memory.
const fn words<const A: usize>() -> usize {
    Frame::<A>::WORDS + Ramp::<A>::WORDS + Members::WORDS + Frame::<A>::PIXELS
}

/// Sets (if `first`) or adds |x|² of the thread's pixels to its sums, `Frame::THREADS` words apart.
#[inline(always)]
pub(super) unsafe fn add_intensities<const A: usize>(x: &Values, sums: *mut f32, first: bool) {
    for v in 0..VALUES {
        let sum = sums.add(v * Frame::<A>::THREADS);
        let old = if first { 0.0 } else { *sum };
        *sum = old + x[v].norm_sqr();
    }
}

/// Multiplies the thread's pixels by their factors.
#[inline(always)]
pub(super) unsafe fn times_factors<const A: usize>(x: &mut Values, factors: *const f32) {
    for v in 0..VALUES {
        x[v] = x[v].scale(*factors.add(v * Frame::<A>::THREADS));
    }
}

/// Replaces the sums Σ|f|² by the factors `(√I/√I_model − 1)/N`, 0 where masked or free; returns the thread's sums
/// behind the metrics, all as [`super::frame_chi::deviate`]. I_model = scale/N · Σ|f|².
#[inline(always)]
unsafe fn factors<const A: usize>(
    frame: &Frame<A>,
    sums: *mut f32,
    magnitudes: *const f32,
    scale: f32,
) -> MetricSums {
    let per_pixel = 1.0 / Frame::<A>::PIXELS as f32;
    let factor = per_pixel * scale;
    let (row, column) = frame.spectrum_place();
    let magnitudes = magnitudes.add(row * Frame::<A>::SIDE + column);
    let mut metrics = MetricSums::ZERO;
    // A loop of groups: nothing else is in registers, and the code is short.
    let mut first = thread::hidden(0) as usize;
    while first < VALUES {
        let mut given = [0.0_f32; TOGETHER];
        for k in 0..TOGETHER {
            given[k] = *magnitudes.add(Frame::<A>::spectrum_offset(first + k));
        }
        for k in 0..TOGETHER {
            let at = sums.add((first + k) * Frame::<A>::THREADS);
            let magnitude = given[k];
            let model = *at * factor;
            let (root, inverse) = root_of(model);
            let by_root = root - magnitude;
            if magnitude >= 0.0 {
                let counts = magnitude * magnitude;
                let by_count = model - counts;
                metrics.photons += float::div_approx(by_count * by_count, counts + 1.0);
                metrics.roots = by_root.mul_add(by_root, metrics.roots);
                metrics.valid += 1.0;
                *at = -by_root * inverse * per_pixel;
            } else {
                let by_hidden = if magnitude <= FREE {
                    root - (FREE - magnitude)
                } else {
                    0.0
                };
                metrics.hidden = by_hidden.mul_add(by_hidden, metrics.hidden);
                *at = 0.0;
            }
        }
        first += TOGETHER;
    }
    metrics
}

macro_rules! sizes {
    ($($name:ident, $a:literal, $side:literal, $threads:literal, $blocks:literal;)*) => {$(
        /// As `exact_chi` with `modes` > 0 modes: `chi`, `probes` and `spectra` are (frame of the batch, mode, row,
        /// column), `probe_spectra` (mode, row, column). If `updates` has not the bit [`PROBE`], `spectra` are f.
        #[kernel(block = $threads, exact_block, min_blocks = $blocks, hot, f64, shared = 4 * (words::<$a>() + WarpSums::<4>::WORDS))]
        #[allow(
            clippy::too_many_arguments,
            reason = "the arrays of the model and their shapes"
        )]
        pub unsafe fn $name(
            #[len(most * modes * $side * $side)] chi: *mut Complex32,
            #[len(most * modes * $side * $side)] probes: *mut Complex32,
            #[len(most * modes * $side * $side)] spectra: *mut Complex32,
            #[len(2)] largest: *mut u32,
            #[len(frames)] errors: *mut f32,
            #[len(frames)] moved: *mut f32,
            #[len(frames)] photon: *mut f32,
            #[len(frames)] residual: *mut f32,
            #[len(frames)] free: *mut f32,
            #[len(modes * $side * $side)] probe_spectra: *const Complex32,
            #[len(object_rows * object_columns)] object: *const Complex32,
            #[len(frames * $side * $side)] magnitudes: *const f32,
            #[len(frames)] scales: *const f32,
            #[len(frames)] corners: *const [u32; 2],
            #[len(frames)] fractions: *const [f32; 2],
            #[len(frames)] order: *const u32,
            #[len(batches)] ranges: *const [u32; 2],
            #[len($side)] roots: *const Complex32,
            frames: u32,
            most: u32,
            batches: u32,
            batch: u32,
            modes: u32,
            object_rows: u32,
            object_columns: u32,
            updates: u32,
        ) {
            let _ = object_rows;
            if batch >= batches || modes == 0 {
                return;
            }
            let (first, count) = range_of(ranges, batch, frames, most);
            let exchange = shared::dynamic_shared_mem::<f32>();
            let transform = Frame::<$a>::new(exchange, roots);
            let ramp = Ramp::<$a>::new(exchange.add(Frame::<$a>::WORDS));
            let members = exchange.add(Frame::<$a>::WORDS + Ramp::<$a>::WORDS);
            let sums = members.add(Members::WORDS);
            let members = Members::new(members, count, count);
            if thread::first() {
                *largest = 0;
                *largest.add(1) = 0;
            }
            let order = order.add(first as usize);
            let frame = || *order.add(members.present() as usize) as usize;
            let found = || WarpSums::<4>::new(shared::dynamic_shared_mem::<f32>().add(words::<$a>()));
            let own = || sums.add(thread::recomputed(thread::thread_idx_x()) as usize);
            while members.more() {
                prefetch::<$a>(magnitudes.add(frame() * Frame::<$a>::PIXELS));
                ramp.set(fractions.add(frame()));
                // The modes once, and then once more.
                let mut round = thread::hidden(0);
                while round < 2 * modes {
                    let again = round >= modes;
                    let mode = if again { round - modes } else { round };
                    let place = || {
                        (members.present() * modes + mode) as usize * Frame::<$a>::PIXELS
                    };
                    let mut x = [Complex32::ZERO; VALUES];
                    if again {
                        load_spectrum(&transform, &mut x, spectra.add(place()));
                        times_factors::<$a>(&mut x, own());
                    } else {
                        let from = probe_spectra.add(mode as usize * Frame::<$a>::PIXELS);
                        ramp.load_shifted(&transform, &mut x, from);
                    }
                    transform.inverse(&mut x);
                    let (to, sign) = if again { (chi, -1.0) } else { (probes, 1.0) };
                    store_waves(&transform, &x, to.add(place()));
                    round += 1;
                    if again && updates & PROBE == 0 {
                        // The next round begins with an inverse transform too, which uses the same memory.
                        thread::sync_threads();
                        continue;
                    }
                    let window = window_of(object, corners, frame(), object_columns);
                    times_window(&transform, &mut x, window, object_columns, sign);
                    transform.forward(&mut x);
                    if again {
                        ramp.shift_back(&transform, &mut x);
                    } else {
                        add_intensities::<$a>(&x, own(), mode == 0);
                    }
                    store_spectrum(&transform, &x, spectra.add(place()));
                    if round != modes {
                        continue;
                    }
                    let frame = frame();
                    let given = magnitudes.add(frame * Frame::<$a>::PIXELS);
                    let scale = *scales.add(frame);
                    let sums = factors(&transform, own(), given, scale);
                    sums.note(&found());
                }
                if warp_number() == 0 {
                    let sums = MetricSums::of_block(found().total($threads / 32));
                    if warp::lane_id() == 0 {
                        let to = Errors { errors, moved, photon, residual, free };
                        sums.write(frame(), *scales.add(frame()), &to);
                    }
                }
                members.advance();
            }
        }
    )*};
}

sizes! {
    ptycho_exact_modes_64, 2, 64, 128, 4;
    ptycho_exact_modes_128, 4, 128, 512, 1;
}
