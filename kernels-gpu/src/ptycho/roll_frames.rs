//! Moves the exit waves of frames cyclically, in place, by a shift that only the device knows.
//!
//! A block has one wave at a time and moves it along rows, as many of them together as its threads can hold, and then along
//! columns: the threads read what they hold, wait for each other, and write it. 32 bytes a pixel, 16 in bf16; nothing while the shift
//! is zero.

use super::wave_storage::Wave;
use warpstride_device::prelude::*;

const THREADS: u32 = 512;
/// Values of a thread.
const VALUES: usize = 16;
/// The most rows and columns of a frame.
pub const MOST: u32 = THREADS * VALUES as u32;

macro_rules! kernels {
    ($($(#[doc = $doc:expr])* $wave:ty: $name:ident;)*) => {$(
        $(#[doc = $doc])*
        #[kernel(block = 512, exact_block, min_blocks = 1, hot)]
        pub unsafe fn $name(
            #[len(layers * rows * columns)] waves: *mut $wave,
            #[len(2)] shift: *const i32,
            layers: u32,
            rows: u32,
            columns: u32,
        ) {
            let moves = [*shift, *shift.add(1)];
            if moves == [0, 0] || rows == 0 || columns == 0 || rows > MOST || columns > MOST {
                return;
            }
            let by_rows = moves[0].rem_euclid(rows as i32) as u32;
            let by_columns = moves[1].rem_euclid(columns as i32) as u32;
            let (rows_together, columns_together) = (MOST / columns, MOST / rows);
            for layer in thread::block_stride(layers) {
                let wave = waves.add(layer as usize * rows as usize * columns as usize);
                let mut first = 0;
                while first < rows {
                    let count = rows_together.min(rows - first);
                    let start = first * columns;
                    rearrange(wave, count * columns, |item| {
                        let (row, column) = (start + item / columns * columns, item % columns);
                        [row + column, row + (column + by_columns) % columns]
                    });
                    first += count;
                }
                first = 0;
                while first < columns {
                    let count = columns_together.min(columns - first);
                    rearrange(wave, rows * count, |item| {
                        let (row, column) = (item / count, first + item % count);
                        [row, (row + by_rows) % rows].map(|row| row * columns + column)
                    });
                    first += count;
                }
            }
        }
    )*};
}

kernels! {
    /// `waves[r + shift₀, c + shift₁] = waves[r, c]`, cyclically, in every layer of at most [`MOST`] rows and columns. Does
    /// nothing while the shift is zero.
    Complex32: ptycho_roll_frames;
    /// [`ptycho_roll_frames`] with ψ in bf16.
    u32: ptycho_roll_frames_bf16;
}

/// Moves `count` values, at most [`MOST`]; `places` of one of them are where it is and where it goes, and none goes where
/// a value is that stays.
#[inline(always)]
unsafe fn rearrange<W: Wave>(wave: *mut W, count: u32, places: impl Fn(u32) -> [u32; 2]) {
    let own = thread::hidden(thread::index_in_block());
    let mut values = [W::ZERO; VALUES];
    for v in 0..VALUES {
        let item = own + v as u32 * THREADS;
        if item < count {
            values[v] = *wave.add(places(item)[0] as usize);
        }
    }
    thread::sync_threads();
    let own = thread::hidden(thread::index_in_block());
    for v in 0..VALUES {
        let item = own + v as u32 * THREADS;
        if item < count {
            *wave.add(places(item)[1] as usize) = values[v];
        }
    }
    thread::sync_threads();
}
