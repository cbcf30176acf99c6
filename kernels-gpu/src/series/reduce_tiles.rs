//! Where buckets begin, and all one-pass methods of those of up to 32 points, in one pass over the points.
//!
//! A block takes tiles in their order ([`super::tile`]). A thread loads four neighbouring timestamps and compares their
//! buckets with each other and with the lane before; the tile's heads become bits in shared memory. The tile tells their
//! number, its last warp asks the tiles before for theirs (`look_back.rs`), and meanwhile a thread reduces a bucket
//! of the tile: its values, which were copied to shared memory from the start on without passing through registers, are
//! added one after the other. Longer buckets are left to [`super::reduce_long`], which must follow: it also makes the
//! scratch memory ready for the next launch.
//!
//! Reads 16 bytes a point (8 where no method needs the values), 1.6 % of them twice; writes 12 bytes a bucket and 8 for
//! each method. 7 340 032 points in buckets of 7, seven methods: 119 MB and 71 MB, 44 µs at 4.3 TB/s.
//!
//! Block of 512: one warp for each 128 points of the tile, so that what a lane found is still in its registers, and 39 kB
//! of shared memory, which three or four resident blocks have.

use super::bucket::Bucketing;
use super::look_back::{self, Heads};
use super::methods::{self, COUNT, MAX, MIN, STD, Statistics, columns_of};
use super::order;
use super::order_query::{BUCKETS, LONGEST};
use super::sums::SHORT;
use super::tile::{Lengths, OWN, Ranks, TILE, WORDS, owned_bits, tiles};
use warpstride_device::prelude::*;

/// Points that a warp looks at together.
const STRIP: u32 = 4 * warp::SIZE;
const STRIPS: u32 = TILE / STRIP;

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
/// as far as it is known here (1, 2, 4 … 32, or 33 for whatever is longer). `columns`: (column, bucket), `stride`
/// buckets each; those of `methods` ([`super::methods`]) stand from `column` on. Where there are more than `capacity`
/// buckets, those beyond are left out. `progress`: [`progress_len`] elements, zero before.
#[kernel(block = 512, min_blocks = 3, hot, f64)]
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
    task.run(|time| rule.index(time), |index| rule.start(index));
}

/// As [`series_reduce_fixed`], with a rule of the calendar ([`Bucketing::calendar`]).
#[kernel(block = 512, min_blocks = 3, hot, f64)]
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
    task.run(|time| rule.index(time), |index| rule.start(index));
}

/// Where value `place` of a tile is staged: buckets of one length begin in different banks.
#[inline(always)]
fn staged_at(place: u32) -> usize {
    (place + place / 16) as usize
}

impl Task {
    /// Tiles, until there are none.
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    #[inline(always)]
    unsafe fn run(&self, index: impl Fn(u64) -> u64 + Copy, start: impl Fn(u64) -> i64 + Copy) {
        let staged = shared_array![f64; (TILE + TILE / 16) as usize];
        let indices = shared_array![u64; TILE as usize];
        let places = shared_array![u16; TILE as usize + 1];
        let heads = shared_array![u32; WORDS as usize];
        let before_word = shared_array![u32; WORDS as usize];
        // The tile, and the buckets before it.
        let of_block = shared_array![u32; 2];

        let warps = thread::block_threads() / warp::SIZE;
        let count = tiles(self.points as usize) as u32;
        let (ticket, told) = (self.progress.cast::<u32>(), self.progress.add(1));
        if thread::index_in_block() == 0 {
            *of_block = atomic::fetch_add_u32(ticket, 1);
        }
        loop {
            thread::sync_threads();
            let tile = *of_block;
            if tile >= count {
                break;
            }
            let begin = tile * OWN;
            let loaded = (self.points - begin).min(TILE);
            let own = loaded.min(OWN);
            if self.methods & !COUNT != 0 {
                for place in thread::thread_stride(loaded) {
                    let from = self.values.add((begin + place) as usize);
                    mem::copy_to_shared(staged.add(staged_at(place)), from);
                }
            }
            let lane = thread::hidden(warp::lane_id());
            let mut strip = warp::warp_id();
            while strip < STRIPS {
                let place = strip * STRIP + 4 * lane;
                let nibble = self.heads_of_four(begin, place, loaded, indices, index);
                let mut word = nibble << (4 * (lane % 8));
                for step in 0..3 {
                    word |= warp::shuffle_xor(warp::FULL, word, 1 << step);
                }
                if lane.is_multiple_of(8) {
                    *heads.add((place / 32) as usize) = word;
                }
                strip += warps;
            }
            let mut next = 0;
            if thread::index_in_block() == 0 {
                next = atomic::fetch_add_u32(ticket, 1);
            }
            thread::sync_threads();

            if thread::index_in_block() == 0 {
                *of_block = next;
            }
            let ranks = Ranks::new(heads, own);
            let mut of_tile = Heads {
                count: ranks.total,
                class: 0,
            };
            // The last warp has the fewest buckets to reduce.
            let asks = warp::warp_id() == warps - 1;
            if asks {
                of_tile.class = ranks.longest();
                if warp::lane_id() == 0 {
                    look_back::tell_own(told, tile, of_tile);
                }
            }
            let lane = thread::hidden(warp::lane_id());
            if warp::warp_id() == 0 {
                *before_word.add(2 * lane as usize) = ranks.before[0];
                *before_word.add(2 * lane as usize + 1) = ranks.before[1];
            }
            let mut strip = warp::warp_id();
            while strip < STRIPS {
                let place = strip * STRIP + 4 * lane;
                let word = place / 32;
                let bits = *heads.add(word as usize) & owned_bits(own, word);
                let shift = place % 32;
                let mut rank = ranks.before_word(word) + (bits & ((1 << shift) - 1)).count_ones();
                for k in 0..4 {
                    if bits >> (shift + k) & 1 != 0 {
                        *places.add(rank as usize) = (place + k) as u16;
                        rank += 1;
                    }
                }
                strip += warps;
            }
            if thread::index_in_block() == 0 {
                // Where the tile's last bucket ends: beyond the tile if it is a long one.
                let behind = *heads.add(WORDS as usize - 1);
                *places.add(ranks.total as usize) = if own < OWN {
                    own as u16
                } else if behind != 0 {
                    (OWN + behind.trailing_zeros()) as u16
                } else {
                    TILE as u16
                };
            }
            mem::wait_for_copies();
            thread::sync_threads();

            if asks {
                let before = look_back::before(told, tile);
                if warp::lane_id() == 0 {
                    *of_block.add(1) = before.count;
                    let up_to = before.and(of_tile);
                    if tile != 0 {
                        look_back::tell_whole(told, tile, up_to);
                    }
                    if tile == count - 1 {
                        *self.facts.add(BUCKETS) = up_to.count;
                        *self.facts.add(LONGEST) = Lengths::at_most(up_to.class);
                        *self.first.add(up_to.count.min(self.capacity) as usize) = self.points;
                    }
                }
            }
            let mut reduced = 0;
            while reduced == 0 || reduced < ranks.total {
                let bucket = reduced + thread::index_in_block();
                let (mut from, mut n) = (0, 0);
                if bucket < ranks.total {
                    from = u32::from(*places.add(bucket as usize));
                    n = u32::from(*places.add(bucket as usize + 1)) - from;
                }
                let methods = thread::hidden(self.methods);
                let is_short = n <= SHORT as u32 && methods & !COUNT != 0;
                let mut statistics = Statistics::NOTHING;
                if is_short {
                    statistics = in_order(staged, from, n, methods);
                }
                if reduced == 0 {
                    thread::sync_threads();
                }
                let place = *of_block.add(1) + bucket;
                if bucket < ranks.total && place < self.capacity {
                    let place = place as usize;
                    *self.first.add(place) = begin + from;
                    *self.starts.add(place) = start(*indices.add(from as usize));
                    if n <= SHORT as u32 {
                        statistics.n = n;
                        let methods = thread::hidden(self.methods);
                        if methods & !COUNT != 0 {
                            statistics.first = *staged.add(staged_at(from));
                            statistics.last = *staged.add(staged_at(from + n - 1));
                        }
                        statistics.write(self.columns.add(place), self.stride, methods);
                    }
                }
                reduced += thread::block_threads();
            }
            self.write_ranks(tile, own, *of_block.add(1), heads, before_word);
        }
    }

    /// Which of the four points from `place` of the tile on begin a bucket, and one more bit for the end of points if it
    /// is there. The buckets' numbers are left in `indices`.
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    #[inline(always)]
    unsafe fn heads_of_four(
        &self,
        begin: u32,
        place: u32,
        loaded: u32,
        indices: *mut u64,
        index: impl Fn(u64) -> u64,
    ) -> u32 {
        let point = (begin + place) as usize;
        let at = self.times.add(point);
        let mut times = [0; 4];
        let mut begins = 0;
        if place < loaded {
            begins = *self.bits.add(point / 32) >> (point % 32);
        }
        if place + 4 <= loaded {
            let pair = at.cast::<U64x2>();
            let U64x2([a, b]) = mem::load_read_only(pair);
            let U64x2([c, d]) = mem::load_read_only(pair.add(1));
            times = [a, b, c, d];
        } else {
            for k in 0..4 {
                if place + (k as u32) < loaded {
                    times[k] = *at.add(k);
                }
            }
        }
        // The first lane's neighbour is in another warp.
        let mut before = 0;
        if warp::lane_id() == 0 && point > 0 && place <= loaded {
            before = index(*at.sub(1));
        }
        let numbers = times.map(index);
        let neighbour = warp::shuffle_up(warp::FULL, numbers[3], 1);
        if warp::lane_id() != 0 {
            before = neighbour;
        }
        let mut nibble = 0;
        for k in 0..4 {
            let here = place + k as u32;
            if here < loaded && (numbers[k] != before || begins >> k & 1 != 0) {
                nibble |= 1 << k;
                *indices.add(here as usize) = numbers[k];
            }
            if here == loaded {
                nibble |= 1 << k;
            }
            before = numbers[k];
        }
        nibble
    }

    /// First buckets of the series that begin in the tile, and the buckets that every 32nd point lies in.
    #[inline(always)]
    unsafe fn write_ranks(
        &self,
        tile: u32,
        own: u32,
        before: u32,
        heads: *const u32,
        before_word: *const u32,
    ) {
        let begin = tile * OWN;
        let heads_before = |place: u32| {
            let (word, bit) = ((place / 32) as usize, place % 32);
            let below = *heads.add(word) & ((1 << bit) - 1);
            before + *before_word.add(word) + below.count_ones()
        };
        for word in thread::thread_stride(own.div_ceil(32)) {
            let with_head = heads_before(32 * word) + (*heads.add(word as usize) & 1);
            *self.covering.add((begin / 32 + word) as usize) = with_head - 1;
        }
        let series = *self.of_tile.add(tile as usize);
        let behind = *self.of_tile.add(tile as usize + 1);
        for s in thread::thread_stride(behind - series) {
            let s = (series + s) as usize;
            *self.of_series.add(s) = heads_before(*self.offsets.add(s) - begin);
        }
    }
}

/// The `n` values from `from` on, one after the other; 0 of a thread without a bucket.
#[inline(always)]
unsafe fn in_order(staged: *const f64, from: u32, n: u32, methods: u32) -> Statistics {
    let value = |i: u32| *staged.add(staged_at(from + i));
    let mut found = Statistics::NOTHING;
    if methods & (MIN | MAX) == 0 {
        for i in 0..n {
            found.sum += value(i);
        }
    } else {
        // Compared as whole numbers: those of the order, but for NaN, which the sum tells.
        let turned = |v: f64| (v.to_bits() as i64) ^ (((v.to_bits() as i64) >> 63) & i64::MAX);
        let (mut least, mut greatest) = (i64::MAX, i64::MIN);
        for i in 0..n {
            let value = value(i);
            found.sum += value;
            least = least.min(turned(value));
            greatest = greatest.max(turned(value));
        }
        let back = |key: i64| f64::from_bits((key ^ ((key >> 63) & i64::MAX)) as u64);
        (found.least, found.greatest) = (back(least), back(greatest));
        if found.sum.is_nan() {
            let (mut least, mut greatest) = (u64::MAX, 0);
            for i in 0..n {
                let key = order::key(value(i));
                least = least.min(key);
                greatest = greatest.max(key);
            }
            (found.least, found.greatest) = (order::value(least), order::value(greatest));
        }
    }
    if methods & STD != 0 {
        let mean = methods::mean(found.sum, n);
        for i in 0..n {
            found.squares += methods::square_from(mean, value(i));
        }
    }
    found
}
