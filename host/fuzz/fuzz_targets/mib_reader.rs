//! Fuzzes the reader of Merlin's `.mib` and `.hdr` files.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| warpstride_fuzz::targets::run("mib_reader", bytes));
