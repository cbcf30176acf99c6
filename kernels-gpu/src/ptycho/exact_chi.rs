//! χ of a batch at exact positions, as `frame_chi` at whole pixels, one launch: the probe shifted by the frame's
//! fraction of a pixel, S(P), the model S(P)·O, its transform, the change to the measured magnitudes, the inverse
//! transform; and what the probe's direction is a sum of, the spectrum of S*(conj(O) χ). For one probe mode and frames
//! of 64² or 128², which a block holds in its registers ([`Frame`]).
//!
//! A block processes one frame, with four transforms: each pair of an inverse and a forward one is a round of the same
//! code. Reads 4 bytes per pixel of device memory (√counts) and writes 24 (S(P), χ and the spectrum), which stay in the
//! L2 cache if the batch is small; object and the probe's spectrum come from the caches. The transforms are 40 log₂ N
//! operations per pixel: a frame of 128² needs at least 20 µs of a multiprocessor, and so does a batch of up to 132 of
//! them (measured: 51 µs on an H200).
//! Blocks of 512 or 128 threads, 32 pixels each, 128 registers.

use super::exact_frame::{shared_parts, store_spectrum, times_window, window_of, words};
use super::frame_chi::{Errors, deviate, prefetch, range_of, store_waves};
use super::pie_pass::PROBE;
use crate::fft::frame::{Frame, VALUES};
use warpstride_device::prelude::*;

/// √counts that a thread loads together.
const FEW: usize = 4;

macro_rules! sizes {
    ($($name:ident, $a:literal, $side:literal, $threads:literal, $blocks:literal;)*) => {$(
        /// χ of the frames `order[first..first + count]`, where (first, count) is `ranges[batch]`, count at most
        /// `most`; the metrics of each of these frames, at its own number, as `magnitude_deviation`; their shifted
        /// probes, and the spectra, divided by the number of pixels, of S*(conj(O) χ) if `updates` has the bit
        /// [`PROBE`]. Sets both of `largest` to 0. `probe_spectrum` is the probe's unnormalised transform, `fractions`
        /// are the shifts, `roots` exp(−2πi k/side).
        #[kernel(block = $threads, exact_block, min_blocks = $blocks, hot, shared = 4 * words::<$a>())]
        #[allow(
            clippy::too_many_arguments,
            reason = "the arrays of the model and their shapes"
        )]
        pub unsafe fn $name(
            #[len(most * $side * $side)] chi: *mut Complex32,
            #[len(most * $side * $side)] probes: *mut Complex32,
            #[len(most * $side * $side)] spectra: *mut Complex32,
            #[len(2)] largest: *mut u32,
            #[len(frames)] errors: *mut f32,
            #[len(frames)] moved: *mut f32,
            #[len(frames)] photon: *mut f32,
            #[len(frames)] residual: *mut f32,
            #[len(frames)] free: *mut f32,
            #[len($side * $side)] probe_spectrum: *const Complex32,
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
            object_rows: u32,
            object_columns: u32,
            updates: u32,
        ) {
            let _ = object_rows;
            if batch >= batches {
                return;
            }
            let (first, count) = range_of(ranges, batch, frames, most);
            if thread::first() {
                *largest = 0;
                *largest.add(1) = 0;
            }
            let order = order.add(first as usize);
            let (transform, ramp, members) = shared_parts::<$a>(roots, count, count);
            let frame = || *order.add(members.present() as usize) as usize;
            let start = || members.present() as usize * Frame::<$a>::PIXELS;
            while members.more() {
                prefetch::<$a>(magnitudes.add(frame() * Frame::<$a>::PIXELS));
                ramp.set(fractions.add(frame()));
                let mut x = [Complex32::ZERO; VALUES];
                ramp.load_shifted(&transform, &mut x, probe_spectrum);
                // A loop, so that the code of the transforms is there once.
                let mut round = thread::hidden(0);
                loop {
                    transform.inverse(&mut x);
                    let (to, sign) = if round == 0 { (probes, 1.0) } else { (chi, -1.0) };
                    store_waves(&transform, &x, to.add(start()));
                    if round != 0 && updates & PROBE == 0 {
                        break;
                    }
                    let window = window_of(object, corners, frame(), object_columns);
                    times_window(&transform, &mut x, window, object_columns, sign);
                    transform.forward(&mut x);
                    if round != 0 {
                        ramp.shift_back(&transform, &mut x);
                        store_spectrum(&transform, &x, spectra.add(start()));
                        break;
                    }
                    let frame = frame();
                    let scale = *scales.add(frame);
                    let given = magnitudes.add(frame * Frame::<$a>::PIXELS);
                    let sums = deviate::<$a, FEW>(&transform, &mut x, given, scale).over_block();
                    if thread::recomputed(thread::thread_idx_x()) == 0 {
                        let to = Errors { errors, moved, photon, residual, free };
                        sums.write(frame, scale, &to);
                    }
                    round += 1;
                }
                members.advance();
            }
        }
    )*};
}

sizes! {
    ptycho_exact_chi_64, 2, 64, 128, 4;
    ptycho_exact_chi_128, 4, 128, 512, 1;
}
