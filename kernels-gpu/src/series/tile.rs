//! Tiles of points, and the record of a bucket in a tile.
//!
//! A tile loads [`TILE`] points and owns the buckets that begin with one of its first [`OWN`]. A bucket that it owns
//! and that has at most 32 points lies completely in it; of a longer bucket the tile sees that it is longer.

use super::tile_heads::{Heads, RUN};

/// Points that a tile loads.
pub const TILE: u32 = STRIP * STRIPS;
/// Points whose buckets the tile owns: the distance from one tile to the next.
pub const OWN: u32 = TILE - 32;
/// Points that a warp examines together.
pub(super) const STRIP: u32 = 256;
/// Strips in a tile.
pub(super) const STRIPS: u32 = 7;
/// Words of 32 points in a tile.
pub(super) const WORDS: u32 = TILE / 32;

/// Number of tiles for this many points; at least one.
#[inline(always)]
#[must_use]
pub const fn tiles(points: usize) -> usize {
    let tiles = points.div_ceil(OWN as usize);
    if tiles == 0 { 1 } else { tiles }
}

/// A bucket of a tile, in 16 bits: where it begins, and how many empty buckets lie between it and the first bucket of
/// the strip, if that number is known and small.
pub(super) struct Noted;

impl Noted {
    /// Bits of the position in the tile.
    const PLACE: u32 = TILE.next_power_of_two().ilog2();
    /// Where the packed word holds the number of empty buckets.
    const SKIPPED: u32 = 24;
    /// Stands for a number of empty buckets that is too large, or not known.
    const FAR: u32 = (1 << (16 - Self::PLACE)) - 1;

    /// What a lane remembers of its buckets, packed in a word: heads in the lowest bits, above them `rank`, the number of heads earlier
    /// in the strip, and above that what [`Noted`] stores above the position. `after`: how many buckets the bucket of
    /// its first point comes after that of the strip's first point.
    #[inline(always)]
    pub(super) fn packed(rank: u32, after: u64, heads: Heads) -> u32 {
        // A first point that begins no bucket lies in the bucket before the lane's first head.
        let skipped = after
            .wrapping_add(u64::from(!heads.bits & 1))
            .wrapping_sub(u64::from(rank));
        let is_known = heads.near && skipped < u64::from(Self::FAR);
        let skipped = if is_known { skipped as u32 } else { Self::FAR };
        skipped << Self::SKIPPED | rank << RUN | heads.bits
    }

    /// Records a lane's buckets; `to`: the records of its strip; `place`: the position of its run.
    ///
    /// # Safety
    ///
    /// `to` must have enough elements.
    #[inline(always)]
    pub(super) unsafe fn note(to: *mut u16, place: u32, packed: u32) {
        let rank = (packed >> RUN) % (1 << (Self::SKIPPED - RUN));
        let mut to = to.wrapping_add(rank as usize);
        let word = packed >> Self::SKIPPED << Self::PLACE | place;
        let mut left = packed % (1 << RUN);
        while left != 0 {
            // SAFETY: the caller guarantees the element.
            unsafe { *to = (word + left.trailing_zeros()) as u16 };
            to = to.wrapping_add(1);
            left &= left - 1;
        }
    }

    /// The position.
    #[inline(always)]
    pub(super) fn place(noted: u32) -> u32 {
        noted % (1 << Self::PLACE)
    }

    /// The number to add to the bucket's rank in its strip and to the number of the strip's first bucket.
    #[inline(always)]
    pub(super) fn skipped(noted: u32) -> Option<u32> {
        let skipped = noted >> Self::PLACE;
        (skipped != Self::FAR).then_some(skipped)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_bucket_of_a_tile_ends_in_it() {
        assert_eq!(tiles(0), 1);
        for points in [1, OWN, OWN + 1, TILE, 2 * OWN, 1 << 31] {
            let count = tiles(points as usize) as u32;
            assert!((count - 1) * OWN < points && count as u64 * u64::from(OWN) >= points.into());
        }
    }

    #[test]
    fn a_noted_bucket_is_read_again() {
        let heads = |bits, near| Heads {
            bits,
            number: 0,
            near,
        };
        for place in [0, 8, 256, 1784] {
            for (after, rank, bits, skipped) in [
                (0, 0, 1, Some(0)),
                (0, 0, 2, Some(1)),
                (5, 5, 0x81, Some(0)),
                (5, 3, 1, Some(2)),
                (40, 10, 1, Some(30)),
                (41, 10, 1, None),
                (3, 4, 1, None),
                (u64::MAX, 0, 1, None),
            ] {
                for near in [true, false] {
                    let packed = Noted::packed(rank, after, heads(bits, near));
                    let mut noted = [0; 300];
                    // SAFETY: `noted` has enough elements.
                    unsafe { Noted::note(noted.as_mut_ptr(), place, packed) };
                    let places = (0..8).filter(|k| bits >> k & 1 == 1);
                    for (k, noted) in places.zip(&noted[rank as usize..]) {
                        let noted = u32::from(*noted);
                        assert_eq!(Noted::place(noted), place + k);
                        let expected = if near { skipped } else { None };
                        assert_eq!(Noted::skipped(noted), expected, "{after} {rank}");
                    }
                }
            }
        }
    }
}
