//! Recognises a column that numbers the rows, and that is taken for the names of series because of
//! its own name.

use super::IoError;
use super::block::Block;
use super::names::Names;

/// Rows from which on the end of the file is not waited for.
const CERTAIN: u64 = 1000;
/// Fewer rows may be a number of series with one point each.
const LIKELY: u64 = 3;

/// The series of a file of which each row has another whole number as its name.
#[derive(Debug, Default)]
pub(super) struct RowNumbers {
    /// Number of the names of all series before.
    known: u32,
    last: Option<u64>,
    /// The difference of each number from the one before, if all are equal.
    step: Option<i128>,
    is_irregular: bool,
    first_time: Option<i64>,
    /// Whether there are several times. Equal ones are those of several series at one moment.
    times_differ: bool,
    rows: u64,
}

impl RowNumbers {
    /// Begins a file after others with this number of names.
    pub(super) fn after(known: usize) -> Self {
        Self {
            known: u32::try_from(known).unwrap_or(u32::MAX),
            ..Self::default()
        }
    }

    /// Continues with further points; `None` if one of them has a name that is no whole number, or
    /// one that occurs again without being the next of a sequence.
    pub(super) fn with(mut self, blocks: &[Block], names: &Names) -> Option<Self> {
        for block in blocks {
            for (series, time) in block.series.iter().zip(&block.times) {
                let number: u64 = names.get(*series)?.parse().ok()?;
                if let Some(last) = self.last.replace(number) {
                    let step = i128::from(number) - i128::from(last);
                    self.is_irregular |= *self.step.get_or_insert(step) != step || step == 0;
                }
                let is_new = *series >= self.known;
                self.known = self.known.max(series.saturating_add(1));
                if !is_new && (self.is_irregular || self.step.is_some_and(|step| step != 1)) {
                    return None;
                }
                self.times_differ |= *self.first_time.get_or_insert(*time) != *time;
                self.rows += 1;
            }
        }
        Some(self)
    }

    /// Whether the whole file shows that its rows are numbered.
    pub(super) fn is_likely(&self) -> bool {
        self.rows >= LIKELY && self.times_differ && !self.is_irregular
    }

    /// Whether a part of the file shows it.
    pub(super) fn is_certain(&self) -> bool {
        self.rows >= CERTAIN && self.is_likely()
    }

    /// A note if the names are whole numbers in no sequence, of which none occurs twice.
    pub(super) fn note(&self) -> Option<String> {
        let is_doubtful = self.rows >= LIKELY && self.times_differ && self.is_irregular;
        is_doubtful.then(|| {
            "every row is a series of its own, as the names of series are whole numbers of which none occurs twice; if they number the rows, name their column in --ignore-columns"
                .to_owned()
        })
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
