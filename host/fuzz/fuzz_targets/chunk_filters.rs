//! Fuzzes the filters of HDF5 chunks: a chunk is decoded to the size of its dataset or refused, and
//! the same twice.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| warpstride_fuzz::targets::run("chunk_filters", bytes));
