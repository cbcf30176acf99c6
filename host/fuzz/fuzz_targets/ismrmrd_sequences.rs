//! Fuzzes the reader of ISMRMRD files with sequences of variable length that were changed in the file:
//! lengths, addresses and indices in the records, and the heaps that hold the sequences.
//!
//! The bytes are the generator's choices. The readers must return within 8 MiB of memory, and samples
//! must survive a round trip through a file.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Some(folder) = warpstride_fuzz::folder() else {
        return;
    };
    let path = folder.path().join("a.h5");
    if warpstride_fuzz::acquisitions::build_with_changed_sequences(&path, bytes).is_ok() {
        warpstride_fuzz::samples::exercise(&path, &folder.path().join("again.h5"));
    }
});
