//! Warp exchanges, reductions and atomics against the same thing computed by one thread, in blocks
//! with full and with partial last warps.

#![allow(
    unsafe_code,
    unsafe_op_in_unsafe_fn,
    reason = "kernels, whose contract covers their body"
)]

use proptest::prelude::{ProptestConfig, any, proptest};
use warpstride_device::emulator::{self, LaunchConfig, Memory, Order};
use warpstride_device::prelude::*;

const BLOCKS: [u32; 7] = [1, 31, 32, 33, 64, 100, 256];
const ORDERS: [Order; 2] = [Order::Ascending, Order::Descending];

/// One column per exchange, a row per thread.
#[kernel(block = 32)]
pub unsafe fn exchange(#[len(threads * 10)] out: *mut u32, threads: u32) {
    let t = thread::thread_idx_x();
    let out = out.add(10 * t as usize);
    let lanes = warp::lanes();
    *out = warp::shuffle_down(warp::FULL, t, 3);
    *out.add(1) = warp::shuffle_up(warp::FULL, t, 3);
    *out.add(2) = warp::shuffle_xor(warp::FULL, t, 1);
    *out.add(3) = warp::shuffle_idx(warp::FULL, t as f32, 0) as u32;
    *out.add(4) = warp::ballot(warp::FULL, t.is_multiple_of(3));
    *out.add(5) = u32::from(warp::all(warp::FULL, t < threads));
    *out.add(6) = u32::from(warp::any(warp::FULL, t + 1 == threads));
    *out.add(7) = lanes;
    *out.add(8) = warp::sum_u32(warp::FULL, t);
    *out.add(9) = warp::max_u32(warp::FULL, t ^ 5);
    warp::sync_warp(warp::FULL);
    let _ = threads;
}

#[test]
fn exchanges_on_full_and_partial_warps() {
    for threads in BLOCKS {
        for order in ORDERS {
            let mut out = Memory::try_zeroed(threads as usize * 10).expect("memory");
            let launch = Exchange {
                out: out.write(),
                threads,
            };
            let config = LaunchConfig::linear(&launch, 1, threads);
            emulator::launch_in(&launch, config, order).expect("a launch");
            for t in 0..threads {
                let (first, lane) = (t / 32 * 32, t % 32);
                let lanes = (threads - first).min(32);
                // A lane that the warp does not have gives poison; beyond lane 31, one's own.
                let of = |source: u32| match source {
                    32.. => t,
                    lane if lane < lanes => first + lane,
                    _ => u32::MAX,
                };
                let row = &out.as_slice()[10 * t as usize..][..10];
                assert_eq!(row[0], of(lane + 3), "down, thread {t} of {threads}");
                assert_eq!(row[1], if lane < 3 { t } else { t - 3 }, "up");
                assert_eq!(row[2], of(lane ^ 1), "xor, thread {t} of {threads}");
                assert_eq!(row[3], first, "idx");
                let ballot = (0..lanes)
                    .filter(|l| (first + l).is_multiple_of(3))
                    .fold(0, |bits, l| bits | 1_u32 << l);
                assert_eq!(row[4], ballot, "ballot");
                assert_eq!(row[5], 1, "all");
                assert_eq!(row[6], u32::from(first + lanes == threads), "any");
                assert_eq!(row[7], lanes, "lanes");
                assert_eq!(row[8], (first..first + lanes).sum::<u32>(), "sum");
                let most = (first..first + lanes).map(|t| t ^ 5).max();
                assert_eq!(Some(row[9]), most, "greatest");
            }
        }
    }
}

/// The two halves of a warp exchange apart, under their own masks.
#[kernel(block = 32)]
pub unsafe fn halves(#[len(32)] out: *mut f64) {
    let t = thread::thread_idx_x();
    let value = f64::from(t) + 0.1;
    *out.add(t as usize) = if t < 16 {
        warp::shuffle_idx(0x0000_ffff, value, 3)
    } else {
        warp::shuffle_idx(0xffff_0000, value, 20)
    };
}

#[test]
fn masked_exchanges_of_diverged_halves() {
    let mut out = Memory::try_zeroed(32).expect("memory");
    let launch = Halves { out: out.write() };
    emulator::launch(&launch, LaunchConfig::linear(&launch, 1, 32)).expect("a launch");
    for (t, value) in out.as_slice().iter().enumerate() {
        let source = if t < 16 { 3.1 } else { 20.1 };
        assert!((value - source).abs() < 1e-15, "{t}: {value}");
    }
}

/// Every reduction, each thread's share first added by itself. Twice, to show that the scratch
/// memory can be used again.
#[kernel(block = 256, f64)]
pub unsafe fn reduce_all(
    #[len(count)] values: *const f32,
    #[len(6 * threads)] out: *mut f64,
    count: u32,
    threads: u32,
) {
    let mut sum = 0.0;
    let mut largest = f32::NEG_INFINITY;
    for i in thread::thread_stride(count) {
        let value = *values.add(i as usize);
        sum += value;
        largest = largest.max(value);
    }
    let out = out.add(6 * thread::thread_idx_x() as usize);
    let _ = threads;
    let first = reduce::block_sum(sum);
    *out = f64::from(first);
    *out.add(1) = f64::from(reduce::block_sum(sum) - first);
    *out.add(2) = f64::from(reduce::block_max(largest));
    let (a, b) = reduce::block_sum_pair(sum, 1.0);
    *out.add(3) = f64::from(a);
    *out.add(4) = f64::from(b);
    *out.add(5) = reduce::block_sum_f64(f64::from(sum));
}

fn reduce(values: &[f32], threads: u32, order: Order) -> Vec<f64> {
    let there = Memory::try_copy_of(values).expect("memory");
    let mut out = Memory::try_zeroed(6 * threads as usize).expect("memory");
    let launch = ReduceAll {
        values: there.read(),
        out: out.write(),
        count: values.len() as u32,
        threads,
    };
    let config = LaunchConfig::linear(&launch, 1, threads);
    emulator::launch_in(&launch, config, order).expect("a launch");
    out.as_slice().to_vec()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whole numbers below 2²⁴ in all: every order of additions gives the exact sum.
    #[test]
    fn reductions_are_exact_on_whole_numbers(
        values in proptest::collection::vec(-1000_i16..1000, 0..700),
        block in 0..BLOCKS.len(),
        descending in any::<bool>(),
    ) {
        let threads = BLOCKS[block];
        let sum: f64 = values.iter().map(|v| f64::from(*v)).sum();
        let largest = values.iter().map(|v| f64::from(*v)).fold(f64::NEG_INFINITY, f64::max);
        let values: Vec<f32> = values.iter().map(|v| f32::from(*v)).collect();
        let expected = [sum, 0.0, largest, sum, f64::from(threads), sum];
        for row in reduce(&values, threads, ORDERS[usize::from(descending)]).chunks(6) {
            assert_eq!(row, expected);
        }
    }
}

#[test]
fn reductions_do_not_depend_on_the_order_of_threads() {
    // 1/k: inexact, so another order of additions would give other bits.
    let values: Vec<f32> = (1..900).map(|k| 1.0 / k as f32).collect();
    for threads in BLOCKS {
        let [a, b] = ORDERS.map(|order| reduce(&values, threads, order));
        assert_eq!(a, b);
        let exact: f64 = (1..900).map(|k| 1.0 / f64::from(k)).sum();
        assert!((a[0] - exact).abs() < 1e-5, "{} against {exact}", a[0]);
    }
}

/// Adds into one of `bins` places by every kind of atomic.
#[kernel(block = 128)]
pub unsafe fn add_up(
    #[len(bins)] sums: *mut f32,
    #[len(bins)] pairs: *mut Complex32,
    #[len(1)] count: *mut u32,
    n: u32,
    bins: u32,
) {
    let of_block = shared_array![f32; 1];
    if thread::index_in_block() == 0 {
        *of_block = 0.0;
    }
    thread::sync_threads();
    for i in thread::grid_stride(n as usize) {
        let bin = i % bins as usize;
        atomic::add_global(sums.add(bin), 1.0);
        atomic::add_global_complex(pairs.add(bin), Complex32::new(1.0, -2.0));
        atomic::add_shared(of_block, 1.0);
    }
    thread::sync_threads();
    if thread::index_in_block() == 0 {
        atomic::add_u32(count, *of_block as u32);
    }
}

#[test]
fn atomics_lose_nothing() {
    let (n, bins) = (1234, 7);
    let mut sums = Memory::try_zeroed(bins).expect("memory");
    let mut pairs = Memory::try_zeroed(bins).expect("memory");
    let mut count = Memory::try_zeroed(1).expect("memory");
    let launch = AddUp {
        sums: sums.write(),
        pairs: pairs.write(),
        count: count.write(),
        n,
        bins: bins as u32,
    };
    emulator::launch(&launch, LaunchConfig::linear(&launch, 3, 128)).expect("a launch");
    assert_eq!(count.as_slice(), [n]);
    for bin in 0..bins {
        let expected = (bin..n as usize).step_by(bins).count() as f32;
        assert_eq!(sums.as_slice()[bin].to_bits(), expected.to_bits());
        assert_eq!(
            pairs.as_slice()[bin],
            Complex32::new(expected, -2.0 * expected)
        );
    }
}

/// The atomics of whole numbers and of doubles, and copies into shared memory.
#[kernel(block = 64, f64)]
pub unsafe fn count_off(
    #[len(n)] seen: *mut u32,
    #[len(4)] words: *mut u32,
    #[len(1)] cell: *mut u64,
    #[len(1)] sum: *mut f64,
    #[len(n)] values: *const f64,
    n: u32,
) {
    let staged = shared_array![f64; 64];
    let t = thread::index_in_block();
    for i in thread::block_stride(n.div_ceil(thread::block_threads())) {
        let point = i * thread::block_threads() + t;
        if point < n {
            mem::copy_to_shared(staged.add(t as usize), values.add(point as usize));
            let ticket = atomic::fetch_add_u32(words, 1);
            *seen.add(ticket as usize) = point;
            atomic::or_u32(words.add(1), 1 << (point % 32));
            atomic::max_u32(words.add(2), point);
        }
        mem::wait_for_copies();
        thread::sync_threads();
        let other = thread::block_threads() - 1 - t;
        if i * thread::block_threads() + other < n {
            atomic::add_f64(sum, *staged.add(other as usize));
        }
        thread::sync_threads();
    }
    if thread::first() {
        atomic::compare_exchange_u64(cell, 0, 1 << 40 | 7);
        *words.add(3) = (atomic::load_u64(cell) >> 40) as u32 + atomic::load_u32(words.add(2));
    }
}

#[test]
fn atomics_of_whole_numbers_and_of_doubles() {
    for order in ORDERS {
        let n = 333_u32;
        let values: Vec<f64> = (0..n).map(f64::from).collect();
        let mut seen = Memory::try_zeroed(n as usize).expect("memory");
        let mut words = Memory::try_zeroed(4).expect("memory");
        let mut cell = Memory::try_zeroed(1).expect("memory");
        let mut sum = Memory::try_zeroed(1).expect("memory");
        let values = Memory::try_copy_of(&values).expect("memory");
        let launch = CountOff {
            seen: seen.write(),
            words: words.write(),
            cell: cell.write(),
            sum: sum.write(),
            values: values.read(),
            n,
        };
        let config = LaunchConfig::linear(&launch, 1, 64);
        emulator::launch_in(&launch, config, order).expect("a launch");
        let mut points: Vec<u32> = seen.as_slice().to_vec();
        points.sort_unstable();
        assert!(points.into_iter().eq(0..n));
        assert_eq!(words.as_slice(), [n, u32::MAX, n - 1, n]);
        assert_eq!(cell.as_slice(), [1 << 40 | 7]);
        assert_eq!(sum.as_slice(), [f64::from(n * (n - 1) / 2)]);
    }
}

/// The barriers that carry a value.
#[kernel(block = 64)]
pub unsafe fn vote(#[len(3 * threads)] out: *mut u32, threads: u32, below: u32) {
    let t = thread::thread_idx_x();
    let out = out.add(3 * t as usize);
    let predicate = u32::from(t < below) * 5;
    let _ = threads;
    *out = thread::sync_threads_count(predicate);
    *out.add(1) = thread::sync_threads_and(predicate);
    *out.add(2) = thread::sync_threads_or(predicate);
}

#[test]
fn barriers_that_count() {
    for (threads, below) in [(64, 0), (64, 13), (50, 50)] {
        let mut out = Memory::try_zeroed(3 * threads as usize).expect("memory");
        let launch = Vote {
            out: out.write(),
            threads,
            below,
        };
        emulator::launch(&launch, LaunchConfig::linear(&launch, 1, threads)).expect("a launch");
        let expected = [below, u32::from(below == threads), u32::from(below > 0)];
        for row in out.as_slice().chunks(3) {
            assert_eq!(row, expected);
        }
    }
}
