#![allow(unsafe_code, unused, reason = "a kernel that must not compile, and no more")]
use warpstride_device::prelude::*;

/// A slice would be passed as bytes.
#[kernel(block = 32)]
pub unsafe fn slice_argument(#[len(4)] values: *mut f32, table: &[f32]) {}

fn main() {}
