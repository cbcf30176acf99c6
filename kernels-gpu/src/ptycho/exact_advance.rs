//! The steps of object and probe along the directions of a batch, as `batch_advance`, one launch; and the transform of
//! the new probe, which the next batch at exact positions needs. For frames of 64² or 128², which a block holds in its
//! registers ([`Frame`]).
//!
//! One block processes a mode of the probe, in one transform, which is the time of the launch (16 µs for 128² on an
//! H200); the others meanwhile eight values of the object in each thread: 24 bytes read, 16 written a value (without
//! momentum 16 and 8), with deferred momentum of the batch's tiles only. Blocks of 512 or 128 threads, 128 registers.

use super::batch_bounds::Bounds;
use super::exact_frame::{store_spectrum, turned};
use super::object_finish::clipped;
use super::pie_pass::{OBJECT, PROBE};
use crate::fft::frame::{Frame, VALUES};
use warpstride_device::prelude::*;

/// Values that a thread loads together: loads that follow a store wait for it.
pub const TOGETHER: usize = 8;

/// Values that move along their direction.
struct Layer {
    values: *const Complex32,
    velocity: *mut Complex32,
    direction: *const Complex32,
    /// Where the direction is not 0, and what moves, of values with so many columns; all values if there are no columns.
    bounds: Bounds,
    area: Bounds,
    columns: u32,
    /// Values before the end, of those that move.
    elements: usize,
    velocities: usize,
    step: f32,
    momentum: f32,
}

impl Layer {
    /// Place of value number `number` of those that move, and whether it has a direction.
    #[inline(always)]
    fn place(&self, number: usize) -> (usize, bool) {
        if self.columns == 0 {
            return (number, true);
        }
        let (number, width) = (number as u32, self.area.columns().max(1));
        let row = self.area.top + number / width;
        let column = self.area.left + number % width;
        // Numbers beyond the end have places too, which are not used.
        let place = row.wrapping_mul(self.columns).wrapping_add(column);
        (place as usize, self.bounds.contains(row, column))
    }

    /// Whether value number `number`, at place `at`, moves and has a velocity.
    #[inline(always)]
    fn has_velocity(&self, number: usize, at: usize) -> bool {
        if self.columns == 0 {
            // One comparison, which needs fewer registers.
            return number < self.elements.min(self.velocities);
        }
        number < self.elements && at < self.velocities
    }

    /// Places of the values number `first`, `first + stride`, …, and whether they have directions.
    #[inline(always)]
    fn places(&self, first: usize, stride: usize) -> [(usize, bool); TOGETHER] {
        let mut places = [(0, false); TOGETHER];
        for k in 0..TOGETHER {
            places[k] = self.place(first + k * stride);
        }
        places
    }

    /// The values number `first`, `first + stride`, …, whose `places` are given, after the step; changes the velocities. 0 beyond the end.
    #[inline(always)]
    unsafe fn advance(
        &self,
        (first, stride): (usize, usize),
        places: &[(usize, bool); TOGETHER],
    ) -> [Complex32; TOGETHER] {
        let mut loaded = [[Complex32::ZERO; 3]; TOGETHER];
        for k in 0..TOGETHER {
            let (number, (at, directed)) = (first + k * stride, places[k]);
            if number < self.elements {
                loaded[k][0] = *self.values.add(at);
                if directed {
                    loaded[k][1] = *self.direction.add(at);
                }
            }
            if self.has_velocity(number, at) {
                loaded[k][2] = *self.velocity.add(at);
            }
        }
        let mut changed = [Complex32::ZERO; TOGETHER];
        for k in 0..TOGETHER {
            let [value, direction, velocity] = loaded[k];
            let mut change = direction.scale(self.step);
            let (number, (at, _)) = (first + k * stride, places[k]);
            if self.has_velocity(number, at) {
                change = velocity.scale_add(self.momentum, change);
                *self.velocity.add(at) = change;
            }
            changed[k] = value + change;
        }
        changed
    }
}

/// The values that move of an object with `elements` values, and how many they are: all, or with `deferred` not 0 those of the tiles of
/// `bounds`. `columns` is not 0.
#[inline(always)]
unsafe fn moving(
    bounds: *const [u32; 4],
    [elements, columns]: [u32; 2],
    deferred: u32,
) -> (Bounds, u32) {
    if deferred == 0 {
        return (Bounds::whole(0, columns), elements);
    }
    let tiles = Bounds::from_array(*bounds).of_tiles(elements / columns, columns);
    (tiles, tiles.pixels() as u32)
}

macro_rules! sizes {
    ($($name:ident, $a:literal, $side:literal, $threads:literal, $blocks:literal;)*) => {$(
        /// As `batch_advance`. If `updates` has the bit [`PROBE`], `probe_spectrum` becomes the unnormalised transform
        /// of the new probe. `roots` are exp(−2πi k/side).
        #[kernel(block = $threads, exact_block, min_blocks = $blocks, hot, shared = 4 * Frame::<$a>::WORDS)]
        #[allow(
            clippy::too_many_arguments,
            reason = "the arrays and the constants of the method"
        )]
        pub unsafe fn $name(
            #[len(elements)] object: *mut Complex32,
            #[len(modes * $side * $side)] probe: *mut Complex32,
            #[len(modes * $side * $side)] probe_spectrum: *mut Complex32,
            #[len(velocities)] object_velocity: *mut Complex32,
            #[len(probe_velocities)] probe_velocity: *mut Complex32,
            #[len(elements)] object_direction: *const Complex32,
            #[len(modes * $side * $side)] probe_direction: *const Complex32,
            #[len($side * $side)] support: *const f32,
            #[len(2)] steps: *const f32,
            #[len(1)] bounds: *const [u32; 4],
            #[len($side)] roots: *const Complex32,
            elements: u32,
            columns: u32,
            modes: u32,
            velocities: u32,
            probe_velocities: u32,
            updates: u32,
            deferred: u32,
            momentum: f32,
            clip_low: f32,
            clip_high: f32,
        ) {
            let transform = Frame::<$a>::new(shared::dynamic_shared_mem::<f32>(), roots);
            let of_object = moving(bounds, [elements, columns.max(1)], deferred).1;
            let groups = of_object.div_ceil($threads * TOGETHER as u32);
            for item in thread::block_stride(modes + groups) {
                if item >= modes {
                    if updates & OBJECT == 0 {
                        continue;
                    }
                    // Once more, so that the transform has the registers.
                    let columns = thread::hidden(columns).max(1);
                    let (area, of_object) = moving(bounds, [elements, columns], deferred);
                    let first = ((item - modes) * $threads * TOGETHER as u32 + thread::thread_idx_x()) as usize;
                    let of = Layer {
                        values: object,
                        velocity: object_velocity,
                        direction: object_direction,
                        bounds: Bounds::from_array(*bounds),
                        area,
                        columns,
                        elements: of_object as usize,
                        velocities: velocities as usize,
                        step: *steps,
                        momentum,
                    };
                    let places = of.places(first, $threads);
                    let changed = of.advance((first, $threads), &places);
                    for k in 0..TOGETHER {
                        if first + k * $threads < of_object as usize {
                            *object.add(places[k].0) = clipped(changed[k], clip_low, clip_high);
                        }
                    }
                    continue;
                }
                if updates & PROBE == 0 {
                    continue;
                }
                let (row, column) = transform.place();
                let layer = item as usize * Frame::<$a>::PIXELS;
                let own = row * Frame::<$a>::SIDE + column;
                let of = Layer {
                    values: probe,
                    velocity: probe_velocity,
                    direction: probe_direction,
                    bounds: Bounds::from_array([0; 4]),
                    area: Bounds::from_array([0; 4]),
                    columns: 0,
                    elements: layer + Frame::<$a>::PIXELS,
                    velocities: probe_velocities as usize,
                    step: *steps.add(1),
                    momentum,
                };
                let mut x = [Complex32::ZERO; VALUES];
                for group in 0..VALUES / TOGETHER {
                    let first = own + group * TOGETHER * $a * Frame::<$a>::SIDE;
                    let mut inside = [0.0; TOGETHER];
                    for k in 0..TOGETHER {
                        inside[k] = *support.add(first + k * $a * Frame::<$a>::SIDE);
                    }
                    let numbers = (layer + first, $a * Frame::<$a>::SIDE);
                    let changed = of.advance(numbers, &of.places(numbers.0, numbers.1));
                    for k in 0..TOGETHER {
                        let value = changed[k].scale(inside[k]);
                        x[group * TOGETHER + k] = value;
                        *probe.add(layer + first + k * $a * Frame::<$a>::SIDE) = value;
                    }
                }
                x = turned(&x);
                transform.forward(&mut x);
                store_spectrum(&transform, &x, probe_spectrum.add(layer));
                // The block's next mode uses the same shared memory.
                thread::sync_threads();
            }
        }
    )*};
}

sizes! {
    ptycho_exact_advance_64, 2, 64, 128, 4;
    ptycho_exact_advance_128, 4, 128, 512, 1;
}
