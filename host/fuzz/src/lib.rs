//! Generators of malformed files for fuzzing, and checks of what the readers return.

pub mod acquisitions;
pub mod scattering;
pub mod series;
pub mod sound;
pub mod structure;

/// A temporary folder, in memory if possible, for the files of one run.
#[must_use]
pub fn folder() -> Option<tempfile::TempDir> {
    let memory = if std::path::Path::new("/dev/shm").is_dir() {
        "/dev/shm"
    } else {
        "."
    };
    tempfile::tempdir_in(memory).ok()
}
