//! Sums behind the optimal steps of each frame of a batch at exact positions, as `batch_step_sums` at whole pixels: the
//! probe's direction is shifted to the frame. For frames of 64² or 128², which a block holds in its registers
//! ([`Frame`]).
//!
//! A block processes one mode of a frame: one transform, whose result it writes, because the sums need the registers,
//! and reads again; 32 bytes per pixel (S(P), χ, and S(ΔP) twice) of the L2 cache if the batch is small; object, its
//! direction and the spectrum come from the caches. Blocks of 512 or 128 threads, 32 pixels each, 128 registers.

use super::exact_frame::{shared_parts, words};
use super::frame_chi::{corner_of, range_of, store_waves};
use crate::fft::frame::{Frame, VALUES};
use warpstride_device::prelude::*;

/// Pixels that a thread loads together.
const TOGETHER: usize = 8;

/// The arrays of one frame. Windows are in rows of `width`.
struct Waves {
    probe: *const Complex32,
    /// The shifted direction of the probe.
    change: *const Complex32,
    chi: *const Complex32,
    object: *const Complex32,
    direction: *const Complex32,
    width: u32,
}

/// The sums over the thread's pixels.
#[inline(always)]
unsafe fn sums<const A: usize>(frame: &Frame<A>, of: &Waves) -> [f32; 5] {
    let (row, column) = frame.place();
    let mut own = [0.0_f32; 5];
    // A loop of groups, so that few values are in registers at once.
    let mut first = thread::hidden(0) as usize;
    while first < VALUES {
        let mut loaded = [[Complex32::ZERO; 5]; TOGETHER];
        for k in 0..TOGETHER {
            let row = row + (first + k) * A;
            let at = row * Frame::<A>::SIDE + column;
            let place = row * of.width as usize + column;
            loaded[k] = [
                *of.probe.add(at),
                *of.change.add(at),
                *of.chi.add(at),
                *of.object.add(place),
                *of.direction.add(place),
            ];
        }
        for [p, change, chi, o, d] in loaded {
            let (a, b) = (d * p, change * o);
            own[0] += a.norm_sqr();
            own[1] += a.re.mul_add(b.re, a.im * b.im);
            own[2] += b.norm_sqr();
            own[3] += a.re.mul_add(chi.re, a.im * chi.im);
            own[4] += b.re.mul_add(chi.re, b.im * chi.im);
        }
        first += TOGETHER;
    }
    own
}

/// Writes the sums over all threads of the block, of `warps` warps; all of them call it. It uses the transform's shared
/// memory.
#[inline(always)]
unsafe fn over_block(own: [f32; 5], warps: usize, to: *mut [f32; 5]) {
    let of_warps: *mut [f32; 5] = shared::dynamic_shared_mem();
    let thread = thread::recomputed(thread::thread_idx_x()) as usize;
    // The transform has used this memory.
    thread::sync_threads();
    for n in 0..5 {
        let sum = reduce::warp_sum(own[n]);
        if thread.is_multiple_of(32) {
            (*of_warps.add(thread / 32))[n] = sum;
        }
    }
    thread::sync_threads();
    if thread < 5 {
        let mut sum = 0.0;
        for w in 0..warps {
            sum += (*of_warps.add(w))[thread];
        }
        (*to)[thread] = sum;
    }
}

macro_rules! sizes {
    ($($name:ident, $a:literal, $side:literal, $threads:literal, $blocks:literal;)*) => {$(
        /// `sums` (frame of the batch, mode, 5) of the frames `order[first..first + count]`, where (first, count) is
        /// `ranges[batch]`, count at most `most`. `changes` become the shifted directions of the probe. `probes` (frame
        /// of the batch, mode, row, column) are the shifted probes, `direction_spectra` (mode, row, column) are the
        /// unnormalised transforms of the probe's direction. A direction that is not used must be 0. `fractions` are
        /// the shifts, `roots` exp(−2πi k/side).
        #[kernel(block = $threads, exact_block, min_blocks = $blocks, hot, shared = 4 * words::<$a>())]
        #[allow(
            clippy::too_many_arguments,
            reason = "the arrays of the model and their shapes"
        )]
        pub unsafe fn $name(
            #[len(most * modes)] sums: *mut [f32; 5],
            #[len(most * modes * $side * $side)] changes: *mut Complex32,
            #[len(most * modes * $side * $side)] probes: *const Complex32,
            #[len(modes * $side * $side)] direction_spectra: *const Complex32,
            #[len(most * modes * $side * $side)] chi: *const Complex32,
            #[len(object_rows * object_columns)] object: *const Complex32,
            #[len(object_rows * object_columns)] direction: *const Complex32,
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
        ) {
            let _ = object_rows;
            if batch >= batches || modes == 0 {
                return;
            }
            let (first, count) = range_of(ranges, batch, frames, most);
            let (transform, ramp, members) = shared_parts::<$a>(roots, count * modes, count * modes);
            let frame = || *order.add((first + members.present() / modes) as usize) as usize;
            while members.more() {
                ramp.set(fractions.add(frame()));
                let mut x = [Complex32::ZERO; VALUES];
                let mode = (members.present() % modes) as usize;
                let spectrum = direction_spectra.add(mode * Frame::<$a>::PIXELS);
                ramp.load_shifted(&transform, &mut x, spectrum);
                transform.inverse(&mut x);
                let start = members.present() as usize * Frame::<$a>::PIXELS;
                store_waves(&transform, &x, changes.add(start));
                let corner = corner_of(corners, frame(), object_columns);
                let waves = Waves {
                    probe: probes.add(start),
                    change: changes.add(start),
                    chi: chi.add(start),
                    object: object.add(corner),
                    direction: direction.add(corner),
                    width: object_columns,
                };
                let own = self::sums(&transform, &waves);
                over_block(own, Frame::<$a>::THREADS / 32, sums.add(members.present() as usize));
                members.advance();
            }
        }
    )*};
}

sizes! {
    ptycho_exact_step_sums_64, 2, 64, 128, 4;
    ptycho_exact_step_sums_128, 4, 128, 512, 1;
}
