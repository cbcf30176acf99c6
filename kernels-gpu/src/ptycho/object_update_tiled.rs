//! Object update by output tiles: `O ← [c_o O + Σ conj(P) ψ] / [c_o + Σ |P|²]`, no atomics, the
//! same bits every time.
//!
//! A block does one tile of 8 × 32 object pixels, a thread one pixel of it. The block looks through
//! the corners of all frames, 256 at a time, keeps those whose windows touch the tile in shared
//! memory in the frames' order (a ballot and a prefix over its warps), and each thread adds up the
//! kept ones that hold its pixel. Reads every ψ once, 8 bytes per pixel and mode of device memory,
//! in rows of 32 pixels; probe and its power come from the caches; writes 8 bytes per object pixel.
//!
//! Block of 32 × 8: a warp reads 256 bytes of a row; 8 rows keep the share of frames that touch a
//! tile but few of its pixels small, and give thousands of blocks for an object of a million
//! pixels.

use warpstride_device::prelude::*;

const TILE_ROWS: u32 = 8;
const TILE_COLUMNS: u32 = 32;
const THREADS: u32 = TILE_ROWS * TILE_COLUMNS;
const WARPS: usize = (THREADS / 32) as usize;

/// Updates every object pixel and keeps its modulus within `clip_low … clip_high` (`clip_high` < 0:
/// no limits). Does nothing while `*gate` is not 0.
#[kernel(block = (32, 8), min_blocks = 4, hot)]
#[allow(
    clippy::too_many_arguments,
    reason = "the arrays of the model and their shapes"
)]
pub unsafe fn object_update_tiled(
    #[len(object_rows * object_columns)] object: *mut Complex32,
    #[len(modes * rows * columns)] probe: *const Complex32,
    #[len(rows * columns)] power: *const f32,
    #[len(frames * modes * rows * columns)] psi: *const Complex32,
    #[len(frames)] corners: *const [u32; 2],
    #[len(1)] gate: *const u32,
    frames: u32,
    modes: u32,
    rows: u32,
    columns: u32,
    object_rows: u32,
    object_columns: u32,
    weight: f32,
    clip_low: f32,
    clip_high: f32,
) {
    if *gate != 0 || object_columns == 0 {
        return;
    }
    // Kept frames: number, top, left.
    let kept = shared_array![[u32; 3]; THREADS as usize];
    let counts = shared_array![u32; WARPS];
    let thread_index = thread::index_in_block();
    let pixels = (rows * columns) as usize;
    let across = object_columns.div_ceil(TILE_COLUMNS);
    for tile in thread::block_stride(object_rows.div_ceil(TILE_ROWS) * across) {
        let (first_row, first_column) = (tile / across * TILE_ROWS, tile % across * TILE_COLUMNS);
        let row = first_row + thread::thread_idx_y();
        let column = first_column + thread::thread_idx_x();
        let mut numerator = Complex32::ZERO;
        let mut denominator = 0.0;
        let mut base = 0;
        while base < frames {
            let frame = base + thread_index;
            let mut corner = [0, 0];
            let mut touches = false;
            if frame < frames {
                corner = *corners.add(frame as usize);
                touches = corner[0] < first_row + TILE_ROWS
                    && corner[0] + rows > first_row
                    && corner[1] < first_column + TILE_COLUMNS
                    && corner[1] + columns > first_column;
            }
            let votes = warp::ballot(warp::FULL, touches);
            if warp::lane_id() == 0 {
                *counts.add(warp::warp_id() as usize) = votes.count_ones();
            }
            thread::sync_threads();
            let (mut before, mut total) = (0, 0);
            for w in 0..WARPS {
                if w == warp::warp_id() as usize {
                    before = total;
                }
                total += *counts.add(w);
            }
            if touches {
                let lower = votes & ((1 << warp::lane_id()) - 1);
                let place = before + lower.count_ones();
                *kept.add(place as usize) = [frame, corner[0], corner[1]];
            }
            thread::sync_threads();
            for k in 0..total as usize {
                let [frame, top, left] = *kept.add(k);
                // Outside on the low side wraps to a large number.
                let (r, c) = (row.wrapping_sub(top), column.wrapping_sub(left));
                if r < rows && c < columns {
                    let pixel = (r * columns + c) as usize;
                    let waves = psi.add(frame as usize * modes as usize * pixels);
                    let mut at = pixel;
                    for _ in 0..modes {
                        numerator = (*probe.add(at)).conj_mul_add(*waves.add(at), numerator);
                        at += pixels;
                    }
                    denominator += *power.add(pixel);
                }
            }
            thread::sync_threads();
            base += THREADS;
        }
        if row < object_rows && column < object_columns {
            let place = object.add(row as usize * object_columns as usize + column as usize);
            *place = super::object_finish::finished(
                *place,
                numerator,
                denominator,
                weight,
                clip_low,
                clip_high,
            );
        }
    }
}
