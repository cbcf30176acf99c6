//! Thread block clusters and conversions to 16 bits: in the emulator, and on a device of compute
//! capability 9.0 if there is one (otherwise the tests print that this part is skipped).
//!
//! Oracles: the definition of each exchange and sum; the emulator for conversions, whose functions
//! are compared with the crate `half` in `warpstride-device`.

#![allow(
    unsafe_code,
    unsafe_op_in_unsafe_fn,
    reason = "kernels, whose contract covers their body"
)]

mod kernels;

use std::io::Write as _;

use kernels::{ClusterSum, Convert, Exchange};
use warpstride_cuda::cuda::{CudaError, Kernels};
use warpstride_cuda::gpu::{Buffer as _, CudaDevice, Device, EmulatedDevice, GpuError};
use warpstride_device::launch::{Launch, Work};

/// Device 0, if it has clusters. Otherwise prints that the test is skipped.
fn hopper(test: &str) -> Option<CudaDevice> {
    let kernels = Kernels::new(90, include_str!("kernels.ptx"));
    match CudaDevice::new(0, &kernels) {
        Ok(device) => Some(device),
        Err(GpuError::Cuda(why))
            if why.no_device() || matches!(why, CudaError::Architecture { .. }) =>
        {
            // Not `eprintln!`, whose output the test harness shows for failed tests only.
            let _ = writeln!(std::io::stderr(), "SKIPPED {test} on a GPU: {why}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

fn exchanges<D: Device>(device: &D, cases: &[(u32, u32)])
where
    for<'a> Exchange<'a, D::Space>: Launch<D::Space> + Sync,
{
    for &(items, size) in cases {
        for work in [
            Work::Clusters(items as usize),
            Work::Blocks(items as usize),
            Work::Grid([8, 1, 1]),
        ] {
            let start: Vec<u32> = (0..items * 4 * size).collect();
            let mut values = device.alloc::<u32>("values", start.len()).unwrap();
            device.upload(&mut values, &start).unwrap();
            let kernel = Exchange {
                values: values.write(),
                items,
                size,
            };
            device.launch(&kernel, work).unwrap();
            let mut found = vec![0_u32; start.len()];
            device.download(&values, &mut found).unwrap();
            for (at, value) in (0_u32..).zip(&found) {
                let (item, rank, i) = (at / (4 * size), at / size % 4, at % size);
                let from = ((rank ^ 1) + 1) % 4;
                let expected = (item * 4 + from) * size + size - 1 - i;
                assert_eq!(*value, expected, "{items} × {size}, {work:?}, element {at}");
            }
        }
    }
}

#[test]
fn blocks_of_a_cluster_exchange_through_shared_memory() {
    // The last two need more than 48 KiB: the launch opts in.
    let small = [(1, 1), (3, 77), (7, 128), (2, 1500), (1, 13_000)];
    exchanges(&EmulatedDevice::new(), &small);
    if let Some(device) = hopper("exchange") {
        exchanges(&device, &small);
        exchanges(&device, &[(5000, 33), (900, 1025), (300, 40_000)]);
    }
}

fn sums<D: Device>(device: &D, items: u32)
where
    for<'a> ClusterSum<'a, D::Space>: Launch<D::Space> + Sync,
{
    let mut sums = device.alloc::<u32>("sums", items as usize).unwrap();
    let mut total = device.alloc::<u64>("total", 1).unwrap();
    device.zero(&mut total).unwrap();
    let kernel = ClusterSum {
        sums: sums.write(),
        total: total.write(),
        items,
    };
    device
        .launch(&kernel, Work::Clusters(items as usize))
        .unwrap();
    let mut found = vec![0_u32; items as usize];
    device.download(&sums, &mut found).unwrap();
    let mut found_total = [0_u64];
    device.download(&total, &mut found_total).unwrap();
    let threads = found.iter().map(|sum| u64::from(*sum) << 20).sum::<u64>();
    // The emulated device may run smaller blocks, of any number of threads.
    assert_eq!(found_total[0], threads);
    let (first, n) = (u64::from(found[0]), |x: u64| x * (x - 1) / 2);
    let block = (1..=64).find(|threads| n(8) * n(*threads) == first);
    let block = block.expect("a sum over eight blocks");
    for (item, sum) in (0_u64..).zip(&found) {
        assert_eq!(u64::from(*sum), first + 8 * block * item);
    }
}

#[test]
fn atomics_reach_the_shared_memory_of_another_block() {
    sums(&EmulatedDevice::new(), 5);
    if let Some(device) = hopper("cluster sum") {
        for items in [1, 31, 7001] {
            sums(&device, items);
        }
    }
}

type Converted = (Vec<[u32; 2]>, Vec<i32>, Vec<[f32; 4]>);

fn conversions<D: Device>(device: &D, numbers: &[f32]) -> Converted
where
    for<'a> Convert<'a, D::Space>: Launch<D::Space> + Sync,
{
    let count = numbers.len();
    let mut input = device.alloc::<f32>("numbers", count).unwrap();
    device.upload(&mut input, numbers).unwrap();
    let mut packed = device.alloc::<[u32; 2]>("packed", count).unwrap();
    let mut integers = device.alloc::<i32>("integers", count).unwrap();
    let mut unpacked = device.alloc::<[f32; 4]>("unpacked", count).unwrap();
    let kernel = Convert {
        numbers: input.read(),
        packed: packed.write(),
        integers: integers.write(),
        unpacked: unpacked.write(),
        count: count as u32,
    };
    device.launch(&kernel, Work::Elements(count)).unwrap();
    let mut found = (vec![[0; 2]; count], vec![0; count], vec![[0.0; 4]; count]);
    device.download(&packed, &mut found.0).unwrap();
    device.download(&integers, &mut found.1).unwrap();
    device.download(&unpacked, &mut found.2).unwrap();
    found
}

#[test]
fn conversions_are_those_of_the_emulator() {
    let Some(device) = hopper("conversions") else {
        return;
    };
    // All pairs with equal halves, around each half-way point, and evenly over all of f32.
    let around = (0..=u16::MAX).flat_map(|bits| {
        let bits = u32::from(bits) << 16;
        [
            bits,
            bits | 0x7fff,
            bits | 0x8000,
            bits | 0x8001,
            bits | 0x1000,
            bits | bits >> 16,
        ]
    });
    let numbers: Vec<f32> = around
        .chain((0..=u32::MAX).step_by(997))
        .map(f32::from_bits)
        .collect();
    let (found, expected) = (
        conversions(&device, &numbers),
        conversions(&EmulatedDevice::new(), &numbers),
    );
    for (i, x) in numbers.iter().enumerate() {
        let bits = x.to_bits();
        assert_eq!(found.0[i], expected.0[i], "packed {bits:#010x}");
        assert_eq!(found.1[i], expected.1[i], "rounded {bits:#010x}");
        for (found, expected) in found.2[i].iter().zip(&expected.2[i]) {
            let same = found.to_bits() == expected.to_bits();
            assert!(
                same || found.is_nan() && expected.is_nan(),
                "unpacked {bits:#010x}: {found}, expected {expected}"
            );
        }
    }
}
