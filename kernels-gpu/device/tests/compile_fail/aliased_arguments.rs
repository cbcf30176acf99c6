#![allow(unsafe_code, unused, reason = "a kernel that must not compile, and no more")]
use warpstride_device::prelude::*;

use warpstride_device::emulator::Memory;

/// Copies.
#[kernel(block = 32)]
pub unsafe fn copy(#[len(count)] to: *mut f32, #[len(count)] from: *const f32, count: u32) {}

fn main() {
    let mut values = Memory::<f32>::try_zeroed(4).unwrap();
    let _ = Copy {
        to: values.write(),
        from: values.read(),
        count: 4,
    };
}
