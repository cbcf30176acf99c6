//! Fuzzes the reader of tables of positions.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Some(folder) = warpstride_fuzz::folder() else {
        return;
    };
    warpstride_fuzz::readers::table(bytes, folder.path());
});
