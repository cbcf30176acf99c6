//! Finds where buckets begin among a tile's points; each lane examines eight consecutive timestamps.
//!
//! A lane divides once. Since times rise within a series, a point begins a bucket if the previous point lies before
//! the bucket's first moment; for the next seven points, comparisons with the bucket's end suffice. Where a bucket is
//! skipped or a series begins, the lane divides for each point.

use super::tile::STRIP;
use warpstride_device::prelude::*;

/// Points of a lane.
pub(super) const RUN: u32 = STRIP / warp::SIZE;

/// A lane's timestamps.
#[derive(Clone, Copy)]
pub(super) struct Run {
    pub(super) times: [u64; RUN as usize],
    /// The timestamp before the run; for the first lane, before the strip.
    pub(super) before: u64,
    /// Bits of the points with which series begin: the word that contains the run's bits.
    pub(super) begins: u32,
}

impl Run {
    pub(super) const NOTHING: Self = Self {
        times: [0; RUN as usize],
        before: 0,
        begins: 0,
    };
}

/// The heads found in a lane's run.
#[derive(Clone, Copy)]
pub(super) struct Heads {
    /// Bits of the points that begin a bucket.
    pub(super) bits: u32,
    /// The number of the first point's bucket.
    pub(super) number: u64,
    /// Whether each bucket directly follows the previous one.
    pub(super) near: bool,
}

impl Run {
    /// Finds the buckets that begin among the first `there` points. `place`: the position of the first point in the
    /// tile; `index`: the number of the bucket of a time; `span`: a bucket's first moment (negative, hence wrapping,
    /// for the week in which 1970 began) and length; REGULAR: all buckets have the same length.
    ///
    /// # Safety
    ///
    /// All lanes of the warp call this together, each with its run.
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    #[inline(always)]
    pub(super) unsafe fn find<const REGULAR: bool>(
        &self,
        place: u32,
        there: u32,
        index: impl Fn(u64) -> u64,
        span: impl Fn(u64) -> (u64, u64),
    ) -> Heads {
        let times = &self.times;
        // Tiles begin with whole words.
        let begins = self.begins >> (place % 32) & 0xff;
        // SAFETY: all lanes take part.
        let mut before = unsafe { warp::shuffle_up(warp::FULL, times[RUN as usize - 1], 1) };
        if warp::lane_id() == 0 {
            before = self.before;
        }
        let number = index(times[0]);
        let (start, length) = span(number);
        let mut bits = begins & 1 | u32::from((before as i64) < start as i64);
        let mut near = true;
        let far = if REGULAR { 2 * length } else { length };
        if begins & 0xfe == 0 && times[RUN as usize - 1].wrapping_sub(start) < far {
            // The common case: the run's points lie in one bucket, or in two consecutive ones.
            let end = start.wrapping_add(length);
            let mut behind = 0;
            for k in 1..RUN as usize {
                behind += u32::from(REGULAR && times[k] >= end);
            }
            bits |= (1 << (RUN - behind)) & 0xff;
        } else {
            if REGULAR {
                near = begins & 0xfe == 0;
                let mut start = start;
                for k in 1..RUN as usize {
                    let since = times[k].wrapping_sub(start);
                    let crossed = since >= length;
                    near &= since < far;
                    start = start.wrapping_add(if crossed { length } else { 0 });
                    bits |= u32::from(crossed) << k;
                }
            }
            if !REGULAR || !near {
                near = false;
                bits &= 1;
                let (mut start, mut length) = (start, length);
                for k in 1..RUN as usize {
                    let crossed = times[k].wrapping_sub(start) >= length;
                    if crossed {
                        (start, length) = span(index(times[k]));
                    }
                    bits |= (u32::from(crossed) | begins >> k & 1) << k;
                }
            }
        }
        Heads {
            bits: bits & ((1 << there) - 1),
            number,
            near,
        }
    }
}
