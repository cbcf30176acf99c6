//! Fuzzes the readers of XML, canSAS and the header of ISMRMRD, with many attributes and namespaces.
//!
//! The bytes are the generator's choices; the first bit of the first byte is the format. A well-formed
//! document within the limits must be read, and one beyond them must be refused, in little time.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Some((format, choices)) = bytes.split_first() else {
        return;
    };
    let Some(folder) = warpstride_fuzz::folder() else {
        return;
    };
    warpstride_fuzz::markup::exercise(format % 2 == 1, choices, folder.path());
});
