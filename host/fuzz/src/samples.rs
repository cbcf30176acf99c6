//! Properties that hold for everything that the readers of k-space return.

use std::path::Path;
use warpstride::mri::io::images;
use warpstride::mri::io::ismrmrd::{self, ReadOptions, Recording, Selection};
use warpstride::system::Memory;

/// Limit of memory, small, so that a size without stored data is refused rather than filled with
/// zeros.
const MEMORY: u64 = 8 << 20;

/// Reads `path` with all options, and checks that samples survive a round trip through the file
/// `again`.
///
/// # Panics
/// If a check fails.
pub fn exercise(path: &Path, again: &Path) {
    let memory = Memory::limited(MEMORY);
    let combined = Selection::default().combine("repetition");
    let selections = [
        Selection::default(),
        combined.unwrap_or_default(),
        Selection::parse("all").unwrap_or_default(),
    ];
    for select in selections {
        let mut options = ReadOptions {
            select,
            ..ReadOptions::default()
        };
        let images = ismrmrd::images_within(path, &options, memory);
        options.image = images.unwrap_or_default().last().copied();
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
