//! Tiles of points, and the heads of buckets in one of them.
//!
//! A tile loads [`TILE`] points and has the buckets that begin with one of its first [`OWN`]. So a bucket that begins
//! in it and has at most 32 points lies in it whole, and of a longer one the tile sees that it is.

use warpstride_device::prelude::*;

/// Points that a tile loads.
pub const TILE: u32 = 2048;
/// Points of which it has the buckets, and from one tile to the next.
pub const OWN: u32 = TILE - 32;
/// Words of a tile's heads.
pub(super) const WORDS: u32 = TILE / 32;

// A lane has two words.
const _: () = assert!(WORDS == 2 * warp::SIZE);

/// Tiles of so many points; there is always one.
#[inline(always)]
#[must_use]
pub const fn tiles(points: usize) -> usize {
    let tiles = points.div_ceil(OWN as usize);
    if tiles == 0 { 1 } else { tiles }
}

/// The longest bucket, roughly: k where it has at most 2ᵏ points, [`Lengths::LONG`] where it has more than 32.
pub(super) struct Lengths;

impl Lengths {
    /// More than 32 points.
    pub(super) const LONG: u32 = 6;

    /// As the facts of buckets tell it: 1, 2, 4 … 32, or 33.
    #[inline(always)]
    pub(super) fn at_most(class: u32) -> u32 {
        if class < Self::LONG { 1 << class } else { 33 }
    }

    /// Of the buckets that begin at the bits `own` of `word`; in `word` and the one after it a bit stands also for the
    /// end of the points.
    #[inline(always)]
    pub(super) fn of_word(own: u32, word: u32, next: u32) -> u32 {
        // Bit i: a head among the next 1, 2, 4 … 32 points after i.
        let mut near = (u64::from(next) << 32 | u64::from(word)) >> 1;
        let mut class = 0;
        for doubled in 0..Self::LONG {
            class += u32::from(own & !(near as u32) != 0);
            near |= near >> (1 << doubled);
        }
        class
    }
}

/// The bits of word `word` that stand for the first `own` points.
#[inline(always)]
pub(super) fn owned_bits(own: u32, word: u32) -> u32 {
    let before = 32 * word;
    if own >= before + 32 {
        u32::MAX
    } else if own <= before {
        0
    } else {
        (1 << (own - before)) - 1
    }
}

/// A lane's two words of the tile's heads, and how many lie before.
pub(super) struct Ranks {
    /// Heads and the end of points: this lane's words.
    words: [u32; 2],
    /// Heads of the tile's own points in them.
    own: [u32; 2],
    /// Own heads before each.
    pub(super) before: [u32; 2],
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
        // SAFETY: 2 · 32 words.
        let words = unsafe {
            [
                *heads.add(2 * lane as usize),
                *heads.add(2 * lane as usize + 1),
            ]
        };
        let own = [
            words[0] & owned_bits(own, 2 * lane),
            words[1] & owned_bits(own, 2 * lane + 1),
        ];
        let count = own[0].count_ones() + own[1].count_ones();
        let mut up_to = count;
        for step in 0..5 {
            // SAFETY: all lanes are here.
            let below = unsafe { warp::shuffle_up(warp::FULL, up_to, 1 << step) };
            if lane >= 1 << step {
                up_to += below;
            }
        }
        let first = up_to - count;
        Self {
            words,
            own,
            before: [first, first + own[0].count_ones()],
            // SAFETY: all lanes are here.
            total: unsafe { warp::shuffle_idx(warp::FULL, up_to, warp::SIZE - 1) },
        }
    }

    /// Own heads before word `word`.
    ///
    /// # Safety
    /// All lanes of the warp are here; each may ask for another word.
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    #[inline(always)]
    pub(super) unsafe fn before_word(&self, word: u32) -> u32 {
        // SAFETY: all lanes are here.
        let [even, odd] = unsafe {
            [
                warp::shuffle_idx(warp::FULL, self.before[0], word / 2),
                warp::shuffle_idx(warp::FULL, self.before[1], word / 2),
            ]
        };
        if word.is_multiple_of(2) { even } else { odd }
    }

    /// The class ([`Lengths`]) of the tile's longest bucket.
    ///
    /// # Safety
    /// All lanes of the warp are here.
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    #[inline(always)]
    pub(super) unsafe fn longest(&self) -> u32 {
        // SAFETY: all lanes are here. The last lane's second word is beyond the tile's own points.
        let next = unsafe { warp::shuffle_down(warp::FULL, self.words[0], 1) };
        let first = Lengths::of_word(self.own[0], self.words[0], self.words[1]);
        let second = Lengths::of_word(self.own[1], self.words[1], next);
        let mut class = first.max(second);
        for step in 0..5 {
            // SAFETY: all lanes are here.
            let other = unsafe { warp::shuffle_xor(warp::FULL, class, 1 << step) };
            class = class.max(other);
        }
        class
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_the_least_powers_of_two() {
        for length in 1..=64_u32 {
            for first in 0..32 {
                let mut bits = 1_u64 << first;
                if first + length < 64 {
                    bits |= 1 << (first + length);
                }
                let class = Lengths::of_word(1 << first, bits as u32, (bits >> 32) as u32);
                let expected = if length > 32 {
                    33
                } else {
                    length.next_power_of_two()
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
        assert_eq!(owned_bits(40, 0), u32::MAX);
        assert_eq!(owned_bits(40, 1), 255);
        assert_eq!(owned_bits(40, 2), 0);
    }
}
