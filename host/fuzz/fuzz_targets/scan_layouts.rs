//! Fuzzes the readers of scans in HDF5 files of any layout.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Some(folder) = warpstride_fuzz::folder() else {
        return;
    };
    warpstride_fuzz::readers::layouts(bytes, folder.path());
});
