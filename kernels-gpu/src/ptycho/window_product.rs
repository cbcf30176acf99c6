//! Products of waves with an array on the object's grid, in the windows of the frames of a batch: exit waves
//! `S[P]·O`, their changes, and conj(O)·χ.
//!
//! A thread processes one pixel in all modes. Reads and writes 8 bytes per pixel and mode, with several layers of the grid on one side for each of
//! them; waves that all frames have in common come from the caches. Block of 256, as
//! `exit_wave_build`.

use super::window_walk::{WindowWalk, part_of};
use warpstride_device::prelude::*;

/// `to = from · grid(window)` for the frames `order[first..first + count]`, which are the frames
/// from `to_first` and from `from_first` of the waves, or with `sources` = 1 all have the first of `from`; times conj(grid) if `conjugate` is not 0.
/// Does nothing if `from` has fewer frames otherwise.
///
/// The grid has `to_layers` · `from_layers` layers, one of which numbers is 1: for several `to_layers` each frame has the products with all of them
/// (layer, mode), for several `from_layers` the sum over the layers of `from` (layer, mode) times its layer of the grid. Does nothing for
/// other numbers.
#[kernel(block = 256, min_blocks = 6, hot)]
#[allow(
    clippy::too_many_arguments,
    reason = "the arrays of the model and their shapes"
)]
pub unsafe fn ptycho_window_product(
    #[len((to_first + count) * to_layers * modes * rows * columns)] to: *mut Complex32,
    #[len(sources * from_layers * modes * rows * columns)] from: *const Complex32,
    #[len(to_layers * from_layers * object_rows * object_columns)] grid: *const Complex32,
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
    to_layers: u32,
    from_layers: u32,
) {
    let size = object_rows as usize * object_columns as usize;
    if to_layers != 1 && from_layers != 1 {
        return;
    }
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
        let layer = modes as usize * pixels as usize;
        let to = to.add((to_first + member) as usize * to_layers as usize * layer);
        let source = if same { 0 } else { from_first + member };
        let from = from.add(source as usize * from_layers as usize * layer);
        let (begin, end) = part_of(pixels, parts, part);
        for (pixel, row, column) in WindowWalk::new(begin, end, columns) {
            let mut place = row as usize * object_columns as usize + column as usize;
            let mut o = *window.add(place);
            if conjugate != 0 {
                o = o.conj();
            }
            let mut at = pixel as usize;
            for _ in 0..modes {
                *to.add(at) = *from.add(at) * o;
                at += pixels as usize;
            }
            for further in 1..(to_layers * from_layers) as usize {
                place += size;
                let mut o = *window.add(place);
                if conjugate != 0 {
                    o = o.conj();
                }
                let mut at = pixel as usize;
                for _ in 0..modes {
                    if from_layers == 1 {
                        *to.add(at + further * layer) = *from.add(at) * o;
                    } else {
                        *to.add(at) += *from.add(at + further * layer) * o;
                    }
                    at += pixels as usize;
                }
            }
        }
    }
}
