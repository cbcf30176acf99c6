//! The waves behind the intensity along a line for an object of several layers: `line_waves` for each of them, written to arrays of their own.
//!
//! A thread processes one pixel in all modes and layers. Reads 16 bytes per pixel and mode, writes 24 for each layer; object and direction
//! come from the caches. Block of 256, as `window_product`.

use super::window_walk::{WindowWalk, part_of};
use warpstride_device::prelude::*;

/// From the shifted probes S\[P\] (`probes`) and S\[h_P\] (`changes`) of the frames `order[first..first + count]`, f = S\[P\]·O,
/// a = S\[P\]·h_O + S\[h_P\]·O (`mixed`) and b = S\[h_P\]·h_O (frame, layer, mode, row, column).
#[kernel(block = 256, min_blocks = 6)]
#[allow(
    clippy::too_many_arguments,
    reason = "the arrays of the model and their shapes"
)]
pub unsafe fn ptycho_layered_line_waves(
    #[len(count * layers * modes * rows * columns)] f: *mut Complex32,
    #[len(count * layers * modes * rows * columns)] mixed: *mut Complex32,
    #[len(count * layers * modes * rows * columns)] b: *mut Complex32,
    #[len(count * modes * rows * columns)] probes: *const Complex32,
    #[len(count * modes * rows * columns)] changes: *const Complex32,
    #[len(layers * object_rows * object_columns)] object: *const Complex32,
    #[len(layers * object_rows * object_columns)] direction: *const Complex32,
    #[len(frames)] corners: *const [u32; 2],
    #[len(frames)] order: *const u32,
    frames: u32,
    first: u32,
    count: u32,
    layers: u32,
    modes: u32,
    rows: u32,
    columns: u32,
    object_rows: u32,
    object_columns: u32,
    parts: u32,
) {
    if columns == 0 || parts == 0 || first >= frames || count > frames - first {
        return;
    }
    let pixels = rows * columns;
    let size = object_rows as usize * object_columns as usize;
    let of_probe = modes as usize * pixels as usize;
    for item in thread::block_stride(count * parts) {
        let (member, part) = (item / parts, item % parts);
        let frame = *order.add((first + member) as usize);
        let [top, left] = *corners.add(frame as usize);
        let corner = top as usize * object_columns as usize + left as usize;
        let (begin, end) = part_of(pixels, parts, part);
        for (pixel, row, column) in WindowWalk::new(begin, end, columns) {
            let place = corner + row as usize * object_columns as usize + column as usize;
            for layer in 0..layers as usize {
                let o = *object.add(layer * size + place);
                let h = *direction.add(layer * size + place);
                let mut from = member as usize * of_probe + pixel as usize;
                let mut to =
                    (member as usize * layers as usize + layer) * of_probe + pixel as usize;
                for _ in 0..modes {
                    let (p, change) = (*probes.add(from), *changes.add(from));
                    *f.add(to) = p * o;
                    *mixed.add(to) = p * h + change * o;
                    *b.add(to) = change * h;
                    from += pixels as usize;
                    to += pixels as usize;
                }
            }
        }
    }
}
