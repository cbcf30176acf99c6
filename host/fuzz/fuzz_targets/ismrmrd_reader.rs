//! Fuzzes the readers of ISMRMRD files and of complex images.
//!
//! If the first byte is even, the rest is the file; if it is odd, the rest is the generator's
//! choices. The readers must return within 8 MiB of memory, and samples must survive a round trip
//! through a file.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| warpstride_fuzz::targets::run("ismrmrd_reader", bytes));
