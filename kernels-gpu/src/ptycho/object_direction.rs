//! The object's direction of a batch by output tiles: `Σ conj(S[P]) χ` and `Σ |S[P]|²`, without atomics and with the
//! same bits every time.
//!
//! As `object_update_tiled`, but every frame has its own shifted probe, and the frames are those of a batch. Reads χ
//! and `S[P]` once, 16 bytes per pixel and mode.
//!
//! Block of 32 × 8, as `object_update_tiled`.

use super::tile_frames::{TILE_COLUMNS, TILE_ROWS};
use warpstride_device::prelude::*;

const THREADS: u32 = TILE_ROWS * TILE_COLUMNS;
const WARPS: usize = (THREADS / 32) as usize;
/// Frames of a thread that are loaded together.
const TOGETHER: usize = 4;

/// `numerators` and `weights` of the frames `order[first..first + count]`, whose `scale · chi` begin at frame
/// `chi_first`; added to what is there if `add` is not 0. The object has `layers` layers, and each frame waves of all of them (layer, mode).
#[kernel(block = (32, 8), min_blocks = 4, hot)]
#[allow(
    clippy::too_many_arguments,
    reason = "the arrays of the model and their shapes"
)]
pub unsafe fn ptycho_object_direction(
    #[len(layers * object_rows * object_columns)] numerators: *mut Complex32,
    #[len(object_rows * object_columns)] weights: *mut f32,
    #[len(count * modes * rows * columns)] probes: *const Complex32,
    #[len((chi_first + count) * layers * modes * rows * columns)] chi: *const Complex32,
    #[len(frames)] corners: *const [u32; 2],
    #[len(frames)] order: *const u32,
    frames: u32,
    first: u32,
    count: u32,
    modes: u32,
    rows: u32,
    columns: u32,
    object_rows: u32,
    object_columns: u32,
    chi_first: u32,
    add: u32,
    layers: u32,
    scale: f32,
) {
    if object_columns == 0 || first >= frames || count > frames - first {
        return;
    }
    // The listed frames: number in the batch, top, left.
    let kept = shared_array![[u32; 3]; THREADS as usize];
    let counts = shared_array![u32; WARPS];
    let thread_index = thread::index_in_block();
    let pixels = (rows * columns) as usize;
    let of_frame = layers as usize * modes as usize * pixels;
    let chi = chi.add(chi_first as usize * of_frame);
    let across = object_columns.div_ceil(TILE_COLUMNS);
    let tiles = object_rows.div_ceil(TILE_ROWS) * across;
    for item in thread::block_stride(layers * tiles) {
        let (layer, tile) = (item / tiles.max(1), item % tiles.max(1));
        let chi = chi.add(layer as usize * modes as usize * pixels);
        let (first_row, first_column) = (tile / across * TILE_ROWS, tile % across * TILE_COLUMNS);
        let row = first_row + thread::thread_idx_y();
        let column = first_column + thread::thread_idx_x();
        let mut numerator = Complex32::ZERO;
        let mut weight = 0.0;
        let mut base = 0;
        while base < count {
            let member = base + thread_index;
            let mut corner = [0, 0];
            let mut touches = false;
            if member < count {
                corner = *corners.add(*order.add((first + member) as usize) as usize);
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
                *kept.add(place as usize) = [member, corner[0], corner[1]];
            }
            thread::sync_threads();
            let mut k = 0;
            while k < total {
                // Frames beyond the end of the list, or that do not contain the pixel, have weight 0.
                let mut inside = [0.0; TOGETHER];
                let mut places = [0; TOGETHER];
                let mut waves = [0; TOGETHER];
                for u in 0..TOGETHER {
                    let [member, top, left] = *kept.add((k + u as u32).min(total - 1) as usize);
                    // A negative difference wraps to a large number.
                    let (r, c) = (row.wrapping_sub(top), column.wrapping_sub(left));
                    places[u] = member as usize * modes as usize * pixels;
                    waves[u] = member as usize * of_frame;
                    if k + (u as u32) < total && r < rows && c < columns {
                        inside[u] = 1.0;
                        places[u] += (r * columns + c) as usize;
                        waves[u] += (r * columns + c) as usize;
                    }
                }
                for _ in 0..modes {
                    let mut p = [Complex32::ZERO; TOGETHER];
                    let mut wave = [Complex32::ZERO; TOGETHER];
                    for u in 0..TOGETHER {
                        p[u] = *probes.add(places[u]);
                        wave[u] = *chi.add(waves[u]);
                        places[u] += pixels;
                        waves[u] += pixels;
                    }
                    for u in 0..TOGETHER {
                        let p = p[u].scale(inside[u]);
                        numerator = p.conj_mul_add(wave[u], numerator);
                        weight += p.norm_sqr();
                    }
                }
                k += TOGETHER as u32;
            }
            thread::sync_threads();
            base += THREADS;
        }
        if row < object_rows && column < object_columns {
            let at = row as usize * object_columns as usize + column as usize;
            let numerators =
                numerators.add(layer as usize * object_rows as usize * object_columns as usize);
            let mut numerator = numerator.scale(scale);
            if add != 0 {
                numerator += *numerators.add(at);
            }
            *numerators.add(at) = numerator;
            // The same for all layers.
            if layer == 0 {
                if add != 0 {
                    weight += *weights.add(at);
                }
                *weights.add(at) = weight;
            }
        }
    }
}
