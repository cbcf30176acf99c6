//! A step along a direction, with momentum and limits of the modulus.
//!
//! A thread processes one value: reads 24 bytes, writes 16 (without momentum 16 and 8). Block of 256: the threads are
//! independent.

use super::object_finish::clipped;
use warpstride_device::prelude::*;

/// `velocity ← momentum · velocity + step · direction; values += velocity`, then clipped (see `object_update_tiled`).
/// The step is `steps[which]`. Without momentum (0) `velocity` has no elements.
#[kernel(block = 256)]
#[allow(
    clippy::too_many_arguments,
    reason = "the arrays and the constants of the method"
)]
pub unsafe fn ptycho_advance_layers(
    #[len(elements)] values: *mut Complex32,
    #[len(velocities)] velocity: *mut Complex32,
    #[len(elements)] direction: *const Complex32,
    #[len(2)] steps: *const f32,
    elements: u32,
    velocities: u32,
    which: u32,
    momentum: f32,
    clip_low: f32,
    clip_high: f32,
) {
    let step = *steps.add(which.min(1) as usize);
    for at in thread::grid_stride(elements as usize) {
        let mut change = (*direction.add(at)).scale(step);
        if at < velocities as usize {
            change = (*velocity.add(at)).scale_add(momentum, change);
            *velocity.add(at) = change;
        }
        *values.add(at) = clipped(*values.add(at) + change, clip_low, clip_high);
    }
}
