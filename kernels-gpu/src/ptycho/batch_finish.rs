//! The directions of a batch from its sums, of object and probe in one launch: as `direction_finish` of one layer each.
//!
//! A thread processes one value, of the object's those within the batch's bounds. Reads 12 bytes, writes 8. Block of 256: the threads are independent.

use super::batch_bounds::Bounds;
use super::direction_finish::divided;
use super::pie_pass::{OBJECT, PROBE};
use warpstride_device::prelude::*;

/// `direction ← direction/D(W)` as `direction_finish`, with `alpha` and `largest` of object and probe, and `extra` added
/// to the object's weights, within `bounds` (top, left, bottom, right) on an object with `columns` columns. A direction whose bit ([`OBJECT`], [`PROBE`]) is not in `updates` becomes 0.
#[kernel(block = 256)]
#[allow(
    clippy::too_many_arguments,
    reason = "the arrays and the constants of the method"
)]
pub unsafe fn ptycho_batch_finish(
    #[len(elements)] object: *mut Complex32,
    #[len(pixels)] probe: *mut Complex32,
    #[len(elements)] weights: *const f32,
    #[len(pixels)] probe_weights: *const f32,
    #[len(2)] largest: *const u32,
    #[len(1)] bounds: *const [u32; 4],
    elements: u32,
    columns: u32,
    pixels: u32,
    updates: u32,
    extra: f32,
    floor: f32,
    object_alpha: f32,
    probe_alpha: f32,
) {
    let most = [
        f32::from_bits(*largest) + extra,
        f32::from_bits(*largest.add(1)),
    ];
    let bounds = Bounds::from_array(*bounds).within(elements / columns.max(1), columns);
    let within = bounds.pixels();
    for at in thread::grid_stride(within + pixels as usize) {
        if at < within {
            let at = bounds.place(at, columns);
            *object.add(at) = if updates & OBJECT != 0 {
                let weight = *weights.add(at) + extra;
                divided(*object.add(at), weight, most[0], floor, object_alpha)
            } else {
                Complex32::ZERO
            };
        } else {
            let at = at - within;
            *probe.add(at) = if updates & PROBE != 0 {
                let weight = *probe_weights.add(at);
                divided(*probe.add(at), weight, most[1], floor, probe_alpha)
            } else {
                Complex32::ZERO
            };
        }
    }
}
