//! Fuzzes the reader of TIFF stacks.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| warpstride_fuzz::targets::run("tiff_reader", bytes));
