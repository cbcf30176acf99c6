#![allow(unsafe_code, unused, reason = "a kernel that must not compile, and no more")]
use warpstride_device::prelude::*;

use warpstride_device::emulator::{self, LaunchConfig};
use warpstride_device::launch::{Cuda, Write};

/// Fills.
#[kernel(block = 32)]
pub unsafe fn fill(#[len(1)] values: *mut f32) {}

fn run(values: Write<'_, Cuda, f32>) {
    let launch = Fill { values };
    let config = LaunchConfig { grid: [1; 3], block: [32, 1, 1], shared_bytes: 0 };
    let _ = emulator::launch(&launch, config);
}

fn main() {}
