//! Transforms of rows of 64 to 512 values.
//!
//! A block of 128 threads transforms as many rows as its threads hold, 8 or 16: a row belongs to 8 or 16 threads of one
//! warp ([`Line`]), which exchange values without a barrier of the block. Reads and writes 8 bytes a value, in segments
//! of 64 or 128 bytes.

use super::line::Line;
use warpstride_device::prelude::*;

/// Threads of a block.
const THREADS: usize = 128;

/// Complex numbers of a row's shared memory: those of the exchange, and so many more that the 16 lanes that a shared memory
/// access of 8 bytes serves together use different banks, two rows of 8 threads too.
const fn pitch(a: usize, b: usize) -> usize {
    let slots = a * (b + 1);
    slots + (b + 16 - slots % 16) % 16
}

/// Transforms `count` rows of `A · B` values of `from` into `to`, times `scale`.
#[inline(always)]
unsafe fn rows<const A: usize, const B: usize, const ROW: usize>(
    exchange: *mut Complex32,
    roots: *const Complex32,
    count: u32,
    [from, to]: [*mut Complex32; 2],
    sign: f32,
    scale: f32,
) {
    let lines = (THREADS / B) as u32;
    for item in thread::block_stride(count.div_ceil(lines)) {
        let index = thread::hidden(thread::thread_idx_x()) as usize;
        let (line, t) = (index / B, index % B);
        let row = item * lines + line as u32;
        let place = row.min(count - 1) as usize * (A * B) + t;
        let stages = Line::<A, B, ROW, 1>::new(exchange.add(line * pitch(A, B)), roots, t);
        let mut x = [Complex32::ZERO; A];
        let source = from.add(place);
        for n1 in 0..A {
            let value = *source.add(B * n1);
            x[Line::<A, B, ROW, 1>::register(n1)] = Complex32::new(value.re, value.im * sign);
        }
        warp::sync_warp(warp::FULL);
        let barrier = || warp::sync_warp(warp::FULL);
        stages.forward_to(
            &mut x,
            barrier,
            || (row < count).then(|| to.add(place)),
            |target, offset, value| {
                *target.add(offset) = Complex32::new(value.re * scale, value.im * (scale * sign));
            },
        );
    }
}

macro_rules! row_kernels {
    ($($length:literal = $a:literal * $b:literal, $blocks:literal blocks: $out_of_place:ident, $in_place:ident;)*) => {$(
        #[doc = concat!("Transforms `rows` rows of ", stringify!($length), " values of `from` into `to`, times `scale`.")]
        /// `sign` is 1 for the forward transform and −1 for the inverse; `roots` are exp(−2πi k/N).
        #[kernel(block = 128, exact_block, min_blocks = $blocks, hot)]
        pub unsafe fn $out_of_place(
            #[len(rows * $length)] from: *const Complex32,
            #[len(rows * $length)] to: *mut Complex32,
            #[len($length)] roots: *const Complex32,
            rows: u32,
            sign: f32,
            scale: f32,
        ) {
            let exchange = shared_array![Complex32; THREADS / $b * pitch($a, $b)];
            self::rows::<$a, $b, { $b + 1 }>(
                exchange,
                roots,
                rows,
                [from.cast_mut(), to],
                sign,
                scale,
            );
        }

        #[doc = concat!("Transforms `rows` rows of ", stringify!($length), " values in place, times `scale`.")]
        /// `sign` is 1 for the forward transform and −1 for the inverse; `roots` are exp(−2πi k/N).
        #[kernel(block = 128, exact_block, min_blocks = $blocks, hot)]
        pub unsafe fn $in_place(
            #[len(rows * $length)] data: *mut Complex32,
            #[len($length)] roots: *const Complex32,
            rows: u32,
            sign: f32,
            scale: f32,
        ) {
            let exchange = shared_array![Complex32; THREADS / $b * pitch($a, $b)];
            self::rows::<$a, $b, { $b + 1 }>(
                exchange,
                roots,
                rows,
                [data, data],
                sign,
                scale,
            );
        }
    )*};
}

row_kernels! {
    64 = 8 * 8, 10 blocks: fft_rows_64, fft_rows_64_in_place;
    96 = 6 * 16, 9 blocks: fft_rows_96, fft_rows_96_in_place;
    128 = 16 * 8, 7 blocks: fft_rows_128, fft_rows_128_in_place;
    160 = 10 * 16, 7 blocks: fft_rows_160, fft_rows_160_in_place;
    192 = 12 * 16, 7 blocks: fft_rows_192, fft_rows_192_in_place;
    240 = 15 * 16, 7 blocks: fft_rows_240, fft_rows_240_in_place;
    256 = 16 * 16, 7 blocks: fft_rows_256, fft_rows_256_in_place;
    320 = 20 * 16, 6 blocks: fft_rows_320, fft_rows_320_in_place;
    384 = 24 * 16, 6 blocks: fft_rows_384, fft_rows_384_in_place;
    480 = 30 * 16, 4 blocks: fft_rows_480, fft_rows_480_in_place;
    512 = 32 * 16, 4 blocks: fft_rows_512, fft_rows_512_in_place;
}
