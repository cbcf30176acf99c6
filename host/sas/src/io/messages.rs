//! Errors of whole files, and texts of files in messages.

use std::path::Path;
use warpstride_core::system::{Bytes, Memory};
use warpstride_files::IoError;

/// Maximum number of notes about units, because a hostile file could cause one per row.
pub(super) const MAX_NOTES: usize = 16;

const EXPECTED: &str =
    "a file of small-angle scattering (columns of text, canSAS XML or NXcanSAS HDF5)";

pub(super) fn not_scattering(file: &str, found: impl Into<String>) -> IoError {
    IoError::Format {
        file: file.to_owned(),
        expected: EXPECTED,
        found: found.into(),
    }
}

/// Refuses to read if `needed` bytes exceed the limit.
pub(super) fn allow(file: &str, what: &str, needed: u128, memory: Memory) -> Result<(), IoError> {
    if needed <= u128::from(memory.limit()) {
        return Ok(());
    }
    Err(IoError::ScatteringTooLarge {
        file: file.to_owned(),
        dataset: what.to_owned(),
        needed: Bytes(needed),
        available: Bytes(u128::from(memory.limit())),
    })
}

/// The text on one line, shortened for messages.
pub(super) fn shorten(text: &str) -> String {
    let line: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .take(60)
        .collect();
    line.trim().to_owned()
}

/// The file name without folder and extension.
pub(super) fn name_of(file: &str) -> String {
    Path::new(file)
        .file_stem()
        .map_or_else(|| file.to_owned(), |s| s.to_string_lossy().into_owned())
}
