//! Object update by output tiles: `O ← [c_o O + Σ conj(P) ψ] / [c_o + Σ |P|²]`, without atomics and with the same
//! bits every time.
//!
//! A block processes one tile of 8 × 32 object pixels, a thread one pixel of it. The block examines the corners of
//! all frames, 256 at a time, lists those whose windows touch the tile in shared memory in the frames' order (a
//! ballot and a prefix sum over its warps), and each thread adds the listed frames that contain its pixel, in all modes, four pairs of
//! frame and mode at a time. Reads every ψ once, 8 bytes (4 in bf16) per pixel and mode of device memory, in rows of 32 pixels; the probe and its
//! power come from the caches; writes 8 bytes per object pixel.
//!
//! Block of 32 × 8: a warp reads 256 bytes of a row; with 8 rows few frames touch a tile in only a few of its pixels,
//! and an object of a million pixels gives thousands of blocks.

use super::object_tile_sums::sums_of_tile;
use super::tile_frames::{THREADS, TILE_COLUMNS, TILE_ROWS, Tile, WARPS};
use warpstride_device::prelude::*;

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
                let (numerator, denominator) = sums_of_tile(
                    &at,
                    [row, column],
                    (probe, power, psi, corners),
                    frames,
                    [modes, rows, columns],
                    (Complex32::ZERO, 0.0),
                );
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
