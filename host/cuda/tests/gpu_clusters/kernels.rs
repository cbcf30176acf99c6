//! Kernels for the tests beside this file. `kernels.ptx` was built from them for `--arch 90` by
//! `warpstride-build-ptx`, in a package whose `lib.rs` is this file after `#![cfg_attr(target_arch =
//! "nvptx64", no_std, feature(abi_ptx))]`.

use warpstride_device::prelude::*;

/// Each block of an item's cluster replaces its `size` elements by the reversed ones of another
/// block: they are read from the static array of one block and written to the dynamic one of
/// another.
#[kernel(block = 128, cluster = 4, min_arch = 90, hot, shared = 4 * size)]
pub unsafe fn exchange(#[len(items * 4 * size)] values: *mut u32, items: u32, size: u32) {
    let fixed = shared_array![u32; 1024];
    let dynamic = shared::dynamic_shared_mem::<u32>();
    let rank = cluster::block_rank();
    let next = (rank + 1) % cluster::blocks();
    for item in thread::cluster_stride(items) {
        let own = values.add(((item * 4 + rank) * size) as usize);
        let mut done = 0;
        while done < size {
            let part = (size - done).min(1024);
            for i in thread::thread_stride(part) {
                *fixed.add(i as usize) = *own.add((done + i) as usize);
            }
            cluster::sync();
            let from = cluster::map_shared(fixed, next);
            let to = cluster::map_shared(dynamic, rank ^ 1);
            for i in thread::thread_stride(part) {
                *to.add((size - 1 - done - i) as usize) = *from.add(i as usize);
            }
            cluster::sync();
            done += part;
        }
        for i in thread::thread_stride(size) {
            *own.add(i as usize) = *dynamic.add(i as usize);
        }
        cluster::sync();
    }
}

/// A sum over each cluster, by atomics in the shared memory of its first block.
#[kernel(block = 64, cluster = 8, min_arch = 90, hot)]
pub unsafe fn cluster_sum(#[len(items)] sums: *mut u32, #[len(1)] total: *mut u64, items: u32) {
    let sum = shared_array![u32; 1];
    for item in thread::cluster_stride(items) {
        if cluster::block_rank() == 0 && thread::thread_idx_x() == 0 {
            *sum = 0;
        }
        cluster::arrive();
        let value = item + cluster::block_rank() * thread::thread_idx_x();
        cluster::wait();
        atomic::add_u32(cluster::map_shared(sum, 0), value);
        cluster::sync();
        if cluster::block_rank() == 0 && thread::thread_idx_x() == 0 {
            *sums.add(item as usize) = *sum;
            atomic::add_u64(total, u64::from(*sum) << 20);
        }
    }
    cluster::sync();
}

/// All conversions of each number, and of its bits as a pair.
#[kernel(block = 256, hot)]
pub unsafe fn convert(
    #[len(count)] numbers: *const f32,
    #[len(count)] packed: *mut [u32; 2],
    #[len(count)] integers: *mut i32,
    #[len(count)] unpacked: *mut [f32; 4],
    count: u32,
) {
    for i in thread::grid_stride(count as usize) {
        mem::prefetch_l2(numbers.add((i + 4096).min(count as usize - 1)));
        let x = *numbers.add(i);
        *packed.add(i) = [float::pack_f16x2(x, -x), float::pack_bf16x2(-x, x)];
        *integers.add(i) = float::round_to_i32(x);
        let (a, b) = float::unpack_f16x2(x.to_bits());
        let (c, d) = float::unpack_bf16x2(x.to_bits());
        *unpacked.add(i) = [a, b, c, d];
    }
}
