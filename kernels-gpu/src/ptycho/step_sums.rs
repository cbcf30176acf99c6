//! Sums behind the optimal steps of each frame of a batch: of `a = ΔO·S[P]`, `b = S[ΔP]·O` and χ, summed over modes and
//! pixels: |a|², Re a*b, |b|², Re a*χ, Re b*χ.
//!
//! A block processes one of some parts of a frame, a thread two pixels at a time in all modes. Reads 24 bytes per pixel and mode, or 8 if all frames have the same
//! probe and ΔP; object and ΔO come from the caches. Block of 512, as `model_metrics`; in parts, because a batch has fewer frames than the
//! device multiprocessors.

use super::window_walk::{WindowWalk, part_of};
use warpstride_device::prelude::*;

/// Pixels of a thread that are loaded together.
const TOGETHER: usize = 2;

/// `sums` (frame of the batch, part, 5). A direction that is not used must be 0. `probes` and `probe_changes` are those of each frame, or with
/// `sources` = 1 the same for all frames; with fewer `sources` than frames otherwise it does nothing. Object and
/// direction have `layers` layers, and each frame waves of all of them (layer, mode).
#[kernel(block = 512, min_blocks = 2, hot)]
#[allow(
    clippy::too_many_arguments,
    reason = "the arrays of the model and their shapes"
)]
pub unsafe fn ptycho_step_sums(
    #[len(count * parts)] sums: *mut [f32; 5],
    #[len(sources * modes * rows * columns)] probes: *const Complex32,
    #[len(sources * modes * rows * columns)] probe_changes: *const Complex32,
    #[len(count * layers * modes * rows * columns)] chi: *const Complex32,
    #[len(layers * object_rows * object_columns)] object: *const Complex32,
    #[len(layers * object_rows * object_columns)] direction: *const Complex32,
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
    sources: u32,
    parts: u32,
    layers: u32,
) {
    let size = object_rows as usize * object_columns as usize;
    let incomplete = sources != 1 && sources < count;
    if columns == 0 || first >= frames || count > frames - first || incomplete || parts == 0 {
        return;
    }
    let pixels = rows * columns;
    for item in thread::block_stride(count * parts) {
        let (member, part) = (item / parts, item % parts);
        let frame = *order.add((first + member) as usize);
        let [top, left] = *corners.add(frame as usize);
        let corner = top as usize * object_columns as usize + left as usize;
        let of_probe = modes as usize * pixels as usize;
        let start_of_probe = if sources == 1 {
            0
        } else {
            member as usize * of_probe
        };
        let mut own = [0.0; 5];
        let (from, end) = part_of(pixels, parts, part);
        for of_object in 0..layers as usize {
            let start = (member as usize * layers as usize + of_object) * of_probe;
            let corner = corner + of_object * size;
            let mut walk = WindowWalk::new(from, end, columns);
            while let Some(one) = walk.next() {
                // A pixel beyond the end is the first one again, with nothing to add.
                let next = walk.next();
                let there = [true, next.is_some()];
                let of = [one, next.unwrap_or(one)];
                let mut o = [Complex32::ZERO; TOGETHER];
                let mut change = [Complex32::ZERO; TOGETHER];
                for u in 0..TOGETHER {
                    let (_, row, column) = of[u];
                    let place = corner + row as usize * object_columns as usize + column as usize;
                    (o[u], change[u]) = (*object.add(place), *direction.add(place));
                }
                let mut layer = 0;
                for _ in 0..modes {
                    let mut probe = [Complex32::ZERO; TOGETHER];
                    let mut probe_change = [Complex32::ZERO; TOGETHER];
                    let mut wave = [Complex32::ZERO; TOGETHER];
                    for u in 0..TOGETHER {
                        let at = layer + of[u].0 as usize;
                        probe[u] = *probes.add(start_of_probe + at);
                        probe_change[u] = *probe_changes.add(start_of_probe + at);
                        wave[u] = *chi.add(start + at);
                    }
                    for u in 0..TOGETHER {
                        if !there[u] {
                            continue;
                        }
                        let (a, b, chi) = (change[u] * probe[u], probe_change[u] * o[u], wave[u]);
                        own[0] += a.norm_sqr();
                        own[1] += a.re.mul_add(b.re, a.im * b.im);
                        own[2] += b.norm_sqr();
                        own[3] += a.re.mul_add(chi.re, a.im * chi.im);
                        own[4] += b.re.mul_add(chi.re, b.im * chi.im);
                    }
                    layer += pixels as usize;
                }
            }
        }
        let (aa, ab) = reduce::block_sum_pair(own[0], own[1]);
        let (bb, ac) = reduce::block_sum_pair(own[2], own[3]);
        let bc = reduce::block_sum(own[4]);
        if thread::index_in_block() == 0 {
            *sums.add(item as usize) = [aa, ab, bb, ac, bc];
        }
    }
}
