//! Generators of malformed files for fuzzing, and checks of what the readers return.
//!
//! With cargo-fuzz and a nightly toolchain, in `host/`:
//!
//! ```sh
//! cargo +nightly fuzz run xml_attributes -- -max_total_time=600 -rss_limit_mb=512 -timeout=5
//! ```
//!
//! Without one, `fuzz_stable` changes seeds at random and knows nothing of coverage:
//!
//! ```sh
//! cargo run --release --manifest-path host/fuzz/Cargo.toml --bin fuzz_stable -- scan_layouts 600 found seeds
//! ```
//!
//! `seeds` writes seed corpora for the targets that read whole files; the others begin with none.

pub mod acquisitions;
pub mod bart;
pub mod formats;
pub mod markup;
pub mod readers;
pub mod samples;
pub mod scattering;
pub mod series;
pub mod sound;
pub mod stable;
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
