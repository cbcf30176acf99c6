#![allow(unsafe_code, unused, reason = "a kernel that must not compile, and no more")]
use warpstride_device::prelude::*;

/// Not a multiple of a warp.
#[kernel(block = 48)]
pub unsafe fn odd_block(#[len(4)] values: *mut f32) {}

fn main() {}
