//! Fuzzes the readers of ISMRMRD files and of complex images.
//!
//! If the first byte is even, the rest is the file; if it is odd, the rest is the generator's choices.
//! The readers must return within 8 MiB of memory, and samples must survive a round trip through a
//! file.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Some((mode, rest)) = bytes.split_first() else {
        return;
    };
    let Some(folder) = warpstride_fuzz::folder() else {
        return;
    };
    let path = folder.path().join("a.h5");
    let built = if mode % 2 == 0 {
        std::fs::write(&path, rest).is_ok()
    } else {
        warpstride_fuzz::acquisitions::build(&path, rest).is_ok()
    };
    if built {
        warpstride_fuzz::samples::exercise(&path, &folder.path().join("again.h5"));
    }
});
