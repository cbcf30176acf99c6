//! Parses rows of wide tables.

use super::{RowError, Rows};
use crate::io::columns::{self, WideColumns};

impl Rows<'_> {
    /// Adds the points of a row of a wide table; none if it is malformed.
    pub(super) fn wide<'r>(
        &mut self,
        wide: &WideColumns,
        field: impl Fn(usize) -> &'r [u8],
    ) -> Result<(), RowError<'r>> {
        let nanoseconds = match wide.date {
            Some(date) => self.joined_time(field(date), field(wide.time))?,
            None => self.time(field(wide.time))?,
        };
        let before = (self.parsed.times.len(), self.parsed.missing);
        let values = wide.values.iter().zip(self.context.wide);
        for ((column, _), series) in values {
            let text = field(*column);
            let number = match self.number(text) {
                Some(number) => number,
                None => {
                    let bare = text.trim_ascii();
                    match self.number(bare) {
                        Some(number) => number,
                        None if columns::is_missing(bare) => {
                            self.parsed.missing += 1;
                            continue;
                        }
                        None => {
                            self.take_back(before);
                            return Err(RowError::Cell(*column, bare));
                        }
                    }
                }
            };
            self.parsed.rounded.text(text, number);
            self.parsed.series.push(*series);
            self.push(nanoseconds, number);
        }
        for column in &wide.unnamed {
            let bare = field(*column).trim_ascii();
            if !bare.is_empty() {
                self.take_back(before);
                return Err(RowError::Unnamed(*column, bare));
            }
        }
        Ok(())
    }

    /// Removes the points of a row that is malformed: numbers of points and of missing values
    /// before it.
    #[cold]
    fn take_back(&mut self, (points, missing): (usize, u64)) {
        self.parsed.series.truncate(points);
        self.parsed.times.truncate(points);
        self.parsed.values.truncate(points);
        self.parsed.missing = missing;
    }
}
