//! Fuzzes the reader of tables of positions.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| warpstride_fuzz::targets::run("positions_table", bytes));
