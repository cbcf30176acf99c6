//! The reader of canSAS XML, on any bytes.
//!
//! The first byte chooses: an even one takes the rest as the file, an odd one as choices of the generator. Whatever
//! comes, the reader returns, within 8 MiB; what it gives is sound.

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
