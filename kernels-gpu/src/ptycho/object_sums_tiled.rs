//! The sums of an object update over a block of the frames, by output tiles: those of `object_update_tiled`, where not all exit
//! waves are on the device at a time.
//!
//! Threads and tiles as in `object_update_tiled`; reads and writes 12 bytes per object pixel besides, for every block of frames.

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
            #[len(object_rows * object_columns)] numerators: *mut Complex32,
            #[len(object_rows * object_columns)] weights: *mut f32,
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
            add: u32,
            scale: f32,
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
                let inside = row < object_rows && column < object_columns;
                let place = row as usize * object_columns as usize + column as usize;
                let start = if add != 0 && inside {
                    (*numerators.add(place), *weights.add(place))
                } else {
                    (Complex32::ZERO, 0.0)
                };
                let (numerator, weight) = sums_of_tile(
                    &at,
                    [row, column],
                    (probe, power, psi, corners),
                    frames,
                    [modes, rows, columns],
                    start,
                );
                if inside {
                    *numerators.add(place) = numerator.scale(scale);
                    *weights.add(place) = weight;
                }
            }
        }
    )*};
}

kernels! {
    /// `numerators` `Σ conj(P) ψ` and `weights` `Σ |P|²` (row, column) of the object over the frames in their order; `add` not 0:
    /// added to what is there. The numerators are multiplied by `scale` at the end. Does nothing while `*gate` is not 0.
    Complex32: ptycho_object_sums_tiled;
    /// [`ptycho_object_sums_tiled`] with ψ in bf16.
    u32: ptycho_object_sums_tiled_bf16;
}
