//! Fuzzes the readers of scans in HDF5 files of any layout.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| warpstride_fuzz::targets::run("scan_layouts", bytes));
