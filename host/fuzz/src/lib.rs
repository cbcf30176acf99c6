//! Hostile files, made from a string of choices.

pub mod acquisitions;
pub mod scattering;
pub mod series;
pub mod sound;
pub mod structure;

/// A folder in memory, for the file of one run.
#[must_use]
pub fn folder() -> Option<tempfile::TempDir> {
    let memory = if std::path::Path::new("/dev/shm").is_dir() {
        "/dev/shm"
    } else {
        "."
    };
    tempfile::tempdir_in(memory).ok()
}
