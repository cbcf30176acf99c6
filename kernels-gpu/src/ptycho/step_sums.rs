//! Sums behind the optimal steps of each frame of a batch: of `a = ΔO·S[P]`, `b = S[ΔP]·O` and χ, summed over modes and
//! pixels: |a|², Re a*b, |b|², Re a*χ, Re b*χ.
//!
//! A block processes one frame, a thread one pixel in all modes. Reads 24 bytes per pixel and mode; object and ΔO come
//! from the caches. Block of 512, as `model_metrics`.

use super::window_walk::WindowWalk;
use warpstride_device::prelude::*;

/// `sums` (frame of the batch, 5). A direction that is not used must be 0.
#[kernel(block = 512, min_blocks = 2, hot)]
#[allow(
    clippy::too_many_arguments,
    reason = "the arrays of the model and their shapes"
)]
pub unsafe fn ptycho_step_sums(
    #[len(count)] sums: *mut [f32; 5],
    #[len(count * modes * rows * columns)] probes: *const Complex32,
    #[len(count * modes * rows * columns)] probe_changes: *const Complex32,
    #[len(count * modes * rows * columns)] chi: *const Complex32,
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
) {
    let _ = object_rows;
    if columns == 0 || first >= frames || count > frames - first {
        return;
    }
    let pixels = rows * columns;
    for member in thread::block_stride(count) {
        let frame = *order.add((first + member) as usize);
        let [top, left] = *corners.add(frame as usize);
        let corner = top as usize * object_columns as usize + left as usize;
        let start = member as usize * modes as usize * pixels as usize;
        let mut own = [0.0; 5];
        for (pixel, row, column) in WindowWalk::new(0, pixels, columns) {
            let place = corner + row as usize * object_columns as usize + column as usize;
            let (o, change) = (*object.add(place), *direction.add(place));
            let mut at = start + pixel as usize;
            for _ in 0..modes {
                let a = change * *probes.add(at);
                let b = *probe_changes.add(at) * o;
                let chi = *chi.add(at);
                own[0] += a.norm_sqr();
                own[1] += a.re.mul_add(b.re, a.im * b.im);
                own[2] += b.norm_sqr();
                own[3] += a.re.mul_add(chi.re, a.im * chi.im);
                own[4] += b.re.mul_add(chi.re, b.im * chi.im);
                at += pixels as usize;
            }
        }
        let (aa, ab) = reduce::block_sum_pair(own[0], own[1]);
        let (bb, ac) = reduce::block_sum_pair(own[2], own[3]);
        let bc = reduce::block_sum(own[4]);
        if thread::index_in_block() == 0 {
            *sums.add(member as usize) = [aa, ab, bb, ac, bc];
        }
    }
}
