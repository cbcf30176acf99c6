//! Fuzzes the reader of arrays of frames in `.npy` and `.npz` files.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| warpstride_fuzz::targets::run("numpy_reader", bytes));
