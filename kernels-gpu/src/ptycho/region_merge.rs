//! Copies of object and probe that regions of a scan have: packed to be sent to other devices, and merged.
//!
//! A region packs the tiles of the object in which it has a share (its *entries*), multiplied with the share, then the same of the momentum if there is
//! some, then the probe, and the probe's momentum. Tiles are [`TILE_ROWS`] × [`TILE_COLUMNS`] pixels; what of a tile is beyond the object is packed as 0.
//!
//! The object of a copy is a rectangle of whole tiles, in which the tiles are numbered.
//!
//! A thread processes one element: copying and packing read and write 8 bytes; merging reads up to 32 and writes 8. Block of 256: the
//! threads are independent.

use super::tile_frames::{THREADS, TILE_COLUMNS, TILE_ROWS};
use warpstride_device::prelude::*;

/// The number of an entry that a region does not have.
pub const NO_ENTRY: u32 = u32::MAX;

/// Values that a region packs of `entries` tiles and of `elements` elements of the probe, with or without momentum.
#[must_use]
pub const fn region_values(entries: usize, elements: usize, momentum: bool) -> usize {
    let each = entries * THREADS as usize + elements;
    if momentum { 2 * each } else { each }
}

/// The element of the object that pixel `within` of a tile is; none beyond the object.
#[inline(always)]
fn element_of(tile: usize, within: usize, rows: usize, columns: usize) -> Option<usize> {
    let width = TILE_COLUMNS as usize;
    let tile_columns = columns.div_ceil(width);
    let row = tile / tile_columns.max(1) * TILE_ROWS as usize + within / width;
    let column = tile % tile_columns.max(1) * width + within % width;
    (row < rows && column < columns).then_some(row * columns + column)
}

/// Copies the part of `from` that begins at row `top` and column `left` to `to`, of `rows` × `columns` pixels; does nothing if it is not within `from`.
#[kernel(block = 256)]
#[allow(clippy::too_many_arguments, reason = "the arrays and their shapes")]
pub unsafe fn ptycho_copy_region(
    #[len(rows * columns)] to: *mut Complex32,
    #[len(object_rows * object_columns)] from: *const Complex32,
    top: u32,
    left: u32,
    rows: u32,
    columns: u32,
    object_rows: u32,
    object_columns: u32,
) {
    let within = |first: u32, length: u32, all: u32| first <= all && length <= all - first;
    if !within(top, rows, object_rows) || !within(left, columns, object_columns) {
        return;
    }
    let columns = columns as usize;
    for at in thread::grid_stride(rows as usize * columns) {
        let (row, column) = (top as usize + at / columns, left as usize + at % columns);
        *to.add(at) = *from.add(row * object_columns as usize + column);
    }
}

/// Writes what a region packs to `packed`, from element `first` on; does nothing if it does not fit. `tiles` and `shares` are its
/// entries; `velocities` and `probe_velocities` are the lengths of the momentum, 0 without.
#[kernel(block = 256)]
#[allow(clippy::too_many_arguments, reason = "the arrays and their shapes")]
pub unsafe fn ptycho_pack_region(
    #[len(capacity)] packed: *mut Complex32,
    #[len(object_rows * object_columns)] object: *const Complex32,
    #[len(velocities)] velocity: *const Complex32,
    #[len(elements)] probe: *const Complex32,
    #[len(probe_velocities)] probe_velocity: *const Complex32,
    #[len(entries)] tiles: *const u32,
    #[len(entries)] shares: *const f32,
    capacity: u32,
    first: u32,
    object_rows: u32,
    object_columns: u32,
    elements: u32,
    velocities: u32,
    probe_velocities: u32,
    entries: u32,
) {
    let (rows, columns) = (object_rows as usize, object_columns as usize);
    let of_object = entries as usize * THREADS as usize;
    let momentum = velocities == object_rows * object_columns && probe_velocities == elements;
    let length = region_values(entries as usize, elements as usize, momentum);
    if first as usize + length > capacity as usize {
        return;
    }
    let of_tiles = if momentum { 2 * of_object } else { of_object };
    let elements = elements as usize;
    let packed = packed.add(first as usize);
    for at in thread::grid_stride(length) {
        let value = if at < of_tiles {
            let of_momentum = at >= of_object;
            let on = if of_momentum { at - of_object } else { at };
            let entry = on / THREADS as usize;
            let tile = *tiles.add(entry) as usize;
            match element_of(tile, on % THREADS as usize, rows, columns) {
                Some(element) => {
                    let from = if of_momentum { velocity } else { object };
                    (*from.add(element)).scale(*shares.add(entry))
                }
                None => Complex32::new(0.0, 0.0),
            }
        } else if at < of_tiles + elements {
            *probe.add(at - of_tiles)
        } else {
            *probe_velocity.add(at - of_tiles - elements)
        };
        *packed.add(at) = value;
    }
}

/// Writes to `object` and `velocity`, on `tiles`, the sums over the regions of what they have packed, and to `probe` and
/// `probe_velocity` the means over the regions. `all` has what they packed; `regions` says of each at which element of `all` it begins and how many entries it has; `entries` says of each tile
/// which entry of each region it is ([`NO_ENTRY`]: none).
#[kernel(block = 256)]
#[allow(clippy::too_many_arguments, reason = "the arrays and their shapes")]
pub unsafe fn ptycho_merge_regions(
    #[len(object_rows * object_columns)] object: *mut Complex32,
    #[len(velocities)] velocity: *mut Complex32,
    #[len(elements)] probe: *mut Complex32,
    #[len(probe_velocities)] probe_velocity: *mut Complex32,
    #[len(length)] all: *const Complex32,
    #[len(4)] regions: *const [u32; 2],
    #[len(count)] tiles: *const u32,
    #[len(count)] entries: *const [u32; 4],
    length: u32,
    object_rows: u32,
    object_columns: u32,
    elements: u32,
    velocities: u32,
    probe_velocities: u32,
    count: u32,
) {
    let (rows, columns) = (object_rows as usize, object_columns as usize);
    let of_object = count as usize * THREADS as usize;
    let momentum = velocities == object_rows * object_columns && probe_velocities == elements;
    let elements = elements as usize;
    let (mut firsts, mut counts) = ([0_usize; 4], [0_usize; 4]);
    for region in 0..4 {
        let [first, count] = *regions.add(region);
        (firsts[region], counts[region]) = (first as usize, count as usize);
        let values = region_values(counts[region], elements, momentum);
        if firsts[region] + values > length as usize {
            return;
        }
    }
    let of_tiles = if momentum { 2 * of_object } else { of_object };
    let zero = Complex32::new(0.0, 0.0);
    for at in thread::grid_stride(region_values(count as usize, elements, momentum)) {
        let mut parts = [zero; 4];
        if at < of_tiles {
            let of_momentum = at >= of_object;
            let on = if of_momentum { at - of_object } else { at };
            let (tile, within) = (on / THREADS as usize, on % THREADS as usize);
            let numbers = *entries.add(tile);
            let tile = *tiles.add(tile) as usize;
            for region in 0..4 {
                let number = numbers[region] as usize;
                if number < counts[region] {
                    let before = if of_momentum { counts[region] } else { 0 };
                    let from = firsts[region] + (before + number) * THREADS as usize;
                    parts[region] = *all.add(from + within);
                }
            }
            if let Some(element) = element_of(tile, within, rows, columns) {
                let to = if of_momentum { velocity } else { object };
                *to.add(element) = (parts[0] + parts[1]) + (parts[2] + parts[3]);
            }
        } else {
            let on = at - of_tiles;
            for region in 0..4 {
                let of_region = counts[region] * THREADS as usize;
                let of_region = if momentum { 2 * of_region } else { of_region };
                parts[region] = *all.add(firsts[region] + of_region + on);
            }
            let mean = ((parts[0] + parts[1]) + (parts[2] + parts[3])).scale(0.25);
            if on < elements {
                *probe.add(on) = mean;
            } else {
                *probe_velocity.add(on - elements) = mean;
            }
        }
    }
}
