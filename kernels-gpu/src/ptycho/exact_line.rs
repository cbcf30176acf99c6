//! Sums behind the objective along a line at exact positions, as `frame_line` at whole pixels: the probe's direction is
//! shifted to the frame, S(h_P); a = F(S(P)·h_O + S(h_P)·O). For one probe mode and frames of 64² or 128², which a
//! block holds in its registers ([`Frame`]).
//!
//! A block processes the frames of a slice, with two transforms each. S(h_P) goes through memory, because the products
//! need the registers, always the same for a slice, so that it stays in the L2 cache. Reads 28 bytes per pixel of
//! device memory (ξ, f, S(P), √counts): 0.16 ms for 1457 frames of 128² at 4.3 TB/s, 0.11 ms for the operations of two
//! transforms. Blocks of 512 or 128 threads, 32 pixels each, 128 registers.

use super::exact_frame::{shared_parts, words};
use super::frame_chi::{corner_of, prefetch, store_waves};
use super::frame_line::{Line, load_line, mixed, second_order};
use super::likelihood_noise::{AMPLITUDE, POISSON};
use crate::fft::frame::{Frame, VALUES};
use warpstride_device::prelude::*;

macro_rules! sizes {
    ($($name:ident, $noise:expr, $a:literal, $side:literal, $threads:literal, $blocks:literal;)*) => {$(
        /// `sums` (frame, 3) of all frames: slope, half the second derivative, and the part of the latter that is never
        /// negative. `changes` is scratch memory. `xi`, `spectra` and `probes` are those of `exact_gradient`;
        /// `direction_spectrum` is the unnormalised transform of the probe's direction, `fractions` are the shifts,
        /// `roots` exp(−2πi k/side).
        #[kernel(block = $threads, exact_block, min_blocks = $blocks, hot, f64, shared = 4 * words::<$a>())]
        #[allow(
            clippy::too_many_arguments,
            reason = "the arrays of the model and their shapes"
        )]
        pub unsafe fn $name(
            #[len(frames)] sums: *mut [f64; 3],
            #[len(slices * $side * $side)] changes: *mut Complex32,
            #[len(frames * $side * $side)] xi: *const Complex32,
            #[len(frames * $side * $side)] spectra: *const Complex32,
            #[len(frames * $side * $side)] probes: *const Complex32,
            #[len($side * $side)] direction_spectrum: *const Complex32,
            #[len(object_rows * object_columns)] object: *const Complex32,
            #[len(object_rows * object_columns)] direction: *const Complex32,
            #[len(frames * $side * $side)] magnitudes: *const f32,
            #[len(frames)] scales: *const f32,
            #[len(frames)] corners: *const [u32; 2],
            #[len(frames)] fractions: *const [f32; 2],
            #[len($side)] roots: *const Complex32,
            frames: u32,
            slices: u32,
            object_rows: u32,
            object_columns: u32,
        ) {
            let _ = object_rows;
            let (transform, ramp, members) = shared_parts::<$a>(roots, slices, frames);
            let frame = || members.present() as usize;
            let start = || frame() * Frame::<$a>::PIXELS;
            while members.more() {
                prefetch::<$a>(magnitudes.add(start()));
                ramp.set(fractions.add(frame()));
                let mut x = [Complex32::ZERO; VALUES];
                ramp.load_shifted(&transform, &mut x, direction_spectrum);
                transform.inverse(&mut x);
                let change = changes.add(members.slice() as usize * Frame::<$a>::PIXELS);
                store_waves(&transform, &x, change);
                let corner = corner_of(corners, frame(), object_columns);
                let line = Line {
                    probe: probes.add(start()),
                    probe_direction: change,
                    object: object.add(corner),
                    direction: direction.add(corner),
                    width: object_columns,
                };
                // Not kept in registers during the transform, for which there would be too few.
                let mixed = mixed(&transform, &line, xi.add(start()));
                let mixed = reduce::block_sum_f64(f64::from(mixed));
                if thread::recomputed(thread::thread_idx_x()) == 0 {
                    (*sums.add(frame()))[1] = mixed;
                }
                let mut x = [Complex32::ZERO; VALUES];
                load_line(&transform, &mut x, &line);
                transform.forward(&mut x);
                let factor = *scales.add(frame()) / Frame::<$a>::PIXELS as f32;
                let (spectrum, given) = (spectra.add(start()), magnitudes.add(start()));
                let part = second_order::<$a, { $noise }>(&transform, &x, spectrum, given, factor);
                let slope = reduce::block_sum_f64(f64::from(part.slope));
                let whole = reduce::block_sum_f64(f64::from(part.whole));
                let bent = reduce::block_sum_f64(f64::from(part.bent));
                if thread::recomputed(thread::thread_idx_x()) == 0 {
                    let sums = &mut *sums.add(frame());
                    *sums = [slope, sums[1] + whole, bent];
                }
                members.advance();
            }
        }
    )*};
}

sizes! {
    ptycho_exact_line_poisson_64, POISSON, 2, 64, 128, 4;
    ptycho_exact_line_poisson_128, POISSON, 4, 128, 512, 1;
    ptycho_exact_line_amplitude_64, AMPLITUDE, 2, 64, 128, 4;
    ptycho_exact_line_amplitude_128, AMPLITUDE, 4, 128, 512, 1;
}
