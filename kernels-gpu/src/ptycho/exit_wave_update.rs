//! The engines' combination: `ψ ← keep · ψ + a · P · O + b · aux`, with Σ |Δψ|².
//!
//! A block does one part of a frame at a time, a thread one pixel of it in all modes. Reads ψ, aux,
//! probe, object, corners; writes ψ and one sum a part. From device memory 24 bytes per pixel and
//! mode (ψ twice, aux once); the object's 8 bytes divided by its overlap.
//!
//! Block of 256: as `exit_wave_build`.

use super::window_walk::{WindowWalk, part_of};
use warpstride_device::prelude::*;

/// Combines ψ, P·O and the projected wave; `moved` gets Σ |Δψ|² of each part of each frame.
#[kernel(block = 256, min_blocks = 6, hot)]
#[allow(
    clippy::too_many_arguments,
    reason = "the arrays of the model and their shapes"
)]
pub unsafe fn exit_wave_update(
    #[len(frames * modes * rows * columns)] psi: *mut Complex32,
    #[len(frames * modes * rows * columns)] aux: *const Complex32,
    #[len(modes * rows * columns)] probe: *const Complex32,
    #[len(object_rows * object_columns)] object: *const Complex32,
    #[len(frames)] corners: *const [u32; 2],
    #[len(frames * parts)] moved: *mut f32,
    frames: u32,
    modes: u32,
    rows: u32,
    columns: u32,
    object_rows: u32,
    object_columns: u32,
    parts: u32,
    keep: f32,
    a: f32,
    b: f32,
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
        let mut sum = 0.0;
        for (pixel, row, column) in WindowWalk::new(from, to, columns) {
            let o = *window.add(row as usize * object_columns as usize + column as usize);
            let mut probe_at = pixel as usize;
            for _ in 0..modes {
                let at = frame_start + probe_at;
                let exit = *probe.add(probe_at) * o;
                let before = *psi.add(at);
                let next = exit.scale_add(a, (*aux.add(at)).scale_add(b, before.scale(keep)));
                *psi.add(at) = next;
                sum += (next - before).norm_sqr();
                probe_at += pixels as usize;
            }
        }
        let sum = reduce::block_sum(sum);
        if thread::index_in_block() == 0 {
            *moved.add(item as usize) = sum;
        }
    }
}
