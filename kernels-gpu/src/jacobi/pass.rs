//! A pass: 1 to 8 sweeps in which the field is read and written once.
//!
//! A warp moves down a strip of rows with a window of 128 (double precision: 64) columns and holds all sweeps of the
//! pass in registers (`level.rs`); neighbours in a row are exchanged by shuffles. There is no shared memory and no
//! barrier. Neighbouring strips compute the outermost columns and rows of a strip too: up to 8 columns and T rows on
//! each side.
//!
//! Reads and writes 8 (16) bytes a cell and pass, so 8/T a sweep, and reads 4 (8) more with a source; computes 4
//! operations a cell and sweep, and 3 more with the norm. One sweep is limited by memory, eight by instructions.
//!
//! Blocks of 128, since warps are independent; as many blocks as the registers of T sweeps allow.

use super::block::Block;
use super::level::{Absent, Level};
use super::strip::{Field, Norms, pass};
use super::window::Columns;
use warpstride_device::prelude::*;

/// As many nested levels as there are tokens.
macro_rules! levels {
    ($c:ty, $s:ty;) => { () };
    ($c:ty, $s:ty; $first:tt $($rest:tt)*) => { (Level<$c, $s>, levels!($c, $s; $($rest)*)) };
}

macro_rules! pass_kernels {
    ($($(#[$doc:meta])* $laplace:ident $poisson:ident: $cells:ty, $sweeps:literal [$($level:tt)*], $blocks:literal $more:literal;)*) => {$(
        $(#[$doc])*
        /// Computes rows `first_row…end_row` of the block, in `strips` strips, from `input` into `out`; `wraps`: the
        /// block is its own neighbour above and below, and the halos are not read. Rows below `held_below` and from
        /// `held_from` on are not changed.
        ///
        /// Bit t of `wanted` requests the norm of sweep t: `sums` gets at `t · sums_stride + sums_offset` the strips'
        /// sums of squared changes, one number a strip and window.
        #[kernel(block = 128, min_blocks = $blocks, hot, f64)]
        #[allow(clippy::too_many_arguments, reason = "a field, its border and its norms")]
        pub unsafe fn $laplace(
            #[len((rows + 2 * halo) * pitch)] out: *mut $cells,
            #[len((rows + 2 * halo) * pitch)] input: *const $cells,
            #[len($sweeps * sums_stride)] sums: *mut f64,
            rows: u32,
            halo: u32,
            pitch: u32,
            nx: u32,
            first_row: u32,
            end_row: u32,
            strips: u32,
            wraps: u32,
            periodic_columns: u32,
            held_below: i32,
            held_from: i32,
            wanted: u32,
            sums_stride: u32,
            sums_offset: u32,
        ) {
            let source = input;
            pass::<$cells, Absent, levels!($cells, Absent; $($level)*)>(
                Field {
                    out,
                    input,
                    source,
                    block: Block {
                        rows: rows as i32,
                        halo: halo as i32,
                        wraps: wraps != 0,
                        pitch,
                    },
                    columns: Columns {
                        nx: nx as i32,
                        periodic: periodic_columns != 0,
                    },
                    held: (held_below, held_from),
                },
                Norms {
                    out: sums,
                    stride: sums_stride,
                    offset: sums_offset,
                    wanted,
                },
                (first_row, end_row),
                strips,
            );
        }

        $(#[$doc])*
        /// The same as the kernel without a source; `source` has the rows of the field, including halos.
        #[kernel(block = 128, min_blocks = $more, hot, f64)]
        #[allow(clippy::too_many_arguments, reason = "a field, its border and its norms")]
        pub unsafe fn $poisson(
            #[len((rows + 2 * halo) * pitch)] out: *mut $cells,
            #[len((rows + 2 * halo) * pitch)] input: *const $cells,
            #[len((rows + 2 * halo) * pitch)] source: *const $cells,
            #[len($sweeps * sums_stride)] sums: *mut f64,
            rows: u32,
            halo: u32,
            pitch: u32,
            nx: u32,
            first_row: u32,
            end_row: u32,
            strips: u32,
            wraps: u32,
            periodic_columns: u32,
            held_below: i32,
            held_from: i32,
            wanted: u32,
            sums_stride: u32,
            sums_offset: u32,
        ) {
            pass::<$cells, $cells, levels!($cells, $cells; $($level)*)>(
                Field {
                    out,
                    input,
                    source,
                    block: Block {
                        rows: rows as i32,
                        halo: halo as i32,
                        wraps: wraps != 0,
                        pitch,
                    },
                    columns: Columns {
                        nx: nx as i32,
                        periodic: periodic_columns != 0,
                    },
                    held: (held_below, held_from),
                },
                Norms {
                    out: sums,
                    stride: sums_stride,
                    offset: sums_offset,
                    wanted,
                },
                (first_row, end_row),
                strips,
            );
        }
    )*};
}

pass_kernels! {
    /// One sweep in single precision.
    jacobi_laplace_f32_t1 jacobi_poisson_f32_t1: F32x4, 1 [1], 6 4;
    /// Two sweeps in single precision.
    jacobi_laplace_f32_t2 jacobi_poisson_f32_t2: F32x4, 2 [1 2], 6 4;
    /// Three sweeps in single precision.
    jacobi_laplace_f32_t3 jacobi_poisson_f32_t3: F32x4, 3 [1 2 3], 5 4;
    /// Four sweeps in single precision.
    jacobi_laplace_f32_t4 jacobi_poisson_f32_t4: F32x4, 4 [1 2 3 4], 4 3;
    /// Five sweeps in single precision.
    jacobi_laplace_f32_t5 jacobi_poisson_f32_t5: F32x4, 5 [1 2 3 4 5], 4 3;
    /// Six sweeps in single precision.
    jacobi_laplace_f32_t6 jacobi_poisson_f32_t6: F32x4, 6 [1 2 3 4 5 6], 3 2;
    /// Seven sweeps in single precision.
    jacobi_laplace_f32_t7 jacobi_poisson_f32_t7: F32x4, 7 [1 2 3 4 5 6 7], 3 2;
    /// Eight sweeps in single precision.
    jacobi_laplace_f32_t8 jacobi_poisson_f32_t8: F32x4, 8 [1 2 3 4 5 6 7 8], 3 2;
    /// One sweep in double precision.
    jacobi_laplace_f64_t1 jacobi_poisson_f64_t1: F64x2, 1 [1], 6 4;
    /// Two sweeps in double precision.
    jacobi_laplace_f64_t2 jacobi_poisson_f64_t2: F64x2, 2 [1 2], 5 4;
    /// Three sweeps in double precision.
    jacobi_laplace_f64_t3 jacobi_poisson_f64_t3: F64x2, 3 [1 2 3], 4 3;
    /// Four sweeps in double precision.
    jacobi_laplace_f64_t4 jacobi_poisson_f64_t4: F64x2, 4 [1 2 3 4], 4 3;
    /// Five sweeps in double precision.
    jacobi_laplace_f64_t5 jacobi_poisson_f64_t5: F64x2, 5 [1 2 3 4 5], 3 2;
    /// Six sweeps in double precision.
    jacobi_laplace_f64_t6 jacobi_poisson_f64_t6: F64x2, 6 [1 2 3 4 5 6], 3 2;
    /// Seven sweeps in double precision.
    jacobi_laplace_f64_t7 jacobi_poisson_f64_t7: F64x2, 7 [1 2 3 4 5 6 7], 3 2;
    /// Eight sweeps in double precision.
    jacobi_laplace_f64_t8 jacobi_poisson_f64_t8: F64x2, 8 [1 2 3 4 5 6 7 8], 2 2;
}
