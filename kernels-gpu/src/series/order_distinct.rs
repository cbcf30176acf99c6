//! The number of distinct values in buckets of more than 4096 points.
//!
//! Keys are inserted into a hash table with two entries a point, each bucket into its own part of it: at the entry
//! that the key's hash selects, or the next free one. The number of distinct values is the number of keys that found
//! a free entry, whichever thread came first. A block processes a tile of 4096 points at a time, a thread one point:
//! it reads 8 bytes and writes 8 at an arbitrary entry of the table, which takes 16 bytes a point. The last block of
//! a bucket writes its number. Block of 256: full occupancy hides the latency of the table.

use super::order;
use super::order_long::{Part, is_last};
use super::order_query::{LONG, LONGEST};
use warpstride_device::prelude::*;

/// The key of a free entry. No value has it: the least key is that of −∞.
const FREE: u64 = 0;

/// The bits of a key, mixed (the last step of MurmurHash3; A. Appleby, in the public domain).
#[inline(always)]
fn mixed(key: u64) -> u64 {
    let key = (key ^ key >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
    let key = (key ^ key >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    key ^ key >> 33
}

/// Inserts the key into the `places` entries of `table`; returns whether it was new.
#[inline(always)]
unsafe fn put(table: *mut u64, places: u32, key: u64) -> bool {
    let mut at = ((u128::from(mixed(key)) * u128::from(places)) >> 64) as u32;
    loop {
        let mut there = atomic::load_u64(table.add(at as usize));
        if there == FREE {
            there = atomic::compare_exchange_u64(table.add(at as usize), FREE, key);
            if there == FREE {
                return true;
            }
        }
        if there == key {
            return false;
        }
        at = if at + 1 == places { 0 } else { at + 1 };
    }
}

/// Frees the entries of all buckets of more than 4096 points. Arguments as for [`series_distinct`].
#[kernel(block = 256, hot)]
pub unsafe fn series_distinct_clear(
    #[len(capacity + 1)] first: *const u32,
    #[len(super::order_query::windows(points))] covering: *const u32,
    #[len(2)] facts: *const u32,
    #[len(2 * points)] table: *mut u64,
    points: u32,
    capacity: u32,
    slots: u32,
) {
    let _ = capacity;
    if *facts.add(LONGEST) <= LONG {
        return;
    }
    for item in thread::block_stride(slots * 2) {
        if let Some(part) = Part::of(item / 2, item % 2, points, first, covering) {
            for i in thread::thread_stride(2 * part.count) {
                *table.add(2 * part.from as usize + i as usize) = FREE;
            }
        }
    }
}

/// Numbers of distinct values in the buckets of more than 4096 points; both zeros count as one value, and so do all
/// NaNs.
///
/// `first`: (bucket + 1), first points; `covering`: (window of 32 points), the bucket of its first point; `facts`:
/// the number of buckets, and the points of the longest; `out`: (column, bucket). `table`: (point, 2), freed;
/// `counts`, `done`: (slot), 0 before and after the launch.
#[kernel(block = 256, hot, f64)]
pub unsafe fn series_distinct(
    #[len(points)] values: *const f64,
    #[len(capacity + 1)] first: *const u32,
    #[len(super::order_query::windows(points))] covering: *const u32,
    #[len(2)] facts: *const u32,
    #[len(2 * points)] table: *mut u64,
    #[len(slots)] counts: *mut u32,
    #[len(slots)] done: *mut u32,
    #[len(columns * stride)] out: *mut f64,
    points: u32,
    capacity: u32,
    slots: u32,
    columns: u32,
    stride: u32,
    column: u32,
) {
    let _ = (capacity, columns);
    if *facts.add(LONGEST) <= LONG {
        return;
    }
    for item in thread::block_stride(slots * 2) {
        let Some(part) = Part::of(item / 2, item % 2, points, first, covering) else {
            continue;
        };
        let table = table.add(2 * part.first as usize);
        let places = part.n.saturating_mul(2);
        let mut new = 0_u32;
        for i in thread::thread_stride(part.count) {
            let value = *values.add((part.from + i) as usize);
            new += u32::from(put(table, places, order::unique_key(value)));
        }
        // Integers of this size are exact in single precision.
        let new = reduce::block_sum(new as f32) as u32;
        let (count, done) = (counts.add(part.slot), done.add(part.slot));
        if thread::index_in_block() == 0 {
            atomic::add_u32(count, new);
        }
        if is_last(done, part.tiles) && thread::index_in_block() == 0 {
            let place = column as usize * stride as usize + part.bucket;
            *out.add(place) = f64::from(atomic::load_u32(count));
            *count = 0;
            *done = 0;
        }
    }
}
