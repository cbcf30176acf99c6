//! Errors of whole files, and texts of files in messages.

use warpstride_core::system::{Bytes, Memory};
use warpstride_files::IoError;

const EXPECTED: &str = "a file of time series (CSV, Prometheus' text format or snapshots of its remote read, Parquet or Arrow, plain or with gzip or zstd)";

pub(super) fn format_error(file: &str, found: impl Into<String>) -> IoError {
    IoError::Format {
        file: file.to_owned(),
        expected: EXPECTED,
        found: found.into(),
    }
}

pub(super) fn damaged(file: &str, what: &str, reason: impl std::fmt::Display) -> IoError {
    IoError::Damaged {
        file: file.to_owned(),
        dataset: what.to_owned(),
        reason: shorten_to(&reason.to_string(), 200),
    }
}

/// Checks that `needed` bytes for `what` are within the memory limit.
pub(super) fn allow(file: &str, what: &str, needed: u128, memory: Memory) -> Result<(), IoError> {
    if needed <= u128::from(memory.limit()) {
        return Ok(());
    }
    Err(IoError::SeriesTooLarge {
        file: file.to_owned(),
        what: what.to_owned(),
        needed: Bytes(needed),
        available: Bytes(u128::from(memory.limit())),
    })
}

/// Shortens a text to one line for messages.
pub(super) fn shorten(text: &str) -> String {
    shorten_to(text, 60)
}

pub(super) fn shorten_to(text: &str, most: usize) -> String {
    let mut line = String::new();
    for c in text.trim().chars().take(most) {
        match c {
            _ if !c.is_control() => line.push(c),
            '\t' | '\n' | '\r' => line.push(' '),
            // Invisible characters are escaped.
            _ => line.extend(c.escape_default()),
        }
    }
    line.truncate(line.trim_end().len());
    line
}
