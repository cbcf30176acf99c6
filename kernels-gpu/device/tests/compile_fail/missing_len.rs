#![allow(unsafe_code, unused, reason = "a kernel that must not compile, and no more")]
use warpstride_device::prelude::*;

/// A pointer without its extent.
#[kernel(block = 32)]
pub unsafe fn missing_len(values: *mut f32, count: u32) {}

fn main() {}
