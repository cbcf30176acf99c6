//! Selects some points of every series and packs them: all but repeated timestamps, all but NaN, or differences
//! instead of the points.
//!
//! [`series_compact_count`] counts how many points of each tile of 4096 are selected, `series_scan_rows` (one row)
//! turns the counts into positions, and [`series_compact_move`] moves the points and records for each point how many
//! selected ones precede it, from which [`series_compact_offsets`] computes the new offsets. A block processes one
//! tile, a thread one point at a time in order. Counting repeated timestamps or NaN reads 8 bytes a point (counting
//! differences reads none); moving reads 16 and writes up to 16 and 4. Block of 256: full occupancy.

use super::scan;
use super::series_of::{TILE, begins, series_of, tiles};
use warpstride_device::prelude::*;

/// Selects the first of several points with the same timestamp in a series; they lie next to each other.
pub const NO_REPEATS: u32 = 0;
/// Selects points whose value is not NaN.
pub const NO_NAN: u32 = 1;
/// Replaces each point except the first of a series by the difference from the previous value.
pub const DIFFERENCES: u32 = 2;

/// Points and the rule that selects them.
struct Rule {
    times: *const u64,
    values: *const f64,
    offsets: *const u32,
    series: u32,
    rule: u32,
    /// The series of the tile's first point, and the one after the series of its last point.
    of_tile: (u32, u32),
}

impl Rule {
    /// The rule for the points from `from` to `to`.
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
    unsafe fn selects(&self, point: u32) -> bool {
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

/// Counts the selected points of each tile. `rule`: [`NO_REPEATS`], [`NO_NAN`] or [`DIFFERENCES`].
#[kernel(block = 256, hot, f64)]
pub unsafe fn series_compact_count(
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
            kept += u32::from(rule.selects(from + i));
        }
        // Integers of this size are exact in single precision.
        let kept = reduce::block_sum(kept as f32);
        if thread::index_in_block() == 0 {
            *counts.add(tile as usize) = kept as u32;
        }
    }
}

/// Moves the selected points. `counts`: (tile), the number of selected points before the tile; `ranks`: (point + 1),
/// the number of selected points before each point, and in total; `kept`: the capacity of the output, at least the
/// number of selected points.
#[kernel(block = 256, hot, f64)]
pub unsafe fn series_compact_move(
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
            let selected = point < to && rule.selects(point);
            let (before, all) = scan::before(u32::from(selected));
            let rank = place + before;
            if point < to {
                *ranks.add(point as usize) = rank;
                if point == points - 1 {
                    *ranks.add(points as usize) = rank + u32::from(selected);
                }
            }
            if selected && rank < kept {
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

/// `out[s] = ranks[offsets[s]]`: offsets of the series among the selected points. A thread per series.
#[kernel(block = 256, hot)]
pub unsafe fn series_compact_offsets(
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
