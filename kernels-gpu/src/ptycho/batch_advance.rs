//! The steps of object and probe along the directions of a batch, one launch: as `advance_layers` of one layer each.
//!
//! A thread processes one value: reads 24 bytes, writes 16 (without momentum 16 and 8); of the object 16 and 16 beyond the batch's
//! bounds, where the direction is 0, and nothing without momentum and limits, or beyond the tiles of a batch whose momentum is deferred
//! (`deferred_momentum`). Block of 256: the threads are independent.

use super::batch_bounds::Bounds;
use super::object_finish::clipped;
use super::pie_pass::{OBJECT, PROBE};
use warpstride_device::prelude::*;

/// `velocity ← momentum · velocity + step · direction; value += velocity` for object and probe whose bit ([`OBJECT`],
/// [`PROBE`]) is in `updates`, with the steps `steps` (object, probe). Without momentum (0) the velocities have no
/// elements. The object's direction is that within `bounds` (top, left, bottom, right) on an object with `columns` columns, and 0
/// beyond them; with `deferred` not 0 values beyond the tiles of these bounds stay as they are. The object is clipped as in `object_update_tiled`, the probe multiplied by `support`.
#[kernel(block = 256)]
#[allow(
    clippy::too_many_arguments,
    reason = "the arrays and the constants of the method"
)]
pub unsafe fn ptycho_batch_advance(
    #[len(elements)] object: *mut Complex32,
    #[len(pixels)] probe: *mut Complex32,
    #[len(velocities)] object_velocity: *mut Complex32,
    #[len(probe_velocities)] probe_velocity: *mut Complex32,
    #[len(elements)] object_direction: *const Complex32,
    #[len(pixels)] probe_direction: *const Complex32,
    #[len(pixels)] support: *const f32,
    #[len(2)] steps: *const f32,
    #[len(1)] bounds: *const [u32; 4],
    elements: u32,
    columns: u32,
    pixels: u32,
    velocities: u32,
    probe_velocities: u32,
    updates: u32,
    deferred: u32,
    momentum: f32,
    clip_low: f32,
    clip_high: f32,
) {
    let step = [*steps, *steps.add(1)];
    let bounds = Bounds::from_array(*bounds);
    let area = bounds.of_tiles(elements / columns.max(1), columns);
    let of_object = if deferred == 0 {
        elements as usize
    } else {
        area.pixels()
    };
    for at in thread::grid_stride(of_object + pixels as usize) {
        if at < of_object {
            if updates & OBJECT != 0 {
                let at = if deferred == 0 {
                    at
                } else {
                    area.place(at, columns)
                };
                let mut change = if bounds.has(at, columns) {
                    (*object_direction.add(at)).scale(step[0])
                } else if at >= velocities as usize && clip_high < 0.0 {
                    continue;
                } else {
                    Complex32::ZERO
                };
                if at < velocities as usize {
                    change = (*object_velocity.add(at)).scale_add(momentum, change);
                    *object_velocity.add(at) = change;
                }
                *object.add(at) = clipped(*object.add(at) + change, clip_low, clip_high);
            }
        } else if updates & PROBE != 0 {
            let at = at - of_object;
            let mut change = (*probe_direction.add(at)).scale(step[1]);
            if at < probe_velocities as usize {
                change = (*probe_velocity.add(at)).scale_add(momentum, change);
                *probe_velocity.add(at) = change;
            }
            *probe.add(at) = (*probe.add(at) + change).scale(*support.add(at));
        }
    }
}
