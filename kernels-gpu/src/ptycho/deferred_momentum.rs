//! The momentum beyond the windows of a batch, applied when a later batch comes to a tile of the object: before χ of that batch
//! is computed, its tiles catch up with the batches that have passed them by. `batch_advance` and `exact_advance` then
//! leave the object beyond the batch's tiles alone.
//!
//! A value takes the same roundings one after the other as in a pass over the object for each batch. Once it stays as it is, only its velocity
//! goes on.
//!
//! A thread processes one pixel of a tile: of those that missed a batch 16 bytes read and written; of a tile that missed none, its counter,
//! 4 and 4. A block has consecutive tiles, and a thread the counters of some of them, which no other reads. Block of 32 × 8, a thread for
//! each pixel of a tile.

use super::batch_bounds::{Bounds, bounds_of};
use super::frame_chi::range_of;
use super::object_finish::clipped;
use super::tile_frames::{THREADS, TILE_COLUMNS, TILE_ROWS, tiles};
use warpstride_device::prelude::*;

/// Batches that are applied before it is looked whether a value stays.
const STEPS: u32 = 4;

/// Applies the batches that the tiles of `object` and `velocity` have missed, and sets `applied` (row, column of tiles), which counts the
/// batches of the iteration that a tile has. With `whole` = 0 for the tiles under the windows of the frames
/// `order[first..first + count]`, (first, count) = `ranges[batch]`, count at most `most`, or within `given_bounds[batch]` if bounds are given: `before` batches came before this one,
/// and this one counts as applied afterwards. Otherwise for all tiles: the first `before` batches are applied then.
/// `velocity ← momentum · velocity; object += velocity` for each, and the object is clipped as in `object_update_tiled`. The momentum
/// is between 0 and 1.
#[kernel(block = (32, 8), min_blocks = 4, hot)]
#[allow(
    clippy::too_many_arguments,
    reason = "the arrays of the model and their shapes"
)]
pub unsafe fn ptycho_deferred_momentum(
    #[len(object_rows * object_columns)] object: *mut Complex32,
    #[len(object_rows * object_columns)] velocity: *mut Complex32,
    #[len(tiles(object_rows, object_columns))] applied: *mut u32,
    #[len(frames)] corners: *const [u32; 2],
    #[len(frames)] order: *const u32,
    #[len(batches)] ranges: *const [u32; 2],
    #[len(given)] given_bounds: *const [u32; 4],
    frames: u32,
    most: u32,
    batches: u32,
    batch: u32,
    rows: u32,
    columns: u32,
    object_rows: u32,
    object_columns: u32,
    before: u32,
    given: u32,
    whole: u32,
    momentum: f32,
    clip_low: f32,
    clip_high: f32,
) {
    if whole == 0 && batch >= batches {
        return;
    }
    let (within, after) = if whole == 0 {
        let (first, count) = range_of(ranges, batch, frames, most);
        let shapes = [[rows, columns], [object_rows, object_columns]];
        let order = order.add(first as usize);
        let bounds = if batch < given {
            Bounds::from_array(*given_bounds.add(batch as usize))
                .within(object_rows, object_columns)
        } else {
            bounds_of(corners, order, count, shapes[0], shapes[1])
        };
        (bounds, before.saturating_add(1))
    } else {
        (Bounds::whole(object_rows, object_columns), before)
    };
    let across = within.columns().div_ceil(TILE_COLUMNS).max(1);
    let total = (within.bottom - within.top).div_ceil(TILE_ROWS) * across;
    let tiles_of_row = object_columns.div_ceil(TILE_COLUMNS);
    // Batches that the tiles of this block have missed.
    let missed = shared_array![u32; THREADS as usize];
    let thread_index = thread::index_in_block();
    let share = total.div_ceil(thread::grid_dim_x());
    let mut from = thread::block_idx_x().saturating_mul(share).min(total);
    let to = from.saturating_add(share).min(total);
    while from < to {
        let count = (to - from).min(THREADS);
        if thread_index < count {
            let tile = from + thread_index;
            let row = within.top / TILE_ROWS + tile / across;
            let column = within.left / TILE_COLUMNS + tile % across;
            let counter = applied.add(row as usize * tiles_of_row as usize + column as usize);
            *missed.add(thread_index as usize) = before.saturating_sub(*counter);
            *counter = after;
        }
        thread::sync_threads();
        for k in 0..count {
            let times = *missed.add(k as usize);
            let tile = from + k;
            let row = within.top + tile / across * TILE_ROWS + thread::thread_idx_y();
            let column = within.left + tile % across * TILE_COLUMNS + thread::thread_idx_x();
            if times > 0 && row < object_rows && column < object_columns {
                let at = row as usize * object_columns as usize + column as usize;
                let values = [*object.add(at), *velocity.add(at)];
                let [value, moved] = repeated(values, momentum, [clip_low, clip_high], times);
                *object.add(at) = value;
                *velocity.add(at) = moved;
            }
        }
        // The next tiles use the same shared memory.
        thread::sync_threads();
        from += count;
    }
}

/// A value and its velocity after `times` batches that do not touch it.
#[inline(always)]
fn repeated(
    [mut value, mut velocity]: [Complex32; 2],
    momentum: f32,
    [low, high]: [f32; 2],
    times: u32,
) -> [Complex32; 2] {
    let mut left = times;
    let mut stays = false;
    while left >= STEPS && !stays {
        for _ in 1..STEPS {
            velocity = velocity.scale_add(momentum, Complex32::ZERO);
            value = clipped(value + velocity, low, high);
        }
        velocity = velocity.scale_add(momentum, Complex32::ZERO);
        let sum = value + velocity;
        let next = clipped(sum, low, high);
        // A velocity that is too small to change the value does not grow, and rounding is monotonic: the value stays.
        stays = same_bits(sum, value) && same_bits(next, value);
        value = next;
        left -= STEPS;
    }
    if stays {
        for _ in 0..left {
            velocity = velocity.scale_add(momentum, Complex32::ZERO);
        }
        // Where rounding has made the velocity −0 and it is +0 now, −0 becomes +0. Otherwise this changes nothing.
        value = clipped(value + velocity, low, high);
    } else {
        for _ in 0..left {
            velocity = velocity.scale_add(momentum, Complex32::ZERO);
            value = clipped(value + velocity, low, high);
        }
    }
    [value, velocity]
}

/// Whether two values have the same bits; for the compiler −0 is 0.
#[inline(always)]
fn same_bits(a: Complex32, b: Complex32) -> bool {
    a.re.to_bits() == b.re.to_bits() && a.im.to_bits() == b.im.to_bits()
}
