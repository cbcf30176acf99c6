//! Object update by output tiles: `O ← [c_o O + Σ conj(P) ψ] / [c_o + Σ |P|²]`, without atomics and with the same
//! bits every time.
//!
//! A block processes one tile of 8 × 32 object pixels, a thread one pixel of it. The block examines the corners of
//! all frames, 256 at a time, lists those whose windows touch the tile in shared memory in the frames' order (a
//! ballot and a prefix sum over its warps), and each thread adds the listed frames that contain its pixel, four at a
//! time. Reads every ψ once, 8 bytes (4 in bf16) per pixel and mode of device memory, in rows of 32 pixels; the probe and its
//! power come from the caches; writes 8 bytes per object pixel.
//!
//! Block of 32 × 8: a warp reads 256 bytes of a row; with 8 rows few frames touch a tile in only a few of its pixels,
//! and an object of a million pixels gives thousands of blocks.

use super::tile_frames::{THREADS, TILE_COLUMNS, TILE_ROWS, Tile, WARPS};
use super::wave_storage::value;
use warpstride_device::prelude::*;

/// Frames of a thread that are loaded together.
const TOGETHER: usize = 4;

macro_rules! kernels {
    ($($(#[doc = $doc:expr])* $wave:ty: $name:ident;)*) => {$(
        $(#[doc = $doc])*
        #[kernel(block = (32, 8), min_blocks = 4, hot)]
        #[allow(
            clippy::too_many_arguments,
            reason = "the arrays of the model and their shapes"
        )]
        pub unsafe fn $name(
            #[len(object_rows * object_columns)] object: *mut Complex32,
            #[len(modes * rows * columns)] probe: *const Complex32,
            #[len(rows * columns)] power: *const f32,
            #[len(frames * modes * rows * columns)] psi: *const $wave,
            #[len(frames)] corners: *const [u32; 2],
            #[len(1)] gate: *const u32,
            frames: u32,
            modes: u32,
            rows: u32,
            columns: u32,
            object_rows: u32,
            object_columns: u32,
            scale: f32,
            weight: f32,
            clip_low: f32,
            clip_high: f32,
        ) {
            if *gate != 0 || object_columns == 0 {
                return;
            }
            let kept = shared_array![[u32; 3]; THREADS as usize];
            let counts = shared_array![u32; WARPS];
            let pixels = (rows * columns) as usize;
            let across = object_columns.div_ceil(TILE_COLUMNS);
            for tile in thread::block_stride(object_rows.div_ceil(TILE_ROWS) * across) {
                let at = Tile {
                    kept,
                    counts,
                    first_row: tile / across * TILE_ROWS,
                    first_column: tile % across * TILE_COLUMNS,
                    rows: TILE_ROWS,
                };
                let row = at.first_row + thread::thread_idx_y();
                let column = at.first_column + thread::thread_idx_x();
                let mut numerator = Complex32::ZERO;
                let mut denominator = 0.0;
                let mut base = 0;
                while base < frames {
                    let total = at.list(corners, base, frames, [rows, columns]);
                    let mut k = 0;
                    while k < total {
                        // Frames beyond the end of the list, or that do not contain the pixel, have weight 0.
                        let mut weights = [0.0; TOGETHER];
                        let mut places = [0; TOGETHER];
                        let mut waves = [psi; TOGETHER];
                        for u in 0..TOGETHER {
                            let [frame, top, left] = *at.kept.add((k + u as u32).min(total - 1) as usize);
                            // A negative difference wraps to a large number.
                            let (r, c) = (row.wrapping_sub(top), column.wrapping_sub(left));
                            if k + (u as u32) < total && r < rows && c < columns {
                                weights[u] = 1.0;
                                places[u] = (r * columns + c) as usize;
                            }
                            waves[u] = psi.add(frame as usize * modes as usize * pixels);
                        }
                        let mut mode_start = 0;
                        for _ in 0..modes {
                            let mut p = [Complex32::ZERO; TOGETHER];
                            let mut wave = [Complex32::ZERO; TOGETHER];
                            for u in 0..TOGETHER {
                                p[u] = *probe.add(mode_start + places[u]);
                                wave[u] = value(&*waves[u].add(mode_start + places[u]));
                            }
                            for u in 0..TOGETHER {
                                numerator = p[u].scale(weights[u]).conj_mul_add(wave[u], numerator);
                            }
                            mode_start += pixels;
                        }
                        for u in 0..TOGETHER {
                            denominator = (*power.add(places[u])).mul_add(weights[u], denominator);
                        }
                        k += TOGETHER as u32;
                    }
                    thread::sync_threads();
                    base += THREADS;
                }
                if row < object_rows && column < object_columns {
                    let place = object.add(row as usize * object_columns as usize + column as usize);
                    *place = super::object_finish::finished(
                        *place,
                        numerator.scale(scale),
                        denominator,
                        weight,
                        clip_low,
                        clip_high,
                    );
                }
            }
        }
    )*};
}

kernels! {
    /// Updates every object pixel from `scale · psi` and clips its modulus to `clip_low … clip_high` (`clip_high` < 0: no
    /// limits). Does nothing while `*gate` is not 0.
    Complex32: ptycho_object_update_tiled;
    /// [`ptycho_object_update_tiled`] with ψ in bf16.
    u32: ptycho_object_update_tiled_bf16;
}
