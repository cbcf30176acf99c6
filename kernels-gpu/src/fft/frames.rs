//! Two-dimensional transforms of frames of 64² and 128² values in one pass.
//!
//! A block holds a whole frame in its registers ([`Frame`]), 32 values a thread, so that a value is read once and
//! written once: 16 bytes, in segments of 64 bytes or more. 64²: 128 threads, four blocks share a multiprocessor. 128²:
//! 512 threads with 128 registers take all registers of a multiprocessor.

use super::frame::{Frame, VALUES};
use super::registers::reversed;
use warpstride_device::prelude::*;

/// Transforms frames of (32 A)² values.
#[inline(always)]
unsafe fn frames<const A: usize>(
    exchange: *mut f32,
    roots: *const Complex32,
    count: u32,
    [from, to]: [*mut Complex32; 2],
    sign: f32,
    scale: f32,
) {
    let stages = Frame::<A>::new(exchange, roots);
    for item in thread::block_stride(count) {
        let frame = item as usize * Frame::<A>::PIXELS;
        let mut x = [Complex32::ZERO; VALUES];
        {
            let (row, column) = stages.place();
            let source = from.add(frame + row * Frame::<A>::SIDE + column);
            for n in 0..VALUES {
                let value = *source.add(n * A * Frame::<A>::SIDE);
                x[reversed(n, 5)] = Complex32::new(value.re, value.im * sign);
            }
        }
        thread::sync_threads();
        stages.forward(&mut x);
        let (row, column) = stages.spectrum_place();
        let target = to.add(frame + row * Frame::<A>::SIDE + column);
        for v in 0..VALUES {
            let value = Complex32::new(x[v].re * scale, x[v].im * (scale * sign));
            *target.add(Frame::<A>::spectrum_offset(v)) = value;
        }
    }
}

macro_rules! frame_kernels {
    ($($side:literal, $a:literal, $threads:literal threads, $blocks:literal blocks: $out_of_place:ident, $in_place:ident;)*) => {$(
        #[doc = concat!("Transforms `count` frames of ", stringify!($side), "² values of `from` into `to`, times `scale`.")]
        /// `sign` is 1 for the forward transform and −1 for the inverse; `roots` are exp(−2πi k/N).
        #[kernel(block = $threads, exact_block, min_blocks = $blocks, hot, shared = $side * 33 * $a * 4)]
        pub unsafe fn $out_of_place(
            #[len(count * $side * $side)] from: *const Complex32,
            #[len(count * $side * $side)] to: *mut Complex32,
            #[len($side)] roots: *const Complex32,
            count: u32,
            sign: f32,
            scale: f32,
        ) {
            let exchange = shared::dynamic_shared_mem::<f32>();
            let data = [from.cast_mut(), to];
            self::frames::<$a>(exchange, roots, count, data, sign, scale);
        }

        #[doc = concat!("Transforms `count` frames of ", stringify!($side), "² values in place, times `scale`.")]
        /// `sign` is 1 for the forward transform and −1 for the inverse; `roots` are exp(−2πi k/N).
        #[kernel(block = $threads, exact_block, min_blocks = $blocks, hot, shared = $side * 33 * $a * 4)]
        pub unsafe fn $in_place(
            #[len(count * $side * $side)] data: *mut Complex32,
            #[len($side)] roots: *const Complex32,
            count: u32,
            sign: f32,
            scale: f32,
        ) {
            let exchange = shared::dynamic_shared_mem::<f32>();
            let data = [data, data];
            self::frames::<$a>(exchange, roots, count, data, sign, scale);
        }
    )*};
}

frame_kernels! {
    64, 2, 128 threads, 4 blocks: fft_frames_64, fft_frames_64_in_place;
    128, 4, 512 threads, 1 blocks: fft_frames_128, fft_frames_128_in_place;
}
