//! Files of time series: CSV, Parquet, Arrow; results as CSV and Parquet.
//!
//! A [`Reader`] gives the points of its inputs as [`Block`]s of bounded size, one input after the other, so that an
//! input may be larger than the memory; [`read_all`] puts them together. The kind of a file is found from its bytes:
//! Parquet, Arrow (file or stream), else lines of text; gzip and Zstandard are undone before. A [`ResultWriter`] takes
//! aggregates as they come and gives its file its name when all are there.

mod arrow;
mod collect;
mod columns;
mod csv;
mod input;
mod names;
mod notes;
mod number;
mod parquet;
mod piped;
mod reader;
mod rows;
mod timestamp;
mod typed;
mod write;

pub use collect::{Collected, read_all, read_all_within};
pub use names::Names;
pub use reader::{Block, Reader, Skipped};
pub use write::{ResultFormat, ResultWriter, Run, Timestamps};

use super::{Bytes, IoError, Memory};

/// What the numbers of a column of timestamps count since 1970. ISO 8601 needs none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TimeUnit {
    /// What the first timestamp of a file looks like by its size (below 10¹⁰ seconds, 10¹³ milliseconds, 10¹⁶
    /// microseconds, else nanoseconds), or what the column's name says (`timestamp_ns`).
    #[default]
    Auto,
    /// s.
    Seconds,
    /// ms.
    Milliseconds,
    /// µs.
    Microseconds,
    /// ns.
    Nanoseconds,
}

/// What becomes of a row that cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnError {
    /// It is an error, which names its line.
    #[default]
    Fail,
    /// It is left out, and counted.
    Skip,
}

/// What to read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReadOptions {
    /// The column of timestamps; `None`: one with a usual name. In a file without header the columns' numbers from 1
    /// are their names.
    pub time_column: Option<String>,
    /// The column of values; `None`: one with a usual name, or the only one left.
    pub value_column: Option<String>,
    /// The column of series; `None`: one with a usual name; where there is none, a file is one series, named like it.
    pub series_column: Option<String>,
    /// Unit of timestamps that are numbers.
    pub time_unit: TimeUnit,
    /// What becomes of a row that cannot be read.
    pub on_error: OnError,
    /// Most bytes of a series' name; `None`: any number.
    pub longest_name: Option<usize>,
}

/// Nanoseconds since 1970 of a timestamp, as a file may have it: ISO 8601, or a number of `unit`.
///
/// # Errors
/// What is wrong with it and what is expected, in words.
pub fn moment(text: &str, unit: TimeUnit) -> Result<i64, String> {
    let text = text.trim();
    let clock = timestamp::Clock::of_first(text.as_bytes(), unit).ok_or(
        "an ISO 8601 timestamp such as 2014-02-14T14:30:00Z, or a number since 1970, is expected",
    )?;
    clock.read(text.as_bytes()).map_err(|why| {
        let fault = rows::Fault::time(0, text, why, clock);
        format!("{}; {} is expected", fault.found, fault.expected)
    })
}

/// ISO 8601 in UTC of nanoseconds since 1970.
#[must_use]
pub fn iso(nanoseconds: i64) -> String {
    let mut text = Vec::new();
    timestamp::write_iso(&mut text, nanoseconds);
    String::from_utf8_lossy(&text).into_owned()
}

const EXPECTED: &str = "a file of time series (CSV, Parquet or Arrow, plain or with gzip or zstd)";

fn no_series(file: &str, found: impl Into<String>) -> IoError {
    IoError::Format {
        file: file.to_owned(),
        expected: EXPECTED,
        found: found.into(),
    }
}

fn damaged(file: &str, what: &str, reason: impl std::fmt::Display) -> IoError {
    IoError::Damaged {
        file: file.to_owned(),
        dataset: what.to_owned(),
        reason: shorten_to(&reason.to_string(), 200),
    }
}

/// Agrees to `needed` bytes for `what`.
fn allow(file: &str, what: &str, needed: u128, memory: Memory) -> Result<(), IoError> {
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

/// A text in one line, no longer than a sentence can show.
fn shorten(text: &str) -> String {
    shorten_to(text, 60)
}

fn shorten_to(text: &str, most: usize) -> String {
    let mut line = String::new();
    for c in text.trim().chars().take(most) {
        match c {
            _ if !c.is_control() => line.push(c),
            '\t' | '\n' | '\r' => line.push(' '),
            // What cannot be seen would leave a sentence that seems wrong.
            _ => line.extend(c.escape_default()),
        }
    }
    line.truncate(line.trim_end().len());
    line
}

#[cfg(test)]
mod tests;
