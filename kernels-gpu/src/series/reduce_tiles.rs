//! Where buckets begin, and all one-pass methods of those of up to 32 points, in one pass over the points.
//!
//! A block takes tiles in their order ([`super::tile`]), and works on three at once. In one step between barriers, its
//! warps find the buckets of one tile (`tile_heads.rs`), copy the values of the tile before to shared memory without
//! passing through registers, and reduce the tile before that, a thread a bucket (`short_bucket.rs`). One warp counts the
//! buckets that were found and tells; the last warp asks the tiles before for their numbers (`look_back.rs`) a step after
//! they were told, so that it hardly ever waits. Timestamps are loaded a step before they are looked at. Longer buckets
//! are left to [`super::reduce_long`], which must follow: it also makes the scratch memory ready for the next launch.
//!
//! Reads 16 bytes a point (8 where no method needs the values), 1.1 % of them twice; writes 12 bytes a bucket and 8 for
//! each method. 7 340 032 points in buckets of 7, seven methods: 119 MB and 71 MB, 44 µs at 4.3 TB/s.
//!
//! Blocks have 14 warps: one for each of the tile's eleven strips of 256 points, one that counts, one that asks, and one
//! more, since buckets of 7 points give 13 warps work. Two blocks are resident, with 72 registers a thread and 74 kB of
//! shared memory each. What was measured on the way here is in docs/optimisation-log.md.

use super::bucket::Bucketing;
use super::look_back::{self, Heads};
use super::methods::{COUNT, columns_of};
use super::order_query::{BUCKETS, LONGEST};
use super::short_bucket::{self, staged_at};
use super::sums::SHORT;
use super::tile::{EACH, Lengths, OWN, Ranks, STRIP, STRIPS, TILE, WORDS, tiles};
#[cfg(not(target_arch = "nvptx64"))]
use super::tile_block::{BLOCK, SHARED};
use super::tile_block::{
    COUNTER, END, Found, LEADER, NONE, Place, STAGED_STEP, Shared, WORKERS, index_in_block, warp,
};
use super::tile_heads::{FAR, RUN, Run, Strip};
use warpstride_device::prelude::*;

/// Elements of the scratch memory `progress` for so many points: the next tile, then what each tile told.
#[inline(always)]
#[must_use]
pub const fn progress_len(points: usize) -> usize {
    tiles(points) + 1
}

/// Arguments of the kernels below.
struct Task {
    times: *const u64,
    values: *const f64,
    bits: *const u32,
    of_tile: *const u32,
    offsets: *const u32,
    first: *mut u32,
    starts: *mut i64,
    of_series: *mut u32,
    covering: *mut u32,
    facts: *mut u32,
    columns: *mut f64,
    progress: *mut u64,
    points: u32,
    capacity: u32,
    stride: u32,
    methods: u32,
}

/// Buckets of `step` nanoseconds; `step`, `magic` and `shift` are those of [`Bucketing::fixed`].
///
/// `times`, `values`: (point); `bits`, `of_tile`, `offsets`: as [`super::starts`] has them. `first`: (bucket + 1), first
/// points, then `points`; `starts`: (bucket), first moments in nanoseconds since 1970; `of_series`: (series + 1), first
/// buckets; `covering`: the bucket of every 32nd point; `facts`: how many buckets there are, and their greatest length
/// as far as it is known here (8, 32, or 33 for whatever is longer). `columns`: (column, bucket), `stride`
/// buckets each; those of `methods` ([`super::methods`]) stand from `column` on. Where there are more than `capacity`
/// buckets, those beyond are left out. `progress`: [`progress_len`] elements, zero before.
#[kernel(block = (32, 14), min_blocks = 2, hot, f64, shared = SHARED)]
#[allow(clippy::too_many_arguments, reason = "arrays and their extents")]
pub unsafe fn series_reduce_fixed(
    #[len(points)] times: *const u64,
    #[len(points)] values: *const f64,
    #[len(points.div_ceil(32))] bits: *const u32,
    #[len(tiles(points) + 1)] of_tile: *const u32,
    #[len(series + 1)] offsets: *const u32,
    #[len(capacity + 1)] first: *mut u32,
    #[len(capacity)] starts: *mut i64,
    #[len(series + 1)] of_series: *mut u32,
    #[len(points.div_ceil(32))] covering: *mut u32,
    #[len(2)] facts: *mut u32,
    #[len((column + columns_of(methods)) * stride)] columns: *mut f64,
    #[len(progress_len(points))] progress: *mut u64,
    points: u32,
    series: u32,
    capacity: u32,
    column: u32,
    stride: u32,
    methods: u32,
    step: u64,
    magic: u64,
    shift: u32,
) {
    let _ = series;
    let rule = Bucketing {
        step,
        magic,
        shift,
        calendar: 0,
    };
    let task = Task {
        times,
        values,
        bits,
        of_tile,
        offsets,
        first,
        starts,
        of_series,
        covering,
        facts,
        columns: columns.add(column as usize * stride as usize),
        progress,
        points,
        capacity,
        stride,
        methods,
    };
    task.run::<true>(
        |time| rule.index(time),
        |index| rule.start(index),
        |index| (rule.start(index) as u64, step),
    );
}

/// As [`series_reduce_fixed`], with a rule of the calendar ([`Bucketing::calendar`]).
#[kernel(block = (32, 14), min_blocks = 2, hot, f64, shared = SHARED)]
#[allow(clippy::too_many_arguments, reason = "arrays and their extents")]
pub unsafe fn series_reduce_calendar(
    #[len(points)] times: *const u64,
    #[len(points)] values: *const f64,
    #[len(points.div_ceil(32))] bits: *const u32,
    #[len(tiles(points) + 1)] of_tile: *const u32,
    #[len(series + 1)] offsets: *const u32,
    #[len(capacity + 1)] first: *mut u32,
    #[len(capacity)] starts: *mut i64,
    #[len(series + 1)] of_series: *mut u32,
    #[len(points.div_ceil(32))] covering: *mut u32,
    #[len(2)] facts: *mut u32,
    #[len((column + columns_of(methods)) * stride)] columns: *mut f64,
    #[len(progress_len(points))] progress: *mut u64,
    points: u32,
    series: u32,
    capacity: u32,
    column: u32,
    stride: u32,
    methods: u32,
    calendar: u32,
) {
    let _ = series;
    let rule = Bucketing {
        step: 0,
        magic: 0,
        shift: 0,
        // So that the rule is one of the calendar for the compiler too.
        calendar: calendar.max(1),
    };
    let task = Task {
        times,
        values,
        bits,
        of_tile,
        offsets,
        first,
        starts,
        of_series,
        covering,
        facts,
        columns: columns.add(column as usize * stride as usize),
        progress,
        points,
        capacity,
        stride,
        methods,
    };
    task.run::<false>(
        |time| rule.index(time),
        |index| rule.start(index),
        |index| {
            let start = rule.start(index) as u64;
            (start, (rule.start(index + 1) as u64).wrapping_sub(start))
        },
    );
}

impl Task {
    /// Tiles, until there are none. `index`: the number of a time's bucket; `start`: its first moment; `span`: that (of
    /// the week that 1970 began in it is negative, and wraps) and its length; REGULAR: all have one length.
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    #[inline(always)]
    unsafe fn run<const REGULAR: bool>(
        &self,
        index: impl Fn(u64) -> u64 + Copy,
        start: impl Fn(u64) -> i64 + Copy,
        span: impl Fn(u64) -> (u64, u64) + Copy,
    ) {
        #[cfg(not(target_arch = "nvptx64"))]
        assert_eq!(thread::block_dim(), BLOCK);
        let shared = Shared::new();
        let ticket = self.progress.cast::<u32>();
        if index_in_block() == 0 {
            *shared.tile(0) = atomic::fetch_add_u32(ticket, 1);
            (*shared.place(2)).tile = NONE;
            (*shared.place(3)).tile = NONE;
        }
        thread::sync_threads();

        let mut tile = self.if_any(*shared.tile(0));
        let mut run = self.load(tile);
        let mut step = 0;
        loop {
            let is_tile = tile != NONE;
            if is_tile && warp() < STRIPS {
                // Takes the next tile: after the timestamps have come, when the other blocks have theirs of this step,
                // since tiles wait for those before them.
                let takes = warp() == STRIPS - 1 && warp::lane_id() == 0;
                let mut next = 0;
                if takes {
                    next = atomic::fetch_add_u32(ticket, run.one());
                }
                let found = shared.found(step);
                let (loaded, own) = self.extent(tile);
                let strip = warp();
                let place = strip * STRIP + RUN * thread::hidden(warp::lane_id());
                if place + RUN > loaded {
                    run = Run::load_part(self.times, self.bits, tile * OWN, place, loaded);
                }
                let strip = Strip {
                    place: strip * STRIP,
                    loaded,
                    own,
                    heads: found
                        .heads
                        .cast::<u8>()
                        .wrapping_add((strip * STRIP / 8) as usize),
                    found: found.buckets.wrapping_add((strip * STRIP) as usize),
                    first: found.numbers.wrapping_add(strip as usize),
                };
                strip.find::<REGULAR>(&run, index, span);
                if takes {
                    *shared.tile(step + 1) = next;
                }
            }
            mem::wait_for_copies();
            thread::sync_threads();

            let mut next = NONE;
            if is_tile {
                next = self.if_any(*shared.tile(step + 1));
            }
            // Steps wrap around, slots with them.
            let staged = (*shared.place(step.wrapping_sub(1))).tile;
            let reduced = (*shared.place(step.wrapping_sub(2))).tile;
            if !is_tile && staged == NONE {
                next = END;
            }
            if warp() == LEADER {
                if staged != NONE {
                    self.place(staged, shared.place(step.wrapping_sub(1)));
                }
            } else {
                if warp() == COUNTER {
                    self.count_tile(tile, shared.found(step).heads, shared.place(step));
                }
                run = self.load(next);
                if staged != NONE && self.methods & !COUNT != 0 {
                    self.stage(shared.staged(step + 1), staged);
                }
                if reduced != NONE {
                    let found = shared.found(step.wrapping_sub(2));
                    let place = shared.place(step.wrapping_sub(2));
                    self.reduce(reduced, found, place, shared.staged(step), index, start);
                    self.write_ranks(reduced, found, place);
                }
            }
            if next == END {
                break;
            }
            tile = next;
            step += 1;
        }
    }

    /// The tile of a ticket, if there is one.
    #[inline(always)]
    fn if_any(&self, tile: u32) -> u32 {
        if tile < self.count() { tile } else { NONE }
    }

    /// Tiles of all points.
    #[inline(always)]
    fn count(&self) -> u32 {
        tiles(thread::hidden(self.points) as usize) as u32
    }

    /// Points of a tile, and those of which it has the buckets.
    #[inline(always)]
    fn extent(&self, tile: u32) -> (u32, u32) {
        let loaded = (self.points - tile * OWN).min(TILE);
        (loaded, loaded.min(OWN))
    }

    /// A lane's timestamps of the warp's strip; none behind the last strip or tile.
    #[inline(always)]
    unsafe fn load(&self, tile: u32) -> Run {
        let place = RUN * index_in_block();
        let loaded = self
            .points
            .saturating_sub(tile.saturating_mul(OWN))
            .min(TILE);
        Run::load(self.times, self.bits, tile.wrapping_mul(OWN), place, loaded)
    }

    /// Begins to copy the tile's values.
    #[inline(always)]
    unsafe fn stage(&self, staged: *mut f64, tile: u32) {
        const TO: usize = 8 * staged_at(STAGED_STEP) as usize;
        const FROM: usize = 8 * STAGED_STEP as usize;
        let (loaded, _) = self.extent(tile);
        let mut place = 2 * index_in_block();
        let from = self.values.wrapping_add((tile * OWN + place) as usize);
        let to = staged.wrapping_add(staged_at(place) as usize);
        if loaded == TILE {
            let (to, from) = (to.cast(), from.cast());
            mem::copy_pair_to_shared::<0, 0>(to, from);
            mem::copy_pair_to_shared::<TO, FROM>(to, from);
            mem::copy_pair_to_shared::<{ 2 * TO }, { 2 * FROM }>(to, from);
            if place + 3 * STAGED_STEP < TILE {
                mem::copy_pair_to_shared::<{ 3 * TO }, { 3 * FROM }>(to, from);
            }
            return;
        }
        while place < loaded {
            let from = self.values.wrapping_add((tile * OWN + place) as usize);
            let to = staged.wrapping_add(staged_at(place) as usize);
            if place + 1 < loaded {
                mem::copy_pair_to_shared::<0, 0>(to.cast(), from.cast());
            } else {
                mem::copy_to_shared(to, from);
            }
            place += STAGED_STEP;
        }
    }

    /// Counts the buckets of the tile that was found in this step, and tells. For one warp.
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    #[inline(always)]
    unsafe fn count_tile(&self, tile: u32, heads: *const u32, place: *mut Place) {
        let lane = thread::hidden(warp::lane_id());
        if lane == 0 {
            (*place).tile = tile;
        }
        if tile == NONE {
            return;
        }
        let (_, own) = self.extent(tile);
        let ranks = Ranks::new(heads, own);
        let class = ranks.longest();
        if lane == 0 {
            let count = ranks.total;
            look_back::tell_own(self.progress.add(1), tile, Heads { count, class });
            (*place).class = class;
        }
        let words = (&raw mut (*place).before_word).cast::<u32>();
        let first = EACH as u32 * lane;
        if first < WORDS {
            for k in 0..EACH {
                *words.add(first as usize + k) = ranks.before[k];
            }
        }
        let strips = (&raw mut (*place).before_strip).cast::<u32>();
        let strip = 32 * first / STRIP;
        if strip * STRIP == 32 * first {
            *strips.add(strip as usize) = match strip {
                ..STRIPS => ranks.before[0],
                STRIPS => ranks.total,
                _ => u32::MAX,
            };
        }
    }

    /// Learns where the buckets of a tile are that was counted in the step before. For one warp.
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    #[inline(always)]
    unsafe fn place(&self, tile: u32, place: *mut Place) {
        let told = self.progress.add(1);
        let lane = thread::hidden(warp::lane_id());
        let mut series = 0;
        if lane < 2 {
            series = *self.of_tile.add((tile + lane) as usize);
        }
        let before = look_back::before(told, tile);
        if lane == 0 {
            (*place).before = before.count;
            let up_to = before.and(Heads {
                count: (*place).before_strip[STRIPS as usize],
                class: (*place).class,
            });
            if tile != 0 {
                look_back::tell_whole(told, tile, up_to);
            }
            if tile == self.count() - 1 {
                *self.facts.add(BUCKETS) = up_to.count;
                *self.facts.add(LONGEST) = Lengths::at_most(up_to.class);
                *self.first.add(up_to.count.min(self.capacity) as usize) = self.points;
            }
        }
        if lane < 2 {
            *(&raw mut (*place).series).cast::<u32>().add(lane as usize) = series;
        }
    }

    /// Writes where the tile's buckets begin, and their methods.
    #[inline(always)]
    #[allow(
        clippy::too_many_arguments,
        reason = "a tile, what was found of it, and a rule"
    )]
    unsafe fn reduce(
        &self,
        tile: u32,
        found: Found,
        place: *const Place,
        staged: *const f64,
        index: impl Fn(u64) -> u64,
        start: impl Fn(u64) -> i64,
    ) {
        let begin = tile * OWN;
        let total = (*place).before_strip[STRIPS as usize];
        let mut bucket = index_in_block();
        while bucket < total {
            // The last strip that no more buckets lie before, by bisection.
            let strips = (&raw const (*place).before_strip).cast::<u32>();
            let mut strip = 0;
            for half in [8, 4, 2, 1] {
                if bucket >= *strips.add((strip + half) as usize) {
                    strip += half;
                }
            }
            let rank = bucket - *strips.add(strip as usize);
            let word = u32::from(*found.buckets.add((strip * STRIP + rank) as usize));
            let from = strip * STRIP + (word & 0xff);
            // The next head, or none among 32 points.
            let heads = found.heads.add((from / 32) as usize);
            let near = u64::from(*heads.add(1)) << 32 | u64::from(*heads);
            let near = (near >> (from % 32) >> 1) as u32;
            let n = near.trailing_zeros() + 1;
            let to = (*place).before + bucket;
            if to < self.capacity {
                let to = to as usize;
                let number = if word >> 8 == FAR {
                    index(*self.times.add((begin + from) as usize))
                } else {
                    *found.numbers.add(strip as usize) + u64::from(word >> 8)
                };
                *self.first.add(to) = begin + from;
                *self.starts.add(to) = start(number);
                let methods = thread::hidden(self.methods);
                if methods != 0 && n <= SHORT as u32 {
                    short_bucket::write(
                        staged,
                        from,
                        n,
                        self.columns.add(to),
                        self.stride,
                        methods,
                    );
                }
            }
            bucket += WORKERS;
        }
    }

    /// Writes the buckets of every 32nd point, and the first buckets of the series that begin in the tile.
    #[inline(always)]
    unsafe fn write_ranks(&self, tile: u32, found: Found, place: *const Place) {
        let thread = index_in_block();
        let words = (&raw const (*place).before_word).cast::<u32>();
        let before = (*place).before;
        let (_, own) = self.extent(tile);
        // The last threads first, which have the fewest buckets.
        let mut word = WORKERS - 1 - thread;
        while 32 * word < own {
            let head = *found.heads.add(word as usize) & 1;
            let with_head = before + *words.add(word as usize) + head;
            *self.covering.add((tile * OWN / 32 + word) as usize) = with_head - 1;
            word += WORKERS;
        }
        let [first, behind] = (*place).series;
        let mut series = first + thread;
        while series < behind {
            let at = *self.offsets.add(series as usize) - tile * OWN;
            let (word, bit) = ((at / 32) as usize, at % 32);
            let below = *found.heads.add(word) & ((1 << bit) - 1);
            *self.of_series.add(series as usize) = before + *words.add(word) + below.count_ones();
            series += WORKERS;
        }
    }
}
