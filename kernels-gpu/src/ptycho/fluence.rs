//! The fluence of the object: `Σ |P|²` over the frames and modes that illuminate a pixel, without atomics and with the
//! same bits every time.
//!
//! A block of 32 × 4 threads has a tile of 32 × 32 object pixels, eight a thread, and goes through the list of the windows
//! that touch it. Reads the probe's power from L1 or L2 once per frame and pixel, writes 5 bytes per object pixel: 24 million
//! additions for 1457 frames of 128 × 128.

use super::fixed_point::exponent_for;
use super::tile_frames::TILE_COLUMNS;
use warpstride_device::prelude::*;

/// Object rows in a tile: a block of threads goes over them in parts.
pub const FLUENCE_ROWS: u32 = 32;
/// Rows of threads.
const TILE_ROWS: u32 = 4;
const PARTS: usize = (FLUENCE_ROWS / TILE_ROWS) as usize;
/// Frames of a thread that are loaded together.
const TOGETHER: usize = 2;

/// The tiles of an object.
#[must_use]
pub const fn fluence_tiles(object_rows: u32, object_columns: u32) -> u32 {
    object_rows.div_ceil(FLUENCE_ROWS) * object_columns.div_ceil(TILE_COLUMNS)
}

/// `quanta`: exponents of the units in 1 of the object's sums (`ptycho::fixed_point`) with at most `windows` windows over a pixel, and
/// `fluence[r, c] = Σ_frames power[r − top, c − left]`, of the tiles `first` to `end`. `corners[starts[t]..starts[t + 1]]` are those of
/// the windows that touch tile t, row-major over the object.
#[kernel(block = (32, 4), min_blocks = 8, hot)]
#[allow(
    clippy::too_many_arguments,
    reason = "the arrays of the model and their shapes"
)]
pub unsafe fn ptycho_fluence(
    #[len(object_rows * object_columns)] fluence: *mut f32,
    #[len(object_rows * object_columns)] quanta: *mut u8,
    #[len(1)] limit: *const f32,
    #[len(rows * columns)] power: *const f32,
    #[len(tiles + 1)] starts: *const u32,
    #[len(listed)] corners: *const [u32; 2],
    tiles: u32,
    listed: u32,
    rows: u32,
    columns: u32,
    object_rows: u32,
    object_columns: u32,
    windows: u32,
    first: u32,
    end: u32,
) {
    if object_columns == 0 || tiles != fluence_tiles(object_rows, object_columns) {
        return;
    }
    let across = object_columns.div_ceil(TILE_COLUMNS);
    for item in thread::block_stride(end.min(tiles).saturating_sub(first)) {
        let tile = first + item;
        let row = tile / across * FLUENCE_ROWS + thread::thread_idx_y();
        let column = tile % across * TILE_COLUMNS + thread::thread_idx_x();
        let mut sums = [0.0; PARTS];
        let end = (*starts.add(tile as usize + 1)).min(listed);
        let mut next = *starts.add(tile as usize);
        // Read ahead, because the addresses of all else depend on them.
        let load = |first: u32| {
            let mut loaded = [[0; 2]; TOGETHER];
            for u in 0..TOGETHER {
                let number = (first + u as u32).min(listed - 1);
                loaded[u] = *corners.add(number as usize);
            }
            loaded
        };
        let mut ahead = if next < end {
            load(next)
        } else {
            [[0; 2]; TOGETHER]
        };
        while next < end {
            let mut powers = [[0.0; PARTS]; TOGETHER];
            let present = ahead;
            ahead = load(next + TOGETHER as u32);
            for u in 0..TOGETHER {
                let [top, left] = present[u];
                // A negative difference wraps to a large number.
                let (r, c) = (row.wrapping_sub(top), column.wrapping_sub(left));
                let there = next + (u as u32) < end && c < columns;
                for part in 0..PARTS {
                    let r = r.wrapping_add(part as u32 * TILE_ROWS);
                    if there && r < rows {
                        powers[u][part] = *power.add((r * columns + c) as usize);
                    }
                }
            }
            for of_frame in powers {
                for part in 0..PARTS {
                    sums[part] += of_frame[part];
                }
            }
            next += TOGETHER as u32;
        }
        for part in 0..PARTS {
            let row = row + part as u32 * TILE_ROWS;
            if row < object_rows && column < object_columns {
                let place = row as usize * object_columns as usize + column as usize;
                *fluence.add(place) = sums[part];
                // |ψ| ≤ √2 limit; n windows.
                let bound = GpuFloat::sqrt(2.0 * windows as f32 * sums[part]) * *limit;
                *quanta.add(place) = exponent_for(bound);
            }
        }
    }
}
