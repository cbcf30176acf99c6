//! Fuzzes the reader of ISMRMRD files with sequences of variable length that were changed in the
//! file: lengths, addresses and indices in the records, and the heaps that hold the sequences.
//!
//! The bytes are the generator's choices. The readers must return within 8 MiB of memory, and
//! samples must survive a round trip through a file.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| warpstride_fuzz::targets::run("ismrmrd_sequences", bytes));
