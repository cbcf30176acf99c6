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
//! `seeds` writes seed corpora; a few targets begin with none. `any_reader` is all targets in one
//! program, which the variable `WARPSTRIDE_FUZZ_TARGET` chooses.

pub mod acquisitions;
pub mod arrays;
pub mod bart;
pub mod corpora;
pub mod formats;
pub mod markup;
pub mod readers;
pub mod samples;
pub mod scans;
pub mod scattering;
pub mod series;
pub mod sound;
pub mod stable;
pub mod structure;
pub mod targets;

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
