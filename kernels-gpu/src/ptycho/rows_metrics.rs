//! Metrics of how well the model explains the counts, as `ptycho_model_metrics`, from waves P·O that have been
//! transformed along their columns: transforms along rows and sums, without writing the spectra.
//!
//! A block handles rows in all modes (`mode_rows`) and writes the sums of each row, which
//! `ptycho_rows_metrics_sums` adds up. Reads 8 bytes a value and 4 a pixel.

use super::FREE;
use super::mode_rows::{ModeRows, exchange};
use warpstride_device::prelude::*;

/// Sums of a row: photon errors, (√I_model − √I)², number of pixels, and the second of the free pixels.
pub const ROW_SUMS: usize = 4;

macro_rules! kernels {
    ($($length:literal = $a:literal * $b:literal, pitch $pitch:literal, $blocks:literal blocks: $name:ident;)*) => {$(
        #[doc = concat!("Frames of ", stringify!($length), " columns; `columns` must be ", stringify!($length), ".")]
        ///
        /// `row_sums`: (frame, row, sum). `unit` is 1/√(rows · columns), `roots` are exp(−2πi k/columns).
        #[kernel(block = 128, exact_block, min_blocks = $blocks, hot)]
        #[allow(
            clippy::too_many_arguments,
            reason = "the arrays of the model and their shapes"
        )]
        pub unsafe fn $name(
            #[len(count * modes * rows * columns)] work: *const Complex32,
            #[len(frames * rows * columns)] magnitudes: *const f32,
            #[len(columns)] roots: *const Complex32,
            #[len(frames * rows * 4)] row_sums: *mut f32,
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
            for item in thread::block_stride(count * lines.items()) {
                sums(&lines, item, work, magnitudes, row_sums, first, unit);
            }
        }
    )*};
}

kernels! {
    64 = 8 * 8, pitch 72, 8 blocks: ptycho_rows_metrics_64;
    128 = 16 * 8, pitch 152, 5 blocks: ptycho_rows_metrics_128;
    256 = 16 * 16, pitch 272, 5 blocks: ptycho_rows_metrics_256;
    512 = 32 * 16, pitch 544, 4 blocks: ptycho_rows_metrics_512;
}

#[inline(always)]
unsafe fn sums<const A: usize, const B: usize, const ROW: usize>(
    lines: &ModeRows<A, B, ROW>,
    item: u32,
    work: *const Complex32,
    magnitudes: *const f32,
    row_sums: *mut f32,
    first: u32,
    unit: f32,
) {
    let mut x = [Complex32::ZERO; A];
    let at = lines.indices(item);
    lines.prefetch(magnitudes, first, &at);
    lines.forward(&at, work, &mut x);
    let powers = lines.powers(&at, &x);
    let magnitudes = magnitudes.add(lines.of_frame(first, &at));
    let mut sums = [0.0_f32; ROW_SUMS];
    for v in 0..A {
        let magnitude = *magnitudes.add(ModeRows::<A, B, ROW>::offset(v));
        let model = powers[v] * (unit * unit);
        let root = float::sqrt_approx(model);
        if magnitude >= 0.0 {
            let counts = magnitude * magnitude;
            let (by_count, by_root) = (model - counts, root - magnitude);
            sums[0] += float::div_approx(by_count * by_count, counts + 1.0);
            sums[1] = by_root.mul_add(by_root, sums[1]);
            sums[2] += 1.0;
        } else if magnitude <= FREE {
            let by_root = root - (FREE - magnitude);
            sums[3] = by_root.mul_add(by_root, sums[3]);
        }
    }
    let frame = first as usize + at.member as usize;
    let target = row_sums.add((frame * lines.rows as usize + at.row as usize) * ROW_SUMS);
    let sums = [
        ModeRows::<A, B, ROW>::line_sum(sums[0]),
        ModeRows::<A, B, ROW>::line_sum(sums[1]),
        ModeRows::<A, B, ROW>::line_sum(sums[2]),
        ModeRows::<A, B, ROW>::line_sum(sums[3]),
    ];
    if at.there && at.mode == 0 && at.t == 0 {
        for which in 0..ROW_SUMS {
            *target.add(which) = sums[which];
        }
    }
}

/// `photon`, `residual` and `free` of every frame from the sums of its rows. A block has one frame at a time.
#[kernel(block = 128)]
pub unsafe fn ptycho_rows_metrics_sums(
    #[len(frames * rows * 4)] row_sums: *const f32,
    #[len(frames)] photon: *mut f32,
    #[len(frames)] residual: *mut f32,
    #[len(frames)] free: *mut f32,
    frames: u32,
    rows: u32,
) {
    for frame in thread::block_stride(frames) {
        let of_frame = row_sums.add(frame as usize * rows as usize * ROW_SUMS);
        let mut sums = [0.0_f32; ROW_SUMS];
        for row in thread::thread_stride(rows) {
            for which in 0..ROW_SUMS {
                sums[which] += *of_frame.add(row as usize * ROW_SUMS + which);
            }
        }
        let (photons, roots) = reduce::block_sum_pair(sums[0], sums[1]);
        let (count, hidden) = reduce::block_sum_pair(sums[2], sums[3]);
        if thread::index_in_block() == 0 {
            *photon.add(frame as usize) = if count > 0.0 { photons / count } else { 0.0 };
            *residual.add(frame as usize) = roots;
            *free.add(frame as usize) = hidden;
        }
    }
}
