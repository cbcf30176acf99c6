//! Fuzzes the reader of scattering data in columns of text: it must return within 8 MiB of memory,
//! with valid data or an error.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| warpstride_fuzz::targets::run("columns_reader", bytes));
