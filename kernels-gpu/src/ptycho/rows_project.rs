//! The second of the three kernels of a projection engine's step in passes: transforms along rows, replaces the
//! magnitudes, and transforms back along rows.
//!
//! With f of all modes the value is multiplied by m/√Σ|f|² − 1, m = √I; where a pixel is masked or free by 0 (in the units of
//! a unitary transform). What comes back is the change of the reflected wave. A block handles rows in all modes (`mode_rows`). Reads and writes 8 bytes a value, and
//! reads 4 bytes a pixel.
//!
//! A bound of the error needs no pass of its own: of the change a part is taken ([`super::columns_finish`]).
//!
//! The last frames come first: they are those that the kernel before has written last, so that some are still in L2.

use super::fused_step::SMALLEST_POWER;
use super::mode_rows::{ModeRows, exchange, lines};
use warpstride_device::prelude::*;

/// Blocks that have the rows of a frame in all modes; 0 if a block has too few lines for the modes.
#[must_use]
pub const fn blocks_of_frame(modes: u32, rows: u32, columns: u32) -> u32 {
    if modes == 0 || modes > lines(columns) {
        0
    } else {
        rows.div_ceil(lines(columns) / modes)
    }
}

/// The most modes of which a block has a row of `columns` values.
#[must_use]
pub const fn most_modes(columns: u32) -> u32 {
    lines(columns)
}

macro_rules! kernels {
    ($($length:literal = $a:literal * $b:literal, pitch $pitch:literal, $blocks:literal blocks: $name:ident;)*) => {$(
        #[doc = concat!("Frames of ", stringify!($length), " columns; `columns` must be ", stringify!($length), ".")]
        ///
        /// `row_errors` (frame, row): Σ w (√Σ|f|² − m)², w = 1 where m ≥ 0. `unit` is 1/√(rows · columns), `roots` are
        /// exp(−2πi k/columns).
        #[kernel(block = 128, exact_block, min_blocks = $blocks, hot)]
        #[allow(
            clippy::too_many_arguments,
            reason = "the arrays of the model and their shapes"
        )]
        pub unsafe fn $name(
            #[len(count * modes * rows * columns)] work: *mut Complex32,
            #[len(frames * rows * columns)] magnitudes: *const f32,
            #[len(columns)] roots: *const Complex32,
            #[len(frames * rows)] row_errors: *mut f32,
            frames: u32,
            first: u32,
            count: u32,
            modes: u32,
            rows: u32,
            columns: u32,
            unit: f32,
        ) {
            let fits = modes != 0 && ModeRows::<$a, $b, { $b + 1 }>::together(modes) != 0;
            let there = rows != 0 && first < frames && count <= frames - first;
            if columns != $length || !fits || !there {
                return;
            }
            let lines = ModeRows::<$a, $b, { $b + 1 }> {
                exchange: shared_array![Complex32; exchange($b, $pitch)],
                pitch: $pitch,
                roots,
                modes,
                rows,
            };
            let items = count * lines.items();
            for item in thread::block_stride(items) {
                project(&lines, items - 1 - item, work, magnitudes, row_errors, first, unit);
            }
        }
    )*};
}

kernels! {
    64 = 8 * 8, pitch 72, 8 blocks: ptycho_rows_project_64;
    128 = 16 * 8, pitch 152, 5 blocks: ptycho_rows_project_128;
    256 = 16 * 16, pitch 272, 5 blocks: ptycho_rows_project_256;
    512 = 32 * 16, pitch 544, 4 blocks: ptycho_rows_project_512;
}

#[inline(always)]
unsafe fn project<const A: usize, const B: usize, const ROW: usize>(
    lines: &ModeRows<A, B, ROW>,
    item: u32,
    work: *mut Complex32,
    magnitudes: *const f32,
    row_errors: *mut f32,
    first: u32,
    unit: f32,
) {
    let mut x = [Complex32::ZERO; A];
    let at = lines.indices(item);
    lines.prefetch(magnitudes, first, &at);
    lines.forward(&at, work, &mut x);
    let powers = lines.powers(&at, &x);
    let measured = magnitudes.add(lines.of_frame(first, &at));
    let mut deviation = 0.0;
    for v in 0..A {
        let measured = *measured.add(ModeRows::<A, B, ROW>::offset(v));
        let power = powers[v].max(SMALLEST_POWER);
        let inverse = float::rsqrt_approx(power);
        let by = (power * inverse).mul_add(unit, -measured);
        let mut factor = 0.0;
        if measured >= 0.0 {
            factor = measured.mul_add(inverse, -unit);
            deviation = by.mul_add(by, deviation);
        }
        x[v] = x[v].scale(factor);
    }
    let error = ModeRows::<A, B, ROW>::line_sum(deviation);
    if at.there && at.mode == 0 && at.t == 0 {
        let frame = first as usize + at.member as usize;
        *row_errors.add(frame * lines.rows as usize + at.row as usize) = error;
    }
    lines.inverse(&at, &mut x);
    let at = lines.indices(item);
    if at.there {
        let target = work.add(lines.first(&at));
        for v in 0..A {
            *target.add(ModeRows::<A, B, ROW>::offset(v)) = x[v];
        }
    }
}
