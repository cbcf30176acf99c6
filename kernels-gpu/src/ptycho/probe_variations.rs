//! Adds the variations of the first probe mode to the shifted spectra of a batch's frames: Σ_k c_jk U_k, with the phase ramp of
//! each frame as `shifted_spectra` has it.
//!
//! A thread processes one pixel of the first layer. Reads the shapes' spectra and the coefficients from the caches, reads and
//! writes 8 bytes per pixel; 8 operations a variation. Block of 256, as `shifted_spectra`.

use super::shifted_spectra::{frequency, ramp};
use super::window_walk::{WindowWalk, part_of};
use warpstride_device::prelude::*;

/// `to += scale · ramp(frame) · Σ_k c_jk spectra_k` in the first of `modes` layers of the frames `order[first..first + count]`.
/// `derivative`: 0 none, 1 by the rows' shift, 2 by the columns'. Times the root of the frame's scale if `scaled` is not 0.
#[kernel(block = 256, min_blocks = 4, hot)]
#[allow(
    clippy::too_many_arguments,
    reason = "the arrays of the model and their shapes"
)]
pub unsafe fn ptycho_probe_variations(
    #[len(count * modes * rows * columns)] to: *mut Complex32,
    #[len(variations * rows * columns)] spectra: *const Complex32,
    #[len(frames * variations)] coefficients: *const f32,
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
    variations: u32,
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
        let own = coefficients.add(frame as usize * variations as usize);
        let mut scale = scale;
        if scaled != 0 {
            scale *= GpuFloat::sqrt(*scales.add(frame as usize));
        }
        let to = to.add(member as usize * modes as usize * pixels as usize);
        let (from, end) = part_of(pixels, parts, part);
        for (pixel, row, column) in WindowWalk::new(from, end, columns) {
            let (r, c) = (frequency(row, rows), frequency(column, columns));
            let mut factor = ramp([r, c], shift).scale(scale);
            if derivative != 0 {
                let along = if derivative == 1 { r } else { c };
                let by = -core::f32::consts::TAU * along;
                factor = Complex32::new(-factor.im * by, factor.re * by);
            }
            let mut sum = Complex32::ZERO;
            for k in 0..variations as usize {
                let shape = *spectra.add(k * pixels as usize + pixel as usize);
                sum += shape.scale(*own.add(k));
            }
            let to = to.add(pixel as usize);
            *to += sum * factor;
        }
    }
}
