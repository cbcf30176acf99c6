//! Sums behind the objective along a line, as `line_sums`, for the losses of which it uses the second order (Poisson and
//! amplitude), one launch with one transform a frame: a = F(P·h_O + h_P·O). The others are known: f is what
//! `frame_gradient` has left, and of b = F(h_P·h_O) only Σ D c Re(f b*) = Re⟨ξ, h_P·h_O⟩ is needed, without its
//! transform. For one probe mode at whole pixels and frames of 64² or 128², which a block holds in its registers
//! ([`Frame`]).
//!
//! A block processes one frame. Reads 20 bytes per pixel of device memory (ξ, f, √counts): 0.11 ms for 1457 frames of 128²
//! at 4.3 TB/s. Blocks of 512 or 128 threads, 32 pixels each, 128 registers.

use super::exact_frame::Members;
use super::frame_chi::{corner_of, prefetch, root_of};
use super::frame_gradient::FLOOR;
use super::likelihood_noise::{AMPLITUDE, POISSON, curvature, slope_of as slope};
use super::pie_shared::warp_number;
use super::warp_sums::WarpSums;
use crate::fft::frame::{Frame, VALUES, Values};
use crate::fft::registers::reversed;
use warpstride_device::prelude::*;

/// Values that a thread loads together.
const TOGETHER: usize = 4;
/// The same where nothing else is in registers.
const MANY: usize = 8;

/// Object and probe of one frame, and their directions.
pub(super) struct Line {
    pub(super) probe: *const Complex32,
    pub(super) probe_direction: *const Complex32,
    /// Windows, in rows of `width`.
    pub(super) object: *const Complex32,
    pub(super) direction: *const Complex32,
    pub(super) width: u32,
}

/// The product Re(x* y).
#[inline(always)]
pub(super) fn product(x: Complex32, y: Complex32) -> f32 {
    x.re.mul_add(y.re, x.im * y.im)
}

/// The thread's part of 2 Re⟨ξ, h_P·h_O⟩.
#[inline(always)]
pub(super) unsafe fn mixed<const A: usize>(
    frame: &Frame<A>,
    of: &Line,
    xi: *const Complex32,
) -> f32 {
    let (row, column) = frame.place();
    let own = row * Frame::<A>::SIDE + column;
    let (xi, probe) = (xi.add(own), of.probe_direction.add(own));
    let window = of.direction.add(row * of.width as usize + column);
    let mut sum = 0.0;
    for group in 0..VALUES / MANY {
        // Hidden, so that the rows' offsets are computed here and not kept for all frames and groups.
        let step = A * thread::hidden(of.width) as usize;
        let mut loaded = [[Complex32::ZERO; 3]; MANY];
        for k in 0..MANY {
            let n = group * MANY + k;
            let at = n * A * Frame::<A>::SIDE;
            loaded[k] = [*xi.add(at), *probe.add(at), *window.add(n * step)];
        }
        warp::sync_warp(warp::FULL);
        for [xi, p, o] in loaded {
            sum += 2.0 * product(xi, p * o);
        }
    }
    sum
}

/// P·h_O + h_P·O as [`Frame::forward`] takes it.
#[inline(always)]
pub(super) unsafe fn load_line<const A: usize>(frame: &Frame<A>, x: &mut Values, of: &Line) {
    let (row, column) = frame.place();
    let own = row * Frame::<A>::SIDE + column;
    let window = row * of.width as usize + column;
    let (probe, probe_direction) = (of.probe.add(own), of.probe_direction.add(own));
    let (object, direction) = (of.object.add(window), of.direction.add(window));
    for group in 0..VALUES / TOGETHER {
        let step = A * thread::hidden(of.width) as usize;
        let mut loaded = [[Complex32::ZERO; 4]; TOGETHER];
        for k in 0..TOGETHER {
            let n = group * TOGETHER + k;
            let (at, on) = (n * A * Frame::<A>::SIDE, n * step);
            loaded[k] = [
                *probe.add(at),
                *probe_direction.add(at),
                *object.add(on),
                *direction.add(on),
            ];
        }
        warp::sync_warp(warp::FULL);
        for k in 0..TOGETHER {
            let [p, h, o, d] = loaded[k];
            x[reversed(group * TOGETHER + k, 5)] = p * d + h * o;
        }
    }
}

/// A thread's sums over its valid pixels.
pub(super) struct Sums {
    pub(super) slope: f32,
    pub(super) whole: f32,
    pub(super) bent: f32,
}

/// One group of [`second_order`].
#[inline(always)]
unsafe fn second_order_group<const A: usize, const NOISE: u32>(
    group: usize,
    x: &Values,
    spectrum: *const Complex32,
    magnitudes: *const f32,
    factor: f32,
    sums: &mut Sums,
) {
    let mut given = [0.0_f32; TOGETHER];
    let mut f = [Complex32::ZERO; TOGETHER];
    for k in 0..TOGETHER {
        let offset = Frame::<A>::spectrum_offset(group * TOGETHER + k);
        given[k] = *magnitudes.add(offset);
        f[k] = *spectrum.add(offset);
    }
    warp::sync_warp(warp::FULL);
    for k in 0..TOGETHER {
        let (magnitude, a) = (given[k], x[group * TOGETHER + k]);
        // The branch keeps the assembler from computing all pixels at once.
        if magnitude >= 0.0 {
            let floored = f[k].norm_sqr().mul_add(factor, FLOOR);
            let (root, inverse) = root_of(floored);
            let slope = slope::<NOISE>([floored, root, inverse], magnitude);
            let along = 2.0 * factor * product(f[k], a);
            let term = 0.5 * curvature::<NOISE>(inverse, magnitude) * along * along;
            sums.slope = slope.mul_add(along, sums.slope);
            sums.whole += (slope * factor).mul_add(a.norm_sqr(), term);
            sums.bent += term;
        }
    }
}

/// The thread's sums of D 2 Re f a*, of D |a|² + ½ D' (2 Re f a*)², and of the latter's second term.
#[inline(always)]
pub(super) unsafe fn second_order<const A: usize, const NOISE: u32>(
    frame: &Frame<A>,
    x: &Values,
    spectrum: *const Complex32,
    magnitudes: *const f32,
    factor: f32,
) -> Sums {
    let (row, column) = frame.spectrum_place();
    let own = row * Frame::<A>::SIDE + column;
    let (magnitudes, spectrum) = (magnitudes.add(own), spectrum.add(own));
    let mut sums = Sums {
        slope: 0.0,
        whole: 0.0,
        bent: 0.0,
    };
    // Written out: a loop of this length is not unrolled, and x would not be in registers.
    macro_rules! groups {
        ($($group:literal)*) => {
            $(second_order_group::<A, NOISE>($group, x, spectrum, magnitudes, factor, &mut sums);)*
        };
    }
    groups!(0 1 2 3 4 5 6 7);
    const { assert!(8 * TOGETHER == VALUES) };
    sums
}

/// Words of [`Found`].
pub(super) const FOUND_WORDS: usize = WarpSums::<1>::WORDS + WarpSums::<3>::WORDS;

/// The sums of the warps in shared memory: the mixed ones, and the others.
pub(super) struct Found {
    mixed: WarpSums<1>,
    sums: WarpSums<3>,
}

impl Found {
    /// In [`FOUND_WORDS`] words of shared memory.
    #[inline(always)]
    pub(super) unsafe fn new(at: *mut f32) -> Self {
        Self {
            mixed: WarpSums::new(at),
            sums: WarpSums::new(at.add(WarpSums::<1>::WORDS)),
        }
    }

    /// Notes what [`mixed`] has returned.
    #[inline(always)]
    pub(super) unsafe fn note_mixed(&self, mixed: f32) {
        self.mixed.note(0, reduce::warp_sum_f64(f64::from(mixed)));
    }

    /// Writes the sums of a frame of which nothing is in registers any more. All threads of the block call it, and wait for
    /// each other before they note the next frame's.
    #[inline(always)]
    pub(super) unsafe fn write(&self, own: &Sums, warps: usize, to: *mut [f64; 3]) {
        let of_warp = [own.slope, own.whole, own.bent];
        let of_warp = of_warp.map(|own| reduce::warp_sum_f64(f64::from(own)));
        self.sums.note_all(of_warp);
        thread::sync_threads();
        if warp_number() == 0 {
            let [mixed] = self.mixed.total(warps);
            let [slope, whole, bent] = self.sums.total(warps);
            if warp::lane_id() == 0 {
                *to = [slope, mixed + whole, bent];
            }
        }
    }
}

macro_rules! sizes {
    ($($name:ident, $noise:expr, $a:literal, $side:literal, $threads:literal, $blocks:literal;)*) => {$(
        /// `sums` (frame, 3) of all frames: slope, half the second derivative, and the part of the latter that is never
        /// negative. `xi` and `spectra` are those of `frame_gradient`; `roots` are
        /// exp(−2πi k/side).
        #[kernel(block = $threads, exact_block, min_blocks = $blocks, hot, f64, shared = 4 * (Frame::<$a>::WORDS + Members::WORDS + FOUND_WORDS))]
        #[allow(
            clippy::too_many_arguments,
            reason = "the arrays of the model and their shapes"
        )]
        pub unsafe fn $name(
            #[len(frames)] sums: *mut [f64; 3],
            #[len(frames * $side * $side)] xi: *const Complex32,
            #[len(frames * $side * $side)] spectra: *const Complex32,
            #[len($side * $side)] probe: *const Complex32,
            #[len($side * $side)] probe_direction: *const Complex32,
            #[len(object_rows * object_columns)] object: *const Complex32,
            #[len(object_rows * object_columns)] direction: *const Complex32,
            #[len(frames * $side * $side)] magnitudes: *const f32,
            #[len(frames)] scales: *const f32,
            #[len(frames)] corners: *const [u32; 2],
            #[len($side)] roots: *const Complex32,
            frames: u32,
            object_rows: u32,
            object_columns: u32,
        ) {
            let _ = object_rows;
            let memory = shared::dynamic_shared_mem::<f32>();
            let transform = Frame::<$a>::new(memory, roots);
            let members = Members::new(memory.add(Frame::<$a>::WORDS), frames, frames);
            let found = || {
                let behind = Frame::<$a>::WORDS + Members::WORDS;
                Found::new(shared::dynamic_shared_mem::<f32>().add(behind))
            };
            let frame = || members.present() as usize;
            while members.more() {
                let start = || frame() * Frame::<$a>::PIXELS;
                let corner = corner_of(corners, frame(), object_columns);
                prefetch::<$a>(magnitudes.add(start()));
                let line = Line {
                    probe,
                    probe_direction,
                    object: object.add(corner),
                    direction: direction.add(corner),
                    width: object_columns,
                };
                // Not kept in registers during the transform, for which there would be too few.
                found().note_mixed(mixed(&transform, &line, xi.add(start())));
                let mut x = [Complex32::ZERO; VALUES];
                load_line(&transform, &mut x, &line);
                transform.forward(&mut x);
                let factor = *scales.add(frame()) / Frame::<$a>::PIXELS as f32;
                let (spectrum, given) = (spectra.add(start()), magnitudes.add(start()));
                let part = second_order::<$a, { $noise }>(&transform, &x, spectrum, given, factor);
                found().write(&part, $threads / 32, sums.add(frame()));
                members.advance();
            }
        }
    )*};
}

sizes! {
    ptycho_frame_line_poisson_64, POISSON, 2, 64, 128, 4;
    ptycho_frame_line_poisson_128, POISSON, 4, 128, 512, 1;
    ptycho_frame_line_amplitude_64, AMPLITUDE, 2, 64, 128, 4;
    ptycho_frame_line_amplitude_128, AMPLITUDE, 4, 128, 512, 1;
}
