//! Finds where buckets begin, and computes all one-pass methods of buckets of up to 32 points, in one pass over the
//! points.
//!
//! A block takes tiles in order ([`super::tile`]) and works on three at once, each in a different step: seven of its
//! warps find the buckets of one tile (`tile_heads.rs`), while the last warp adds up the buckets before the tile
//! found two steps ago, which blocks publish to each other (`lookback.rs`). After the step's barrier, copies to
//! shared memory begin for the timestamps of the next tile and the values of the tile found one step ago
//! (`tile_stage.rs`), and the tile found two steps ago is reduced, a thread per bucket (`short_bucket.rs`). So a
//! block waits for memory or for other blocks only if they are two steps late. Longer buckets are left to
//! [`super::reduce_long`], which must follow if `facts` reports one. A launch prepares the scratch memory for the
//! next one.
//!
//! Reads 16 bytes a point (8 if no method needs the values), 1.8 % of them twice; writes 12 bytes a bucket and 8 for
//! each method. 7 340 032 points in buckets of 7, seven methods: 119 MB and 71 MB, 44 µs at 4.3 TB/s.
//!
//! Three blocks of eight warps are resident, with 80 registers a thread and 55 kB of shared memory each.
//! docs/optimisation-log.md has the measurements that led to this design.

use super::bucket::Bucketing;
use super::lookback::{Added, Tickets, TilePrefix, progress_len};
use super::methods::{COUNT, columns_of};
use super::order_query::{BUCKETS, LONGEST};
use super::order_short::FEW;
use super::short_bucket;
use super::sums::SHORT;
use super::tile::{Noted, OWN, STRIP, STRIPS, TILE, WORDS, tiles};
use super::tile_block::SHARED;
use super::tile_block::{BLOCK, Found, LAST, NONE, Shared, index_in_block, warp_and_lane};
use super::tile_heads::RUN;
use super::tile_stage;
use warpstride_device::prelude::*;

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
    progress: *mut u32,
    progress_length: u32,
    points: u32,
    capacity: u32,
    stride: u32,
    methods: u32,
}

/// Buckets of `step` nanoseconds; `step`, `magic` and `shift` as in [`Bucketing::fixed`].
///
/// `times`, `values`: (point); `bits`, `of_tile`, `offsets`: as in [`super::starts`]. `first`: (bucket + 1), first
/// points, then `points`; `starts`: (bucket), first moments in nanoseconds since 1970; `of_series`: (series + 1),
/// first buckets; `covering`: the bucket of every 32nd point; `facts`: the number of buckets, and their greatest
/// length as far as this kernel knows it (8, 32, or 33 for all longer ones). `columns`: (column, bucket), `stride`
/// buckets each; those of `methods` ([`super::methods`]) start at `column`. If there are more than `capacity`
/// buckets, the rest is left out. `progress`: `progress_length` elements, at least [`progress_len`], zero before the first
/// launch with them, and not modified between launches.
#[kernel(block = 256, exact_block, min_blocks = 3, hot, f64, shared = SHARED)]
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
    #[len(progress_len(points).max(progress_length))] progress: *mut u32,
    progress_length: u32,
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
        progress_length,
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

/// Calendar buckets ([`Bucketing::calendar`]); otherwise as [`series_reduce_fixed`].
#[kernel(block = 256, exact_block, min_blocks = 3, hot, f64, shared = SHARED)]
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
    #[len(progress_len(points).max(progress_length))] progress: *mut u32,
    progress_length: u32,
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
        // Shows the compiler that the rule is a calendar rule.
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
        progress_length,
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
    /// Processes tiles until none is left. `index`: the number of a time's bucket; `start`: its first moment; `span`:
    /// the first moment (negative, hence wrapping, for the week in which 1970 began) and the length; REGULAR: all
    /// buckets have the same length.
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    #[inline(always)]
    unsafe fn run<const REGULAR: bool>(
        &self,
        index: impl Fn(u64) -> u64 + Copy,
        start: impl Fn(u64) -> i64 + Copy,
        span: impl Fn(u64) -> (u64, u64) + Copy,
    ) {
        #[cfg(not(target_arch = "nvptx64"))]
        {
            assert_eq!(thread::block_threads(), BLOCK);
            assert!(self.progress_length as usize >= progress_len(self.points as usize));
        }
        let shared: *mut Shared = shared::dynamic_shared_mem();
        let tickets = Tickets::new(self.progress, self.progress_length);
        if index_in_block() == 0 {
            let last = Tickets::last(self.count());
            let ticket = tickets.take(last);
            *Shared::next(shared, 0) = ticket;
            (*shared).last = last;
            (*shared).lookback = tickets.words(ticket);
        }
        thread::sync_threads();
        let lookback = || TilePrefix::new(self.progress, (*shared).lookback, self.count());
        let mut tile = self.if_any(*Shared::next(shared, 0));
        tickets.make_ready(*Shared::next(shared, 0));
        let mut begins = self.stage_times(shared, tile);
        // The tiles of the two previous steps.
        let [mut staged, mut reduced] = [NONE; 2];
        let mut recorded = 0;
        // For the last warp only.
        let mut added = Added::NOTHING;
        let mut step: u32 = 0;
        loop {
            let (warp, lane) = warp_and_lane();
            let found = Shared::found(shared, step);
            let of_staged = Shared::found(shared, step.wrapping_sub(1));
            let of_reduced = Shared::found(shared, step.wrapping_sub(2));
            let recorded_before = recorded;
            // The warp's timestamps have arrived, and its part of the values.
            mem::wait_for_copies();
            if warp < STRIPS {
                warp::sync_warp(warp::FULL);
                if tile != NONE {
                    let (mut run, there) = tile_stage::run(shared, tile * OWN, self.loaded(tile));
                    run.begins = begins;
                    let place = RUN * index_in_block();
                    let heads = run.find::<REGULAR>(place, there, index, span);
                    recorded = Found::note_heads(found, place, heads);
                }
            } else {
                if tile != NONE && lane == 0 {
                    *Shared::next(shared, step + 1) = tickets.take((*shared).last);
                }
                if reduced != NONE {
                    Found::place(of_reduced, self.of_tile, reduced, lookback(), &mut added);
                }
            }
            thread::sync_threads();
            let mut next = NONE;
            if tile != NONE {
                next = self.if_any(*Shared::next(shared, step + 1));
                let (_, own) = Found::count(found, 0);
                if index_in_block() == 0 {
                    if tile == 0 {
                        // Before any other block can know of this tile and examine its own buckets.
                        *self.facts.add(LONGEST) = FEW;
                        thread::device_fence();
                    }
                    lookback().publish(tile, own);
                }
                begins = self.stage_times(shared, next);
            }
            if staged != NONE {
                let step = step.wrapping_sub(1);
                if self.methods & !COUNT != 0 {
                    let to = Shared::values(shared, step);
                    tile_stage::values(self.values, to, staged * OWN, self.loaded(staged));
                }
                let (before, _) = Found::count(of_staged, warp_and_lane().0);
                let to = Shared::noted(shared, step).wrapping_add(before as usize);
                Noted::note(to, RUN * index_in_block(), recorded_before);
            }
            if reduced != NONE {
                self.reduce(reduced, step.wrapping_sub(2), shared, index, start);
                if warp_and_lane().0 == LAST {
                    self.write_ranks(reduced, of_reduced);
                }
            }
            if tile == NONE {
                recorded = 0;
                if staged == NONE {
                    break;
                }
            }
            [tile, staged, reduced] = [next, tile, staged];
            step += 1;
        }
    }

    /// The tile of a ticket, or [`NONE`].
    #[inline(always)]
    fn if_any(&self, ticket: u32) -> u32 {
        let tile = Tickets::number(ticket);
        if tile < self.count() { tile } else { NONE }
    }

    /// Number of tiles.
    #[inline(always)]
    fn count(&self) -> u32 {
        tiles(thread::hidden(self.points) as usize) as u32
    }

    /// Number of points in a tile.
    #[inline(always)]
    fn loaded(&self, tile: u32) -> u32 {
        (self.points - tile * OWN).min(TILE)
    }

    /// Begins to copy the timestamps of a tile, unless it is [`NONE`]; returns which of the lane's points begin a
    /// series.
    #[inline(always)]
    unsafe fn stage_times(&self, shared: *mut Shared, tile: u32) -> u32 {
        if tile == NONE {
            return 0;
        }
        let (begin, loaded) = (tile * OWN, self.loaded(tile));
        tile_stage::times(self.times, shared, begin, loaded);
        let place = RUN * index_in_block();
        let bits = self.bits.wrapping_add(((begin + place) / 32) as usize);
        mem::load_ahead(place < loaded, bits)
    }

    /// Writes where the tile's buckets begin, and their methods.
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    #[inline(always)]
    unsafe fn reduce(
        &self,
        tile: u32,
        step: u32,
        shared: *mut Shared,
        index: impl Fn(u64) -> u64,
        start: impl Fn(u64) -> i64,
    ) {
        let begin = tile * OWN;
        let found = Shared::found(shared, step);
        let [all, total] = (*found).counts;
        let before = (*found).before;
        let noted = Shared::noted(shared, step);
        let mut longest = FEW;
        // Starts at the last multiple of four buckets, so that no two warps write to the same 32 bytes of a column.
        let mut bucket = index_in_block().wrapping_sub(before % 4) as i32;
        while bucket < total as i32 {
            if bucket < 0 {
                bucket += BLOCK as i32;
                continue;
            }
            let at = bucket as u32;
            let word = u32::from(*noted.add(at as usize));
            let from = Noted::place(word);
            let n = if at + 1 < all {
                Noted::place(u32::from(*noted.add(at as usize + 1))) - from
            } else if begin + self.loaded(tile) == self.points {
                self.loaded(tile) - from
            } else {
                // The tile has no point after its own that begins a bucket.
                SHORT as u32 + 1
            };
            longest = longest.max(n);
            let to = before + at;
            if to < self.capacity {
                let to = to as usize;
                let methods = thread::hidden(self.methods);
                if methods != 0 && n <= SHORT as u32 {
                    let values = Shared::values(shared, step);
                    let column = self.columns.add(to);
                    short_bucket::write(values, from, n, column, self.stride, methods);
                }
                let number = match Noted::skipped(word) {
                    Some(skipped) => {
                        let numbers = (&raw const (*found).numbers).cast::<u64>();
                        let of_strip = *numbers.add((from / STRIP) as usize);
                        of_strip.wrapping_add(u64::from(at + skipped))
                    }
                    None => index(*self.times.add((begin + from) as usize)),
                };
                *self.first.add(to) = begin + from;
                *self.starts.add(to) = start(number);
            }
            bucket += BLOCK as i32;
        }
        let longest = warp::max_u32(warp::FULL, longest);
        if longest > FEW && warp::lane_id() == 0 {
            let longest = longest.clamp(SHORT as u32, SHORT as u32 + 1);
            thread::device_fence();
            let facts = self.facts.add(LONGEST);
            if longest > atomic::load_u32(facts) {
                atomic::max_u32(facts, longest);
            }
        }
        if tile == self.count() - 1 && index_in_block() == 0 {
            let buckets = before + total;
            *self.facts.add(BUCKETS) = buckets;
            *self.first.add(buckets.min(self.capacity) as usize) = self.points;
        }
    }

    /// Writes the buckets of every 32nd point, and the first buckets of the series that begin in the tile. One warp
    /// calls it.
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    #[inline(always)]
    unsafe fn write_ranks(&self, tile: u32, found: *const Found) {
        let lane = warp::lane_id();
        let begin = tile * OWN;
        // Two words of 32 points for each lane.
        let word = 2 * lane;
        let mut heads = 0;
        if word < WORDS {
            heads = *(&raw const (*found).heads).cast::<u64>().add(lane as usize);
        }
        let low = heads as u32;
        let high = (heads >> 32) as u32;
        let count = heads.count_ones();
        let mut up_to = count;
        for step in 0..5 {
            let below = warp::shuffle_up(warp::FULL, up_to, 1 << step);
            if lane >= 1 << step {
                up_to += below;
            }
        }
        let before_low = (*found).before + up_to - count;
        let before_high = before_low + low.count_ones();
        let covering = self.covering.wrapping_add((begin / 32 + word) as usize);
        let own = self.loaded(tile).min(OWN);
        if 32 * word < own {
            *covering = before_low + (low & 1) - 1;
        }
        if 32 * word + 32 < own {
            *covering.wrapping_add(1) = before_high + (high & 1) - 1;
        }
        let [mut series, behind] = (*found).series;
        while series < behind {
            let one = (series + lane).min(behind - 1) as usize;
            let at = *self.offsets.add(one) - begin;
            let of = at / 64;
            let heads = warp::shuffle_idx(warp::FULL, heads, of);
            let before_low = warp::shuffle_idx(warp::FULL, before_low, of);
            let below = (heads & ((1 << (at % 64)) - 1)).count_ones();
            *self.of_series.add(one) = before_low + below;
            series = series.saturating_add(warp::SIZE);
        }
    }
}
