//! One-pass methods of buckets of more than 32 points, launched after [`super::reduce_tiles`].
//!
//! A warp has 1024 points and processes the chunks ([`super::sums`]) that begin among them: each of its lanes
//! examines a window of 32 points, in which at most one chunk can begin. The warp adds a chunk's values lane by lane.
//! A bucket of one chunk is completed at once, and its deviations come from values that are still in the cache.
//! Chunks of longer buckets are combined by the warp that delivers the last one ([`super::partial`]); their
//! deviations need the mean first, and `series_deviations` computes them. A warp's work is about 1024 points however
//! they are divided.
//!
//! Reads 8 bytes a point of long buckets, and 12 for each 32 points; writes 8 for each bucket and method. The kernel
//! ends at once if no bucket is long; otherwise `series_reduce_long` reports the greatest length. 7 340 032 points in
//! buckets of 720: 59 MB, 14 µs at 4.3 TB/s.
//!
//! Block of 256: eight independent warps; small blocks waste the fewest registers.

use super::methods::{self, COUNT, MEAN, STD, Statistics, columns_of};
use super::order;
use super::order_query::LONGEST;
use super::partial::{Part, Parts, places};
use super::sums::{self, CHUNK, SHORT, chunk_range, chunks};
use warpstride_device::prelude::*;

/// Points from one window to the next.
const WINDOW: u32 = 32;
/// Windows of a warp.
const WINDOWS: u32 = warp::SIZE;
/// Points of a warp.
pub const WARP_POINTS: u32 = WINDOW * WINDOWS;
/// Values of a lane that are loaded together.
const AHEAD: usize = 8;

/// One-pass methods of long buckets. Arguments as for [`super::reduce_tiles::series_reduce_fixed`]; `sums`, `keys`,
/// `come`: [`places`] elements, `come` zero between launches. `facts` gets the greatest length if it exceeds 32.
#[kernel(block = 256, min_blocks = 4, hot, f64)]
#[allow(clippy::too_many_arguments, reason = "arrays and their extents")]
pub unsafe fn series_reduce_long(
    #[len(points)] values: *const f64,
    #[len(capacity + 1)] first: *const u32,
    #[len(points.div_ceil(32))] covering: *const u32,
    #[len(2)] facts: *mut u32,
    #[len((column + columns_of(methods)) * stride)] columns: *mut f64,
    #[len(places(points))] sums: *mut f64,
    #[len(places(points))] keys: *mut [u64; 2],
    #[len(places(points))] come: *mut u32,
    points: u32,
    capacity: u32,
    column: u32,
    stride: u32,
    methods: u32,
) {
    if atomic::load_u32(facts.add(LONGEST)) <= SHORT as u32 {
        return;
    }
    let task = Task {
        values,
        first,
        covering,
        columns: columns.add(column as usize * stride as usize),
        parts: Parts {
            sums,
            keys,
            come,
            points,
        },
        capacity,
        stride,
        methods,
    };
    let mut longest = 0;
    task.for_each_chunk(|chunk| {
        longest = longest.max(chunk.n);
        if methods != 0 {
            task.reduce(chunk);
        }
    });
    if warp::lane_id() == 0 && longest > atomic::load_u32(facts.add(LONGEST)) {
        atomic::max_u32(facts.add(LONGEST), longest);
    }
}

/// Deviations of buckets of several chunks, whose means `series_reduce_long` has left in their column.
#[kernel(block = 256, min_blocks = 4, hot, f64)]
#[allow(clippy::too_many_arguments, reason = "arrays and their extents")]
pub unsafe fn series_deviations(
    #[len(points)] values: *const f64,
    #[len(capacity + 1)] first: *const u32,
    #[len(points.div_ceil(32))] covering: *const u32,
    #[len(2)] facts: *const u32,
    #[len((column + columns_of(methods)) * stride)] columns: *mut f64,
    #[len(places(points))] sums: *mut f64,
    #[len(places(points))] keys: *mut [u64; 2],
    #[len(places(points))] come: *mut u32,
    points: u32,
    capacity: u32,
    column: u32,
    stride: u32,
    methods: u32,
) {
    if methods & STD == 0 || *facts.add(LONGEST) < 2 * CHUNK as u32 {
        return;
    }
    let task = Task {
        values,
        first,
        covering,
        columns: columns.add(column as usize * stride as usize),
        parts: Parts {
            sums,
            keys,
            come,
            points,
        },
        capacity,
        stride,
        methods,
    };
    task.for_each_chunk(|chunk| {
        if chunk.of > 1 {
            task.deviate(chunk);
        }
    });
}

/// A chunk and its bucket.
#[derive(Clone, Copy)]
struct Chunk {
    bucket: u32,
    /// The bucket's first point, and its number of points.
    first: u32,
    n: u32,
    /// The chunk's number, and the number of chunks.
    number: u32,
    of: u32,
}

struct Task {
    values: *const f64,
    first: *const u32,
    covering: *const u32,
    columns: *mut f64,
    parts: Parts,
    capacity: u32,
    stride: u32,
    methods: u32,
}

impl Task {
    /// Bucket and number of the chunk that begins in the 32 points from `begin` on, if any.
    #[inline(always)]
    unsafe fn chunk_in(&self, begin: u32) -> Option<(u32, u32)> {
        if begin >= self.parts.points {
            return None;
        }
        let windows = self.parts.points.div_ceil(WINDOW);
        let window = begin / WINDOW;
        // A long bucket covers the window's first point, or that of the next window.
        let covering = *self.covering.add(window as usize);
        let next = *self.covering.add((window + 1).min(windows - 1) as usize);
        for bucket in [covering, next] {
            if bucket >= self.capacity {
                break;
            }
            let Chunk { first, of, .. } = self.chunk(bucket, 0);
            let number = begin.saturating_sub(first).div_ceil(CHUNK as u32);
            if number < of && first + number * CHUNK as u32 - begin < WINDOW {
                return Some((bucket, number));
            }
        }
        None
    }

    /// Calls `of_warp` for every chunk that begins in the warp's share of the points, with all lanes of the warp
    /// together.
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    #[inline(always)]
    unsafe fn for_each_chunk(&self, mut of_warp: impl FnMut(Chunk)) {
        for part in thread::warp_stride(self.parts.points.div_ceil(WARP_POINTS)) {
            let found = self.chunk_in(part * WARP_POINTS + warp::lane_id() * WINDOW);
            let (bucket, number) = found.unwrap_or((0, 0));
            let mut left = warp::ballot(warp::FULL, found.is_some());
            while left != 0 {
                let from = left.trailing_zeros();
                left &= left - 1;
                let bucket = warp::shuffle_idx(warp::FULL, bucket, from);
                let number = warp::shuffle_idx(warp::FULL, number, from);
                of_warp(self.chunk(bucket, number));
            }
        }
    }

    /// A bucket's chunk.
    #[inline(always)]
    unsafe fn chunk(&self, bucket: u32, number: u32) -> Chunk {
        let first = *self.first.add(bucket as usize);
        let n = *self.first.add(bucket as usize + 1) - first;
        Chunk {
            bucket,
            first,
            n,
            number,
            of: chunks(n as usize) as u32,
        }
    }

    /// Calls `each` for this lane's values of a chunk in order.
    #[inline(always)]
    unsafe fn values_of_lane(&self, chunk: Chunk, mut each: impl FnMut(f64)) {
        let (from, end) = chunk_range(chunk.n as usize, chunk.number as usize);
        let lane = warp::lane_id();
        let mut left = ((end - from) as u32).saturating_sub(lane);
        let first = chunk.first + from as u32 + lane;
        let mut at = self.values.wrapping_add(first as usize);
        while left > ((AHEAD - 1) * sums::LANES) as u32 {
            let mut some = [0.0; AHEAD];
            for i in 0..AHEAD {
                some[i] = *at.add(i * sums::LANES);
            }
            for i in 0..AHEAD {
                each(some[i]);
            }
            at = at.wrapping_add(AHEAD * sums::LANES);
            left = left.saturating_sub((AHEAD * sums::LANES) as u32);
        }
        while left > 0 {
            each(*at);
            at = at.wrapping_add(sums::LANES);
            left = left.saturating_sub(sums::LANES as u32);
        }
    }

    /// Σ(v − mean)² over a chunk.
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    #[inline(always)]
    unsafe fn squares(&self, chunk: Chunk, mean: f64) -> f64 {
        let mut sum = 0.0;
        self.values_of_lane(chunk, |value| sum += methods::square_from(mean, value));
        reduce::warp_sum_f64(sum)
    }

    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    #[inline(always)]
    unsafe fn reduce(&self, chunk: Chunk) {
        // Hidden from the compiler: values derived from the set are computed here and do not occupy registers
        // throughout.
        let methods = thread::hidden(self.methods);
        let mut part = Part::NOTHING;
        if methods & !COUNT != 0 {
            self.values_of_lane(chunk, |value| {
                let key = order::key(value);
                part.sum += value;
                part.least = part.least.min(key);
                part.greatest = part.greatest.max(key);
            });
            part = part.across_lanes();
            if chunk.of > 1 {
                let whole = self.parts.bring(part, chunk.number, chunk.first, chunk.n);
                let Some(whole) = whole else {
                    return;
                };
                part = whole;
            }
        } else if chunk.number > 0 {
            return;
        }
        let mean = methods::mean(part.sum, chunk.n);
        let mut squares = 0.0;
        if methods & STD != 0 && chunk.of == 1 {
            squares = self.squares(chunk, mean);
        }
        if warp::lane_id() == 0 {
            let found = Statistics {
                n: chunk.n,
                sum: part.sum,
                least: order::value(part.least),
                greatest: order::value(part.greatest),
                first: *self.values.add(chunk.first as usize),
                last: *self.values.add((chunk.first + chunk.n - 1) as usize),
                squares,
            };
            let column = self.columns.add(chunk.bucket as usize);
            found.write(column, self.stride, methods);
            if methods & STD != 0 && chunk.of > 1 {
                *self.deviation_of(chunk) = mean;
            }
        }
    }

    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    #[inline(always)]
    unsafe fn deviate(&self, chunk: Chunk) {
        let place = self.deviation_of(chunk);
        let part = Part {
            sum: self.squares(chunk, *place),
            ..Part::NOTHING
        };
        let whole = self.parts.bring(part, chunk.number, chunk.first, chunk.n);
        if let Some(whole) = whole
            && warp::lane_id() == 0
        {
            *place = methods::deviation(whole.sum, chunk.n);
        }
    }

    /// The element for the standard deviation, in the last column.
    #[inline(always)]
    unsafe fn deviation_of(&self, chunk: Chunk) -> *mut f64 {
        let column = self.methods.count_ones() - 1;
        self.columns
            .add(column as usize * self.stride as usize + chunk.bucket as usize)
    }
}

// The deviations are in the last column.
const _: () = assert!(STD > MEAN && STD.is_power_of_two() && STD.leading_zeros() == 24);
