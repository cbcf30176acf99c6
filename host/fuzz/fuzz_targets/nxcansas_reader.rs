//! Fuzzes the reader of NXcanSAS files.
//!
//! If the first byte is even, the rest is the file; if it is odd, the rest is the generator's
//! choices. The reader must return within 8 MiB of memory, with valid data or an error.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| warpstride_fuzz::targets::run("nxcansas_reader", bytes));
