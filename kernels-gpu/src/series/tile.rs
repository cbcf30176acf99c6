//! Tiles of points, and how a bucket of one of them is noted.
//!
//! A tile loads [`TILE`] points and has the buckets that begin with one of its first [`OWN`]. So a bucket that begins
//! in it and has at most 32 points lies in it whole, and of a longer one the tile sees that it is.

use super::tile_heads::{Heads, RUN};

/// Points that a tile loads.
pub const TILE: u32 = STRIP * STRIPS;
/// Points of which it has the buckets, and from one tile to the next.
pub const OWN: u32 = TILE - 32;
/// Points that a warp looks at together.
pub(super) const STRIP: u32 = 256;
/// Strips of a tile.
pub(super) const STRIPS: u32 = 7;
/// Words of 32 points of a tile.
pub(super) const WORDS: u32 = TILE / 32;

/// Tiles of so many points; there is always one.
#[inline(always)]
#[must_use]
pub const fn tiles(points: usize) -> usize {
    let tiles = points.div_ceil(OWN as usize);
    if tiles == 0 { 1 } else { tiles }
}

/// A bucket of a tile, in 16 bits: where it begins, and how many buckets without points lie between it and the first
/// one of the strip, if that is known and small.
pub(super) struct Noted;

impl Noted {
    /// Bits of the place in the tile.
    const PLACE: u32 = TILE.next_power_of_two().ilog2();
    /// Where a lane's marks have the number of buckets without points.
    const SKIPPED: u32 = 24;
    /// Instead of the number of buckets: too many, or not known.
    const FAR: u32 = (1 << (16 - Self::PLACE)) - 1;

    /// What a lane keeps of its buckets: heads in the lowest bits, above them `rank`, the heads of the strip before, and
    /// above that what is noted above the places. `after`: how many buckets the one of its first point comes after that
    /// of the strip's.
    #[inline(always)]
    pub(super) fn marks(rank: u32, after: u64, heads: Heads) -> u32 {
        // A first point that begins no bucket lies in the one before the lane's first.
        let skipped = after
            .wrapping_add(u64::from(!heads.bits & 1))
            .wrapping_sub(u64::from(rank));
        let is_known = heads.near && skipped < u64::from(Self::FAR);
        let skipped = if is_known { skipped as u32 } else { Self::FAR };
        skipped << Self::SKIPPED | rank << RUN | heads.bits
    }

    /// Notes a lane's buckets; `to`: where those of its strip are noted; `place`: of its run.
    ///
    /// # Safety
    /// There is room.
    #[inline(always)]
    pub(super) unsafe fn note(to: *mut u16, place: u32, marks: u32) {
        let rank = (marks >> RUN) % (1 << (Self::SKIPPED - RUN));
        let mut to = to.wrapping_add(rank as usize);
        let word = marks >> Self::SKIPPED << Self::PLACE | place;
        let mut left = marks % (1 << RUN);
        while left != 0 {
            // SAFETY: the caller's.
            unsafe { *to = (word + left.trailing_zeros()) as u16 };
            to = to.wrapping_add(1);
            left &= left - 1;
        }
    }

    /// The place.
    #[inline(always)]
    pub(super) fn place(noted: u32) -> u32 {
        noted % (1 << Self::PLACE)
    }

    /// What is to be added to the bucket's rank in its strip, and to the number of the strip's first bucket.
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
                    let marks = Noted::marks(rank, after, heads(bits, near));
                    let mut noted = [0; 300];
                    // SAFETY: there is room.
                    unsafe { Noted::note(noted.as_mut_ptr(), place, marks) };
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
