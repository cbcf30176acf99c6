//! Fuzzes the reader of EMPAD's `.xml` and `.raw` files.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| warpstride_fuzz::targets::run("empad_reader", bytes));
