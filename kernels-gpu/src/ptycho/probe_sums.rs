//! The sums over a run of frames for one probe pixel, which both probe updates use.

use warpstride_device::prelude::*;

/// Frames of a thread that are loaded together.
const TOGETHER: u32 = 4;

/// `Σ conj(O) ψ` of one mode and `Σ |O|²` over the frames `from..to` at one pixel of the frame.
/// `psi` points to the pixel in the mode of frame 0; `window` is the pixel's offset on the object.
#[inline(always)]
#[allow(
    clippy::too_many_arguments,
    reason = "the arrays of the model and their shapes"
)]
pub(super) unsafe fn sums_over_frames(
    object: *const Complex32,
    object_columns: u32,
    window: usize,
    corners: *const [u32; 2],
    psi: *const Complex32,
    frame_stride: usize,
    from: u32,
    to: u32,
) -> (Complex32, f32) {
    let mut numerator = Complex32::ZERO;
    let mut denominator = 0.0;
    let mut frame = from;
    while to - frame >= TOGETHER {
        let mut o = [Complex32::ZERO; TOGETHER as usize];
        let mut wave = [Complex32::ZERO; TOGETHER as usize];
        for u in 0..TOGETHER {
            let [top, left] = *corners.add((frame + u) as usize);
            let corner = top as usize * object_columns as usize + left as usize;
            o[u as usize] = *object.add(corner + window);
            wave[u as usize] = *psi.add((frame + u) as usize * frame_stride);
        }
        for u in 0..TOGETHER as usize {
            numerator = o[u].conj_mul_add(wave[u], numerator);
            denominator += o[u].norm_sqr();
        }
        frame += TOGETHER;
    }
    while frame < to {
        let [top, left] = *corners.add(frame as usize);
        let corner = top as usize * object_columns as usize + left as usize;
        let o = *object.add(corner + window);
        numerator = o.conj_mul_add(*psi.add(frame as usize * frame_stride), numerator);
        denominator += o.norm_sqr();
        frame += 1;
    }
    (numerator, denominator)
}

/// The frames of one of `slices` slices: (first, end).
#[inline(always)]
pub(super) fn slice_of(frames: u32, slices: u32, slice: u32) -> (u32, u32) {
    let length = frames.div_ceil(slices);
    let from = slice.saturating_mul(length).min(frames);
    (from, from.saturating_add(length).min(frames))
}
