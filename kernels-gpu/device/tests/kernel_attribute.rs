//! What `#[kernel]` refuses, and what it says about what it takes.

#![allow(
    unsafe_code,
    unsafe_op_in_unsafe_fn,
    reason = "kernels, whose contract covers their body"
)]

use warpstride_device::emulator::Memory;
use warpstride_device::launch::{Emulated, KernelInfo, Launch, Space};
use warpstride_device::prelude::*;

const BINS: usize = 3;

/// Every kind of argument and option.
#[kernel(block = (8, 4), exact_block, min_blocks = 3, hot, f64, min_arch = 90, cluster = 4, shared = 4 * block_threads * n + 16)]
#[allow(clippy::too_many_arguments, reason = "every kind of argument")]
pub unsafe fn every_kind(
    #[len((n + 1) * BINS)] written: *mut f32,
    #[len(n.div_ceil(4) * m)] read: *const Complex32,
    #[len(m - n)] difference: *const [u32; 2],
    n: u32,
    m: usize,
    offset: i32,
    factor: f32,
    seed: u64,
    precise: f64,
) {
    let _ = (read, difference, n, m, offset, seed);
    *written = factor + precise as f32;
}

#[test]
fn facts_are_those_of_the_attribute() {
    assert_eq!(
        <EveryKind<'_, Emulated> as Launch<Emulated>>::INFO,
        KernelInfo {
            entry: "every_kind",
            block: [8, 4, 1],
            exact_block: true,
            min_blocks: 3,
            hot: true,
            f64_allowed: true,
            min_arch: 90,
            cluster: 4,
        }
    );
}

fn needs(n: u32, m: usize) -> (Result<(), (&'static str, usize)>, usize) {
    let mut written = Memory::try_zeroed(BINS * 6).expect("memory");
    let read = Memory::try_zeroed(20).expect("memory");
    let difference = Memory::try_zeroed(5).expect("memory");
    let launch = EveryKind {
        written: written.write(),
        read: read.read(),
        difference: difference.read(),
        n,
        m,
        offset: -1,
        factor: 1.0,
        seed: 1,
        precise: 0.5,
    };
    let checked = launch.check().map_err(|e| (e.argument, e.needed));
    (checked, launch.dynamic_shared_bytes(32))
}

#[test]
fn extents_are_computed_and_overflow_fits_nothing() {
    assert_eq!(needs(5, 10), (Ok(()), 4 * 32 * 5 + 16));
    assert_eq!(needs(6, 10).0, Err(("written", 21)));
    assert_eq!(needs(5, 11).0, Err(("read", 22)));
    assert_eq!(needs(4, 10).0, Err(("difference", 6)));
    assert_eq!(needs(5, usize::MAX).0, Err(("read", usize::MAX)));
    // m − n below zero is no extent at all.
    assert_eq!(needs(5, 4).0, Err(("difference", usize::MAX)));
}

fn parameter_bytes<S: Space, L: Launch<S>>(launch: &L, sizes: &[usize]) -> Vec<Vec<u8>> {
    launch.with_params(|params| {
        assert_eq!(params.len(), sizes.len());
        let bytes = params.iter().zip(sizes).map(|(address, size)| {
            // SAFETY: each parameter is the address of a value of that size.
            unsafe { std::slice::from_raw_parts(address.cast::<u8>(), *size) }.to_vec()
        });
        bytes.collect()
    })
}

#[test]
fn parameters_are_the_values_in_order() {
    let mut written = Memory::try_zeroed(BINS).expect("memory");
    let read = Memory::try_zeroed(0).expect("memory");
    let difference = Memory::try_zeroed(7).expect("memory");
    let argument = written.write();
    let address = argument.as_ptr() as usize;
    let launch = EveryKind {
        written: argument,
        read: read.read(),
        difference: difference.read(),
        n: 0,
        m: 7,
        offset: -9,
        factor: 2.5,
        seed: 1 << 40,
        precise: 0.125,
    };
    let bytes = parameter_bytes::<Emulated, _>(&launch, &[8, 8, 8, 4, 8, 4, 4, 8, 8]);
    assert_eq!(bytes[0], address.to_ne_bytes());
    assert_eq!(bytes[1], (read.read().as_ptr() as usize).to_ne_bytes());
    assert_eq!(bytes[3], 0_u32.to_ne_bytes());
    assert_eq!(bytes[4], 7_usize.to_ne_bytes());
    assert_eq!(bytes[5], (-9_i32).to_ne_bytes());
    assert_eq!(bytes[6], 2.5_f32.to_ne_bytes());
    assert_eq!(bytes[7], (1_u64 << 40).to_ne_bytes());
    assert_eq!(bytes[8], 0.125_f64.to_ne_bytes());
}

#[test]
fn wrong_kernels_and_wrong_arguments_do_not_compile() {
    trybuild::TestCases::new().compile_fail("tests/compile_fail/*.rs");
}
