//! The sums of a batch whose frames are divided among devices: packed to be sent, and added.
//!
//! Of the object only the pixels within the batch's bounds. Packed: three values for each of these pixels (numerator, weight), then two for each
//! element of the probe, then one for each of its pixels.
//!
//! A thread processes one pixel or element; packing reads and writes 12 bytes, adding reads 12 for each device and writes 12. Block of 256:
//! the threads are independent.

use super::batch_bounds::Bounds;
use super::pie_pass::{OBJECT, PROBE};
use warpstride_device::prelude::*;

/// Values of the packed sums of `object` pixels, and of `elements` elements and `pixels` pixels of the probe.
#[must_use]
pub const fn packed_values(object: usize, elements: usize, pixels: usize) -> usize {
    3 * object + 2 * elements + pixels
}

/// Writes `packed`, of what `updates` ([`OBJECT`], [`PROBE`]) has, from the sums within `given_bounds[batch]` on an object with `columns` columns; does nothing
/// if `capacity` is too small.
#[kernel(block = 256)]
#[allow(clippy::too_many_arguments, reason = "the sums and their shapes")]
pub unsafe fn ptycho_pack_sums(
    #[len(capacity)] packed: *mut f32,
    #[len(object_elements)] numerators: *const Complex32,
    #[len(object_elements)] weights: *const f32,
    #[len(elements)] sums: *const Complex32,
    #[len(pixels)] probe_weights: *const f32,
    #[len(batches)] given_bounds: *const [u32; 4],
    capacity: u32,
    batches: u32,
    batch: u32,
    object_elements: u32,
    columns: u32,
    elements: u32,
    pixels: u32,
    updates: u32,
) {
    if batch >= batches {
        return;
    }
    let bounds = Bounds::from_array(*given_bounds.add(batch as usize))
        .within(object_elements / columns.max(1), columns);
    let within = bounds.pixels();
    let (elements, pixels) = (elements as usize, pixels as usize);
    if packed_values(within, elements, pixels) > capacity as usize {
        return;
    }
    for at in thread::grid_stride(within + elements + pixels) {
        if at < within {
            if updates & OBJECT != 0 {
                let (from, to) = (bounds.place(at, columns), packed.add(3 * at));
                let numerator = *numerators.add(from);
                *to = numerator.re;
                *to.add(1) = numerator.im;
                *to.add(2) = *weights.add(from);
            }
        } else if updates & PROBE != 0 {
            let (at, to) = (at - within, packed.add(3 * within));
            if at < elements {
                let sum = *sums.add(at);
                *to.add(2 * at) = sum.re;
                *to.add(2 * at + 1) = sum.im;
            } else {
                *to.add(elements + at) = *probe_weights.add(at - elements);
            }
        }
    }
}

/// Sums over two devices: a + b, or over four: (a + b) + (c + d); `length` values from one to the next.
#[inline(always)]
unsafe fn over_devices(all: *const f32, at: usize, length: usize, devices: u32) -> f32 {
    let of = |device: usize| *all.add(device * length + at);
    let first = of(0) + of(1);
    if devices == 4 {
        first + (of(2) + of(3))
    } else {
        first
    }
}

/// Replaces the sums within `given_bounds[batch]` by those of `devices` (2 or 4; others do nothing), whose packed sums are `all` (device, value), `length` of each; the probe's are then multiplied by
/// `scale`. `largest` (object, probe) become the bits of the largest weights if they are no larger before.
#[kernel(block = 256)]
#[allow(clippy::too_many_arguments, reason = "the sums and their shapes")]
pub unsafe fn ptycho_add_sums(
    #[len(object_elements)] numerators: *mut Complex32,
    #[len(object_elements)] weights: *mut f32,
    #[len(elements)] sums: *mut Complex32,
    #[len(pixels)] probe_weights: *mut f32,
    #[len(2)] largest: *mut u32,
    #[len(devices * length)] all: *const f32,
    #[len(batches)] given_bounds: *const [u32; 4],
    batches: u32,
    batch: u32,
    devices: u32,
    length: u32,
    object_elements: u32,
    columns: u32,
    elements: u32,
    pixels: u32,
    updates: u32,
    scale: f32,
) {
    if batch >= batches {
        return;
    }
    let bounds = Bounds::from_array(*given_bounds.add(batch as usize))
        .within(object_elements / columns.max(1), columns);
    let (within, length) = (bounds.pixels(), length as usize);
    let (elements, pixels) = (elements as usize, pixels as usize);
    let known = devices == 2 || devices == 4;
    if !known || packed_values(within, elements, pixels) > length {
        return;
    }
    let mut most = [0.0_f32; 2];
    for at in thread::grid_stride(within + elements + pixels) {
        if at < within {
            if updates & OBJECT != 0 {
                let of = |value: usize| over_devices(all, 3 * at + value, length, devices);
                let to = bounds.place(at, columns);
                *numerators.add(to) = Complex32::new(of(0), of(1));
                let weight = of(2);
                *weights.add(to) = weight;
                most[0] = most[0].max(weight);
            }
        } else if updates & PROBE != 0 {
            let (at, first) = (at - within, 3 * within);
            let of = |value: usize| over_devices(all, first + value, length, devices);
            if at < elements {
                *sums.add(at) = Complex32::new(of(2 * at), of(2 * at + 1)).scale(scale);
            } else {
                let weight = of(elements + at);
                *probe_weights.add(at - elements) = weight;
                most[1] = most[1].max(weight);
            }
        }
    }
    for k in 0..2 {
        let of_block = reduce::block_max(most[k]);
        if thread::index_in_block() == 0 {
            atomic::max_u32(largest.add(k), of_block.to_bits());
        }
        thread::sync_threads();
    }
}
