//! A ladder of kernels after an earlier implementation of time series on GPUs, with correct results: sums of buckets
//! whose first points are known. `warpstride series ladder` measures it beside [`super::reduce_tiles`].
//!
//! 1. `series_ladder_atomic`: a thread per bucket adds each of its values to the result in memory, atomically. Reads
//!    8 bytes a point, with neighbouring threads a bucket apart, and causes 8 bytes a point of atomic traffic.
//! 2. `series_ladder_one_block`: launched with one block, which strides over chunks of as many buckets as it has
//!    threads; a thread adds in a register. Reads as before, writes 8 bytes a bucket; one multiprocessor of the
//!    device is busy.
//! 3. `series_ladder_staged`: a block copies the values of its buckets to shared memory, neighbouring threads
//!    neighbouring values, and each thread adds those of its bucket there. Reads 8 bytes a point once, writes 8 a
//!    bucket.
//! 4. The same kernel, with values that arrive in pieces from page-locked memory over eight streams: `origin` and
//!    `bucket_from` give the position of a piece.
//!
//! The values of a bucket are added one after the other, whatever their number: for up to 32 values this is the order
//! of [`super::sums`]. All atomic additions to a bucket come from one thread, so they have this order too. Blocks of
//! 256, as in the original.

use warpstride_device::prelude::*;

/// Values that a block stages at a time.
const STAGED: u32 = 2048;

/// Rung 1. `first`: (bucket + 1), first points; `sums`: (bucket), zero before.
#[kernel(block = 256, hot, f64)]
pub unsafe fn series_ladder_atomic(
    #[len(points)] values: *const f64,
    #[len(buckets + 1)] first: *const u32,
    #[len(buckets)] sums: *mut f64,
    points: u32,
    buckets: u32,
) {
    let _ = points;
    for bucket in thread::grid_stride(buckets as usize) {
        for point in *first.add(bucket)..*first.add(bucket + 1) {
            atomic::add_f64(sums.add(bucket), *values.add(point as usize));
        }
    }
}

/// Rung 2. Arguments as for rung 1; `sums` need not be zero.
#[kernel(block = 256, hot, f64)]
pub unsafe fn series_ladder_one_block(
    #[len(points)] values: *const f64,
    #[len(buckets + 1)] first: *const u32,
    #[len(buckets)] sums: *mut f64,
    points: u32,
    buckets: u32,
) {
    let _ = points;
    let threads = thread::block_threads();
    for chunk in thread::block_stride(buckets.div_ceil(threads)) {
        let bucket = chunk as usize * threads as usize + thread::index_in_block() as usize;
        if bucket < buckets as usize {
            let mut sum = 0.0;
            for point in *first.add(bucket)..*first.add(bucket + 1) {
                sum += *values.add(point as usize);
            }
            *sums.add(bucket) = sum;
        }
    }
}

/// Rungs 3 and 4: the `buckets` from `bucket_from` on. `values` holds all of their values; its first element belongs
/// to point `origin`. `first`, `sums`: for all buckets.
#[kernel(block = 256, hot, f64)]
pub unsafe fn series_ladder_staged(
    #[len(points)] values: *const f64,
    #[len(bucket_from + buckets + 1)] first: *const u32,
    #[len(bucket_from + buckets)] sums: *mut f64,
    points: u32,
    origin: u32,
    bucket_from: u32,
    buckets: u32,
) {
    let staged = shared_array![f64; STAGED as usize];
    let _ = points;
    let threads = thread::block_threads();
    let first = first.add(bucket_from as usize);
    let sums = sums.add(bucket_from as usize);
    for chunk in thread::block_stride(buckets.div_ceil(threads)) {
        let of_block = chunk * threads;
        let last = (of_block + threads).min(buckets);
        let bucket = (of_block + thread::index_in_block()).min(last - 1) as usize;
        let (mut from, end) = (*first.add(bucket), *first.add(bucket + 1));
        let has_bucket = of_block + thread::index_in_block() < last;
        let mut begin = *first.add(of_block as usize);
        let behind = *first.add(last as usize);
        let mut sum = 0.0;
        while begin < behind {
            let count = (behind - begin).min(STAGED);
            for place in thread::thread_stride(count) {
                *staged.add(place as usize) = *values.add((begin - origin + place) as usize);
            }
            thread::sync_threads();
            while has_bucket && from < end && from < begin + count {
                sum += *staged.add((from - begin) as usize);
                from += 1;
            }
            thread::sync_threads();
            begin += count;
        }
        if has_bucket {
            *sums.add(bucket) = sum;
        }
    }
}
