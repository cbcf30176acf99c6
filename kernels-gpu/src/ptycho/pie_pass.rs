//! A pass of ePIE or rPIE with one frame a batch, one launch: one block takes the frames in their order and updates
//! object and probe after each. For one probe mode at whole pixels and frames of 64² or 128², which the block holds in
//! its registers ([`Frame`]).
//!
//! A frame's update needs the one before it, so a second block would wait. Reads 52 bytes per pixel of a frame, 4 of
//! them (√counts) of device memory, and writes 16. The floor is that of one multiprocessor: the two transforms of 128²
//! pixels are about 10 µs, the bytes 9 µs at 64 bytes a clock. Blocks of 512 or 128 threads, 32 pixels each.

use super::frame_chi::{Errors, corner_of, deviate, load_model, prefetch};
use super::object_finish::clipped;
use crate::fft::frame::{Frame, VALUES, Values};
use warpstride_device::prelude::*;

/// Values that a thread loads together.
const TOGETHER: usize = 4;

/// Below every denominator but 0.
const SMALLEST: f32 = 1e-30;

/// In `updates`: the object is updated.
pub const OBJECT: u32 = 1;
/// In `updates`: the probe is updated.
pub const PROBE: u32 = 2;

/// An update: `step / ((1 − alpha) W + alpha · max W)`.
#[derive(Clone, Copy)]
struct Update {
    alpha: f32,
    step: f32,
    most: f32,
}

impl Update {
    #[inline(always)]
    fn factor(&self, weight: f32) -> f32 {
        let divisor = (1.0 - self.alpha).mul_add(weight, self.alpha * self.most);
        // 0 where the denominator is 0, and with it what is divided.
        float::div_approx(self.step, divisor.max(SMALLEST))
    }
}

/// Object and probe of one frame, and what its update does.
struct Frames {
    /// The frame's window, in rows of `width`.
    window: *mut Complex32,
    width: u32,
    probe: *mut Complex32,
    support: *const f32,
    of_object: Update,
    of_probe: Update,
    /// Whether the probe is multiplied by its support.
    supported: bool,
}

/// The largest |probe|² and |window|² of the frame.
#[inline(always)]
unsafe fn largest_of<const A: usize>(
    frame: &Frame<A>,
    probe: *const Complex32,
    window: *const Complex32,
    width: u32,
) -> [f32; 2] {
    let (row, column) = frame.place();
    let probe = probe.add(row * Frame::<A>::SIDE + column);
    let window = window.add(row * width as usize + column);
    let step = A * thread::hidden(width) as usize;
    let mut most = [0.0_f32; 2];
    for n in 0..VALUES {
        most[0] = most[0].max((*probe.add(n * A * Frame::<A>::SIDE)).norm_sqr());
        most[1] = most[1].max((*window.add(n * step)).norm_sqr());
        // Half of the loads at a time have registers.
        if n == VALUES / 2 {
            thread::sync_threads();
        }
    }
    [reduce::block_max(most[0]), reduce::block_max(most[1])]
}

/// Updates object and probe by `x`, the frame's χ.
#[inline(always)]
unsafe fn update<const A: usize>(frame: &Frame<A>, x: &Values, on: &Frames) {
    let (row, column) = frame.place();
    let own = row * Frame::<A>::SIDE + column;
    let (probe, support) = (on.probe.add(own), on.support.add(own));
    let window = on.window.add(row * on.width as usize + column);
    for group in 0..VALUES / TOGETHER {
        // Hidden, so that the rows' offsets are computed here and not kept for all frames and groups.
        let step = A * thread::hidden(on.width) as usize;
        let mut p = [Complex32::ZERO; TOGETHER];
        let mut o = [Complex32::ZERO; TOGETHER];
        for k in 0..TOGETHER {
            let n = group * TOGETHER + k;
            p[k] = *probe.add(n * A * Frame::<A>::SIDE);
            o[k] = *window.add(n * step);
        }
        warp::sync_warp(warp::FULL);
        for k in 0..TOGETHER {
            let n = group * TOGETHER + k;
            let factor = on.of_object.factor(p[k].norm_sqr());
            let change = p[k].conj_mul_add(x[n], Complex32::ZERO);
            *window.add(n * step) = change.scale_add(factor, o[k]);
            let factor = on.of_probe.factor(o[k].norm_sqr());
            let change = o[k].conj_mul_add(x[n], Complex32::ZERO);
            let at = n * A * Frame::<A>::SIDE;
            let inside = if on.supported { *support.add(at) } else { 1.0 };
            *probe.add(at) = change.scale_add(factor, p[k]).scale(inside);
        }
    }
}

/// Clips the object's modulus in the window or, `all`, everywhere: before the first update, the object may exceed the
/// limits anywhere.
#[inline(always)]
unsafe fn clip(
    object: *mut Complex32,
    elements: u32,
    window: &Window,
    limits: [f32; 2],
    all: bool,
) {
    if all {
        for at in thread::thread_stride(elements) {
            let value = object.add(at as usize);
            *value = clipped(*value, limits[0], limits[1]);
        }
        return;
    }
    for at in thread::thread_stride(window.side * window.side) {
        let place = at / window.side * window.width + at % window.side;
        let value = object.add(window.corner + place as usize);
        *value = clipped(*value, limits[0], limits[1]);
    }
}

/// A frame's window on the object.
struct Window {
    corner: usize,
    side: u32,
    width: u32,
}

macro_rules! sizes {
    ($($name:ident, $a:literal, $side:literal, $threads:literal;)*) => {$(
        /// Updates `object` and `probe` by the frames `order`, one after the other, with the denominators
        /// `(1 − alpha) W + alpha · max W`; writes the metrics of each frame before its update, at its own number, as
        /// `magnitude_deviation`. `updates` has the bits [`OBJECT`] and [`PROBE`]; the object is clipped as in
        /// `object_update_tiled`, the probe multiplied by `support`. `roots` are exp(−2πi k/side).
        #[kernel(block = $threads, exact_block, min_blocks = 1, hot, shared = 4 * Frame::<$a>::WORDS)]
        #[allow(
            clippy::too_many_arguments,
            reason = "the arrays of the model and the constants of the method"
        )]
        pub unsafe fn $name(
            #[len(object_rows * object_columns)] object: *mut Complex32,
            #[len($side * $side)] probe: *mut Complex32,
            #[len(frames)] errors: *mut f32,
            #[len(frames)] moved: *mut f32,
            #[len(frames)] photon: *mut f32,
            #[len(frames)] residual: *mut f32,
            #[len(frames)] free: *mut f32,
            #[len($side * $side)] support: *const f32,
            #[len(frames * $side * $side)] magnitudes: *const f32,
            #[len(frames)] scales: *const f32,
            #[len(frames)] corners: *const [u32; 2],
            #[len(frames)] order: *const u32,
            #[len($side)] roots: *const Complex32,
            frames: u32,
            object_rows: u32,
            object_columns: u32,
            object_alpha: f32,
            probe_alpha: f32,
            object_step: f32,
            probe_step: f32,
            clip_low: f32,
            clip_high: f32,
            updates: u32,
        ) {
            if thread::block_idx_x() != 0 {
                return;
            }
            let to = Errors { errors, moved, photon, residual, free };
            let transform = Frame::<$a>::new(shared::dynamic_shared_mem::<f32>(), roots);
            let given = |number: u32| {
                let frame = *order.add(number.min(frames - 1) as usize) as usize;
                magnitudes.add(frame * Frame::<$a>::PIXELS)
            };
            // The largest |P|² and |O|² of the frame.
            let largest = shared_array![f32; 2];
            for number in 0..frames {
                let frame = *order.add(number as usize) as usize;
                let window = object.add(corner_of(corners, frame, object_columns));
                let mut x = [Complex32::ZERO; VALUES];
                let most = largest_of(&transform, probe, window, object_columns);
                if thread::index_in_block() == 0 {
                    *largest = most[0];
                    *largest.add(1) = most[1];
                }
                load_model(&transform, &mut x, probe, window, object_columns);
                transform.forward(&mut x);
                // Found again, so that the transforms have the registers.
                let frame = *order.add(thread::hidden(number) as usize) as usize;
                let scale = *scales.add(frame);
                deviate(&transform, &mut x, given(number), scale, frame, &to);
                prefetch::<$a>(given(number + 1));
                transform.inverse(&mut x);
                let frame = *order.add(thread::hidden(number) as usize) as usize;
                let changes = [updates & OBJECT != 0, updates & PROBE != 0];
                let of_object = Update {
                    alpha: object_alpha,
                    step: if changes[0] { object_step } else { 0.0 },
                    most: *largest,
                };
                let of_probe = Update {
                    alpha: probe_alpha,
                    step: if changes[1] { probe_step } else { 0.0 },
                    most: *largest.add(1),
                };
                update(&transform, &x, &Frames {
                    window: object.add(corner_of(corners, frame, object_columns)),
                    width: object_columns,
                    probe,
                    support,
                    of_object,
                    of_probe,
                    supported: changes[1],
                });
                // From here on threads work on each other's pixels.
                thread::sync_threads();
                // Hidden, so that the decision is not kept in a register for all frames.
                if thread::hidden(updates) & OBJECT != 0 && clip_high >= 0.0 {
                    let side = Frame::<$a>::SIDE as u32;
                    let frame = *order.add(thread::hidden(number) as usize) as usize;
                    let corner = corner_of(corners, frame, object_columns);
                    let window = Window { corner, side, width: object_columns };
                    let elements = object_rows * object_columns;
                    clip(object, elements, &window, [clip_low, clip_high], number == 0);
                }
                thread::sync_threads();
            }
        }
    )*};
}

sizes! {
    ptycho_pie_pass_64, 2, 64, 128;
    ptycho_pie_pass_128, 4, 128, 512;
}
