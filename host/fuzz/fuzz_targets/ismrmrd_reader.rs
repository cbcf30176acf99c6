//! The reader of ISMRMRD files, and of complex images, on any bytes.
//!
//! The first byte chooses: an even one takes the rest as a file's image, an odd one as choices of
//! the structured generator. Whatever comes, the readers return, within 8 MiB; samples that come out
//! survive their own file.

#![no_main]

use libfuzzer_sys::fuzz_target;
use std::path::Path;
use warpstride::io::ismrmrd::{self, ReadOptions, Recording, Selection};
use warpstride::io::{Memory, images};

/// Small, so that a size without data behind it is refused and not filled with zeros.
const MEMORY: u64 = 8 << 20;

fn exercise(path: &Path, again: &Path) {
    let memory = Memory::limited(MEMORY);
    let all = "slice=all,contrast=all,phase=all,repetition=all,set=all";
    let selections = [
        Selection::default(),
        Selection::parse(all).unwrap_or_default(),
    ];
    for select in selections {
        let options = ReadOptions {
            select,
            ..ReadOptions::default()
        };
        let Ok(read) = ismrmrd::read_within(path, &options, memory) else {
            continue;
        };
        let recording = Recording {
            kspace: &read.kspace,
            trajectory: &read.trajectory,
            steps: &[],
            truth: None,
        };
        ismrmrd::write(again, &recording).expect("what was read can be written");
        let back = ismrmrd::read(again, &ReadOptions::default()).expect("and read again");
        assert_eq!(back.kspace.samples(), read.kspace.samples());
    }
    let _ = images::read_within(path, memory);
    let _ = images::read_coil_maps(path, memory);
    let _ = images::read_off_resonance(path, memory);
    let _ = images::read_field(path, memory);
}

fuzz_target!(|bytes: &[u8]| {
    let Some((mode, rest)) = bytes.split_first() else {
        return;
    };
    let memory = if Path::new("/dev/shm").is_dir() {
        "/dev/shm"
    } else {
        "."
    };
    let Ok(folder) = tempfile::tempdir_in(memory) else {
        return;
    };
    let path = folder.path().join("a.h5");
    let built = if mode % 2 == 0 {
        std::fs::write(&path, rest).is_ok()
    } else {
        warpstride_fuzz::acquisitions::build(&path, rest).is_ok()
    };
    if built {
        exercise(&path, &folder.path().join("again.h5"));
    }
});
