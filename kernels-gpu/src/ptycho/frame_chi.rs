//! χ of a batch, one launch: the model P·O of every frame, its transform, the change to the measured magnitudes, the inverse
//! transform. For one probe mode at whole pixels and frames of 64² or 128², which a block holds in its registers
//! ([`Frame`]).
//!
//! A block processes one frame. Reads 4 bytes per pixel of device memory (√counts) and writes 8 (χ, which stays in the
//! L2 cache if the batch is small); probe and object come from the caches. Two transforms are 10 log₂ N operations per
//! pixel each: a frame of 128² needs 10 µs of a multiprocessor, and so does a batch of up to 132 of them. Blocks of 512
//! or 128 threads, 32 pixels each, 128 registers.

use super::FREE;
use super::warp_sums::WarpSums;
use crate::fft::frame::{Frame, VALUES, Values};
use crate::fft::registers::reversed;
use warpstride_device::prelude::*;

/// Values that a thread loads together.
const TOGETHER: usize = 8;
/// The same where it has sums besides.
const FEW: usize = 4;
/// Smallest modelled intensity that a root is taken of, counts; the root of [`super::magnitude_deviation`]'s floor.
const FLOOR: f32 = 1e-20;

/// Where the metrics of frames go.
#[derive(Clone, Copy)]
pub(super) struct Errors {
    pub(super) errors: *mut f32,
    pub(super) moved: *mut f32,
    pub(super) photon: *mut f32,
    pub(super) residual: *mut f32,
    pub(super) free: *mut f32,
}

/// The model `probe · window` as [`Frame::forward`] takes it. `window` begins at the frame's corner, in rows of `width`.
#[inline(always)]
pub(super) unsafe fn load_model<const A: usize, const AHEAD: bool>(
    frame: &Frame<A>,
    x: &mut Values,
    probe: *const Complex32,
    window: *const Complex32,
    width: u32,
) {
    let (row, column) = frame.place();
    let probe = probe.add(row * Frame::<A>::SIDE + column);
    let window = window.add(row * width as usize + column);
    load_product::<A, AHEAD>(x, probe, window, width, |_| ());
}

/// As [`load_model`], from the thread's first pixels on; calls `see` with every value of the window. With `AHEAD` a group's
/// values are loaded before those of the group before are used, for which there must be registers.
#[inline(always)]
pub(super) unsafe fn load_product<const A: usize, const AHEAD: bool>(
    x: &mut Values,
    probe: *const Complex32,
    window: *const Complex32,
    width: u32,
    mut see: impl FnMut(Complex32),
) {
    let load = |group: usize| {
        // Hidden, so that the rows' offsets are computed here and not kept for all frames and groups.
        let step = A * thread::hidden(width) as usize;
        let mut pairs = [[Complex32::ZERO; 2]; TOGETHER];
        for k in 0..TOGETHER {
            let n = group * TOGETHER + k;
            pairs[k] = [*probe.add(n * A * Frame::<A>::SIDE), *window.add(n * step)];
        }
        pairs
    };
    let mut ahead = load(0);
    for group in 0..VALUES / TOGETHER {
        if !AHEAD && group > 0 {
            ahead = load(group);
        }
        let pairs = ahead;
        if AHEAD && group + 1 < VALUES / TOGETHER {
            ahead = load(group + 1);
        }
        // Between the groups, so that not all loads are in registers at once.
        warp::sync_warp(warp::FULL);
        for k in 0..TOGETHER {
            let [p, o] = pairs[k];
            see(o);
            x[reversed(group * TOGETHER + k, 5)] = p * o;
        }
    }
}

/// Writes what [`Frame::inverse`] leaves to `to` (row, column).
#[inline(always)]
pub(super) unsafe fn store_waves<const A: usize>(frame: &Frame<A>, x: &Values, to: *mut Complex32) {
    let (row, column) = frame.place();
    let to = to.add(row * Frame::<A>::SIDE + column);
    for n in 0..VALUES {
        *to.add(n * A * Frame::<A>::SIDE) = x[n];
    }
}

/// Brings √counts of a frame from device memory to the L2 cache, while the block does other work.
#[inline(always)]
pub(super) unsafe fn prefetch<const A: usize>(magnitudes: *const f32) {
    /// Values of a cache line.
    const LINE: usize = 32;
    let thread = thread::hidden(thread::thread_idx_x()) as usize;
    for k in 0..Frame::<A>::PIXELS / (LINE * Frame::<A>::THREADS) {
        mem::prefetch_l2(magnitudes.add(LINE * (k * Frame::<A>::THREADS + thread)));
    }
}

/// A thread's sums behind the metrics of a frame: over its valid pixels, and the last over its free ones.
#[derive(Clone, Copy)]
pub(super) struct MetricSums {
    pub(super) photons: f32,
    pub(super) roots: f32,
    pub(super) valid: f32,
    pub(super) hidden: f32,
}

impl MetricSums {
    pub(super) const ZERO: Self = Self {
        photons: 0.0,
        roots: 0.0,
        valid: 0.0,
        hidden: 0.0,
    };

    /// Adds the sums of all threads.
    #[inline(always)]
    pub(super) unsafe fn over_block(self) -> Self {
        let (photons, roots) = reduce::block_sum_pair(self.photons, self.roots);
        let (valid, hidden) = reduce::block_sum_pair(self.valid, self.hidden);
        Self {
            photons,
            roots,
            valid,
            hidden,
        }
    }

    /// Notes the sums over the warp, one after the other, so that they need few registers.
    #[inline(always)]
    pub(super) unsafe fn note<const N: usize>(self, to: &WarpSums<N>) {
        to.note(0, f64::from(reduce::warp_sum(self.photons)));
        to.note(1, f64::from(reduce::warp_sum(self.roots)));
        to.note(2, f64::from(reduce::warp_sum(self.valid)));
        to.note(3, f64::from(reduce::warp_sum(self.hidden)));
    }

    /// From the sums over the block.
    #[inline(always)]
    pub(super) fn of_block(sums: [f64; 4]) -> Self {
        let [photons, roots, valid, hidden] = sums.map(|sum| sum as f32);
        Self {
            photons,
            roots,
            valid,
            hidden,
        }
    }

    /// The mean photon error of the valid pixels, 0 without any.
    #[inline(always)]
    pub(super) fn photon(self) -> f32 {
        if self.valid > 0.0 {
            self.photons / self.valid
        } else {
            0.0
        }
    }

    /// Writes the metrics of frame `number`: one thread does.
    #[inline(always)]
    pub(super) unsafe fn write(self, number: usize, scale: f32, to: &Errors) {
        let per_valid = if self.valid > 0.0 {
            1.0 / self.valid
        } else {
            0.0
        };
        *to.errors.add(number) = self.roots * per_valid;
        *to.moved.add(number) = self.roots / scale;
        *to.photon.add(number) = self.photons * per_valid;
        *to.residual.add(number) = self.roots;
        *to.free.add(number) = self.hidden;
    }
}

/// Turns the model's spectrum into its change to the measured magnitudes, `Ψ (√I/√I_model − 1)/N`, 0 where masked or
/// free, `TOGETHER` √counts loaded at a time; returns the thread's sums behind the metrics, all as `magnitude_deviation`
/// (Σ|χ|² is Σ w (√I_model − √I)²/scale). I_model = scale/N · |Ψ|².
#[inline(always)]
pub(super) unsafe fn deviate<const A: usize, const TOGETHER: usize>(
    frame: &Frame<A>,
    x: &mut Values,
    magnitudes: *const f32,
    scale: f32,
) -> MetricSums {
    let per_pixel = 1.0 / Frame::<A>::PIXELS as f32;
    let factor = per_pixel * scale;
    let (row, column) = frame.spectrum_place();
    let magnitudes = magnitudes.add(row * Frame::<A>::SIDE + column);
    let mut sums = MetricSums::ZERO;
    for group in 0..VALUES / TOGETHER {
        let mut given = [0.0_f32; TOGETHER];
        for k in 0..TOGETHER {
            given[k] = *magnitudes.add(Frame::<A>::spectrum_offset(group * TOGETHER + k));
        }
        warp::sync_warp(warp::FULL);
        for k in 0..TOGETHER {
            let (magnitude, v) = (given[k], group * TOGETHER + k);
            let model = x[v].norm_sqr() * factor;
            let (root, inverse) = root_of(model);
            let by_root = root - magnitude;
            // A selection instead of the branch lets the assembler compute all pixels at once, and spill.
            if magnitude >= 0.0 {
                let counts = magnitude * magnitude;
                let by_count = model - counts;
                sums.photons += float::div_approx(by_count * by_count, counts + 1.0);
                sums.roots = by_root.mul_add(by_root, sums.roots);
                sums.valid += 1.0;
                x[v] = x[v].scale(-by_root * inverse * per_pixel);
            } else {
                let by_hidden = if magnitude <= FREE {
                    root - (FREE - magnitude)
                } else {
                    0.0
                };
                sums.hidden = by_hidden.mul_add(by_hidden, sums.hidden);
                x[v] = Complex32::ZERO;
            }
        }
    }
    sums
}

/// √x, to about half a unit in the last place, and 1/√x of numbers above [`FLOOR`].
#[inline(always)]
pub(super) fn root_of(x: f32) -> (f32, f32) {
    let inverse = float::rsqrt_approx(x.max(FLOOR));
    let root = x * inverse;
    // One step of Newton's method.
    let rest = GpuFloat::mul_add(-root, root, x);
    (GpuFloat::mul_add(0.5 * inverse, rest, root), inverse)
}

/// The offset of a frame's window on the object.
#[inline(always)]
pub(super) unsafe fn corner_of(corners: *const [u32; 2], frame: usize, width: u32) -> usize {
    let [top, left] = *corners.add(frame);
    top as usize * width as usize + left as usize
}

/// The frames of batch number `batch`: (first, count), which may not exceed `frames` and `most`.
#[inline(always)]
pub(super) unsafe fn range_of(
    ranges: *const [u32; 2],
    batch: u32,
    frames: u32,
    most: u32,
) -> (u32, u32) {
    let [first, count] = *ranges.add(batch as usize);
    let first = first.min(frames);
    (first, count.min(most).min(frames - first))
}

macro_rules! sizes {
    ($($name:ident, $a:literal, $side:literal, $threads:literal, $blocks:literal;)*) => {$(
        /// χ of the frames `order[first..first + count]`, where (first, count) is `ranges[batch]`, count at most `most`;
        /// the metrics of each of these frames, at its own number, as `magnitude_deviation`. Sets both of `largest` to 0.
        /// `roots` are exp(−2πi k/side).
        #[kernel(block = $threads, exact_block, min_blocks = $blocks, hot, shared = 4 * Frame::<$a>::WORDS)]
        #[allow(
            clippy::too_many_arguments,
            reason = "the arrays of the model and their shapes"
        )]
        pub unsafe fn $name(
            #[len(most * $side * $side)] chi: *mut Complex32,
            #[len(2)] largest: *mut u32,
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
            #[len(frames)] order: *const u32,
            #[len(batches)] ranges: *const [u32; 2],
            #[len($side)] roots: *const Complex32,
            frames: u32,
            most: u32,
            batches: u32,
            batch: u32,
            object_rows: u32,
            object_columns: u32,
        ) {
            let _ = object_rows;
            if batch >= batches {
                return;
            }
            let (first, count) = range_of(ranges, batch, frames, most);
            let to = Errors { errors, moved, photon, residual, free };
            let transform = Frame::<$a>::new(shared::dynamic_shared_mem::<f32>(), roots);
            if thread::first() {
                *largest = 0;
                *largest.add(1) = 0;
            }
            let order = order.add(first as usize);
            for member in thread::block_stride(count) {
                let frame = *order.add(member as usize) as usize;
                let given = magnitudes.add(frame * Frame::<$a>::PIXELS);
                prefetch::<$a>(given);
                let window = object.add(corner_of(corners, frame, object_columns));
                let mut x = [Complex32::ZERO; VALUES];
                load_model::<$a, false>(&transform, &mut x, probe, window, object_columns);
                transform.forward(&mut x);
                let scale = *scales.add(frame);
                let sums = deviate::<$a, FEW>(&transform, &mut x, given, scale).over_block();
                if thread::index_in_block() == 0 {
                    sums.write(frame, scale, &to);
                }
                transform.inverse(&mut x);
                store_waves(&transform, &x, chi.add(member as usize * Frame::<$a>::PIXELS));
            }
        }
    )*};
}

sizes! {
    ptycho_frame_chi_64, 2, 64, 128, 4;
    ptycho_frame_chi_128, 4, 128, 512, 1;
}
