//! Fuzzes the reader of arrays of frames in `.npy` and `.npz` files.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Some(folder) = warpstride_fuzz::folder() else {
        return;
    };
    warpstride_fuzz::formats::numpy(bytes, folder.path());
});
