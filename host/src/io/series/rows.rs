//! What is wrong with a row, and what is kept of it.

use super::IoError;
use super::names::NoName;
use super::timestamp::{Clock, NoTime};

/// A row that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fault {
    /// Lines (rows of Parquet and Arrow) before it, counted from where its reader says.
    pub(super) before: u64,
    pub(super) found: String,
    pub(super) expected: String,
}

impl Fault {
    pub(super) fn new(before: u64, found: String, expected: impl Into<String>) -> Self {
        Self {
            before,
            found,
            expected: expected.into(),
        }
    }

    /// A timestamp that is none.
    pub(super) fn time(before: u64, text: &str, why: NoTime, clock: Clock) -> Self {
        let shown = format!("the timestamp '{}'", super::shorten(text));
        let (found, expected) = match why {
            NoTime::Form => (format!("{shown} is none"), clock.words()),
            NoTime::Early => (
                format!("{shown} lies before 1970"),
                "one from 1970 to 2262-04-11".to_owned(),
            ),
            NoTime::Late => (
                format!("{shown} lies beyond 2262-04-11, where nanoseconds of 64 bits end"),
                "one from 1970 to 2262-04-11".to_owned(),
            ),
            NoTime::Fine => (
                format!("{shown} lies between two nanoseconds"),
                "one of whole nanoseconds".to_owned(),
            ),
            NoTime::Mixed(unit) => (
                format!("{shown} looks like {}", unit.words()),
                format!(
                    "{}, as in the file's first row (say the unit, --time-unit, if all rows have one)",
                    clock.words()
                ),
            ),
        };
        Self::new(before, found, expected)
    }

    /// A value that is none.
    pub(super) fn value(before: u64, text: &str) -> Self {
        let found = if text.is_empty() {
            "the value is empty".to_owned()
        } else if text.parse::<f64>().is_ok() {
            format!("the value '{}' is beyond 1.8e308", super::shorten(text))
        } else {
            format!("the value '{}' is no number", super::shorten(text))
        };
        Self::new(before, found, "a number such as 21.5, or nan")
    }

    /// A name that names nothing.
    pub(super) fn name(before: u64, why: NoName, name: &[u8]) -> Self {
        match why {
            NoName::Empty => Self::new(before, "the series has no name".to_owned(), "a name"),
            NoName::Encoding => Self::new(
                before,
                format!(
                    "the name '{}' is not UTF-8",
                    super::shorten(&String::from_utf8_lossy(&name[..name.len().min(400)]))
                ),
                "text in UTF-8",
            ),
            NoName::Zero => Self::new(
                before,
                format!(
                    "the name '{}' has a byte that is 0",
                    super::shorten(&String::from_utf8_lossy(&name[..name.len().min(400)]))
                ),
                "text without one",
            ),
            NoName::Long(most) => Self::new(
                before,
                format!("the name of the series has {} bytes", name.len()),
                format!("at most {most}"),
            ),
            NoName::TooMany => Self::new(
                before,
                "one series too many".to_owned(),
                "at most 4294967295 series",
            ),
        }
    }

    /// The error, where `place` is what `before` counts (`line`, `row`) and `first` what the reader began at.
    pub(super) fn into_error(self, file: &str, place: &'static str, first: u64) -> IoError {
        IoError::Row {
            file: file.to_owned(),
            place,
            number: first.saturating_add(self.before),
            found: self.found,
            expected: self.expected,
        }
    }
}

/// Faults of a part of a file: all are counted, the first few kept.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Faults {
    pub(super) count: u64,
    pub(super) first: Vec<Fault>,
}

/// Faults that are kept.
pub(super) const KEPT: usize = 8;

impl Faults {
    pub(super) fn add(&mut self, fault: impl FnOnce() -> Fault) {
        self.count += 1;
        if self.first.len() < KEPT {
            self.first.push(fault());
        }
    }
}
