#![allow(unsafe_code, unused, reason = "kernels that must not compile, and no more")]
use warpstride_device::prelude::*;

/// Not a power of two.
#[kernel(block = 32, cluster = 3, min_arch = 90)]
pub unsafe fn odd_cluster(#[len(4)] values: *mut f32) {}

/// For devices without clusters too.
#[kernel(block = 32, cluster = 2)]
pub unsafe fn old_device(#[len(4)] values: *mut f32) {}

fn main() {}
