//! The fluence of the object: `Σ |P|²` over the frames and modes that illuminate a pixel, without atomics and with the
//! same bits every time.
//!
//! Blocks and lists of frames as in [`super::object_update_tiled`], but tiles of 32 × 32 object pixels, four a thread: going
//! through the corners of all frames is most of the work. Reads the probe's power from L1 or L2 once
//! per frame and pixel, writes 8 bytes per object pixel: 24 million additions for 1457 frames of 128 × 128.

use super::fixed_point::quantum_for;
use super::tile_frames::{THREADS, TILE_COLUMNS, TILE_ROWS, Tile, WARPS};
use warpstride_device::prelude::*;

/// Object rows in a tile: a block of threads goes over them in parts.
pub const FLUENCE_ROWS: u32 = 32;
const PARTS: usize = (FLUENCE_ROWS / TILE_ROWS) as usize;
/// Frames of a thread that are loaded together.
const TOGETHER: usize = 2;

/// `quanta`: units in 1 of the object's sums (`ptycho::fixed_point`) with at most `windows` windows over a pixel, and
/// `fluence[r, c] = Σ_frames power[r − top, c − left]`.
#[kernel(block = (32, 8), min_blocks = 4, hot)]
#[allow(
    clippy::too_many_arguments,
    reason = "the arrays of the model and their shapes"
)]
pub unsafe fn ptycho_fluence(
    #[len(object_rows * object_columns)] fluence: *mut f32,
    #[len(object_rows * object_columns)] quanta: *mut f32,
    #[len(1)] limit: *const f32,
    #[len(rows * columns)] power: *const f32,
    #[len(frames)] corners: *const [u32; 2],
    frames: u32,
    rows: u32,
    columns: u32,
    object_rows: u32,
    object_columns: u32,
    windows: u32,
) {
    if object_columns == 0 {
        return;
    }
    let kept = shared_array![[u32; 3]; THREADS as usize];
    let counts = shared_array![u32; WARPS];
    let across = object_columns.div_ceil(TILE_COLUMNS);
    for tile in thread::block_stride(object_rows.div_ceil(FLUENCE_ROWS) * across) {
        let at = Tile {
            kept,
            counts,
            first_row: tile / across * FLUENCE_ROWS,
            first_column: tile % across * TILE_COLUMNS,
            rows: FLUENCE_ROWS,
        };
        let row = at.first_row + thread::thread_idx_y();
        let column = at.first_column + thread::thread_idx_x();
        let mut sums = [0.0; PARTS];
        let mut base = 0;
        while base < frames {
            let total = at.list(corners, base, frames, [rows, columns]);
            let mut k = 0;
            while k < total {
                let mut powers = [[0.0; PARTS]; TOGETHER];
                for u in 0..TOGETHER {
                    let [_, top, left] = *at.kept.add((k + u as u32).min(total - 1) as usize);
                    // A negative difference wraps to a large number.
                    let c = column.wrapping_sub(left);
                    let there = k + (u as u32) < total && c < columns;
                    for part in 0..PARTS {
                        let r = (row + part as u32 * TILE_ROWS).wrapping_sub(top);
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
                k += TOGETHER as u32;
            }
            thread::sync_threads();
            base += THREADS;
        }
        for part in 0..PARTS {
            let row = row + part as u32 * TILE_ROWS;
            if row < object_rows && column < object_columns {
                let place = row as usize * object_columns as usize + column as usize;
                *fluence.add(place) = sums[part];
                // |ψ| ≤ √2 limit; n windows.
                let bound = GpuFloat::sqrt(2.0 * windows as f32 * sums[part]) * *limit;
                *quanta.add(place) = quantum_for(bound);
            }
        }
    }
}
