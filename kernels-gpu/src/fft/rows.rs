//! Transforms of rows of 64, 128, 256 and 512 values.
//!
//! A block of 128 threads transforms as many rows as its threads hold, 8 or 16: a row belongs to 8 or 16 threads of one
//! warp ([`Line`]), which exchange values without a barrier of the block. Reads and writes 8 bytes a value, in segments
//! of 64 or 128 bytes. With rows of shared memory as long as given here, the 16 lanes that a shared memory access of 8
//! bytes serves together use different banks.

use super::line::Line;
use warpstride_device::prelude::*;

/// Threads of a block.
const THREADS: usize = 128;

/// Transforms `count` rows of `A · B` values: `load` and `store` get the index of a value.
#[inline(always)]
unsafe fn rows<const A: usize, const B: usize, const ROW: usize>(
    exchange: *mut Complex32,
    pitch: usize,
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
        let stages = Line::<A, B, ROW, 1>::new(exchange.add(line * pitch), roots, t);
        let mut x = [Complex32::ZERO; A];
        let source = from.add(place);
        for n1 in 0..A {
            let value = *source.add(B * n1);
            x[Line::<A, B, ROW, 1>::register(n1)] = Complex32::new(value.re, value.im * sign);
        }
        warp::sync_warp(warp::FULL);
        stages.forward(&mut x, || warp::sync_warp(warp::FULL));
        if row < count {
            let target = to.add(place);
            for v in 0..A {
                let value = Complex32::new(x[v].re * scale, x[v].im * (scale * sign));
                *target.add(Line::<A, B, ROW, 1>::spectrum_offset(v)) = value;
            }
        }
    }
}

macro_rules! row_kernels {
    ($($length:literal = $a:literal * $b:literal, pitch $pitch:literal, $blocks:literal blocks: $out_of_place:ident, $in_place:ident;)*) => {$(
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
            let exchange = shared_array![Complex32; THREADS / $b * $pitch];
            self::rows::<$a, $b, { $b + 1 }>(
                exchange,
                $pitch,
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
            let exchange = shared_array![Complex32; THREADS / $b * $pitch];
            self::rows::<$a, $b, { $b + 1 }>(
                exchange,
                $pitch,
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
    64 = 8 * 8, pitch 72, 10 blocks: fft_rows_64, fft_rows_64_in_place;
    128 = 16 * 8, pitch 152, 7 blocks: fft_rows_128, fft_rows_128_in_place;
    256 = 16 * 16, pitch 272, 7 blocks: fft_rows_256, fft_rows_256_in_place;
    512 = 32 * 16, pitch 544, 4 blocks: fft_rows_512, fft_rows_512_in_place;
}
