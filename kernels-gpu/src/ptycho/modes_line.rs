//! Sums behind the objective along a line with several probe modes, as `frame_line` and `exact_line` with one, one
//! launch: the block makes a = F(S(P)·h_O + S(h_P)·O) of the modes of a frame one after the other and adds up A1 =
//! Σ 2 Re f a* of its pixels. With D of `modes_gradient` all other terms are sums over the modes: Σ D c |a|², and
//! Σ D c 2 Re(f b*) = 2 Re⟨ξ, S(h_P)·h_O⟩; the second derivative D' follows from D and √counts. For frames of 64² or
//! 128², which a block holds in its registers ([`Frame`]).
//!
//! A1 is in shared memory, 4 bytes per pixel; a thread has the same pixels of all modes. S(h_P) goes through memory as in
//! `exact_line`. Two transforms a mode, one at whole pixels. Reads 8 bytes per pixel (√counts, D) and 24 per pixel and
//! mode (ξ, f, S(P); at whole pixels 16) of device memory. Blocks of 512 or 128 threads, 32 pixels each, 128 registers.

use super::exact_frame::{Members, Ramp, words};
use super::frame_chi::{corner_of, prefetch, store_waves};
use super::frame_line::{Line, Sums, load_line, mixed, product};
use super::likelihood_noise::AMPLITUDE;
use super::modes_gradient::{TOGETHER, given};
use super::pie_shared::warp_number;
use super::warp_sums::WarpSums;
use crate::fft::frame::{Frame, VALUES, Values};
use warpstride_device::prelude::*;

/// D' from D, and √counts above 0. With D = 1 − q it is q²/I for Poisson noise, where q is I/I_m, and q³/(2 I) for
/// amplitude noise, where q is √(I/I_m).
#[inline(always)]
fn curvature(noise: u32, slope: f32, magnitude: f32) -> f32 {
    let q = 1.0 - slope;
    // q² could be too large a number.
    let by_counts = q * float::div_approx(q, magnitude * magnitude);
    if noise == AMPLITUDE {
        0.5 * q * by_counts
    } else {
        by_counts
    }
}

/// One group of [`add_mode`].
#[inline(always)]
unsafe fn add_group<const A: usize>(
    group: usize,
    x: &Values,
    spectrum: *const Complex32,
    slopes: *const f32,
    along: *mut f32,
    first: bool,
) -> f32 {
    let mut d = [0.0_f32; TOGETHER];
    let mut f = [Complex32::ZERO; TOGETHER];
    for k in 0..TOGETHER {
        let offset = Frame::<A>::spectrum_offset(group * TOGETHER + k);
        d[k] = *slopes.add(offset);
        f[k] = *spectrum.add(offset);
    }
    warp::sync_warp(warp::FULL);
    let mut sum = 0.0;
    for k in 0..TOGETHER {
        let v = group * TOGETHER + k;
        let to = along.add(v * Frame::<A>::THREADS);
        let old = if first { 0.0 } else { *to };
        *to = (2.0_f32).mul_add(product(f[k], x[v]), old);
        sum = d[k].mul_add(x[v].norm_sqr(), sum);
    }
    sum
}

/// Adds 2 Re f a* of the thread's pixels to `along`, `Frame::THREADS` words apart, or sets it if the mode is the `first`;
/// returns the thread's sum of D |a|².
#[inline(always)]
unsafe fn add_mode<const A: usize>(
    frame: &Frame<A>,
    x: &Values,
    spectrum: *const Complex32,
    slopes: *const f32,
    along: *mut f32,
    first: bool,
) -> f32 {
    let (row, column) = frame.spectrum_place();
    let own = row * Frame::<A>::SIDE + column;
    let (slopes, spectrum) = (slopes.add(own), spectrum.add(own));
    let mut sum = 0.0;
    // Written out: a loop of this length is not unrolled, and x would not be in registers.
    macro_rules! groups {
        ($($group:literal)*) => {
            $(sum += add_group::<A>($group, x, spectrum, slopes, along, first);)*
        };
    }
    groups!(0 1 2 3 4 5 6 7);
    const { assert!(8 * TOGETHER == VALUES) };
    sum
}

/// The thread's sums of D A1 and ½ D' A1² over its valid pixels; `whole` is the latter too. `factor` is scale/N.
#[inline(always)]
unsafe fn along_line<const A: usize>(
    frame: &Frame<A>,
    along: *const f32,
    magnitudes: *const f32,
    slopes: *const f32,
    noise: u32,
    factor: f32,
) -> Sums {
    let (row, column) = frame.spectrum_place();
    let own = row * Frame::<A>::SIDE + column;
    let (magnitudes, slopes) = (magnitudes.add(own), slopes.add(own));
    let (mut slope, mut bent) = (0.0_f32, 0.0_f32);
    // A loop of groups: nothing else is in registers, and the code is short.
    let mut first = thread::hidden(0) as usize;
    while first < VALUES {
        let given = given::<A>(magnitudes, first);
        for k in 0..TOGETHER {
            let d = *slopes.add(Frame::<A>::spectrum_offset(first + k));
            let along = *along.add((first + k) * Frame::<A>::THREADS) * factor;
            // D is 0 where masked or free.
            slope = d.mul_add(along, slope);
            if given[k] > 0.0 {
                bent += 0.5 * curvature(noise, d, given[k]) * along * along;
            }
        }
        first += TOGETHER;
    }
    Sums {
        slope,
        whole: bent,
        bent,
    }
}

macro_rules! sizes {
    ($($name:ident, $a:literal, $side:literal, $threads:literal, $blocks:literal;)*) => {$(
        /// For `noise` Poisson or amplitude and `modes` > 0: `sums` (frame, 3) of all frames: slope, half the second
        /// derivative, and the part of the latter that is never negative. `changes` (slice, row, column) is scratch
        /// memory. `xi`, `spectra` and `slopes` are those of `modes_gradient`. If `shifted` is 0, `probes` is one, the
        /// probe, and `layers` is its direction. Otherwise `probes`, at least `frames`, are those of the frames
        /// (S(P)), and `layers` are the unnormalised transforms of the direction, shifted by `fractions`. `roots` are
        /// exp(−2πi k/side).
        #[kernel(block = $threads, exact_block, min_blocks = $blocks, hot, f64, shared = 4 * (words::<$a>() + Frame::<$a>::PIXELS + WarpSums::<3>::WORDS))]
        #[allow(
            clippy::too_many_arguments,
            reason = "the arrays of the model and their shapes"
        )]
        pub unsafe fn $name(
            #[len(frames)] sums: *mut [f64; 3],
            #[len(slices * $side * $side)] changes: *mut Complex32,
            #[len(frames * modes * $side * $side)] xi: *const Complex32,
            #[len(frames * modes * $side * $side)] spectra: *const Complex32,
            #[len(frames * $side * $side)] slopes: *const f32,
            #[len(probes * modes * $side * $side)] probe: *const Complex32,
            #[len(modes * $side * $side)] layers: *const Complex32,
            #[len(object_rows * object_columns)] object: *const Complex32,
            #[len(object_rows * object_columns)] direction: *const Complex32,
            #[len(frames * $side * $side)] magnitudes: *const f32,
            #[len(frames)] scales: *const f32,
            #[len(frames)] corners: *const [u32; 2],
            #[len(frames)] fractions: *const [f32; 2],
            #[len($side)] roots: *const Complex32,
            frames: u32,
            probes: u32,
            slices: u32,
            modes: u32,
            object_rows: u32,
            object_columns: u32,
            shifted: u32,
            noise: u32,
        ) {
            let _ = object_rows;
            if modes == 0 || probes == 0 || (shifted != 0 && probes < frames) {
                return;
            }
            let exchange = shared::dynamic_shared_mem::<f32>();
            let transform = Frame::<$a>::new(exchange, roots);
            let ramp = Ramp::<$a>::new(exchange.add(Frame::<$a>::WORDS));
            let members = exchange.add(Frame::<$a>::WORDS + Ramp::<$a>::WORDS);
            let along = members.add(Members::WORDS);
            let members = Members::new(members, slices, frames);
            let found = || {
                let behind = words::<$a>() + Frame::<$a>::PIXELS;
                WarpSums::<3>::new(shared::dynamic_shared_mem::<f32>().add(behind))
            };
            let own = || along.add(thread::recomputed(thread::thread_idx_x()) as usize);
            let frame = || members.present() as usize;
            // Asked on both sides of barriers.
            let shifts = || thread::hidden(shifted) != 0;
            while members.more() {
                prefetch::<$a>(magnitudes.add(frame() * Frame::<$a>::PIXELS));
                if shifts() {
                    ramp.set(fractions.add(frame()));
                }
                let mut mode = thread::hidden(0);
                while mode < modes {
                    // Two transforms in the same direction that follow each other use the same memory.
                    thread::sync_threads();
                    let layer = mode as usize * Frame::<$a>::PIXELS;
                    let place = || (members.present() * modes + mode) as usize * Frame::<$a>::PIXELS;
                    let mut line = Line {
                        probe: probe.add(layer),
                        probe_direction: layers.add(layer),
                        object,
                        direction,
                        width: object_columns,
                    };
                    if shifts() {
                        let mut x = [Complex32::ZERO; VALUES];
                        ramp.load_shifted(&transform, &mut x, line.probe_direction);
                        transform.inverse(&mut x);
                        let change = changes.add(members.slice() as usize * Frame::<$a>::PIXELS);
                        store_waves(&transform, &x, change);
                        line.probe_direction = change;
                        line.probe = probe.add(place());
                    }
                    let corner = corner_of(corners, frame(), object_columns);
                    line.object = object.add(corner);
                    line.direction = direction.add(corner);
                    // Not kept in registers during the transform, for which there would be too few.
                    let of_thread = mixed(&transform, &line, xi.add(place()));
                    let of_warp = reduce::warp_sum_f64(f64::from(of_thread));
                    found().add(1, of_warp, mode == 0);
                    let mut x = [Complex32::ZERO; VALUES];
                    load_line(&transform, &mut x, &line);
                    transform.forward(&mut x);
                    let of_frame = slopes.add(frame() * Frame::<$a>::PIXELS);
                    let spectrum = spectra.add(place());
                    let squares = add_mode(&transform, &x, spectrum, of_frame, own(), mode == 0);
                    let factor = *scales.add(frame()) / Frame::<$a>::PIXELS as f32;
                    let of_warp = reduce::warp_sum_f64(f64::from(squares * factor));
                    found().add(1, of_warp, false);
                    mode += 1;
                }
                let start = frame() * Frame::<$a>::PIXELS;
                let factor = *scales.add(frame()) / Frame::<$a>::PIXELS as f32;
                let (given, d) = (magnitudes.add(start), slopes.add(start));
                let part = along_line(&transform, own(), given, d, noise, factor);
                let of_warp = [part.slope, part.whole, part.bent];
                let [slope, whole, bent] =
                    of_warp.map(|own| reduce::warp_sum_f64(f64::from(own)));
                found().note(0, slope);
                found().add(1, whole, false);
                found().note(2, bent);
                thread::sync_threads();
                if warp_number() == 0 {
                    let total = found().total($threads / 32);
                    if warp::lane_id() == 0 {
                        *sums.add(frame()) = total;
                    }
                }
                members.advance();
            }
        }
    )*};
}

sizes! {
    ptycho_modes_line_64, 2, 64, 128, 4;
    ptycho_modes_line_128, 4, 128, 512, 1;
}
