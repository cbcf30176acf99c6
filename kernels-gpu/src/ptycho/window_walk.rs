//! Iterates over a thread's pixels of a frame, advancing row and column by addition.

use warpstride_device::thread;

/// Pixels `from + thread, from + thread + threads, …` below `to`, each with its row and column.
pub(super) struct WindowWalk {
    remaining: u32,
    pixel: u32,
    step: u32,
    row: u32,
    column: u32,
    row_step: u32,
    column_step: u32,
    columns: u32,
}

impl WindowWalk {
    /// The calling thread's share of the pixels `from..to` of a frame with `columns` > 0 columns.
    #[inline(always)]
    pub(super) fn new(from: u32, to: u32, columns: u32) -> Self {
        let step = thread::block_threads();
        let pixel = from + thread::index_in_block();
        Self {
            remaining: to.saturating_sub(pixel),
            pixel,
            step,
            row: pixel / columns,
            column: pixel % columns,
            row_step: step / columns,
            column_step: step % columns,
            columns,
        }
    }
}

impl Iterator for WindowWalk {
    /// (pixel, row, column)
    type Item = (u32, u32, u32);

    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        if self.remaining == 0 {
            return None;
        }
        let item = (self.pixel, self.row, self.column);
        self.remaining = self.remaining.saturating_sub(self.step);
        self.pixel += self.step;
        self.row += self.row_step;
        self.column += self.column_step;
        if self.column >= self.columns {
            self.column -= self.columns;
            self.row += 1;
        }
        Some(item)
    }
}

/// The pixels of one of `parts` parts of a frame: (first, end).
#[inline(always)]
pub(super) fn part_of(pixels: u32, parts: u32, part: u32) -> (u32, u32) {
    let length = pixels.div_ceil(parts);
    let from = part.saturating_mul(length).min(pixels);
    (from, from.saturating_add(length).min(pixels))
}
