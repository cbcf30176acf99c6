//! Sorts points by series and time: a radix sort, eight bits a pass from the lowest on, which preserves the order of
//! points with the same timestamp.
//!
//! A pass is three launches. [`series_sort_count`] counts the digits in each tile of 4096 points; `series_scan_rows`
//! turns the counts, (digit, tile), into the positions at which the tiles continue; [`series_sort_move`] moves the
//! points. The timestamps are sorted together with each point's number before the sort, by which
//! [`series_sort_gather`] finally fetches the values. Passes over the bits of the series' number come last: before
//! the sort the points of a series lie together, so the series follows from the point's number.
//!
//! A block processes a tile, each of its warps one part of it from front to back, 32 points at a time: lanes with the
//! same digit find each other by eight ballots, and take the positions after those of earlier points. The result does
//! not depend on the warps' speed. Reads 8 bytes a point to count and 12 to move, writes 12 to up to 256 positions
//! that each advance by 16 points a tile on average; positions of one tile share lines in the second-level cache.
//! Block of 256: 8 KiB of shared memory for the counts of eight warps.
//!
//! A pass of 7 340 032 points: 235 MB.

use super::scan;
use super::series_of::{TILE, series_of, tiles};
use warpstride_device::prelude::*;

/// Values of a digit.
pub const DIGITS: usize = 256;
/// The most warps of a block that take part.
const WARPS: u32 = 8;

/// What a pass sorts by.
#[derive(Clone, Copy)]
struct Digit {
    offsets: *const u32,
    series: u32,
    shift: u32,
    of_series: bool,
}

impl Digit {
    /// The digit of a point with this timestamp, whose number before the sort was `number`.
    #[inline(always)]
    unsafe fn of(&self, time: u64, number: u32) -> u32 {
        let bits = if self.of_series {
            u64::from(series_of(self.offsets, 0, self.series, number))
        } else {
            time
        };
        (bits >> self.shift) as u32 % DIGITS as u32
    }
}

/// The part of a tile that belongs to this warp: its first point and the end.
#[inline(always)]
fn warp_part(tile: u32, points: u32) -> (u32, u32) {
    let warps = (thread::block_threads() / warp::SIZE).min(WARPS);
    let length = TILE.div_ceil(warps * warp::SIZE) * warp::SIZE;
    let begin = tile * TILE;
    let end = points.min(begin.saturating_add(TILE));
    let from = end.min(begin.saturating_add(warp::warp_id() * length));
    (from, end.min(from.saturating_add(length)))
}

/// Counts the digits in the warp's part. All threads of the block call it together.
#[inline(always)]
unsafe fn count(
    rows: *mut u32,
    (from, to): (u32, u32),
    digit: Digit,
    times: *const u64,
    numbers: *const u32,
    in_order: bool,
) {
    for place in thread::thread_stride(WARPS * DIGITS as u32) {
        *rows.add(place as usize) = 0;
    }
    thread::sync_threads();
    let row = rows.add((warp::warp_id().min(WARPS - 1)) as usize * DIGITS);
    let mut at = from + warp::lane_id();
    while at < to {
        let number = if in_order {
            at
        } else {
            *numbers.add(at as usize)
        };
        let digit = digit.of(*times.add(at as usize), number);
        atomic::add_u32(row.add(digit as usize), 1);
        at += warp::SIZE;
    }
    thread::sync_threads();
}

/// Counts of digits, (digit, tile). `numbers`: (point), numbers before the sort, which the first pass (`in_order` 1)
/// does not read; `shift`: the digit's lowest bit, in the timestamp or (`by_series` 1) in the number of the series.
#[kernel(block = 256, hot)]
pub unsafe fn series_sort_count(
    #[len(points)] times: *const u64,
    #[len(points)] numbers: *const u32,
    #[len(series + 1)] offsets: *const u32,
    #[len(DIGITS * tiles(points))] counts: *mut u32,
    points: u32,
    series: u32,
    shift: u32,
    by_series: u32,
    in_order: u32,
) {
    let rows = shared_array![u32; WARPS as usize * DIGITS];
    let digit = Digit {
        offsets,
        series,
        shift,
        of_series: by_series != 0,
    };
    let tiles = tiles(points as usize);
    for tile in thread::block_stride(tiles as u32) {
        let mine = warp_part(tile, points);
        count(rows, mine, digit, times, numbers, in_order != 0);
        for d in thread::thread_stride(DIGITS as u32) {
            let d = d as usize;
            let mut sum = 0;
            for warp in 0..WARPS as usize {
                sum += *rows.add(warp * DIGITS + d);
            }
            *counts.add(d * tiles + tile as usize) = sum;
        }
        thread::sync_threads();
    }
}

/// Moves points to their positions by one digit. `counts`: (digit, tile), the number of points with this digit in
/// earlier tiles; `totals`: (digit), points; the other arguments as for [`series_sort_count`].
#[kernel(block = 256, min_blocks = 6, hot)]
pub unsafe fn series_sort_move(
    #[len(points)] times: *const u64,
    #[len(points)] numbers: *const u32,
    #[len(series + 1)] offsets: *const u32,
    #[len(DIGITS * tiles(points))] counts: *const u32,
    #[len(DIGITS)] totals: *const u32,
    #[len(points)] times_out: *mut u64,
    #[len(points)] numbers_out: *mut u32,
    points: u32,
    series: u32,
    shift: u32,
    by_series: u32,
    in_order: u32,
) {
    let rows = shared_array![u32; WARPS as usize * DIGITS];
    let begins = shared_array![u32; DIGITS];
    let digit = Digit {
        offsets,
        series,
        shift,
        of_series: by_series != 0,
    };
    let (mut sum, mut from) = (0, 0);
    while from < DIGITS as u32 {
        let d = (from + thread::index_in_block()) as usize;
        // Computed without a branch: see `before`.
        let value = *totals.add(d.min(DIGITS - 1)) * u32::from(d < DIGITS);
        let (before, all) = scan::before(value);
        if d < DIGITS {
            *begins.add(d) = sum + before;
        }
        sum += all;
        from += thread::block_threads();
    }
    let tiles = tiles(points as usize);
    let lane = warp::lane_id();
    for tile in thread::block_stride(tiles as u32) {
        let (from, to) = warp_part(tile, points);
        count(rows, (from, to), digit, times, numbers, in_order != 0);
        for d in thread::thread_stride(DIGITS as u32) {
            let d = d as usize;
            let mut next = *begins.add(d) + *counts.add(d * tiles + tile as usize);
            for warp in 0..WARPS as usize {
                let row = rows.add(warp * DIGITS + d);
                let count = *row;
                *row = next;
                next += count;
            }
        }
        thread::sync_threads();
        let row = rows.add((warp::warp_id().min(WARPS - 1)) as usize * DIGITS);
        let mut at = from;
        while at < to {
            let point = at + lane;
            let (mut time, mut number, mut mine) = (0, 0, 0);
            if point < to {
                time = *times.add(point as usize);
                number = if in_order != 0 {
                    point
                } else {
                    *numbers.add(point as usize)
                };
                mine = digit.of(time, number);
            }
            let mut alike = warp::ballot(warp::FULL, point < to);
            for bit in 0..8 {
                let set = mine >> bit & 1 == 1;
                let others = warp::ballot(warp::FULL, set);
                alike &= if set { others } else { !others };
            }
            let next = *row.add(mine as usize);
            warp::sync_warp(warp::FULL);
            if point < to {
                let rank = (alike & ((1 << lane) - 1)).count_ones();
                if rank == 0 {
                    *row.add(mine as usize) = next + alike.count_ones();
                }
                *times_out.add((next + rank) as usize) = time;
                *numbers_out.add((next + rank) as usize) = number;
            }
            warp::sync_warp(warp::FULL);
            at += warp::SIZE;
        }
        thread::sync_threads();
    }
}

/// `out[i] = values[numbers[i]]`: a thread per point; reads 12 bytes and writes 8, the value at an arbitrary address.
#[kernel(block = 256, hot, f64)]
pub unsafe fn series_sort_gather(
    #[len(points)] numbers: *const u32,
    #[len(points)] values: *const f64,
    #[len(points)] out: *mut f64,
    points: u32,
) {
    for point in thread::grid_stride(points as usize) {
        *out.add(point) = *values.add(*numbers.add(point) as usize);
    }
}
