//! Tiles of points, and the heads of buckets in one of them.
//!
//! A tile loads [`TILE`] points and has the buckets that begin with one of its first [`OWN`]. So a bucket that begins
//! in it and has at most 32 points lies in it whole, and of a longer one the tile sees that it is.

use super::order_short::FEW;
use warpstride_device::prelude::*;

/// Points that a tile loads.
pub const TILE: u32 = STRIP * STRIPS;
/// Points of which it has the buckets, and from one tile to the next.
pub const OWN: u32 = TILE - 32;
/// Words of a tile's heads.
pub(super) const WORDS: u32 = TILE / 32;
/// Points that a warp looks at together.
pub(super) const STRIP: u32 = 256;
/// Strips of a tile.
pub(super) const STRIPS: u32 = 11;

/// Words of a lane: neighbours.
pub(super) const EACH: usize = 4;
const _: () = assert!(WORDS <= EACH as u32 * warp::SIZE && WORDS.is_multiple_of(EACH as u32));

/// Tiles of so many points; there is always one.
#[inline(always)]
#[must_use]
pub const fn tiles(points: usize) -> usize {
    let tiles = points.div_ceil(OWN as usize);
    if tiles == 0 { 1 } else { tiles }
}

/// The longest bucket, roughly: 0 where it has at most [`FEW`] points, 1 where it has at most 32, 2
/// where it has more.
pub(super) struct Lengths;

impl Lengths {
    /// As the facts of buckets tell it.
    #[inline(always)]
    pub(super) fn at_most(class: u32) -> u32 {
        match class {
            0 => FEW,
            1 => 32,
            _ => 33,
        }
    }

    /// Of the buckets that begin at the bits `own` of `word`; in `word` and the one after it a bit stands also for the
    /// end of the points.
    #[inline(always)]
    pub(super) fn of_word(own: u32, word: u32, next: u32) -> u32 {
        // Bit i: a head among the next 1, 2, 4 … points after i.
        let mut near = (u64::from(next) << 32 | u64::from(word)) >> 1;
        for doubled in 0..FEW.ilog2() {
            near |= near >> (1 << doubled);
        }
        let mut class = u32::from(own & !(near as u32) != 0);
        for doubled in FEW.ilog2()..5 {
            near |= near >> (1 << doubled);
        }
        class += u32::from(own & !(near as u32) != 0);
        class
    }
}

/// Of `bits` bits (up to 32) for the points from `place` on, those of the first `own` points.
#[inline(always)]
pub(super) fn owned(own: u32, place: u32, bits: u32) -> u32 {
    let count = own.saturating_sub(place).min(bits);
    ((1_u64 << count) - 1) as u32
}

/// A lane's words of the tile's heads, and how many lie before.
pub(super) struct Ranks {
    /// Heads and the end of points: this lane's words.
    words: [u32; EACH],
    /// Heads of the tile's own points in them.
    own: [u32; EACH],
    /// Own heads before each.
    pub(super) before: [u32; EACH],
    /// Own heads of the tile.
    pub(super) total: u32,
}

impl Ranks {
    /// Of the words at `heads`, of which those of the first `own` points count.
    ///
    /// # Safety
    /// `heads` holds [`WORDS`] words, and all lanes of the warp are here.
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    #[inline(always)]
    pub(super) unsafe fn new(heads: *const u32, own: u32) -> Self {
        let lane = warp::lane_id();
        let mut ranks = Self {
            words: [0; EACH],
            own: [0; EACH],
            before: [0; EACH],
            total: 0,
        };
        let first = EACH as u32 * lane;
        let mut count = 0;
        for k in 0..EACH {
            let word = first + k as u32;
            if first < WORDS {
                // SAFETY: one of the words.
                ranks.words[k] = unsafe { *heads.add(word as usize) };
            }
            ranks.own[k] = ranks.words[k] & owned(own, 32 * word, 32);
            ranks.before[k] = count;
            count += ranks.own[k].count_ones();
        }
        let mut up_to = count;
        for step in 0..5 {
            // SAFETY: all lanes are here.
            let below = unsafe { warp::shuffle_up(warp::FULL, up_to, 1 << step) };
            if lane >= 1 << step {
                up_to += below;
            }
        }
        for before in &mut ranks.before {
            *before += up_to - count;
        }
        // SAFETY: all lanes are here.
        ranks.total = unsafe { warp::shuffle_idx(warp::FULL, up_to, warp::SIZE - 1) };
        ranks
    }

    /// The class ([`Lengths`]) of the tile's longest bucket.
    ///
    /// # Safety
    /// All lanes of the warp are here.
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    #[inline(always)]
    pub(super) unsafe fn longest(&self) -> u32 {
        // SAFETY: all lanes are here. The last lane's last word is beyond the tile's own points.
        let behind = unsafe { warp::shuffle_down(warp::FULL, self.words[0], 1) };
        let mut class = 0;
        for k in 0..EACH {
            let next = if k + 1 < EACH {
                self.words[k + 1]
            } else {
                behind
            };
            class = class.max(Lengths::of_word(self.own[k], self.words[k], next));
        }
        // SAFETY: as above.
        unsafe { warp::max_u32(warp::FULL, class) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_those_of_the_lengths() {
        for length in 1..=64_u32 {
            for first in 0..32 {
                let mut bits = 1_u64 << first;
                if first + length < 64 {
                    bits |= 1 << (first + length);
                }
                let class = Lengths::of_word(1 << first, bits as u32, (bits >> 32) as u32);
                let expected = match length {
                    0..=8 => FEW,
                    9..=32 => 32,
                    _ => 33,
                };
                assert_eq!(Lengths::at_most(class), expected, "{length} from {first}");
            }
        }
    }

    #[test]
    fn a_short_bucket_of_a_tile_ends_in_it() {
        assert_eq!(tiles(0), 1);
        for points in [1, OWN, OWN + 1, TILE, 2 * OWN, 1 << 31] {
            let count = tiles(points as usize) as u32;
            assert!((count - 1) * OWN < points && count as u64 * u64::from(OWN) >= points.into());
        }
        assert_eq!(owned(40, 0, 32), u32::MAX);
        assert_eq!(owned(40, 32, 32), 255);
        assert_eq!(owned(40, 32, 8), 255);
        assert_eq!(owned(40, 64, 32), 0);
    }
}
