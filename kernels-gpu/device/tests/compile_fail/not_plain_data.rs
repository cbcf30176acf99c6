#![allow(unsafe_code, unused, reason = "a kernel that must not compile, and no more")]
use warpstride_device::prelude::*;

/// Elements with invalid bit patterns.
#[kernel(block = 32)]
pub unsafe fn not_plain_data(#[len(4)] values: *mut bool) {}

fn main() {}
