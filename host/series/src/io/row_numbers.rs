//! Recognises a column that numbers the rows, and that is taken for the names of series because of
//! its own name.

use super::IoError;
use super::names::Names;
use super::reader::Block;

/// Rows from which on the end of the file is not waited for.
const CERTAIN: u64 = 1000;
/// Fewer rows may be a number of series with one point each.
const LIKELY: u64 = 3;

/// The series of a file of which each row has the next whole number as its name.
#[derive(Debug, Default)]
pub(super) struct RowNumbers {
    last: Option<u64>,
    first_time: Option<i64>,
    /// Whether there are several times. Equal ones are those of several series at one moment.
    times_differ: bool,
    rows: u64,
}

impl RowNumbers {
    /// Continues with further points; `None` if one of them has another name than the next number.
    pub(super) fn with(mut self, blocks: &[Block], names: &Names) -> Option<Self> {
        for block in blocks {
            for (series, time) in block.series.iter().zip(&block.times) {
                let number: u64 = names.get(*series)?.parse().ok()?;
                if self
                    .last
                    .is_some_and(|last| last.checked_add(1) != Some(number))
                {
                    return None;
                }
                self.last = Some(number);
                self.times_differ |= *self.first_time.get_or_insert(*time) != *time;
                self.rows += 1;
            }
        }
        Some(self)
    }

    /// Whether the whole file shows that its rows are numbered.
    pub(super) fn is_likely(&self) -> bool {
        self.rows >= LIKELY && self.times_differ
    }

    /// Whether a part of the file shows it.
    pub(super) fn is_certain(&self) -> bool {
        self.rows >= CERTAIN && self.times_differ
    }
}

/// The error of such a column.
pub(super) fn refusal(file: &str) -> IoError {
    IoError::Option {
        file: file.to_owned(),
        option: "--ignore-columns",
        reason: "expected names of series that occur in several rows, found a number that counts the rows, so that every row is a series of its own; name its column here, or in --series-columns if that is meant".to_owned(),
    }
}
