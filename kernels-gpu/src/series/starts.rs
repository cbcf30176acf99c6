//! Positions where series begin among the points, which finding buckets requires. Computed once for a batch and used
//! for every granularity.
//!
//! A thread sets the bit of one series' first point (unless the series is empty), and finds the first series of one
//! tile by bisection. Reads 4 bytes a series, writes 1 bit a point and 4 bytes a tile. Block of 256: full occupancy;
//! the dependent loads of the bisections take the time.

use super::tile::{OWN, tiles};
use warpstride_device::prelude::*;

/// Bits of the points with which series begin, and the first series of each tile.
///
/// `offsets`: (series + 1), first points; `bits`: (⌈points/32⌉), zero before; `of_tile`: (tiles + 1), the index of
/// the first entry of `offsets` that lies in the tile or after it; the last is `series + 1`.
#[kernel(block = 256, hot)]
pub unsafe fn series_starts(
    #[len(series + 1)] offsets: *const u32,
    #[len(points.div_ceil(32))] bits: *mut u32,
    #[len(tiles(points) + 1)] of_tile: *mut u32,
    points: u32,
    series: u32,
) {
    for s in thread::grid_stride(series as usize) {
        let first = *offsets.add(s);
        if first < *offsets.add(s + 1) {
            atomic::or_u32(bits.add((first / 32) as usize), 1 << (first % 32));
        }
    }
    let count = tiles(points as usize);
    for tile in thread::grid_stride(count + 1) {
        let (mut below, mut end) = (0, series + 1);
        if tile == count {
            below = end;
        }
        let begin = tile as u32 * OWN;
        while below < end {
            let middle = below + (end - below) / 2;
            if *offsets.add(middle as usize) < begin {
                below = middle + 1;
            } else {
                end = middle;
            }
        }
        *of_tile.add(tile) = below;
    }
}
