//! Fuzzes the reader of canSAS XML.
//!
//! If the first byte is even, the rest is the file; if it is odd, the rest is the generator's
//! choices. The reader must return within 8 MiB of memory, with valid data or an error.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Some((mode, rest)) = bytes.split_first() else {
        return;
    };
    let Some(folder) = warpstride_fuzz::folder() else {
        return;
    };
    let path = folder.path().join("a.xml");
    let written = if mode % 2 == 0 {
        std::fs::write(&path, rest)
    } else {
        std::fs::write(&path, warpstride_fuzz::scattering::xml(rest))
    };
    if written.is_ok() {
        warpstride_fuzz::sound::exercise(&path, folder.path());
    }
});
