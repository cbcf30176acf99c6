#![allow(unsafe_code, unused, reason = "a kernel that must not compile, and no more")]
use warpstride_device::prelude::*;

use warpstride_device::emulator::Memory;

/// Scales.
#[kernel(block = 32)]
pub unsafe fn scale(#[len(count)] values: *mut f32, count: u32, factor: f32) {}

fn main() {
    let mut values = Memory::<u32>::try_zeroed(4).unwrap();
    let _ = Scale {
        values: values.write(),
        count: 4,
        factor: 1.0,
    };
}
