//! Checks whether points are in order of time, and finds what a sort of them would have to compare.
//!
//! Each thread takes one point at a time and compares its timestamp with the previous one. It reads 8 bytes a point,
//! and looks up whether a series begins there only if the timestamp is not greater than the previous one. Block of
//! 256: full occupancy.

use super::series_of::begins;
use warpstride_device::prelude::*;

/// Index in the result: the number of points whose timestamp is less than the previous one in their series.
pub const DESCENTS: usize = 0;
/// Index in the result: the number of points whose timestamp equals the previous one in their series.
pub const REPEATS: usize = 1;
/// Index in the result: the lower half of the bits in which timestamps differ; the upper half follows.
pub const VARYING: usize = 2;
/// Length of the result.
pub const PLACES: usize = 4;

/// Adds to `counts`, which must be 0 before.
#[kernel(block = 256, hot)]
pub unsafe fn series_check_sorted(
    #[len(points)] times: *const u64,
    #[len(series + 1)] offsets: *const u32,
    #[len(PLACES)] counts: *mut u32,
    points: u32,
    series: u32,
) {
    let (mut descents, mut repeats, mut varying) = (0_u32, 0_u32, 0_u64);
    for point in thread::grid_stride(points as usize) {
        let time = *times.add(point);
        let before = *times.add(point.saturating_sub(1));
        varying |= time ^ *times;
        if time <= before && !begins(offsets, series, point as u32) {
            if time < before {
                descents += 1;
            } else {
                repeats += 1;
            }
        }
    }
    let mut distance = warp::SIZE / 2;
    while distance > 0 {
        descents += warp::shuffle_xor(warp::FULL, descents, distance);
        repeats += warp::shuffle_xor(warp::FULL, repeats, distance);
        varying |= warp::shuffle_xor(warp::FULL, varying, distance);
        distance /= 2;
    }
    if warp::lane_id() == 0 {
        if descents > 0 {
            atomic::add_u32(counts.add(DESCENTS), descents);
        }
        if repeats > 0 {
            atomic::add_u32(counts.add(REPEATS), repeats);
        }
        if varying as u32 != 0 {
            atomic::or_u32(counts.add(VARYING), varying as u32);
        }
        if varying >> 32 != 0 {
            atomic::or_u32(counts.add(VARYING + 1), (varying >> 32) as u32);
        }
    }
}
