//! Where the buckets of a tile's points begin: eight neighbouring timestamps a lane.
//!
//! A lane divides once. Since times rise within a series, a point begins a bucket where the point before lies before the
//! bucket's first moment; of the next seven points comparisons with the bucket's end tell. Where a bucket is skipped or a
//! series begins, that is not enough: there each point is divided.

use super::tile::{STRIP, owned};
use warpstride_device::prelude::*;

/// Points of a lane.
pub(super) const RUN: u32 = STRIP / warp::SIZE;
/// Instead of the number of buckets between a bucket and the strip's first: too many, or not known here.
pub(super) const FAR: u32 = 0xff;

/// A lane's timestamps, loaded ahead of their use.
#[derive(Clone, Copy)]
pub(super) struct Run {
    times: [u64; RUN as usize],
    /// The first lane's: of the point before the strip.
    before: u64,
    /// Bits of the points that series begin with: the word that the run's are in.
    begins: u32,
}

impl Run {
    pub(super) const NOTHING: Self = Self {
        times: [0; RUN as usize],
        before: 0,
        begins: 0,
    };

    /// Those from `place` on of a tile that begins with point `begin` and has `loaded` points; nothing of a run that is
    /// not whole.
    ///
    /// # Safety
    /// `times` has the tile's points, `bits` theirs.
    #[inline(always)]
    pub(super) unsafe fn load(
        times: *const u64,
        bits: *const u32,
        begin: u32,
        place: u32,
        loaded: u32,
    ) -> Self {
        let point = begin.wrapping_add(place);
        let there = place + RUN <= loaded;
        let at = times.wrapping_add(point as usize);
        let mut run = Self::NOTHING;
        // SAFETY: points of the tile; `begin` and `place` are multiples of two.
        unsafe {
            for pair in 0..RUN as usize / 2 {
                let from = at.cast::<U64x2>().wrapping_add(pair);
                let U64x2([a, b]) = mem::load_ahead(there, from);
                run.times[2 * pair] = a;
                run.times[2 * pair + 1] = b;
            }
            run.begins = mem::load_ahead(there, bits.wrapping_add(point as usize / 32));
            let first = there && warp::lane_id() == 0 && point > 0;
            run.before = mem::load_ahead(first, at.wrapping_sub(1));
        }
        run
    }

    /// 1, as soon as the timestamps are there.
    #[inline(always)]
    pub(super) fn one(&self) -> u32 {
        // They have 63 bits.
        1 + u32::from(self.times[0] == u64::MAX)
    }

    /// As [`Run::load`], of a run that is not whole: the last point stands for those that are not there.
    ///
    /// # Safety
    /// As [`Run::load`].
    #[inline(always)]
    pub(super) unsafe fn load_part(
        times: *const u64,
        bits: *const u32,
        begin: u32,
        place: u32,
        loaded: u32,
    ) -> Self {
        let mut run = Self::NOTHING;
        if place >= loaded {
            return run;
        }
        let point = (begin + place) as usize;
        // SAFETY: points of the tile.
        unsafe {
            let at = times.add(point);
            run.begins = *bits.add(point / 32);
            for k in 0..RUN {
                run.times[k as usize] = *at.add(k.min(loaded - 1 - place) as usize);
            }
            if warp::lane_id() == 0 && point > 0 {
                run.before = *at.sub(1);
            }
        }
        run
    }
}

/// A strip's place in its tile, and where what is found goes.
#[derive(Clone, Copy)]
pub(super) struct Strip {
    /// The strip's first point in its tile.
    pub(super) place: u32,
    /// Points of the tile.
    pub(super) loaded: u32,
    /// Of which it has the buckets.
    pub(super) own: u32,
    /// Eight bits of heads for each lane.
    pub(super) heads: *mut u8,
    /// For each own bucket its first point's place in the strip, and above that ([`FAR`]) how many buckets it comes after
    /// the one that the strip's first point lies in.
    pub(super) found: *mut u16,
    /// The number of that one.
    pub(super) first: *mut u64,
}

impl Strip {
    /// Finds the buckets. `index`: the number of the bucket of a time; `span`: a bucket's first moment (of the week that
    /// 1970 began in it is negative, and wraps) and length; REGULAR: all have one length.
    ///
    /// # Safety
    /// All lanes of the warp are here, each with its run; `found` has room for [`STRIP`] buckets.
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    #[inline(always)]
    pub(super) unsafe fn find<const REGULAR: bool>(
        self,
        run: &Run,
        index: impl Fn(u64) -> u64,
        span: impl Fn(u64) -> (u64, u64),
    ) {
        let lane = thread::hidden(warp::lane_id());
        let place = self.place + RUN * lane;
        let times = &run.times;
        // Tiles begin with whole words.
        let begins = run.begins >> (place % 32) & 0xff;
        // SAFETY: all lanes are here.
        let mut before = unsafe { warp::shuffle_up(warp::FULL, times[RUN as usize - 1], 1) };
        if lane == 0 {
            before = run.before;
        }
        let number = index(times[0]);
        let (mut start, length) = span(number);
        let mut bits = begins & 1 | u32::from((before as i64) < start as i64);
        // The next bucket that there are points of is nearly always the next.
        let mut far = begins & 0xfe != 0;
        let hidden = |v: u64| v & !0xffff_ffff | u64::from(thread::hidden(v as u32));
        for k in 1..RUN as usize {
            let since = times[k].wrapping_sub(start);
            let crossed = since >= length;
            if REGULAR {
                // Hidden, or the compiler looks for the greatest of all first, which takes longer.
                far |= since >= hidden(2 * length);
                start = start.wrapping_add(if crossed { length } else { 0 });
            } else {
                far |= crossed;
            }
            bits |= u32::from(crossed) << k;
        }
        if far {
            bits &= 1;
            let (mut start, mut length) = span(number);
            for k in 1..RUN as usize {
                let crossed = times[k].wrapping_sub(start) >= length;
                if crossed {
                    (start, length) = span(index(times[k]));
                }
                bits |= (u32::from(crossed) | begins >> k & 1) << k;
            }
        }
        if place + RUN > self.loaded {
            let left = self.loaded.saturating_sub(place);
            bits &= (1 << left) - 1;
            // The end of the points, so that the last bucket's length is seen.
            bits |= u32::from(place <= self.loaded) << left;
        }
        // SAFETY: all lanes are here.
        let first = unsafe { warp::shuffle_idx(warp::FULL, number, 0) };
        // SAFETY: the caller's room.
        unsafe {
            *self.heads.add(lane as usize) = bits as u8;
            if lane == 0 {
                *self.first = number;
            }
        }

        let own = bits & owned(self.own, place, RUN);
        let count = own.count_ones();
        let mut up_to = count;
        for step in 0..5 {
            // SAFETY: all lanes are here.
            let below = unsafe { warp::shuffle_up(warp::FULL, up_to, 1 << step) };
            if lane >= 1 << step {
                up_to += below;
            }
        }
        let after = number.wrapping_sub(first);
        let near = !far && after < u64::from(FAR - RUN);
        let (after, next) = if near {
            (after as u32, 1 << 8)
        } else {
            (FAR, 0)
        };
        let mut word = (after << 8) | (RUN * lane);
        let mut to = self.found.wrapping_add((up_to - count) as usize);
        for k in 0..RUN {
            let is_head = own >> k & 1;
            if k > 0 {
                word += is_head * next;
            }
            if is_head != 0 {
                // SAFETY: the caller's room: one for each head before it in the strip.
                unsafe { *to = (word + k) as u16 };
            }
            to = to.wrapping_add(is_head as usize);
        }
    }
}
