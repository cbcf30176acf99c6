//! Sums behind the optimal steps of each frame of a batch, as `step_sums`, for one probe mode at whole pixels: all
//! frames share P and ΔP. A frame is divided into parts, so that a batch of 100 frames occupies all multiprocessors.
//!
//! A block processes one part of a frame. Reads 8 bytes per pixel (χ), from the L2 cache if the batch is small; the other
//! 32 come from the caches. Block of 256, as `window_product`.

use super::frame_chi::{corner_of, range_of};
use super::window_walk::{WindowWalk, part_of};
use warpstride_device::prelude::*;

/// `sums` (frame of the batch, part, 5) of the frames `order[first..first + count]`, where (first, count) is
/// `ranges[batch]`, count at most `most`. A direction that is not used must be 0.
#[kernel(block = 256, min_blocks = 6, hot)]
#[allow(
    clippy::too_many_arguments,
    reason = "the arrays of the model and their shapes"
)]
pub unsafe fn ptycho_batch_step_sums(
    #[len(most * parts)] sums: *mut [f32; 5],
    #[len(rows * columns)] probe: *const Complex32,
    #[len(rows * columns)] probe_direction: *const Complex32,
    #[len(most * rows * columns)] chi: *const Complex32,
    #[len(object_rows * object_columns)] object: *const Complex32,
    #[len(object_rows * object_columns)] direction: *const Complex32,
    #[len(frames)] corners: *const [u32; 2],
    #[len(frames)] order: *const u32,
    #[len(batches)] ranges: *const [u32; 2],
    frames: u32,
    most: u32,
    batches: u32,
    batch: u32,
    rows: u32,
    columns: u32,
    object_rows: u32,
    object_columns: u32,
    parts: u32,
) {
    let _ = object_rows;
    if batch >= batches || columns == 0 || parts == 0 {
        return;
    }
    let (first, count) = range_of(ranges, batch, frames, most);
    let pixels = rows * columns;
    for item in thread::block_stride(count * parts) {
        let (member, part) = (item / parts, item % parts);
        let frame = *order.add((first + member) as usize) as usize;
        let corner = corner_of(corners, frame, object_columns);
        let chi = chi.add(member as usize * pixels as usize);
        let (begin, end) = part_of(pixels, parts, part);
        let mut own = [0.0; 5];
        for (pixel, row, column) in WindowWalk::new(begin, end, columns) {
            let at = pixel as usize;
            let place = corner + row as usize * object_columns as usize + column as usize;
            let a = *direction.add(place) * *probe.add(at);
            let b = *probe_direction.add(at) * *object.add(place);
            let chi = *chi.add(at);
            own[0] += a.norm_sqr();
            own[1] += a.re.mul_add(b.re, a.im * b.im);
            own[2] += b.norm_sqr();
            own[3] += a.re.mul_add(chi.re, a.im * chi.im);
            own[4] += b.re.mul_add(chi.re, b.im * chi.im);
        }
        let (aa, ab) = reduce::block_sum_pair(own[0], own[1]);
        let (bb, ac) = reduce::block_sum_pair(own[2], own[3]);
        let bc = reduce::block_sum(own[4]);
        if thread::index_in_block() == 0 {
            *sums.add(item as usize) = [aa, ab, bb, ac, bc];
        }
    }
}
