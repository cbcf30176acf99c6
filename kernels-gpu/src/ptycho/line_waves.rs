//! The waves behind the intensity along a line, in the windows of the frames of a batch: from the shifted probes S\[P\]
//! and S\[h_P\], f = S\[P\]·O, a = S\[P\]·h_O + S\[h_P\]·O and b = S\[h_P\]·h_O.
//!
//! A thread processes one pixel in all modes. Reads 16 bytes per pixel and mode and writes 24; object and direction
//! come from the caches. Block of 256, as `window_product`.

use super::window_walk::{WindowWalk, part_of};
use warpstride_device::prelude::*;

/// Replaces `probes` by f and `changes` by b, and writes a to `mixed`, for the frames `order[first..first + count]`.
#[kernel(block = 256, min_blocks = 6, hot)]
#[allow(
    clippy::too_many_arguments,
    reason = "the arrays of the model and their shapes"
)]
pub unsafe fn ptycho_line_waves(
    #[len(count * modes * rows * columns)] probes: *mut Complex32,
    #[len(count * modes * rows * columns)] mixed: *mut Complex32,
    #[len(count * modes * rows * columns)] changes: *mut Complex32,
    #[len(object_rows * object_columns)] object: *const Complex32,
    #[len(object_rows * object_columns)] direction: *const Complex32,
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
) {
    let _ = object_rows;
    if columns == 0 || parts == 0 || first >= frames || count > frames - first {
        return;
    }
    let pixels = rows * columns;
    for item in thread::block_stride(count * parts) {
        let (member, part) = (item / parts, item % parts);
        let frame = *order.add((first + member) as usize);
        let [top, left] = *corners.add(frame as usize);
        let corner = top as usize * object_columns as usize + left as usize;
        let start = member as usize * modes as usize * pixels as usize;
        let (begin, end) = part_of(pixels, parts, part);
        for (pixel, row, column) in WindowWalk::new(begin, end, columns) {
            let place = corner + row as usize * object_columns as usize + column as usize;
            let (o, h) = (*object.add(place), *direction.add(place));
            let mut at = start + pixel as usize;
            for _ in 0..modes {
                let (p, change) = (*probes.add(at), *changes.add(at));
                *probes.add(at) = p * o;
                *mixed.add(at) = p * h + change * o;
                *changes.add(at) = change * h;
                at += pixels as usize;
            }
        }
    }
}
