//! Fuzzes the reader of the structure of HDF5 files: links and virtual datasets.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Some(folder) = warpstride_fuzz::folder() else {
        return;
    };
    warpstride_fuzz::formats::structure(bytes, folder.path());
});
