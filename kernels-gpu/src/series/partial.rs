//! Buckets of several chunks ([`super::sums`]): the results of the chunks, and how they are combined.
//!
//! Results that are combined together are a *group*: up to 32 results, or a chunk of them. The warp that delivers the
//! last result of a group combines the group in order and delivers the combined result to the next level, until one
//! is left. The order of delivery decides only which warp does the work.
//!
//! No memory is assigned at run time: a result of level L stands for at least 1024ᴸ points, so ⌊first point/1024ᴸ⌋
//! plus the result's number is an index of its own.

use super::sums::{self, CHUNK, SHORT, chunk_range, chunks};
use warpstride_device::prelude::*;

/// Levels that 2³¹ points can have.
const LEVELS: u32 = 3;
/// log₂ of [`CHUNK`].
const CHUNK_SHIFT: u32 = CHUNK.trailing_zeros();
const _: () = assert!(1 << CHUNK_SHIFT == CHUNK);

/// Elements of all levels for this many points.
#[inline(always)]
#[must_use]
pub const fn places(points: usize) -> usize {
    place_of_level(points, LEVELS + 1)
}

/// Elements below level `level` ≥ 1.
#[inline(always)]
const fn place_of_level(points: usize, level: u32) -> usize {
    let (mut places, mut below) = (0, 1);
    while below < level {
        places += (points >> (CHUNK_SHIFT * below)) + 1;
        below += 1;
    }
    places
}

/// Sum, least key and greatest key of a part of a bucket.
#[derive(Clone, Copy)]
pub(super) struct Part {
    pub(super) sum: f64,
    pub(super) least: u64,
    pub(super) greatest: u64,
}

impl Part {
    pub(super) const NOTHING: Self = Self {
        sum: 0.0,
        least: u64::MAX,
        greatest: 0,
    };

    #[inline(always)]
    fn add(&mut self, other: Self) {
        self.sum += other.sum;
        self.least = self.least.min(other.least);
        self.greatest = self.greatest.max(other.greatest);
    }

    /// Combines the parts of all lanes in the order of [`sums::across`]; every lane gets the result.
    ///
    /// # Safety
    ///
    /// All lanes of the warp call it together.
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    #[inline(always)]
    pub(super) unsafe fn across_lanes(mut self) -> Self {
        // SAFETY: the caller guarantees that all lanes take part.
        unsafe {
            self.sum = reduce::warp_sum_f64(self.sum);
            for step in 0..5 {
                let least = warp::shuffle_xor(warp::FULL, self.least, 1 << step);
                let greatest = warp::shuffle_xor(warp::FULL, self.greatest, 1 << step);
                self.least = self.least.min(least);
                self.greatest = self.greatest.max(greatest);
            }
        }
        self
    }

    /// The part that lane `lane` holds.
    ///
    /// # Safety
    ///
    /// As for [`Part::across_lanes`].
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    #[inline(always)]
    unsafe fn of_lane(self, lane: u32) -> Self {
        // SAFETY: the caller guarantees that all lanes take part.
        unsafe {
            Self {
                sum: warp::shuffle_idx(warp::FULL, self.sum, lane),
                least: warp::shuffle_idx(warp::FULL, self.least, lane),
                greatest: warp::shuffle_idx(warp::FULL, self.greatest, lane),
            }
        }
    }
}

/// The memory of all levels, [`places`] elements each.
#[derive(Clone, Copy)]
pub(super) struct Parts {
    pub(super) sums: *mut f64,
    /// (element), least and greatest key.
    pub(super) keys: *mut [u64; 2],
    /// (element), the number of results delivered; zero between launches.
    pub(super) come: *mut u32,
    pub(super) points: u32,
}

impl Parts {
    #[inline(always)]
    unsafe fn read(&self, place: usize) -> Part {
        let [least, greatest] = *self.keys.add(place);
        Part {
            sum: *self.sums.add(place),
            least,
            greatest,
        }
    }

    /// Delivers the result of chunk `chunk` of a bucket of `n` points from point `first` on, which has more than one
    /// chunk. Returns the bucket's result to the warp that delivers the last chunk.
    ///
    /// # Safety
    ///
    /// All lanes of the warp call it together with the same arguments, once for each chunk and launch.
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    #[inline(always)]
    pub(super) unsafe fn bring(
        &self,
        mut part: Part,
        chunk: u32,
        first: u32,
        n: u32,
    ) -> Option<Part> {
        let (mut number, mut results) = (chunk as usize, chunks(n as usize));
        let mut level = 1;
        loop {
            let base = place_of_level(self.points as usize, level)
                + (first as usize >> (CHUNK_SHIFT * level));
            let groups = chunks(results);
            let group = (number / CHUNK).min(groups.saturating_sub(1));
            let (from, end) = if groups == 0 {
                (0, results)
            } else {
                chunk_range(results, group)
            };
            let mut before = 0;
            if warp::lane_id() == 0 {
                *self.sums.add(base + number) = part.sum;
                *self.keys.add(base + number) = [part.least, part.greatest];
                thread::device_fence();
                before = atomic::fetch_add_u32(self.come.add(base + from), 1);
            }
            before = warp::shuffle_idx(warp::FULL, before, 0);
            if before as usize + 1 < end - from {
                return None;
            }
            // All other results have been written, and are read after this.
            thread::device_fence();
            if warp::lane_id() == 0 {
                *self.come.add(base + from) = 0;
            }
            part = Part::NOTHING;
            if groups == 0 {
                let lane = warp::lane_id();
                let mut own = Part::NOTHING;
                if (lane as usize) < results {
                    own = self.read(base + lane as usize);
                }
                for result in 0..results as u32 {
                    part.add(own.of_lane(result));
                }
                return Some(part);
            }
            let mut result = from + warp::lane_id() as usize;
            while result < end {
                part.add(self.read(base + result));
                result += sums::LANES;
            }
            part = part.across_lanes();
            if groups == 1 {
                return Some(part);
            }
            (number, results) = (group, groups);
            level += 1;
        }
    }
}

const _: () = assert!(SHORT == warp::SIZE as usize && sums::LANES == warp::SIZE as usize);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_result_has_a_place_of_its_own() {
        // Buckets of 2 and more chunks, one after the other, with short ones between.
        let lengths = [
            5_usize, 2048, 2049, 31, 5000, 2048, 1_100_000, 3_000_000, 7, 2100,
        ];
        let points: usize = lengths.iter().sum();
        let mut taken = vec![false; places(points)];
        let mut first = 0;
        for n in lengths {
            let (mut results, mut level) = (chunks(n), 1);
            while results > 1 {
                let base = place_of_level(points, level) + (first >> (CHUNK_SHIFT * level));
                for number in 0..results {
                    assert!(base + number < place_of_level(points, level + 1));
                    assert!(!std::mem::replace(&mut taken[base + number], true));
                }
                results = chunks(results);
                level += 1;
            }
            first += n;
        }
        let most = chunks(chunks(chunks(1 << 31)));
        assert!(most <= SHORT, "another level is needed for {most}");
    }
}
