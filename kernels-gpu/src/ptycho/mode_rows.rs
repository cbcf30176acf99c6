//! The rows of a group of frames in all modes, transformed in the registers of a block of 128 threads.
//!
//! A block has as many lines as [`crate::fft::rows`], 8 or 16, and a line is a row of one mode: lines `modes` r + m for
//! row r of the block and mode m. The powers of the modes are added through shared memory.

use crate::fft::line::Line;
use warpstride_device::prelude::*;

/// Threads of a block.
pub(super) const THREADS: usize = 128;

/// Rows of `columns` values, each in one mode, that a block has: 8 or 16 threads a row.
pub(super) const fn lines(columns: u32) -> u32 {
    THREADS as u32 / if columns <= 128 { 8 } else { 16 }
}

/// Complex numbers of shared memory that the lines of a block need.
pub(super) const fn exchange(b: usize, pitch: usize) -> usize {
    THREADS / b * pitch
}

/// Rows of A B values, with rows of `ROW` numbers of shared memory.
pub(super) struct ModeRows<const A: usize, const B: usize, const ROW: usize> {
    /// The block's shared memory: `pitch` numbers a line.
    pub(super) exchange: *mut Complex32,
    pub(super) pitch: usize,
    /// exp(−2πi k/(A B)).
    pub(super) roots: *const Complex32,
    pub(super) modes: u32,
    /// Rows of a frame.
    pub(super) rows: u32,
}

/// What a thread works on.
pub(super) struct RowIndices {
    /// Frame of the group.
    pub(super) member: u32,
    pub(super) row: u32,
    pub(super) mode: u32,
    /// Whether there is such a row; the others compute what is not used.
    pub(super) there: bool,
    /// Line of the block.
    line: u32,
    /// Thread of the line.
    pub(super) t: u32,
}

impl<const A: usize, const B: usize, const ROW: usize> ModeRows<A, B, ROW> {
    /// Lines of a block.
    pub(super) const LINES: u32 = lines((A * B) as u32);

    /// Rows of a block; 0 if it has too few lines for the modes.
    #[inline(always)]
    pub(super) fn together(modes: u32) -> u32 {
        Self::LINES / modes.max(1)
    }

    /// Items of a frame, the rows of a block each.
    #[inline(always)]
    pub(super) fn items(&self) -> u32 {
        self.rows.div_ceil(Self::together(self.modes).max(1)).max(1)
    }

    #[inline(always)]
    pub(super) fn indices(&self, item: u32) -> RowIndices {
        let items = self.items();
        let index = thread::hidden(thread::thread_idx_x());
        let (line, t) = (index / B as u32, index % B as u32);
        let (modes, together) = (self.modes.max(1), Self::together(self.modes));
        let row = item % items * together + line / modes;
        RowIndices {
            member: item / items,
            row: row.min(self.rows - 1),
            mode: line % modes,
            there: line < together * modes && row < self.rows,
            line,
            t,
        }
    }

    /// Where the thread's first value is in `work` (frame of the group, mode, row, column).
    #[inline(always)]
    pub(super) fn first(&self, at: &RowIndices) -> usize {
        let layer = at.member as usize * self.modes as usize + at.mode as usize;
        (layer * self.rows as usize + at.row as usize) * (A * B) + at.t as usize
    }

    /// Where it is in an array (frame, row, column), for the group's frames from `first` on.
    #[inline(always)]
    pub(super) fn of_frame(&self, first: u32, at: &RowIndices) -> usize {
        let frame = first as usize + at.member as usize;
        (frame * self.rows as usize + at.row as usize) * (A * B) + at.t as usize
    }

    #[inline(always)]
    unsafe fn transform(&self, at: &RowIndices, x: &mut [Complex32; A]) {
        let exchange = self.exchange.add(at.line as usize * self.pitch);
        warp::sync_warp(warp::FULL);
        Line::<A, B, ROW, 1>::new(exchange, self.roots, at.t as usize)
            .forward(x, || warp::sync_warp(warp::FULL));
    }

    /// Brings the thread's row of an array (frame, row, column) of 4 bytes a value to the L2 cache.
    #[inline(always)]
    pub(super) unsafe fn prefetch(&self, array: *const f32, first: u32, at: &RowIndices) {
        // 128 bytes at a time.
        if at.mode == 0 && at.t < (A * B / 32) as u32 {
            let row = self.of_frame(first, at) - at.t as usize;
            mem::prefetch_l2(array.add(row + at.t as usize * 32));
        }
    }

    /// Offset of value `v` from the first.
    pub(super) const fn offset(v: usize) -> usize {
        Line::<A, B, ROW, 1>::spectrum_offset(v)
    }

    /// `x` becomes the transform of the thread's row of `work`.
    #[inline(always)]
    pub(super) unsafe fn forward(
        &self,
        at: &RowIndices,
        work: *const Complex32,
        x: &mut [Complex32; A],
    ) {
        let source = work.add(self.first(at));
        for n1 in 0..A {
            x[Line::<A, B, ROW, 1>::register(n1)] = *source.add(B * n1);
        }
        self.transform(at, x);
    }

    /// The unnormalised inverse transform of `x`, in which value v is as far behind the first as before.
    #[inline(always)]
    pub(super) unsafe fn inverse(&self, at: &RowIndices, x: &mut [Complex32; A]) {
        let mut y = [Complex32::ZERO; A];
        for v in 0..A {
            // Value v is B n₁ behind the first.
            y[Line::<A, B, ROW, 1>::register(Self::offset(v) / B)] = x[v].conj();
        }
        self.transform(at, &mut y);
        for v in 0..A {
            x[v] = y[v].conj();
        }
    }

    /// The powers of the thread's row, added up over the modes. All threads of the block call it.
    #[inline(always)]
    pub(super) unsafe fn powers(&self, at: &RowIndices, x: &[Complex32; A]) -> [f32; A] {
        let mut powers = [0.0; A];
        for v in 0..A {
            powers[v] = x[v].norm_sqr();
        }
        if self.modes == 1 {
            return powers;
        }
        // B more words a line: then the lines of a warp use different banks.
        let line = A * B + B;
        let shared: *mut f32 = self.exchange.cast();
        thread::sync_threads();
        for v in 0..A {
            *shared.add(at.line as usize * line + v * B + at.t as usize) = powers[v];
        }
        thread::sync_threads();
        let own = at.line - at.mode;
        let last = Self::LINES - 1;
        powers = [0.0; A];
        for mode in 0..self.modes {
            let from = shared.add((own + mode).min(last) as usize * line + at.t as usize);
            for v in 0..A {
                powers[v] += *from.add(v * B);
            }
        }
        thread::sync_threads();
        powers
    }

    /// The sum over the threads of a line.
    #[inline(always)]
    pub(super) unsafe fn line_sum(value: f32) -> f32 {
        let mut sum = value;
        let mut distance = B as u32 / 2;
        while distance > 0 {
            sum += warp::shuffle_xor(warp::FULL, sum, distance);
            distance /= 2;
        }
        sum
    }
}
