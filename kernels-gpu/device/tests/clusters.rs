//! Thread block clusters in the emulator: blocks of a cluster exchange through shared memory for any grid, and what
//! a device does silently wrong is an error or a difference between the two orders.

#![allow(
    unsafe_code,
    unsafe_op_in_unsafe_fn,
    reason = "kernels, whose contract covers their body"
)]

use warpstride_device::emulator::{self, EmulatorError, LaunchConfig, Memory, Order};
use warpstride_device::launch::{Emulated, Launch};
use warpstride_device::prelude::*;

const ORDERS: [Order; 2] = [Order::Ascending, Order::Descending];

fn run<L: Launch<Emulated> + Sync>(
    launch: &L,
    grid: u32,
    block: u32,
    order: Order,
) -> Result<(), EmulatorError> {
    emulator::launch_in(launch, LaunchConfig::linear(launch, grid, block), order)
}

/// Writes each block's place in its cluster.
#[kernel(block = 32, cluster = 4, min_arch = 90)]
pub unsafe fn stand(#[len(blocks)] places: *mut [u32; 4], blocks: u32) {
    let block = thread::block_idx_x();
    if thread::thread_idx_x() == 0 && block < blocks {
        *places.add(block as usize) = [
            cluster::block_rank(),
            cluster::blocks(),
            cluster::index(),
            cluster::clusters(),
        ];
    }
}

#[test]
fn blocks_know_their_place() {
    let mut places = Memory::try_poisoned(12).expect("memory");
    let launch = Stand {
        places: places.write(),
        blocks: 12,
    };
    run(&launch, 12, 32, Order::Ascending).expect("a launch");
    for (block, place) in places.as_slice().iter().enumerate() {
        let block = block as u32;
        assert_eq!(*place, [block % 4, 4, block / 4, 3]);
    }
}

#[test]
fn other_grids_are_refused() {
    for grid in [1, 2, 6, 13] {
        let mut places = Memory::try_poisoned(1).expect("memory");
        let launch = Stand {
            places: places.write(),
            blocks: 1,
        };
        let error = run(&launch, grid, 32, Order::Ascending).expect_err("refused");
        assert!(
            error
                .to_string()
                .ends_with("expected a multiple of 4 along x, the blocks of a cluster"),
            "{error}"
        );
    }
}

/// Every item's elements, turned by one block and reversed in it: through static and dynamic shared memory of the
/// cluster. `size` elements per block.
#[kernel(block = 64, cluster = 4, min_arch = 90, shared = 4 * size)]
pub unsafe fn turn(#[len(items * 4 * size)] values: *mut u32, items: u32, size: u32) {
    let fixed = shared_array![u32; 64];
    let dynamic = shared::dynamic_shared_mem::<u32>();
    let rank = cluster::block_rank();
    let next = (rank + 1) % cluster::blocks();
    for item in thread::cluster_stride(items) {
        let own = values.add(((item * 4 + rank) * size) as usize);
        for i in thread::thread_stride(size) {
            *fixed.add(i as usize) = *own.add(i as usize);
        }
        cluster::sync();
        // Reads the static array of one block and writes the dynamic one of another.
        let (from, to) = (
            cluster::map_shared(fixed, next),
            cluster::map_shared(dynamic, rank ^ 1),
        );
        for i in thread::thread_stride(size) {
            *to.add(i as usize) = *from.add((size - 1 - i) as usize);
        }
        cluster::sync();
        for i in thread::thread_stride(size) {
            *own.add(i as usize) = *dynamic.add(i as usize);
        }
    }
    cluster::sync();
}

#[test]
fn blocks_exchange_through_shared_memory() {
    for (items, size) in [(0_u32, 3_u32), (1, 1), (5, 64), (9, 33)] {
        for (grid, block, order) in [
            (4, 32, Order::Ascending),
            (4, 64, Order::Descending),
            (12, 33, Order::Descending),
            (40, 64, Order::Ascending),
        ] {
            let start: Vec<u32> = (0..items * 4 * size).collect();
            let mut values = Memory::try_copy_of(&start).expect("memory");
            let launch = Turn {
                values: values.write(),
                items,
                size,
            };
            run(&launch, grid, block, order).expect("a launch");
            assert_eq!(values.check_canaries(), Ok(()));
            for (at, value) in (0_u32..).zip(values.as_slice()) {
                let (item, rank, i) = (at / (4 * size), at / size % 4, at % size);
                let from = ((rank ^ 1) + 1) % 4;
                assert_eq!(*value, (item * 4 + from) * size + size - 1 - i, "{at}");
            }
        }
    }
}

/// A sum over the cluster by atomics in the first block's shared memory; blocks meet in two halves of the barrier.
#[kernel(block = 64, cluster = 8, min_arch = 90)]
pub unsafe fn cluster_sum(#[len(items)] sums: *mut u32, items: u32) {
    let sum = shared_array![u32; 1];
    for item in thread::cluster_stride(items) {
        if cluster::block_rank() == 0 && thread::thread_idx_x() == 0 {
            *sum = 0;
        }
        cluster::arrive();
        let value = item + thread::thread_idx_x();
        cluster::wait();
        atomic::add_u32(cluster::map_shared(sum, 0), value);
        cluster::sync();
        if cluster::block_rank() == 0 && thread::thread_idx_x() == 0 {
            *sums.add(item as usize) = *sum;
        }
    }
}

#[test]
fn atomics_reach_other_blocks() {
    for order in ORDERS {
        for (grid, items) in [(8, 3), (16, 5), (32, 1)] {
            let mut sums = Memory::try_poisoned(items as usize).expect("memory");
            let launch = ClusterSum {
                sums: sums.write(),
                items,
            };
            run(&launch, grid, 64, order).expect("a launch");
            for (item, sum) in (0_u32..).zip(sums.as_slice()) {
                assert_eq!(*sum, 8 * (64 * item + 63 * 64 / 2));
            }
        }
    }
}

/// Barriers, sums and exchanges of each block alone are not disturbed by the other blocks.
#[kernel(block = 96, cluster = 2, min_arch = 90)]
pub unsafe fn blocks_alone(#[len(blocks)] sums: *mut f32, blocks: u32) {
    let block = thread::block_idx_x();
    let mut sum = 0.0;
    // The second block passes more barriers than the first.
    for _ in 0..=cluster::block_rank() {
        sum += reduce::block_sum((block + thread::thread_idx_x()) as f32);
    }
    let warp = warp::shuffle_idx(warp::FULL, thread::thread_idx_x(), 0);
    if thread::thread_idx_x() == 64 && block < blocks {
        *sums.add(block as usize) = sum + warp as f32;
    }
}

#[test]
fn blocks_have_their_own_barriers() {
    for order in ORDERS {
        let mut sums = Memory::try_zeroed(6).expect("memory");
        let launch = BlocksAlone {
            sums: sums.write(),
            blocks: 6,
        };
        run(&launch, 6, 96, order).expect("a launch");
        for (block, sum) in sums.as_slice().iter().enumerate() {
            let once = (block * 96 + 95 * 96 / 2) as f32;
            assert_eq!(*sum, once * (1 + block % 2) as f32 + 64.0);
        }
    }
}

/// An exchange with its first barrier forgotten: the other block may not have written yet.
#[kernel(block = 32, cluster = 2, min_arch = 90)]
pub unsafe fn forgotten(#[len(64)] values: *mut u32) {
    let held = shared_array![u32; 32];
    let t = thread::thread_idx_x() as usize;
    *held.add(t) = 7;
    let other = cluster::map_shared(held, cluster::block_rank() ^ 1);
    *values.add(t + 32 * thread::block_idx_x() as usize) = *other.add(t);
    cluster::sync();
}

#[test]
fn a_missing_barrier_shows_as_poison_and_as_a_difference_between_orders() {
    let results = ORDERS.map(|order| {
        let mut values = Memory::try_zeroed(64).expect("memory");
        let launch = Forgotten {
            values: values.write(),
        };
        run(&launch, 2, 32, order).expect("a launch");
        values.as_slice().to_vec()
    });
    assert_ne!(results[0], results[1]);
    assert_eq!(results[0][..32], [u32::MAX; 32], "block 1 had not written");
    assert_eq!(results[0][32..], [7; 32]);
    assert_eq!(results[1][..32], [7; 32]);
}

/// One block does not come to the cluster's barrier.
#[kernel(block = 64, cluster = 4, min_arch = 90)]
pub unsafe fn lost_block(#[len(1)] out: *mut u32) {
    if cluster::index() == 1 && cluster::block_rank() == 2 {
        if thread::thread_idx_x() < 3 {
            thread::sync_threads();
        }
        return;
    }
    cluster::sync();
    *out = 1;
}

#[test]
fn a_block_that_does_not_come_is_named() {
    let mut out = Memory::try_zeroed(1).expect("memory");
    let launch = LostBlock { out: out.write() };
    let text = run(&launch, 12, 64, Order::Ascending)
        .expect_err("divergence")
        .to_string();
    assert!(
        text.starts_with(
            "kernel lost_block, cluster of 4 from block (4, 0, 0): its threads disagree on a barrier: \
             block 0 of the cluster, thread (0, 0, 0) and 63 others at cluster::sync, "
        ),
        "{text}"
    );
    assert!(
        text.contains("block 2 of the cluster, thread (0, 0, 0) and 2 others at sync_threads, "),
        "{text}"
    );
    assert!(
        text.contains("; block 2 of the cluster, thread (3, 0, 0) and 60 others ended; block 3"),
        "{text}"
    );
}

/// Block 0 ends at once, or block 1 writes to it late.
#[kernel(block = 32, cluster = 2, min_arch = 90)]
pub unsafe fn late(#[len(1)] out: *mut u32, map_late: u32) {
    let held = shared_array![u32; 32];
    if map_late == 0 {
        let other = cluster::map_shared(held, cluster::block_rank() ^ 1);
        cluster::sync();
        if cluster::block_rank() == 1 {
            // Block 0 has ended.
            thread::sync_threads();
            *other = 5;
        }
    } else if cluster::block_rank() == 1 {
        *out = *cluster::map_shared(held, 0);
    }
}

#[test]
fn accesses_after_a_block_has_ended_are_errors() {
    let messages = [0, 1].map(|map_late| {
        let mut out = Memory::try_zeroed(1).expect("memory");
        let launch = Late {
            out: out.write(),
            map_late,
        };
        run(&launch, 4, 32, Order::Ascending)
            .expect_err("too late")
            .to_string()
    });
    assert_eq!(
        messages[0],
        "kernel late, block (0, 0, 0): another block of its cluster wrote to its shared memory after it had ended: \
         expected a cluster::sync before the end"
    );
    assert!(
        messages[1].contains("block (1, 0, 0), thread (0, 0, 0) panicked: cluster::map_shared at ")
            && messages[1].contains("block 0 of the cluster has ended"),
        "{}",
        messages[1]
    );
}

/// Uses the cluster wrongly in one of several ways.
#[kernel(block = 32, cluster = 2, min_arch = 90)]
pub unsafe fn misuse(#[len(1)] out: *mut u32, how: u32) {
    let held = shared_array![u32; 4];
    match how {
        0 => *out = *cluster::map_shared(out, 0),
        1 => *out = *cluster::map_shared(held, 2),
        2 => *out = *cluster::map_shared(held.add(4), 1),
        3 => cluster::wait(),
        _ => {
            cluster::arrive();
            cluster::arrive();
        }
    }
}

#[test]
fn misuse_is_an_error() {
    for (how, part) in [
        (0, "is not in the shared memory of this block"),
        (1, "block 2 of a cluster of 2"),
        (2, "is not in the shared memory of this block"),
        (3, "the thread has not arrived"),
        (4, "has arrived before without waiting"),
    ] {
        let mut out = Memory::try_zeroed(1).expect("memory");
        let launch = Misuse {
            out: out.write(),
            how,
        };
        let error = run(&launch, 2, 32, Order::Ascending).expect_err("misuse");
        assert!(matches!(error, EmulatorError::Panic { .. }), "{error}");
        assert!(error.to_string().contains(part), "{error}");
        assert!(error.to_string().contains("clusters.rs:"), "{error}");
    }
}

/// The vocabulary of clusters in a kernel without the option: clusters of one block.
#[kernel(block = 32, min_arch = 90)]
pub unsafe fn alone(#[len(items)] visits: *mut u32, items: u32) {
    let held = shared_array![u32; 1];
    assert!(cluster::blocks() == 1 && cluster::block_rank() == 0);
    for item in thread::cluster_stride(items) {
        cluster::sync();
        if thread::thread_idx_x() == 0 {
            *cluster::map_shared(held, 0) = 1;
        }
        cluster::sync();
        if thread::thread_idx_x() == 31 {
            *visits.add(item as usize) += *held;
        }
    }
}

#[test]
fn without_the_option_a_block_is_a_cluster() {
    let mut visits = Memory::try_zeroed(7).expect("memory");
    let launch = Alone {
        visits: visits.write(),
        items: 7,
    };
    run(&launch, 3, 32, Order::Ascending).expect("a launch");
    assert_eq!(visits.as_slice(), [1; 7]);
}
