//! The sums over a slice of the frames for one probe pixel, which both probe updates use.

use super::wave_storage::{Wave, value};
use warpstride_device::prelude::*;

/// Frames of a thread that are loaded together.
const TOGETHER: u32 = 4;

/// `start` plus `Σ conj(O) ψ` of one mode and `Σ |O|²` over the frames of slice number `slice` at one pixel of the frame: frame
/// `frames − 1 − slice` and every `slices`th before it. `psi` points to the pixel in the mode of frame 0; `window` is the pixel's offset on
/// the object.
///
/// All slices begin with the last frames, which are still in L2 if the kernel before went forward, and have neighbouring
/// windows at the same time.
#[inline(always)]
#[allow(
    clippy::too_many_arguments,
    reason = "the arrays of the model and their shapes"
)]
pub(super) unsafe fn sums_over_frames<W: Wave>(
    object: *const Complex32,
    object_columns: u32,
    window: usize,
    corners: *const [u32; 2],
    psi: *const W,
    frame_stride: usize,
    frames: u32,
    slices: u32,
    slice: u32,
    start: (Complex32, f32),
) -> (Complex32, f32) {
    let (mut numerator, mut denominator) = start;
    if slices == 0 || slice >= frames {
        return (numerator, denominator);
    }
    let count = (frames - slice).div_ceil(slices);
    let frame = |k: u32| (frames - 1 - slice - k * slices) as usize;
    let corner = |k: u32| {
        let [top, left] = *corners.add(frame(k.min(count - 1)));
        top * object_columns + left
    };
    let mut ahead = [0; TOGETHER as usize];
    for u in 0..TOGETHER {
        ahead[u as usize] = corner(u);
    }
    let mut k = 0;
    while count - k >= TOGETHER {
        let mut o = [Complex32::ZERO; TOGETHER as usize];
        let mut wave = [Complex32::ZERO; TOGETHER as usize];
        for u in 0..TOGETHER {
            o[u as usize] = *object.add(ahead[u as usize] as usize + window);
            wave[u as usize] = value(&*psi.add(frame(k + u) * frame_stride));
        }
        k += TOGETHER;
        for u in 0..TOGETHER {
            ahead[u as usize] = corner(k + u);
        }
        for u in 0..TOGETHER as usize {
            numerator = o[u].conj_mul_add(wave[u], numerator);
            denominator += o[u].norm_sqr();
        }
    }
    while k < count {
        let o = *object.add(corner(k) as usize + window);
        let wave = value(&*psi.add(frame(k) * frame_stride));
        numerator = o.conj_mul_add(wave, numerator);
        denominator += o.norm_sqr();
        k += 1;
    }
    (numerator, denominator)
}

/// The frames of one of `slices` slices of consecutive frames: (first, end).
#[inline(always)]
pub(super) fn slice_of(frames: u32, slices: u32, slice: u32) -> (u32, u32) {
    let length = frames.div_ceil(slices);
    let from = slice.saturating_mul(length).min(frames);
    (from, from.saturating_add(length).min(frames))
}
