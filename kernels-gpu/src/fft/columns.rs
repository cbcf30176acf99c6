//! Transforms along columns of 64 to 512 values, in place.
//!
//! A block handles a tile of 16 neighbouring columns, a column belongs to 8 or 16 threads ([`Line`]). Lanes are along
//! rows, so that every access takes whole sectors: 128 bytes of a row, in both directions 8 bytes a value. (In large batches, with
//! tiles of 8 columns, 256, 320, 384, 480 and 512 values took 24, 20, 18, 12 and 11 % longer.) The numbers of a slot of shared
//! memory are together, one for each column, so that the 16 lanes that an access serves together use different banks.

use super::line::Line;
use warpstride_device::prelude::*;

/// Transforms the columns of arrays (row, column).
#[inline(always)]
unsafe fn columns<const A: usize, const B: usize, const WIDTH: usize>(
    exchange: *mut Complex32,
    data: *mut Complex32,
    roots: *const Complex32,
    [count, columns]: [u32; 2],
    sign: f32,
    scale: f32,
) {
    let tiles = columns.div_ceil(WIDTH as u32);
    if tiles == 0 {
        return;
    }
    for item in thread::block_stride(count * tiles) {
        let array = data.add((item / tiles) as usize * (A * B) * columns as usize);
        let tile = item % tiles * WIDTH as u32;
        let mut x = [Complex32::ZERO; A];
        {
            let (t, inner) = place::<WIDTH>();
            let column = (tile + inner).min(columns - 1);
            let source = array.add((t * columns + column) as usize);
            let step = (B as u32 * columns) as usize;
            for n1 in 0..A {
                let value = *source.add(n1 * step);
                x[Line::<A, B, B, WIDTH>::register(n1)] = Complex32::new(value.re, value.im * sign);
            }
        }
        thread::sync_threads();
        let (t, inner) = place::<WIDTH>();
        let line = Line::<A, B, B, WIDTH>::new(exchange.add(inner as usize), roots, t as usize);
        line.forward_to(
            &mut x,
            thread::sync_threads,
            || {
                // Hidden, so that the addresses of the loads are not kept in registers for the stores.
                let pitch = thread::hidden(columns);
                let (t, inner) = place::<WIDTH>();
                let first = array.add((t * pitch + tile + inner) as usize);
                (tile + inner < columns).then_some((first, pitch))
            },
            |(first, pitch), row, value| {
                *first.add((row as u32 * pitch) as usize) =
                    Complex32::new(value.re * scale, value.im * (scale * sign));
            },
        );
    }
}

/// The thread's number in its column, and its column in the tile.
#[inline(always)]
fn place<const WIDTH: usize>() -> (u32, u32) {
    let index = thread::hidden(thread::thread_idx_x());
    (index / WIDTH as u32, index % WIDTH as u32)
}

macro_rules! column_kernels {
    ($($length:literal = $a:literal * $b:literal, width $width:literal, $threads:literal threads, $blocks:literal blocks: $name:ident;)*) => {$(
        #[doc = concat!("Transforms the columns, of ", stringify!($length), " values, of `count` arrays (array, row, column) in place, times `scale`.")]
        /// `sign` is 1 for the forward transform and −1 for the inverse; `roots` are exp(−2πi k/N).
        #[kernel(block = $threads, exact_block, min_blocks = $blocks, hot, shared = $a * $b * $width * 8)]
        pub unsafe fn $name(
            #[len(count * $length * columns)] data: *mut Complex32,
            #[len($length)] roots: *const Complex32,
            count: u32,
            columns: u32,
            sign: f32,
            scale: f32,
        ) {
            self::columns::<$a, $b, $width>(
                shared::dynamic_shared_mem::<Complex32>(),
                data,
                roots,
                [count, columns],
                sign,
                scale,
            );
        }
    )*};
}

column_kernels! {
    64 = 8 * 8, width 16, 128 threads, 10 blocks: fft_columns_64;
    96 = 6 * 16, width 16, 256 threads, 4 blocks: fft_columns_96;
    128 = 16 * 8, width 16, 128 threads, 7 blocks: fft_columns_128;
    160 = 10 * 16, width 16, 256 threads, 4 blocks: fft_columns_160;
    192 = 12 * 16, width 16, 256 threads, 3 blocks: fft_columns_192;
    240 = 15 * 16, width 16, 256 threads, 3 blocks: fft_columns_240;
    256 = 16 * 16, width 16, 256 threads, 3 blocks: fft_columns_256;
    320 = 20 * 16, width 16, 256 threads, 3 blocks: fft_columns_320;
    384 = 24 * 16, width 16, 256 threads, 3 blocks: fft_columns_384;
    480 = 30 * 16, width 16, 256 threads, 2 blocks: fft_columns_480;
    512 = 32 * 16, width 16, 256 threads, 2 blocks: fft_columns_512;
}
