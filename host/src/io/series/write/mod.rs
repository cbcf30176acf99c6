//! Aggregates as a table: one row for each series, granularity, aggregate and bucket.
//!
//! ```text
//! series,granularity_s,aggregate,timestamp_ns,value
//! cpu,60,mean,1392388200000000000,3.6
//! ```

mod csv;
mod parquet;

use crate::io::IoError;
use crate::series::{Aggregate, Buckets, Column, Granularity, Resampled};
use csv::CsvRows;
use parquet::ParquetRows;
use std::path::Path;

/// How the timestamps of CSV are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Timestamps {
    /// Nanoseconds since 1970, in the column `timestamp_ns`.
    #[default]
    Nanoseconds,
    /// ISO 8601 in UTC, in the column `timestamp`.
    Iso,
}

/// A kind of file of results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResultFormat {
    /// Text, numbers as short as they read back to the same bits.
    Csv(Timestamps),
    /// Texts in dictionaries, timestamps in nanoseconds of UTC, values of 64 bits, compressed with Zstandard.
    Parquet,
}

impl ResultFormat {
    /// By the file's ending: Parquet for `.parquet` and `.pq`, else CSV.
    #[must_use]
    pub fn of(path: &Path, timestamps: Timestamps) -> Self {
        let ending = path.extension().unwrap_or_default();
        if ["parquet", "pq"]
            .iter()
            .any(|e| ending.eq_ignore_ascii_case(e))
        {
            Self::Parquet
        } else {
            Self::Csv(timestamps)
        }
    }
}

/// Buckets of one series, granularity and aggregate, in the order of time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Run<'r> {
    /// The series' name.
    pub series: &'r str,
    /// Length of the buckets.
    pub granularity: Granularity,
    /// What the values are.
    pub aggregate: Aggregate,
    /// (bucket), first moment in nanoseconds since 1970.
    pub starts: &'r [i64],
    /// (bucket).
    pub values: &'r [f64],
    /// (bucket), points: buckets of fewer than the aggregate needs are left out. `None`: none is.
    pub counts: Option<&'r [u32]>,
}

impl<'r> Run<'r> {
    /// The runs of a result: series after series in the order of `names`, of each the granularities and aggregates in
    /// the order of the result.
    pub fn all<'n: 'r, N: AsRef<str>>(
        names: &'n [N],
        resampled: &'r Resampled,
    ) -> impl Iterator<Item = Self> {
        names.iter().enumerate().flat_map(move |(series, name)| {
            resampled.buckets.iter().flat_map(move |buckets| {
                let columns = buckets.columns.iter();
                columns.filter_map(move |column| Self::of(name.as_ref(), series, buckets, column))
            })
        })
    }

    fn of(name: &'r str, series: usize, buckets: &'r Buckets, column: &'r Column) -> Option<Self> {
        let place = *buckets.offsets.get(series)?..*buckets.offsets.get(series + 1)?;
        Some(Self {
            series: name,
            granularity: buckets.granularity,
            aggregate: column.aggregate,
            starts: buckets.starts.get(place.clone())?,
            values: column.values.get(place.clone())?,
            counts: buckets.counts.get(place),
        })
    }

    /// Some of its buckets.
    fn part(&self, from: usize, end: usize) -> Self {
        Self {
            starts: &self.starts[from..end],
            values: &self.values[from..end],
            counts: self.counts.and_then(|counts| counts.get(from..end)),
            ..*self
        }
    }

    fn len(&self) -> usize {
        self.starts.len().min(self.values.len())
    }

    /// First moments and values of the buckets that are written.
    fn rows(&self) -> impl Iterator<Item = (i64, f64)> {
        let least = self.aggregate.method.least_values();
        let counts = self.counts;
        let enough = move |bucket: usize| {
            counts.is_none_or(|counts| counts.get(bucket).is_none_or(|n| *n >= least))
        };
        self.starts
            .iter()
            .zip(self.values)
            .enumerate()
            .filter(move |(bucket, _)| enough(*bucket))
            .map(|(_, (start, value))| (*start, *value))
    }
}

/// A length of buckets as the column `granularity_s` has it: seconds, or a calendar's letter.
fn seconds(granularity: Granularity) -> String {
    match granularity {
        Granularity::Fixed(nanoseconds) => {
            let (whole, part) = (nanoseconds / 1_000_000_000, nanoseconds % 1_000_000_000);
            let text = format!("{whole}.{part:09}");
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        }
        Granularity::Calendar(_) => granularity.to_string(),
    }
}

enum Rows {
    Csv(Box<CsvRows>),
    Parquet(Box<ParquetRows>),
}

/// A file of results that is being written; it has its name when it is finished, and is removed if it is dropped before.
pub struct ResultWriter {
    rows: Rows,
    written: u64,
}

impl ResultWriter {
    /// Begins a file beside `path`.
    ///
    /// # Errors
    /// [`IoError::Write`].
    pub fn create(path: &Path, format: ResultFormat) -> Result<Self, IoError> {
        let rows = match format {
            ResultFormat::Csv(timestamps) => {
                Rows::Csv(Box::new(CsvRows::create(path, timestamps)?))
            }
            ResultFormat::Parquet => Rows::Parquet(Box::new(ParquetRows::create(path)?)),
        };
        Ok(Self { rows, written: 0 })
    }

    /// CSV on standard output. A reader that went away is no failure.
    ///
    /// # Errors
    /// [`IoError::Write`].
    pub fn to_standard_output(timestamps: Timestamps) -> Result<Self, IoError> {
        let rows = Rows::Csv(Box::new(CsvRows::to_standard_output(timestamps)?));
        Ok(Self { rows, written: 0 })
    }

    /// Appends the results of a batch of the series `names`.
    ///
    /// # Errors
    /// [`IoError::Write`].
    pub fn append<N: AsRef<str>>(
        &mut self,
        names: &[N],
        resampled: &Resampled,
    ) -> Result<(), IoError> {
        self.append_runs(Run::all(names, resampled))
    }

    /// Appends `runs`, in their order.
    ///
    /// # Errors
    /// [`IoError::Write`].
    pub fn append_runs<'r>(
        &mut self,
        runs: impl IntoIterator<Item = Run<'r>>,
    ) -> Result<(), IoError> {
        self.written += match &mut self.rows {
            Rows::Csv(rows) => rows.append(runs.into_iter()),
            Rows::Parquet(rows) => rows.append(runs.into_iter()),
        }?;
        Ok(())
    }

    /// Rows that were appended.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.written
    }

    /// Forces the file to the storage and gives it its name.
    ///
    /// # Errors
    /// [`IoError::Write`].
    pub fn finish(self) -> Result<(), IoError> {
        match self.rows {
            Rows::Csv(rows) => rows.finish(),
            Rows::Parquet(rows) => rows.finish(),
        }
    }
}

#[cfg(test)]
mod tests;
