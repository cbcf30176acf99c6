//! Fuzzes the readers of scans, results and checkpoints.
//!
//! If the first byte is even, the rest is the file; if it is odd, the rest is the generator's
//! choices. The readers must return within 8 MiB of memory.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| warpstride_fuzz::targets::run("cxi_reader", bytes));
