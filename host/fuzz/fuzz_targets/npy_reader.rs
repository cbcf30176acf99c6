//! Fuzzes the reader of `.npy` files: it must return within 1 MiB of memory, with an array that is
//! in the file or an error.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| warpstride_fuzz::targets::run("npy_reader", bytes));
