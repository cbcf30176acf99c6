//! The reader of NXcanSAS files, on any bytes.
//!
//! The first byte chooses: an even one takes the rest as a file's image, an odd one as choices of the structured
//! generator. Whatever comes, the reader returns, within 8 MiB; what it gives is sound.

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
        warpstride_fuzz::scattering::build(&path, rest).is_ok()
    };
    if built {
        warpstride_fuzz::sound::exercise(&path, folder.path());
    }
});
