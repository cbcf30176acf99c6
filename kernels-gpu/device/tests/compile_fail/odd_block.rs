#![allow(unsafe_code, unused)]
use warpstride_device::prelude::*;

/// Not a multiple of a warp.
#[kernel(block = 48)]
pub unsafe fn odd_block(#[len(4)] values: *mut f32) {}

fn main() {}
