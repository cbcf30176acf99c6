//! Kernel threads as coroutines: each has a stack of its own, whatever happens on it stays in its
//! launch, and a stack is used again. Values are counted or computed by hand.

#![allow(
    unsafe_code,
    unsafe_op_in_unsafe_fn,
    reason = "kernels, whose contract covers their body"
)]

use std::collections::BTreeSet;
use std::hint::black_box;
use std::panic::catch_unwind;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use warpstride_device::emulator::{self, EmulatorError, LaunchConfig, Memory, Order};
use warpstride_device::launch::{Emulated, Launch};
use warpstride_device::prelude::*;

const ORDERS: [Order; 2] = [Order::Ascending, Order::Descending];

fn run<L: Launch<Emulated> + Sync>(launch: &L, grid: u32, block: u32) -> Result<(), EmulatorError> {
    emulator::launch(launch, LaunchConfig::linear(launch, grid, block))
}

/// Goes down `depth` calls, each with 1 KiB of its own, waits there, and adds up on the way back.
#[inline(never)]
fn descend(depth: u32, seed: u32) -> u32 {
    let mut own = [seed; 256];
    black_box(&mut own);
    let below = match depth {
        0 => thread::sync_threads_count(seed & 1),
        _ => descend(depth - 1, seed.wrapping_add(1)),
    };
    own.iter()
        .fold(below, |sum, value| sum.wrapping_add(*value))
}

/// Every thread stands deep in calls at once.
#[kernel(block = 64)]
pub unsafe fn deep(#[len(64)] sums: *mut u32, depth: u32) {
    let t = thread::thread_idx_x();
    *sums.add(t as usize) = descend(depth, t);
}

#[test]
fn threads_wait_in_deep_calls() {
    const DEPTH: u32 = 200;
    for order in ORDERS {
        let mut sums = Memory::try_poisoned(64).expect("memory");
        let launch = Deep {
            sums: sums.write(),
            depth: DEPTH,
        };
        let config = LaunchConfig::linear(&launch, 1, 64);
        emulator::launch_in(&launch, config, order).expect("a launch");
        for (t, sum) in (0..).zip(sums.as_slice()) {
            // 256 · Σ (t + k) for k = 0 … DEPTH, and the odd numbers among t + DEPTH.
            let expected = 256 * ((DEPTH + 1) * t + DEPTH * (DEPTH + 1) / 2) + 32;
            assert_eq!(*sum, expected, "thread {t}");
        }
    }
}

/// Where on its stack each thread keeps a variable, with all threads of a block waiting at once.
#[kernel(block = 64)]
pub unsafe fn addresses(#[len(threads)] found: *mut u64, threads: u32) {
    let mine = thread::index_1d();
    let _ = threads;
    *found.add(mine as usize) = black_box(&raw const mine).addr() as u64;
    thread::sync_threads();
    // Still there after the others have run.
    *found.add(mine as usize) += u64::from(*black_box(&raw const mine) - thread::index_1d());
}

#[test]
fn blocks_use_the_stacks_of_those_before() {
    const BLOCKS: u32 = 3000;
    let mut found = Memory::try_zeroed(64 * BLOCKS as usize).expect("memory");
    let launch = Addresses {
        found: found.write(),
        threads: 64 * BLOCKS,
    };
    run(&launch, BLOCKS, 64).expect("a launch");
    let of_block = |block: &[u64]| block.iter().copied().collect::<BTreeSet<_>>();
    let first = of_block(&found.as_slice()[..64]);
    assert_eq!(first.len(), 64, "a stack for each thread that waits");
    for block in found.as_slice().chunks(64) {
        assert_eq!(of_block(block), first);
    }
}

static HELD: AtomicU32 = AtomicU32::new(0);

/// Counts itself while it is there, and keeps memory that only its drop frees.
struct Held(#[allow(dead_code, reason = "only there to be freed")] Vec<u32>);

impl Held {
    fn new() -> Self {
        HELD.fetch_add(1, Relaxed);
        Self(vec![1; 100])
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // A thread that unwinds still knows which one it is.
        assert!(thread::thread_idx_x() < 100);
        HELD.fetch_sub(1, Relaxed);
    }
}

/// Threads hold something while one panics (`how` = 0), ends early (1), waits elsewhere (2), or
/// nothing goes wrong.
#[kernel(block = 96)]
pub unsafe fn hold(#[len(1)] out: *mut u32, how: u32) {
    let _held = Held::new();
    if thread::thread_idx_x() == 70 {
        match how {
            0 => panic!("thread 70 gives up"),
            1 => return,
            2 => thread::sync_threads(),
            _ => {}
        }
    }
    thread::sync_threads();
    *out += 1;
}

#[test]
fn a_launch_that_stops_frees_what_its_threads_hold() {
    let mut out = Memory::try_zeroed(1).expect("memory");
    for order in ORDERS {
        for how in [0, 1, 2, 3, 0, 3] {
            let launch = Hold {
                out: out.write(),
                how,
            };
            let config = LaunchConfig::linear(&launch, 3, 100);
            let result = emulator::launch_in(&launch, config, order);
            assert_eq!(HELD.load(Relaxed), 0, "how = {how}, {order:?}");
            match (how, result) {
                (0, Err(EmulatorError::Panic { message, .. })) => {
                    assert_eq!(message, "thread 70 gives up");
                }
                (1 | 2, Err(EmulatorError::Divergence { groups, .. })) => {
                    assert_eq!(groups.len(), 2);
                }
                (3, Ok(())) => {}
                (_, result) => panic!("how = {how}: {result:?}"),
            }
        }
    }
    assert_eq!(out.as_slice(), [2 * 2 * 300]);
    let outside = catch_unwind(thread::thread_idx_x).expect_err("no kernel thread here");
    assert_eq!(
        outside.downcast_ref(),
        Some(&"device functions can be called inside a kernel launch only")
    );
}

/// Threads at three places, and one that has ended, in a block of two axes.
#[kernel(block = (8, 4))]
pub unsafe fn scatter(#[len(40)] out: *mut u32) {
    let t = thread::index_in_block();
    match t {
        3 => return,
        5 | 34 => thread::sync_threads(),
        _ => {}
    }
    *out.add(t as usize) = warp::ballot(if t < 32 { warp::FULL } else { 0xf0 }, true);
}

#[test]
fn a_disagreement_is_reported_word_for_word() {
    let source = include_str!("stacks.rs");
    let line = |text: &str| {
        let at = source.find(text).expect("a stretch of this file");
        source[..at].matches('\n').count() + 1
    };
    let (sync, ballot) = (
        line("5 | 34 => thread::sync"),
        line("*out.add(t as usize) = warp"),
    );
    // Lanes 0, 1 and 3 of the second warp are not in their mask: the first to come panics.
    for (order, panics) in ORDERS.into_iter().zip([32, 35]) {
        let mut out = Memory::try_zeroed(40).expect("memory");
        let launch = Scatter { out: out.write() };
        let config = |block| LaunchConfig {
            grid: [2, 1, 1],
            block,
            shared_bytes: 0,
        };
        let text = emulator::launch_in(&launch, config([8, 4, 1]), order)
            .expect_err("divergence")
            .to_string();
        let file = file!();
        assert_eq!(
            text,
            format!(
                "kernel scatter, block (0, 0, 0): its threads disagree on a barrier: \
                 thread (0, 0, 0) and 29 others at ballot with mask 0xffffffff, {file}:{ballot}:28; \
                 thread (3, 0, 0) ended; \
                 thread (5, 0, 0) at sync_threads, {file}:{sync}:19"
            )
        );
        let text = emulator::launch_in(&launch, config([8, 5, 1]), order)
            .expect_err("a panic")
            .to_string();
        let lane = panics - 32;
        assert_eq!(
            text,
            format!(
                "kernel scatter, block (0, 0, 0), thread ({lane}, 4, 0) panicked: ballot at \
                 {file}:{ballot}:28: the mask 0x000000f0 does not name the calling lane {lane}"
            )
        );
    }
}

/// Adds up its block's numbers, by shuffles and a barrier.
#[kernel(block = 64)]
pub unsafe fn inner(#[len(1)] sum: *mut u32, #[len(64)] values: *const u32, fails: u32) {
    let halves = shared_array![u32; 2];
    let t = thread::thread_idx_x();
    assert!(fails == 0 || t != 63, "the inner launch fails");
    let mut value = *values.add(t as usize);
    let mut offset = 16;
    while offset > 0 {
        value += warp::shuffle_xor(warp::FULL, value, offset);
        offset /= 2;
    }
    *halves.add(warp::warp_id() as usize) = value;
    thread::sync_threads();
    *sum = *halves + *halves.add(1);
}

/// Every thread launches between two exchanges of its own.
#[kernel(block = 32)]
pub unsafe fn outer(#[len(33)] sums: *mut u32, fails: u32) {
    let t = thread::thread_idx_x();
    let before = warp::ballot(warp::FULL, t.is_multiple_of(2));
    let mut sum = Memory::try_zeroed(1).expect("memory");
    let values = Memory::try_copy_of(&[t; 64]).expect("memory");
    let launch = Inner {
        sum: sum.write(),
        values: values.read(),
        fails,
    };
    let result = run(&launch, 1, 64);
    assert_eq!(result.is_err(), fails != 0, "{result:?}");
    assert_eq!(thread::thread_idx_x(), t);
    assert_eq!(before, warp::ballot(warp::FULL, t.is_multiple_of(2)));
    *sums.add(t as usize) = sum.as_slice()[0];
}

#[test]
fn a_kernel_thread_may_launch() {
    for order in ORDERS {
        for fails in [0, 1] {
            let mut sums = Memory::try_poisoned(33).expect("memory");
            let launch = Outer {
                sums: sums.write(),
                fails,
            };
            let config = LaunchConfig::linear(&launch, 1, 33);
            emulator::launch_in(&launch, config, order).expect("a launch");
            for (t, sum) in (0..).zip(sums.as_slice()) {
                assert_eq!(*sum, if fails == 0 { 64 * t } else { 0 });
            }
        }
    }
}

#[test]
fn launches_on_several_operating_system_threads() {
    std::thread::scope(|scope| {
        for seed in 0..8_u32 {
            scope.spawn(move || {
                for round in 0..20 {
                    let mut sums = Memory::try_poisoned(64).expect("memory");
                    let launch = Deep {
                        sums: sums.write(),
                        depth: seed,
                    };
                    run(&launch, 1, 64).expect("a launch");
                    let first = 256 * seed * (seed + 1) / 2 + 32;
                    assert_eq!(sums.as_slice()[0], first, "round {round}");
                }
            });
        }
    });
}

/// In a process of its own, whose address space does not hold the stacks of 1024 threads.
#[cfg(target_os = "linux")]
#[test]
fn no_memory_for_stacks_is_an_error() {
    const INSIDE: &str = "WARPSTRIDE_TEST_LIMITED";
    let mut sums = Memory::try_zeroed(64).expect("memory");
    let launch = Deep {
        sums: sums.write(),
        depth: 1,
    };
    if std::env::var_os(INSIDE).is_some() {
        let mut found = Memory::try_zeroed(1024).expect("memory");
        let large = Addresses {
            found: found.write(),
            threads: 1024,
        };
        let error = run(&large, 1, 1024).expect_err("no memory").to_string();
        let begins = "kernel addresses: no memory for the stack of a thread: ";
        assert!(error.starts_with(begins), "{error}");
        run(&launch, 1, 64).expect("what was had is there again");
        return;
    }
    run(&launch, 1, 64).expect("a launch");
    let status = std::process::Command::new("sh")
        .args(["-c", r#"ulimit -v 400000 && exec "$0" "$@""#])
        .arg(std::env::current_exe().expect("this program"))
        .args(["--exact", "no_memory_for_stacks_is_an_error"])
        .env(INSIDE, "1")
        .output()
        .expect("a shell");
    assert!(status.status.success(), "{status:?}");
}
