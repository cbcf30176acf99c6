//! Decodes timestamps to nanoseconds.
//!
//! Points are divided into frames of 1024, regardless of their series. A frame has a timestamp, and each of its
//! points the distance from it in the batch's unit: 2 or 4 bytes instead of 8. Each thread takes one point at a time,
//! reads 2 or 4 bytes (and 8 for its frame, from the cache) and writes 8. Block of 256: full occupancy.
//!
//! 7 340 032 points: 73 MB or 88 MB.

use warpstride_device::prelude::*;

/// Points in a frame.
pub const FRAME: usize = 1024;

/// Number of frames for this many points.
#[inline(always)]
#[must_use]
pub const fn frames(points: usize) -> usize {
    points.div_ceil(FRAME)
}

/// Times of the points from `from` to `to`, with distances of 16 bits. `bases`: (frame), nanoseconds since 1970;
/// `distances`: (point), in units of `unit` nanoseconds.
#[kernel(block = 256, hot)]
pub unsafe fn series_unpack_16(
    #[len(frames(to))] bases: *const u64,
    #[len(to)] distances: *const u16,
    #[len(to)] times: *mut u64,
    unit: u64,
    from: u32,
    to: u32,
) {
    for i in thread::grid_stride(to.saturating_sub(from) as usize) {
        let point = from as usize + i;
        let distance = u64::from(*distances.add(point));
        *times.add(point) = *bases.add(point / FRAME) + distance * unit;
    }
}

/// Times of the points from `from` to `to`, with distances of 32 bits; see [`series_unpack_16`].
#[kernel(block = 256, hot)]
pub unsafe fn series_unpack_32(
    #[len(frames(to))] bases: *const u64,
    #[len(to)] distances: *const u32,
    #[len(to)] times: *mut u64,
    unit: u64,
    from: u32,
    to: u32,
) {
    for i in thread::grid_stride(to.saturating_sub(from) as usize) {
        let point = from as usize + i;
        let distance = u64::from(*distances.add(point));
        *times.add(point) = *bases.add(point / FRAME) + distance * unit;
    }
}
