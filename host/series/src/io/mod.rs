//! Files of time series: CSV, Prometheus' text format and remote-read snapshots, Parquet and Arrow;
//! results as CSV and Parquet.
//!
//! A [`Reader`] returns the points of its inputs as [`Block`]s of bounded size, one input after
//! another, so an input may be larger than memory; [`read_all`] collects them. The format of a file
//! is recognized by its contents: Parquet, Arrow (file or stream), otherwise lines of text; gzip
//! and Zstandard are decompressed first. A [`ResultWriter`] writes aggregates as they arrive, and
//! renames its file to the final name once it is complete.

#[cfg(feature = "parquet")]
mod arrow;
mod block;
mod collect;
#[cfg(feature = "parquet")]
mod columnar;
#[cfg(not(feature = "parquet"))]
#[path = "columnar_off.rs"]
mod columnar;
mod columns;
mod csv;
mod date_pattern;
mod input;
mod label_columns;
mod messages;
mod names;
mod notes;
mod number;
#[cfg(feature = "parquet")]
mod parquet;
mod piped;
mod prometheus;
mod reader;
mod remote_read;
mod rounded;
mod row_numbers;
mod rows;
mod sentinels;
mod series_key;
mod source;
mod stream;
mod time_format;
mod time_span;
mod timestamp;
#[cfg(feature = "parquet")]
mod typed;
mod unused_dates;
mod write;
mod zone_columns;

#[cfg(feature = "parquet")]
pub use arrow::{is_date, may_be_label};
pub use block::Block;
pub use collect::{Collected, read_all, read_all_within};
pub use columns::{is_hours, is_usual_time, is_usual_value};
pub use date_pattern::DatePattern;
pub use label_columns::LabelColumns;
pub use names::Names;
pub use reader::Reader;
pub use rounded::Rounded;
pub use sentinels::{Sentinels, is_among};
pub use source::Skipped;
pub use time_format::TimeFormat;
pub use timestamp::{Ambiguous, TimeUnit, iso, iso_in};
#[cfg(feature = "parquet")]
pub use typed::time_label;
pub use unused_dates::UnusedDates;
pub use write::{ResultFormat, ResultWriter, Run, Timestamps};

use crate::Zone;
use messages::{allow, damaged, format_error, shorten, shorten_to};
use timestamp::{LocalTimes, TimestampError, TimestampFormat};
use warpstride_core::system::Memory;
use warpstride_files::IoError;

/// The treatment of rows that cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnError {
    /// Fail with an error that states the line.
    #[default]
    Fail,
    /// Skip and count them.
    Skip,
}

/// What to read, and how.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ReadOptions {
    /// Name of the timestamp column; `None`: a usual name. Columns of a file without a header are
    /// named by number, from 1.
    pub time_column: Option<String>,
    /// Name of the column of dates, if the timestamp column has times of day only. Text files only.
    pub date_column: Option<String>,
    /// Name of the value column; `None`: a usual name, or the only column left.
    pub value_column: Option<String>,
    /// Name of the series column; `None`: a usual name, or no such column: then the file is one
    /// series, named after the file.
    pub series_column: Option<String>,
    /// Names of the label columns: each distinct combination of their values is a series, named
    /// `host=a,region=eu`. Empty: series are as [`ReadOptions::series_column`] says.
    pub series_columns: Vec<String>,
    /// Names of columns of text that do not tell series apart. Any other column of text is an
    /// error.
    pub ignored_columns: Vec<String>,
    /// Whether every column but the timestamps and the ignored ones is a series, named after the
    /// column. Options on values and series are then refused.
    pub wide: bool,
    /// Whether the decimals of values follow a comma. Text files only.
    pub decimal_comma: bool,
    /// Values that stand for missing ones, such as −9999, also rounded to single precision: a row
    /// or cell with such a value is no point.
    pub missing_values: Vec<f64>,
    /// Unit of numeric timestamps.
    pub time_unit: TimeUnit,
    /// Format of timestamps.
    pub time_format: TimeFormat,
    /// Zone of times without an offset; `None`: UTC.
    pub zone: Option<Zone>,
    /// The treatment of times that clocks of the zone show twice.
    pub ambiguous: Ambiguous,
    /// Time of samples without one in Prometheus' text format, nanoseconds since 1970.
    pub scrape_time: Option<i64>,
    /// The treatment of rows that cannot be read.
    pub on_error: OnError,
    /// Longest series name in bytes; `None`: 65536, which is also the maximum.
    pub longest_name: Option<usize>,
}

/// Longest series name in bytes that is read. A compressed file of a megabyte may hold names of
/// gigabytes.
const LONGEST_NAME: usize = 1 << 16;

impl ReadOptions {
    /// The largest number of bytes in a series name.
    fn name_limit(&self) -> usize {
        self.longest_name.unwrap_or(LONGEST_NAME).min(LONGEST_NAME)
    }

    /// The unit of numeric timestamps that an option states.
    #[must_use]
    pub fn unit(&self) -> TimeUnit {
        match self.time_format {
            TimeFormat::Unix(unit) => unit,
            _ => self.time_unit,
        }
    }

    /// How times without an offset are read, if not in UTC.
    fn local_times(&self) -> Option<LocalTimes> {
        let ambiguous = self.ambiguous;
        self.zone.map(|zone| LocalTimes { zone, ambiguous })
    }

    /// The format that an option states.
    fn stated_format(&self) -> Option<TimestampFormat> {
        self.time_format.timestamp_format(self.local_times())
    }

    /// The format of timestamps in a file with this one, if it is one.
    fn format_of_first(&self, text: &[u8]) -> Option<TimestampFormat> {
        match self.stated_format() {
            Some(stated) => (stated.read(text) != Err(TimestampError::Invalid)).then_some(stated),
            None => TimestampFormat::of_first(text, self.unit())
                .map(|found| found.in_zone(self.local_times())),
        }
    }
}

/// Parses a timestamp as in a file, ISO 8601 or a number of `unit`, to nanoseconds since 1970.
///
/// # Errors
/// A message with the found and the expected text.
pub fn moment(text: &str, unit: TimeUnit) -> Result<i64, String> {
    moment_in(text, unit, None)
}

/// Like [`moment`]; without an offset, an ISO 8601 time is local time of `zone`.
///
/// # Errors
/// A message with the found and the expected text.
pub fn moment_in(text: &str, unit: TimeUnit, zone: Option<Zone>) -> Result<i64, String> {
    let text = text.trim();
    let time_format = TimestampFormat::of_first(text.as_bytes(), unit).ok_or(
        "expected an ISO 8601 timestamp such as 2014-02-14T14:30:00Z, or a number since 1970",
    )?;
    let ambiguous = Ambiguous::Refuse;
    let time_format = time_format.in_zone(zone.map(|zone| LocalTimes { zone, ambiguous }));
    time_format.read(text.as_bytes()).map_err(|why| {
        if let TimestampError::Twice(zone) = why {
            return format!(
                "expected a local time that occurs once, or one with an offset such as +02:00, found one that clocks of {zone} show twice"
            );
        }
        let fault = rows::Fault::time(0, text, why, &time_format);
        format!("expected {}, found {}", fault.expected, fault.found)
    })
}

/// A doubt about times of a timestamp type, of which this is the last: times of today are in
/// January of 1970 if they were written in a unit that is too large by a thousand.
#[must_use]
pub fn january_of_1970(last: i64) -> Option<String> {
    const END: i64 = 31 * 86_400_000_000_000;
    (last < END).then(|| {
        format!(
            "all times are in January of 1970 (the last: {}): the unit of the timestamps may be wrong",
            iso(last)
        )
    })
}

#[cfg(test)]
mod tests;
