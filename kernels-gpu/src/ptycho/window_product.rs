//! Products of waves with an array on the object's grid, in the windows of the frames of a batch: exit waves
//! `S[P]·O`, their changes, and conj(O)·χ.
//!
//! A thread processes one pixel in all modes. Reads and writes 8 bytes per pixel and mode; waves that all frames have in common come from the caches. Block of 256, as
//! `exit_wave_build`.

use super::window_walk::{WindowWalk, part_of};
use warpstride_device::prelude::*;

/// `to = from · grid(window)` for the frames `order[first..first + count]`, which are the frames
/// from `to_first` and from `from_first` of the waves, or with `sources` = 1 all have the first of `from`; times conj(grid) if `conjugate` is not 0.
/// Does nothing if `from` has fewer frames otherwise.
#[kernel(block = 256, min_blocks = 6, hot)]
#[allow(
    clippy::too_many_arguments,
    reason = "the arrays of the model and their shapes"
)]
pub unsafe fn ptycho_window_product(
    #[len((to_first + count) * modes * rows * columns)] to: *mut Complex32,
    #[len(sources * modes * rows * columns)] from: *const Complex32,
    #[len(object_rows * object_columns)] grid: *const Complex32,
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
    to_first: u32,
    from_first: u32,
    conjugate: u32,
    sources: u32,
) {
    let _ = object_rows;
    if columns == 0 || parts == 0 || first >= frames || count > frames - first {
        return;
    }
    let same = sources == 1;
    if !same && (from_first > sources || count > sources - from_first) {
        return;
    }
    let pixels = rows * columns;
    for item in thread::block_stride(count * parts) {
        let (member, part) = (item / parts, item % parts);
        let frame = *order.add((first + member) as usize);
        let [top, left] = *corners.add(frame as usize);
        let window = grid.add(top as usize * object_columns as usize + left as usize);
        let layers = modes as usize * pixels as usize;
        let to = to.add((to_first + member) as usize * layers);
        let source = if same { 0 } else { from_first + member };
        let from = from.add(source as usize * layers);
        let (begin, end) = part_of(pixels, parts, part);
        for (pixel, row, column) in WindowWalk::new(begin, end, columns) {
            let mut o = *window.add(row as usize * object_columns as usize + column as usize);
            if conjugate != 0 {
                o = o.conj();
            }
            let mut at = pixel as usize;
            for _ in 0..modes {
                *to.add(at) = *from.add(at) * o;
                at += pixels as usize;
            }
        }
    }
}
