//! Fuzzes the reader of Merlin's `.mib` and `.hdr` files.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Some(folder) = warpstride_fuzz::folder() else {
        return;
    };
    warpstride_fuzz::formats::mib(bytes, folder.path());
});
