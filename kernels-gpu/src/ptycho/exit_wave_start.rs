//! The first exit waves, ψ = P·O, of an engine that keeps them in real space.
//!
//! Blocks, parts and threads as in [`super::exit_wave_build`]; writes 8 bytes per pixel and mode.

use super::window_walk::{WindowWalk, part_of};
use warpstride_device::prelude::*;

/// `psi = P · O` for every frame and mode. A frame is processed in `parts` > 0 parts.
#[kernel(block = 256)]
#[allow(
    clippy::too_many_arguments,
    reason = "the arrays of the model and their shapes"
)]
pub unsafe fn ptycho_exit_wave_start(
    #[len(frames * modes * rows * columns)] psi: *mut Complex32,
    #[len(modes * rows * columns)] probe: *const Complex32,
    #[len(object_rows * object_columns)] object: *const Complex32,
    #[len(frames)] corners: *const [u32; 2],
    frames: u32,
    modes: u32,
    rows: u32,
    columns: u32,
    object_rows: u32,
    object_columns: u32,
    parts: u32,
) {
    let _ = object_rows;
    if columns == 0 || parts == 0 {
        return;
    }
    let pixels = rows * columns;
    for item in thread::block_stride(frames * parts) {
        let (frame, part) = (item / parts, item % parts);
        let [top, left] = *corners.add(frame as usize);
        let window = object.add(top as usize * object_columns as usize + left as usize);
        let frame_start = frame as usize * modes as usize * pixels as usize;
        let (from, to) = part_of(pixels, parts, part);
        for (pixel, row, column) in WindowWalk::new(from, to, columns) {
            let o = *window.add(row as usize * object_columns as usize + column as usize);
            let mut at = pixel as usize;
            for _ in 0..modes {
                *psi.add(frame_start + at) = *probe.add(at) * o;
                at += pixels as usize;
            }
        }
    }
}
