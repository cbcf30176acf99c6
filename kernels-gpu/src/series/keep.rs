//! Some points of every series, packed: without the ones that repeat a timestamp, without NaN, or differences instead
//! of the points.
//!
//! [`series_keep_count`] counts what each tile of 4096 points keeps, `series_scan_rows` (one row) makes places of the
//! counts, [`series_keep_move`] moves and notes for each point how many stand before it, from which
//! [`series_keep_offsets`] has the new offsets. A block does a tile, a thread a point at a time, in the order of the
//! points. Reads 8 bytes a point to count repeated timestamps or NaN (none for differences), 16 to move; writes up to 16
//! and 4. Block of 256: full occupancy.

use super::scan;
use super::series_of::{TILE, begins, series_of, tiles};
use warpstride_device::prelude::*;

/// Of points with one timestamp in a series, which lie together, the first is kept.
pub const NO_REPEATS: u32 = 0;
/// Points are kept whose value is a number.
pub const NO_NAN: u32 = 1;
/// Of each point but the first of a series, the difference of its value from the one before.
pub const DIFFERENCES: u32 = 2;

/// Points and what is kept of them.
struct Rule {
    times: *const u64,
    values: *const f64,
    offsets: *const u32,
    series: u32,
    rule: u32,
    /// Series of the tile's first point, and the one behind that of its last.
    of_tile: (u32, u32),
}

impl Rule {
    /// For the points from `from` to `to`.
    #[inline(always)]
    unsafe fn in_tile(mut self, from: u32, to: u32) -> Self {
        if self.rule == DIFFERENCES {
            let first = series_of(self.offsets, 0, self.series, from);
            let last = series_of(self.offsets, first, self.series, to - 1);
            self.of_tile = (first, last + 1);
        }
        self
    }

    #[inline(always)]
    unsafe fn keeps(&self, point: u32) -> bool {
        let at = point as usize;
        match self.rule {
            NO_REPEATS => {
                point == 0
                    || *self.times.add(at) != *self.times.add(at - 1)
                    || begins(self.offsets, self.series, point)
            }
            NO_NAN => !(*self.values.add(at)).is_nan(),
            _ => {
                let (low, high) = self.of_tile;
                let series = series_of(self.offsets, low, high, point);
                *self.offsets.add(series as usize) != point
            }
        }
    }
}

/// Points that each tile keeps. `rule`: [`NO_REPEATS`], [`NO_NAN`] or [`DIFFERENCES`].
#[kernel(block = 256, hot, f64)]
pub unsafe fn series_keep_count(
    #[len(points)] times: *const u64,
    #[len(points)] values: *const f64,
    #[len(series + 1)] offsets: *const u32,
    #[len(tiles(points))] counts: *mut u32,
    points: u32,
    series: u32,
    rule: u32,
) {
    for tile in thread::block_stride(tiles(points as usize) as u32) {
        let from = tile * TILE;
        let to = points.min(from.saturating_add(TILE));
        let of_tile = (0, 0);
        let rule = Rule {
            times,
            values,
            offsets,
            series,
            rule,
            of_tile,
        };
        let rule = rule.in_tile(from, to);
        let mut kept = 0_u32;
        for i in thread::thread_stride(to - from) {
            kept += u32::from(rule.keeps(from + i));
        }
        // Whole numbers of this size are exact.
        let kept = reduce::block_sum(kept as f32);
        if thread::index_in_block() == 0 {
            *counts.add(tile as usize) = kept as u32;
        }
    }
}

/// Moves what is kept. `counts`: (tile), by now how many points are kept before; `ranks`: (point + 1), how many are kept
/// before each point, and in all; `kept`: at least as many as are kept.
#[kernel(block = 256, hot, f64)]
pub unsafe fn series_keep_move(
    #[len(points)] times: *const u64,
    #[len(points)] values: *const f64,
    #[len(series + 1)] offsets: *const u32,
    #[len(tiles(points))] counts: *const u32,
    #[len(kept)] times_out: *mut u64,
    #[len(kept)] values_out: *mut f64,
    #[len(points + 1)] ranks: *mut u32,
    points: u32,
    series: u32,
    rule: u32,
    kept: u32,
) {
    for tile in thread::block_stride(tiles(points as usize) as u32) {
        let from = tile * TILE;
        let to = points.min(from.saturating_add(TILE));
        let of_tile = (0, 0);
        let kind = rule;
        let rule = Rule {
            times,
            values,
            offsets,
            series,
            rule,
            of_tile,
        };
        let rule = rule.in_tile(from, to);
        let mut place = *counts.add(tile as usize);
        let mut begin = from;
        while begin < to {
            let point = begin.saturating_add(thread::index_in_block());
            let keeps = point < to && rule.keeps(point);
            let (before, all) = scan::before(u32::from(keeps));
            let rank = place + before;
            if point < to {
                *ranks.add(point as usize) = rank;
                if point == points - 1 {
                    *ranks.add(points as usize) = rank + u32::from(keeps);
                }
            }
            if keeps && rank < kept {
                let (at, rank) = (point as usize, rank as usize);
                let value = *values.add(at);
                *times_out.add(rank) = *times.add(at);
                *values_out.add(rank) = if kind == DIFFERENCES {
                    value - *values.add(at - 1)
                } else {
                    value
                };
            }
            place += all;
            begin = begin.saturating_add(thread::block_threads());
        }
    }
}

/// `out[s] = ranks[offsets[s]]`: offsets of the series in what was kept. A thread a series.
#[kernel(block = 256, hot)]
pub unsafe fn series_keep_offsets(
    #[len(points + 1)] ranks: *const u32,
    #[len(series + 1)] offsets: *const u32,
    #[len(series + 1)] out: *mut u32,
    points: u32,
    series: u32,
) {
    let _ = points;
    for s in thread::grid_stride(series as usize + 1) {
        *out.add(s) = *ranks.add(*offsets.add(s) as usize);
    }
}
