//! Whether points are in the order of time, and what a sort of them would have to look at.
//!
//! A thread does a point at a time: it compares its timestamp with the one before. Reads 8 bytes a point. Only where a
//! timestamp is not greater than the one before does it ask whether a series begins there. Block of 256: full occupancy.

use super::series_of::begins;
use warpstride_device::prelude::*;

/// Place in the survey: points with a timestamp less than that before in their series.
pub const DESCENTS: usize = 0;
/// Place in the survey: points with the timestamp of the one before in their series.
pub const REPEATS: usize = 1;
/// Place in the survey: lower half of the bits in which timestamps differ; the upper one follows.
pub const VARYING: usize = 2;
/// Places.
pub const PLACES: usize = 4;

/// Adds to `survey`, which is 0 at first.
#[kernel(block = 256, hot)]
pub unsafe fn series_survey(
    #[len(points)] times: *const u64,
    #[len(series + 1)] offsets: *const u32,
    #[len(PLACES)] survey: *mut u32,
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
            atomic::add_u32(survey.add(DESCENTS), descents);
        }
        if repeats > 0 {
            atomic::add_u32(survey.add(REPEATS), repeats);
        }
        if varying as u32 != 0 {
            atomic::or_u32(survey.add(VARYING), varying as u32);
        }
        if varying >> 32 != 0 {
            atomic::or_u32(survey.add(VARYING + 1), (varying >> 32) as u32);
        }
    }
}
