#![allow(unsafe_code, unused)]
use warpstride_device::prelude::*;

/// A pointer without its extent.
#[kernel(block = 32)]
pub unsafe fn missing_len(values: *mut f32, count: u32) {}

fn main() {}
