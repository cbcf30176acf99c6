//! What the exit waves ask of the shifted probes of a batch: `conj(O)·(ψ − S[P]·O)`.
//!
//! A thread processes one pixel in all modes. Reads 16 bytes per pixel and mode, writes 8; the object comes from the
//! caches. Block of 256, as `exit_wave_build`.

use super::window_walk::{WindowWalk, part_of};
use warpstride_device::prelude::*;

/// `to = conj(O) · (scale · psi − probes · O)` for the frames `order[first..first + count]`, which are those from
/// `psi_first` of the waves (layer, mode); summed over the `layers` layers of the object.
#[kernel(block = 256, min_blocks = 6, hot)]
#[allow(
    clippy::too_many_arguments,
    reason = "the arrays of the model and their shapes"
)]
pub unsafe fn ptycho_window_residual(
    #[len(count * modes * rows * columns)] to: *mut Complex32,
    #[len((psi_first + count) * layers * modes * rows * columns)] psi: *const Complex32,
    #[len(count * modes * rows * columns)] probes: *const Complex32,
    #[len(layers * object_rows * object_columns)] object: *const Complex32,
    #[len(frames)] corners: *const [u32; 2],
    #[len(frames)] order: *const u32,
    frames: u32,
    first: u32,
    count: u32,
    modes: u32,
    rows: u32,
    columns: u32,
    object_rows: u32,
    object_columns: u32,
    parts: u32,
    psi_first: u32,
    layers: u32,
    scale: f32,
) {
    let size = object_rows as usize * object_columns as usize;
    if columns == 0 || parts == 0 || first >= frames || count > frames - first {
        return;
    }
    let pixels = rows * columns;
    for item in thread::block_stride(count * parts) {
        let (member, part) = (item / parts, item % parts);
        let frame = *order.add((first + member) as usize);
        let [top, left] = *corners.add(frame as usize);
        let window = object.add(top as usize * object_columns as usize + left as usize);
        let layer = modes as usize * pixels as usize;
        let psi = psi.add((psi_first + member) as usize * layers as usize * layer);
        let start = member as usize * layer;
        let (begin, end) = part_of(pixels, parts, part);
        for (pixel, row, column) in WindowWalk::new(begin, end, columns) {
            let place = row as usize * object_columns as usize + column as usize;
            for further in 0..layers as usize {
                let o = *window.add(further * size + place);
                let mut at = pixel as usize;
                for _ in 0..modes {
                    let model = *probes.add(start + at) * o;
                    let rest = (*psi.add(further * layer + at)).scale(scale) - model;
                    let mut before = Complex32::ZERO;
                    if further > 0 {
                        before = *to.add(start + at);
                    }
                    *to.add(start + at) = o.conj_mul_add(rest, before);
                    at += pixels as usize;
                }
            }
        }
    }
}
