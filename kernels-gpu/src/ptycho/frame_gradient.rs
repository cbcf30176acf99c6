//! The gradient of a likelihood for every frame, one launch: the model P·O, its transform f, the loss and the metrics, and
//! ξ = F⁻¹[c D f], as `likelihood_deviation`, with D the derivative of the loss by the model intensity. For one probe mode
//! at whole pixels and frames of 64² or 128², which a block holds in its registers ([`Frame`]).
//!
//! A block processes one frame. Reads 4 bytes per pixel (√counts) and writes 16 (f and ξ) of device memory: 1457 frames
//! of 128² need 0.11 ms for them at 4.3 TB/s, 0.11 ms for the operations of two transforms. Blocks of 512 or 128 threads,
//! 32 pixels each, 128 registers. Losses and metrics are computed in single precision, with 1e-10
//! added to the modelled intensity, the loss added up in double.

use super::FREE;
use super::exact_frame::store_spectrum;
use super::frame_chi::{Errors, MetricSums, corner_of, load_model, prefetch, root_of, store_waves};
use super::likelihood_noise::{AMPLITUDE, POISSON, loss_and_slope};
use super::pie_shared::warp_number;
use super::warp_sums::WarpSums;
use crate::fft::frame::{Frame, VALUES, Values};
use warpstride_device::prelude::*;

/// Values that a thread loads together.
const TOGETHER: usize = 4;
/// Added to the modelled intensity before dividing by it, counts.
pub(super) const FLOOR: f32 = 1e-10;

/// A thread's sums.
pub(super) struct Sums {
    pub(super) metrics: MetricSums,
    pub(super) losses: f32,
}

impl Sums {
    /// Notes the sums over the warp, the losses last.
    #[inline(always)]
    pub(super) unsafe fn note(&self, to: &WarpSums<5>) {
        self.metrics.note(to);
        to.note(4, reduce::warp_sum_f64(f64::from(self.losses)));
    }
}

/// √counts of a group of values.
#[inline(always)]
unsafe fn given<const A: usize>(magnitudes: *const f32, group: usize) -> [f32; TOGETHER] {
    let mut given = [0.0_f32; TOGETHER];
    for k in 0..TOGETHER {
        given[k] = *magnitudes.add(Frame::<A>::spectrum_offset(group * TOGETHER + k));
    }
    given
}

/// Adds a pixel of this modelled intensity to the sums; `$valid` has D, `$other` is for a masked or free pixel. Not a
/// function, with which the compiler makes other code of `derive`, which has been measured.
macro_rules! at_pixel {
    ($noise:ident, ($model:ident, $magnitude:ident), ($sums:ident, $metrics:ident), |$slope:ident| $valid:expr, $other:expr) => {
        let floored = $model + FLOOR;
        let (root, inverse) = root_of(floored);
        if $magnitude >= 0.0 {
            let (loss, $slope) = loss_and_slope::<$noise>([floored, root, inverse], $magnitude);
            $sums.losses += loss;
            $valid;
            let counts = $magnitude * $magnitude;
            let (by_count, by_root) = ($model - counts, root - $magnitude);
            $metrics.photons += float::div_approx(by_count * by_count, counts + 1.0);
            $metrics.roots = by_root.mul_add(by_root, $metrics.roots);
            $metrics.valid += 1.0;
        } else {
            let by_hidden = if $magnitude <= FREE {
                root - (FREE - $magnitude)
            } else {
                0.0
            };
            $metrics.hidden = by_hidden.mul_add(by_hidden, $metrics.hidden);
            $other;
        }
    };
}

/// D at a pixel of this modelled intensity, 0 where masked or free; adds the pixel to the sums.
#[inline(always)]
pub(super) fn slope_at<const NOISE: u32>(model: f32, magnitude: f32, sums: &mut Sums) -> f32 {
    let metrics = &mut sums.metrics;
    let found;
    at_pixel!(
        NOISE,
        (model, magnitude),
        (sums, metrics),
        |slope| found = slope,
        found = 0.0
    );
    found
}

/// One group of [`derive`].
#[inline(always)]
unsafe fn derive_group<const NOISE: u32>(
    group: usize,
    x: &mut Values,
    given: [f32; TOGETHER],
    factor: f32,
    sums: &mut Sums,
) {
    let metrics = &mut sums.metrics;
    warp::sync_warp(warp::FULL);
    for k in 0..TOGETHER {
        let (magnitude, v) = (given[k], group * TOGETHER + k);
        let model = x[v].norm_sqr() * factor;
        // A selection instead of the branch lets the assembler compute all pixels at once, and spill.
        at_pixel!(
            NOISE,
            (model, magnitude),
            (sums, metrics),
            |slope| x[v] = x[v].scale(slope * factor),
            x[v] = Complex32::ZERO
        );
    }
}

/// Replaces the model's spectrum by `f c D/N`, 0 where masked or free, and returns the sums behind
/// loss and metrics. I_m = scale/N · |f|², `factor` is scale/N.
#[inline(always)]
pub(super) unsafe fn derive<const A: usize, const NOISE: u32>(
    frame: &Frame<A>,
    x: &mut Values,
    magnitudes: *const f32,
    factor: f32,
) -> Sums {
    let (row, column) = frame.spectrum_place();
    let magnitudes = magnitudes.add(row * Frame::<A>::SIDE + column);
    let mut sums = Sums {
        metrics: MetricSums::ZERO,
        losses: 0.0,
    };
    // Written out: a loop of this length is not unrolled, and x would not be in registers.
    let mut ahead = given::<A>(magnitudes, 0);
    macro_rules! groups {
        ($($group:literal)*) => {$(
            let loaded = ahead;
            if $group + 1 < VALUES / TOGETHER {
                ahead = given::<A>(magnitudes, $group + 1);
            }
            derive_group::<NOISE>($group, x, loaded, factor, &mut sums);
        )*};
    }
    groups!(0 1 2 3 4 5 6 7);
    let _ = ahead;
    const { assert!(8 * TOGETHER == VALUES) };
    sums
}

macro_rules! sizes {
    ($($name:ident, $noise:expr, $a:literal, $side:literal, $threads:literal, $blocks:literal;)*) => {$(
        /// `xi` and `spectra` (f, unnormalised) of all frames, their losses, and their metrics as `likelihood_deviation`.
        /// `roots` are exp(−2πi k/side).
        #[kernel(block = $threads, exact_block, min_blocks = $blocks, hot, f64, shared = 4 * (Frame::<$a>::WORDS + WarpSums::<5>::WORDS))]
        #[allow(
            clippy::too_many_arguments,
            reason = "the arrays of the model and their shapes"
        )]
        pub unsafe fn $name(
            #[len(frames * $side * $side)] xi: *mut Complex32,
            #[len(frames * $side * $side)] spectra: *mut Complex32,
            #[len(frames)] losses: *mut f64,
            #[len(frames)] errors: *mut f32,
            #[len(frames)] moved: *mut f32,
            #[len(frames)] photon: *mut f32,
            #[len(frames)] residual: *mut f32,
            #[len(frames)] free: *mut f32,
            #[len($side * $side)] probe: *const Complex32,
            #[len(object_rows * object_columns)] object: *const Complex32,
            #[len(frames * $side * $side)] magnitudes: *const f32,
            #[len(frames)] scales: *const f32,
            #[len(frames)] corners: *const [u32; 2],
            #[len($side)] roots: *const Complex32,
            frames: u32,
            object_rows: u32,
            object_columns: u32,
        ) {
            let _ = object_rows;
            let to = Errors { errors, moved, photon, residual, free };
            let memory = shared::dynamic_shared_mem::<f32>();
            let transform = Frame::<$a>::new(memory, roots);
            let found = WarpSums::<5>::new(memory.add(Frame::<$a>::WORDS));
            for frame in thread::block_stride(frames) {
                let frame = frame as usize;
                let start = frame * Frame::<$a>::PIXELS;
                let given = magnitudes.add(start);
                prefetch::<$a>(given);
                let window = object.add(corner_of(corners, frame, object_columns));
                let mut x = [Complex32::ZERO; VALUES];
                load_model::<$a, true>(&transform, &mut x, probe, window, object_columns);
                transform.forward(&mut x);
                let scale = *scales.add(frame);
                let factor = scale / Frame::<$a>::PIXELS as f32;
                store_spectrum(&transform, &x, spectra.add(start));
                let sums = derive::<$a, { $noise }>(&transform, &mut x, given, factor);
                sums.note(&found);
                transform.inverse(&mut x);
                store_waves(&transform, &x, xi.add(start));
                if warp_number() == 0 {
                    let [photons, roots, valid, hidden, loss] = found.total($threads / 32);
                    let metrics = MetricSums::of_block([photons, roots, valid, hidden]);
                    if warp::lane_id() == 0 {
                        *losses.add(frame) = loss;
                        metrics.write(frame, scale, &to);
                    }
                }
            }
        }
    )*};
}

sizes! {
    ptycho_frame_gradient_poisson_64, POISSON, 2, 64, 128, 4;
    ptycho_frame_gradient_poisson_128, POISSON, 4, 128, 512, 1;
    ptycho_frame_gradient_amplitude_64, AMPLITUDE, 2, 64, 128, 4;
    ptycho_frame_gradient_amplitude_128, AMPLITUDE, 4, 128, 512, 1;
}
