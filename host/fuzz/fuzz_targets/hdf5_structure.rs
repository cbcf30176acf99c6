//! Fuzzes the reader of the structure of HDF5 files: links and virtual datasets.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| warpstride_fuzz::targets::run("hdf5_structure", bytes));
