//! Moves the exit waves of frames of up to 128² pixels cyclically, in place, by a shift that only the device knows.
//!
//! A block has one wave at a time: its threads read all of it, wait for each other, and write it. 16 bytes a pixel;
//! nothing while the shift is zero.

use warpstride_device::prelude::*;

const THREADS: u32 = 1024;
/// Values of a thread.
const VALUES: usize = 16;

/// `waves[r + shift₀, c + shift₁] = waves[r, c]`, cyclically, in every layer of at most 16 384 pixels. Does nothing
/// while the shift is zero.
#[kernel(block = 1024, exact_block, min_blocks = 1, hot)]
pub unsafe fn ptycho_roll_frames(
    #[len(layers * rows * columns)] waves: *mut Complex32,
    #[len(2)] shift: *const i32,
    layers: u32,
    rows: u32,
    columns: u32,
) {
    let moves = [*shift, *shift.add(1)];
    let pixels = rows * columns;
    if moves == [0, 0] || pixels == 0 || pixels > THREADS * VALUES as u32 {
        return;
    }
    let by_rows = moves[0].rem_euclid(rows as i32) as u32;
    let by_columns = moves[1].rem_euclid(columns as i32) as u32;
    for layer in thread::block_stride(layers) {
        let wave = waves.add(layer as usize * pixels as usize);
        let own = thread::hidden(thread::index_in_block());
        let mut values = [Complex32::ZERO; VALUES];
        for v in 0..VALUES {
            let pixel = own + v as u32 * THREADS;
            if pixel < pixels {
                values[v] = *wave.add(pixel as usize);
            }
        }
        thread::sync_threads();
        let own = thread::hidden(thread::index_in_block());
        for v in 0..VALUES {
            let pixel = own + v as u32 * THREADS;
            if pixel < pixels {
                let row = (pixel / columns + by_rows) % rows;
                let column = (pixel % columns + by_columns) % columns;
                *wave.add((row * columns + column) as usize) = values[v];
            }
        }
    }
}
