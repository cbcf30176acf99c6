//! The gradient of a likelihood for every frame at exact positions, as `frame_gradient` at whole pixels, one launch:
//! the shifted probe S(P), the model S(P)·O, its transform f, the loss and the metrics, ξ = F⁻¹[c D f]; and the
//! spectrum of S*(conj(O) ξ), added up over the frames of a slice. For one probe mode and frames of 64² or 128², which
//! a block holds in its registers ([`Frame`]).
//!
//! A block processes the frames of a slice in their order, each with four transforms: each pair of an inverse and a
//! forward one is a round of the same code. Reads 4 bytes per pixel (√counts) and writes 24 (S(P), f and ξ) of device
//! memory, reads and writes a slice's sum, 16, in the L2 cache: 1457 frames of 128² need 0.16 ms for the former at 4.3
//! TB/s, 0.22 ms for the operations of four transforms. Blocks of 512 or 128 threads, 32 pixels each, 128 registers.

use super::exact_frame::{
    add_spectrum, shared_parts, store_spectrum, times_window, window_of, words,
};
use super::frame_chi::{Errors, MetricSums, prefetch, store_waves};
use super::frame_gradient::derive;
use super::likelihood_noise::{AMPLITUDE, POISSON};
use super::pie_shared::warp_number;
use super::warp_sums::WarpSums;
use crate::fft::frame::{Frame, VALUES};
use warpstride_device::prelude::*;

macro_rules! sizes {
    ($($name:ident, $noise:expr, $a:literal, $side:literal, $threads:literal, $blocks:literal;)*) => {$(
        /// `xi`, `spectra` (f, unnormalised) and `probes` (S(P)) of all frames, their losses, and their metrics as
        /// `likelihood_deviation`; `sums` (slice, row, column) of the spectra, divided by the number of pixels, of
        /// S*(conj(O) ξ), unless `summed` is 0: those of the frames n, n + `slices`, … are slice n. `probe_spectrum`
        /// is the probe's unnormalised transform, `fractions` are the shifts, `roots` exp(−2πi k/side).
        #[kernel(block = $threads, exact_block, min_blocks = $blocks, hot, f64, shared = 4 * (words::<$a>() + WarpSums::<5>::WORDS))]
        #[allow(
            clippy::too_many_arguments,
            reason = "the arrays of the model and their shapes"
        )]
        pub unsafe fn $name(
            #[len(frames * $side * $side)] xi: *mut Complex32,
            #[len(frames * $side * $side)] spectra: *mut Complex32,
            #[len(frames * $side * $side)] probes: *mut Complex32,
            #[len(slices * $side * $side)] sums: *mut Complex32,
            #[len(frames)] losses: *mut f64,
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
            #[len($side)] roots: *const Complex32,
            frames: u32,
            slices: u32,
            object_rows: u32,
            object_columns: u32,
            summed: u32,
        ) {
            let _ = object_rows;
            let (transform, ramp, members) = shared_parts::<$a>(roots, slices, frames);
            let found = || WarpSums::<5>::new(shared::dynamic_shared_mem::<f32>().add(words::<$a>()));
            let frame = || members.present() as usize;
            let start = || frame() * Frame::<$a>::PIXELS;
            while members.more() {
                prefetch::<$a>(magnitudes.add(start()));
                ramp.set(fractions.add(frame()));
                let mut x = [Complex32::ZERO; VALUES];
                ramp.load_shifted(&transform, &mut x, probe_spectrum);
                // A loop, so that the code of the transforms is there once.
                let mut round = thread::hidden(0);
                loop {
                    transform.inverse(&mut x);
                    let (to, sign) = if round == 0 { (probes, 1.0) } else { (xi, -1.0) };
                    store_waves(&transform, &x, to.add(start()));
                    if round != 0 && summed == 0 {
                        break;
                    }
                    let window = window_of(object, corners, frame(), object_columns);
                    times_window(&transform, &mut x, window, object_columns, sign);
                    transform.forward(&mut x);
                    if round != 0 {
                        ramp.shift_back(&transform, &mut x);
                        let slice = members.slice();
                        let to = sums.add(slice as usize * Frame::<$a>::PIXELS);
                        add_spectrum(&transform, &x, to, members.present() != slice);
                        break;
                    }
                    store_spectrum(&transform, &x, spectra.add(start()));
                    let scale = *scales.add(frame());
                    let factor = scale / Frame::<$a>::PIXELS as f32;
                    let given = magnitudes.add(start());
                    let sums = derive::<$a, { $noise }>(&transform, &mut x, given, factor);
                    sums.note(&found());
                    round += 1;
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
    ptycho_exact_gradient_poisson_64, POISSON, 2, 64, 128, 4;
    ptycho_exact_gradient_poisson_128, POISSON, 4, 128, 512, 1;
    ptycho_exact_gradient_amplitude_64, AMPLITUDE, 2, 64, 128, 4;
    ptycho_exact_gradient_amplitude_128, AMPLITUDE, 4, 128, 512, 1;
}
