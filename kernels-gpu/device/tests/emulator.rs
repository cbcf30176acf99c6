//! The emulator: what a device does silently wrong must be an error here, the same every time, and
//! a right kernel must give the sequential result for any size of launch.

#![allow(
    unsafe_code,
    unsafe_op_in_unsafe_fn,
    reason = "kernels, whose contract covers their body"
)]

use warpstride_device::emulator::{self, EmulatorError, LaunchConfig, Memory, Order};
use warpstride_device::launch::{Emulated, Launch};
use warpstride_device::prelude::*;

const ORDERS: [Order; 2] = [Order::Ascending, Order::Descending];

fn run<L: Launch<Emulated> + Sync>(launch: &L, grid: u32, block: u32) -> Result<(), EmulatorError> {
    emulator::launch(launch, LaunchConfig::linear(launch, grid, block))
}

/// Counts visits.
#[kernel(block = 64)]
pub unsafe fn visit(#[len(count)] visits: *mut u32, count: u32) {
    for i in thread::grid_stride(count as usize) {
        *visits.add(i) += 1;
    }
}

#[test]
fn grid_stride_visits_every_element_once() {
    for count in [0_u32, 1, 31, 32, 33, 1000] {
        for (grid, block) in [(1, 32), (3, 33), (7, 1), (2, 256)] {
            let mut visits = Memory::try_zeroed(count as usize).expect("memory");
            run(
                &Visit {
                    visits: visits.write(),
                    count,
                },
                grid,
                block,
            )
            .expect("a launch");
            assert!(
                visits.as_slice().iter().all(|n| *n == 1),
                "{count} in {grid} × {block}"
            );
            assert_eq!(visits.check_canaries(), Ok(()));
        }
    }
}

/// Blocks over items, threads over the elements of each.
#[kernel(block = 64)]
pub unsafe fn visit_items(#[len(items * size)] visits: *mut u32, items: u32, size: u32) {
    for item in thread::block_stride(items) {
        for i in thread::thread_stride(size) {
            *visits.add((item * size + i) as usize) += 1;
        }
        thread::sync_threads();
    }
}

#[test]
fn block_and_thread_strides_visit_every_element_once() {
    for (items, size) in [(0, 5), (1, 1), (5, 77), (9, 32)] {
        for (grid, block) in [(1, 32), (4, 64), (20, 33)] {
            let mut visits = Memory::try_zeroed((items * size) as usize).expect("memory");
            let launch = VisitItems {
                visits: visits.write(),
                items,
                size,
            };
            run(&launch, grid, block).expect("a launch");
            assert!(visits.as_slice().iter().all(|n| *n == 1));
        }
    }
}

/// Writes where it stands.
#[kernel(block = (4, 8))]
pub unsafe fn stand(#[len(64)] places: *mut [u32; 4]) {
    let (t, b) = (thread::thread_idx(), thread::block_idx());
    let at = thread::index_in_block() + 32 * (b.x + thread::grid_dim_x() * b.y);
    *places.add(at as usize) = [t.x, t.y, b.x, b.y];
}

#[test]
fn indices_of_two_axes() {
    let mut places = Memory::try_poisoned(64).expect("memory");
    let config = LaunchConfig {
        grid: [1, 2, 1],
        block: [4, 8, 1],
        shared_bytes: 0,
    };
    emulator::launch(
        &Stand {
            places: places.write(),
        },
        config,
    )
    .expect("a launch");
    for (at, found) in places.as_slice().iter().enumerate() {
        let (block, thread) = (at as u32 / 32, at as u32 % 32);
        assert_eq!(*found, [thread % 4, thread / 4, 0, block]);
    }
}

/// Reverses each block's elements through static shared memory.
#[kernel(block = 256)]
pub unsafe fn reverse(#[len(blocks * 256)] values: *mut u32, blocks: u32) {
    let held = shared_array![u32; 256];
    let n = thread::block_dim_x() as usize;
    let t = thread::thread_idx_x() as usize;
    for block in thread::block_stride(blocks) {
        let start = block as usize * n;
        *held.add(t) = *values.add(start + t);
        thread::sync_threads();
        *values.add(start + t) = *held.add(n - 1 - t);
        thread::sync_threads();
    }
}

#[test]
fn barriers_order_shared_memory_in_both_orders() {
    for order in ORDERS {
        let mut values = Memory::try_copy_of(&(0..1280).collect::<Vec<u32>>()).expect("memory");
        let launch = Reverse {
            values: values.write(),
            blocks: 5,
        };
        let config = LaunchConfig::linear(&launch, 2, 256);
        emulator::launch_in(&launch, config, order).expect("a launch");
        for (at, value) in values.as_slice().iter().enumerate() {
            assert_eq!(*value as usize, at / 256 * 256 + 255 - at % 256);
        }
    }
}

/// As a reversal, with its barrier forgotten.
#[kernel(block = 32)]
pub unsafe fn neighbour(#[len(32)] values: *mut u32) {
    let held = shared_array![u32; 32];
    let t = thread::thread_idx_x() as usize;
    *held.add(t) = t as u32;
    *values.add(t) = *held.add((t + 31) % 32);
}

#[test]
fn a_missing_barrier_shows_as_poison_and_as_a_difference_between_orders() {
    let results = ORDERS.map(|order| {
        let mut values = Memory::try_zeroed(32).expect("memory");
        let launch = Neighbour {
            values: values.write(),
        };
        let config = LaunchConfig::linear(&launch, 1, 32);
        emulator::launch_in(&launch, config, order).expect("a launch");
        values.as_slice().to_vec()
    });
    assert_ne!(results[0], results[1]);
    assert_eq!(results[0][0], u32::MAX, "thread 31 had not written yet");
}

/// Shows the shared memory that a block finds, and leaves something in it.
#[kernel(block = 32, shared = 8 * block_threads)]
pub unsafe fn find(#[len(64)] statics: *mut u32, #[len(128)] dynamics: *mut u32) {
    let fixed = shared_array![u32; 32];
    let dynamic = shared::dynamic_shared_mem::<u32>();
    let (t, b) = (thread::thread_idx_x(), thread::block_idx_x());
    let (t, at) = (t as usize, (b * 32 + t) as usize);
    *statics.add(at) = *fixed.add(t);
    *dynamics.add(2 * at) = *dynamic.add(t);
    *dynamics.add(2 * at + 1) = *dynamic.add(32 + t);
    *fixed.add(t) = 7;
    *dynamic.add(t) = 8;
    *dynamic.add(32 + t) = 9;
}

#[test]
fn every_block_finds_poison() {
    let mut statics = Memory::try_zeroed(64).expect("memory");
    let mut dynamics = Memory::try_zeroed(128).expect("memory");
    let launch = Find {
        statics: statics.write(),
        dynamics: dynamics.write(),
    };
    assert_eq!(launch.dynamic_shared_bytes(32), 256);
    run(&launch, 2, 32).expect("a launch");
    assert_eq!(statics.as_slice(), [u32::MAX; 64]);
    assert_eq!(dynamics.as_slice(), [u32::MAX; 128]);
}

/// Half of the threads leave before the barrier.
#[kernel(block = 64)]
pub unsafe fn leave_early(#[len(1)] out: *mut u32, stay: u32) {
    if thread::thread_idx_x() >= stay {
        return;
    }
    thread::sync_threads();
    *out = 1;
}

#[test]
fn a_thread_that_ends_before_a_barrier_is_an_error() {
    let texts: Vec<String> = (0..3)
        .map(|_| {
            let mut out = Memory::try_zeroed(1).expect("memory");
            let launch = LeaveEarly {
                out: out.write(),
                stay: 40,
            };
            run(&launch, 3, 64).expect_err("divergence").to_string()
        })
        .collect();
    let line = line_of("    thread::sync_threads();\n    *out = 1;");
    assert!(
        texts[0].starts_with(
            "kernel leave_early, block (0, 0, 0): its threads disagree on a barrier: \
             thread (0, 0, 0) and 39 others at sync_threads, "
        ),
        "{}",
        texts[0]
    );
    assert!(
        texts[0].contains(&format!("emulator.rs:{line}:")),
        "{}",
        texts[0]
    );
    assert!(texts[0].ends_with("; thread (40, 0, 0) and 23 others ended"));
    assert!(texts.iter().all(|text| *text == texts[0]));
}

/// The line of this file on which `text` begins.
fn line_of(text: &str) -> usize {
    let source = include_str!("emulator.rs");
    let at = source.find(text).expect("a line of this file");
    source[..at].matches('\n').count() + 1
}

/// Even and odd threads at two barriers.
#[kernel(block = 64)]
#[allow(
    clippy::if_same_then_else,
    reason = "two barriers in two places are what this is about"
)]
pub unsafe fn two_barriers(#[len(1)] out: *mut u32) {
    if thread::thread_idx_x().is_multiple_of(2) {
        thread::sync_threads();
    } else {
        thread::sync_threads();
    }
    *out = 1;
}

#[test]
fn two_different_barriers_are_an_error() {
    let mut out = Memory::try_zeroed(1).expect("memory");
    let error = run(&TwoBarriers { out: out.write() }, 1, 64).expect_err("divergence");
    let EmulatorError::Divergence { groups, .. } = &error else {
        panic!("{error}");
    };
    assert_eq!(groups.len(), 2);
    assert!(groups[0].starts_with("thread (0, 0, 0) and 31 others at sync_threads, "));
    assert!(groups[1].starts_with("thread (1, 0, 0) and 31 others at sync_threads, "));
    assert_ne!(groups[0][40..], groups[1][40..], "different places");
}

/// One lane does not come to its warp's exchange.
#[kernel(block = 32)]
pub unsafe fn lost_lane(#[len(1)] out: *mut u32) {
    if thread::thread_idx_x() == 5 {
        thread::sync_threads();
    }
    *out = warp::ballot(warp::FULL, true);
}

#[test]
fn a_lane_that_does_not_come_is_an_error() {
    let mut out = Memory::try_zeroed(1).expect("memory");
    let text = run(&LostLane { out: out.write() }, 1, 32)
        .expect_err("divergence")
        .to_string();
    assert!(text.contains("thread (0, 0, 0) and 30 others at ballot with mask 0xffffffff"));
    assert!(text.contains("thread (5, 0, 0) at sync_threads"), "{text}");
}

/// One thread panics while others wait.
#[kernel(block = 64)]
pub unsafe fn fall(#[len(1)] out: *mut u32, who: u32) {
    let t = thread::thread_idx_x();
    assert!(
        t != who || thread::block_idx_x() != 1,
        "index {t} is too large"
    );
    thread::sync_threads();
    *out = 1;
}

#[test]
fn a_panic_is_an_error() {
    for order in ORDERS {
        let mut out = Memory::try_zeroed(1).expect("memory");
        let launch = Fall {
            out: out.write(),
            who: 33,
        };
        let config = LaunchConfig::linear(&launch, 4, 64);
        let error = emulator::launch_in(&launch, config, order).expect_err("a panic");
        assert_eq!(
            error.to_string(),
            "kernel fall, block (1, 0, 0), thread (33, 0, 0) panicked: index 33 is too large"
        );
    }
}

#[test]
fn launches_that_a_device_refuses() {
    let mut visits = Memory::try_zeroed(4).expect("memory");
    let launch = Visit {
        visits: visits.write(),
        count: 5,
    };
    let short = run(&launch, 1, 32).expect_err("too short").to_string();
    assert_eq!(
        short,
        "kernel visit: argument visits: expected 5 elements or more, found 4"
    );
    let launch = Visit { count: 4, ..launch };
    for (grid, block, shared_bytes) in [
        ([0, 1, 1], [32, 1, 1], 0),
        ([1, 1, 1], [0, 1, 1], 0),
        ([1, 1, 1], [1025, 1, 1], 0),
        ([1, 1, 1], [32, 32, 2], 0),
        ([1, 65_536, 1], [32, 1, 1], 0),
        ([1, 1, 1], [32, 1, 1], 227 * 1024 + 1),
    ] {
        let config = LaunchConfig {
            grid,
            block,
            shared_bytes,
        };
        let result = emulator::launch(&launch, config);
        assert!(
            matches!(
                result,
                Err(EmulatorError::Refused {
                    kernel: "visit",
                    ..
                })
            ),
            "{config:?}"
        );
    }
}

#[test]
fn too_little_dynamic_shared_memory_is_refused() {
    let mut statics = Memory::try_zeroed(64).expect("memory");
    let mut dynamics = Memory::try_zeroed(128).expect("memory");
    let launch = Find {
        statics: statics.write(),
        dynamics: dynamics.write(),
    };
    let config = LaunchConfig {
        shared_bytes: 255,
        ..LaunchConfig::linear(&launch, 1, 32)
    };
    let error = emulator::launch(&launch, config).expect_err("too little");
    assert_eq!(
        error.to_string(),
        "kernel find: dynamic shared memory: expected at least 256 bytes, found 255"
    );
}

/// Writes one element too far.
#[kernel(block = 32)]
pub unsafe fn overrun(#[len(count)] values: *mut u32, count: u32) {
    for i in thread::grid_stride(count as usize + 1) {
        *values.add(i) = 1;
    }
}

#[test]
fn an_overrun_shows_in_the_canaries() {
    let mut values = Memory::try_zeroed(5).expect("memory");
    run(
        &Overrun {
            values: values.write(),
            count: 5,
        },
        1,
        32,
    )
    .expect("a launch");
    assert_eq!(values.as_slice(), [1; 5]);
    assert_eq!(values.check_canaries(), Err(20));
}
