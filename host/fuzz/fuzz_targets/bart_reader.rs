//! Fuzzes the reader of samples and trajectories in BART's arrays.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| warpstride_fuzz::targets::run("bart_reader", bytes));
