//! Spectra of layers that are shifted by a fraction of a pixel, one set for each frame of a batch: times the phase
//! ramp exp(−2πi (k_r f_r/rows + k_c f_c/columns)), k the signed frequencies (that of n/2 is −n/2), which is unitary.
//! Optionally times −2πi k/n of one axis, the derivative by the shift along it.
//!
//! A thread processes one pixel in all layers: one sine and cosine for them. Reads the layers' spectra from the
//! caches, writes 8 bytes per pixel and layer. Block of 256, as `exit_wave_build`.

use super::window_walk::{WindowWalk, part_of};
use warpstride_device::prelude::*;

/// `to = scale · ramp(frame) · spectra` for the frames `order[first..first + count]`. `derivative`: 0 none, 1 by the
/// rows' shift, 2 by the columns'. Times the root of the frame's scale if `scaled` is not 0.
#[kernel(block = 256, min_blocks = 6, hot)]
#[allow(
    clippy::too_many_arguments,
    reason = "the arrays of the model and their shapes"
)]
pub unsafe fn ptycho_shifted_spectra(
    #[len(count * modes * rows * columns)] to: *mut Complex32,
    #[len(modes * rows * columns)] spectra: *const Complex32,
    #[len(frames)] fractions: *const [f32; 2],
    #[len(frames)] scales: *const f32,
    #[len(frames)] order: *const u32,
    frames: u32,
    first: u32,
    count: u32,
    modes: u32,
    rows: u32,
    columns: u32,
    parts: u32,
    derivative: u32,
    scaled: u32,
    scale: f32,
) {
    if columns == 0 || parts == 0 || first >= frames || count > frames - first {
        return;
    }
    let pixels = rows * columns;
    for item in thread::block_stride(count * parts) {
        let (member, part) = (item / parts, item % parts);
        let frame = *order.add((first + member) as usize);
        let shift = *fractions.add(frame as usize);
        let mut scale = scale;
        if scaled != 0 {
            scale *= GpuFloat::sqrt(*scales.add(frame as usize));
        }
        let start = member as usize * modes as usize * pixels as usize;
        let (from, end) = part_of(pixels, parts, part);
        for (pixel, row, column) in WindowWalk::new(from, end, columns) {
            let (r, c) = (frequency(row, rows), frequency(column, columns));
            let mut factor = ramp([r, c], shift).scale(scale);
            if derivative != 0 {
                let along = if derivative == 1 { r } else { c };
                let by = -core::f32::consts::TAU * along;
                factor = Complex32::new(-factor.im * by, factor.re * by);
            }
            let mut at = pixel as usize;
            for _ in 0..modes {
                *to.add(start + at) = *spectra.add(at) * factor;
                at += pixels as usize;
            }
        }
    }
}

/// The signed frequency of index `k` of `n` > 0 in cycles a pixel.
#[inline(always)]
pub(super) fn frequency(k: u32, n: u32) -> f32 {
    let signed = if 2 * k < n {
        k as f32
    } else {
        k as f32 - n as f32
    };
    signed / n as f32
}

/// exp(−2πi f · shift).
#[inline(always)]
pub(super) fn ramp(frequency: [f32; 2], shift: [f32; 2]) -> Complex32 {
    let turns = frequency[0].mul_add(shift[0], frequency[1] * shift[1]);
    phase::sincos_turns_accurate(-turns)
}
