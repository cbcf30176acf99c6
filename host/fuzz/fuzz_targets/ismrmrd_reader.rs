//! Fuzzes the readers of ISMRMRD files and of complex images.
//!
//! If the first byte is even, the rest is the file; if it is odd, the rest is the generator's choices.
//! The readers must return within 8 MiB of memory, and samples must survive a round trip through a
//! file.

#![no_main]

use libfuzzer_sys::fuzz_target;
use std::path::Path;
use warpstride::mri::io::images;
use warpstride::mri::io::ismrmrd::{self, ReadOptions, Recording, Selection};
use warpstride::system::Memory;

/// Limit of memory, small, so that a size without stored data is refused rather than filled with
/// zeros.
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
        ismrmrd::write(again, &recording).expect("samples that were read can be written");
        let back = ismrmrd::read(again, &ReadOptions::default()).expect("and read back");
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
