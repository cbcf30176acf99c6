//! Fuzzes the reader of scattering data in columns of text: it must return within 8 MiB of memory,
//! with valid data or an error.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Some(folder) = warpstride_fuzz::folder() else {
        return;
    };
    let path = folder.path().join("a.txt");
    if std::fs::write(&path, bytes).is_ok() {
        warpstride_fuzz::sound::exercise(&path, folder.path());
    }
});
