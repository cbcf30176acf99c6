//! Fuzzes the reader of samples and trajectories in BART's arrays.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Some(folder) = warpstride_fuzz::folder() else {
        return;
    };
    let _ = warpstride_fuzz::bart::exercise(bytes, folder.path());
});
