//! Writes aggregates as a table with one row per series, granularity, aggregate and bucket.
//!
//! ```text
//! series,granularity_s,aggregate,timestamp_ns,value
//! cpu,60,mean,1392388200000000000,3.6
//! ```

mod csv;
#[cfg(feature = "parquet")]
mod parquet;
#[cfg(not(feature = "parquet"))]
#[path = "parquet_off.rs"]
mod parquet;

use super::LabelColumns;
use crate::{Aggregate, BucketAxis, Buckets, Column, Granularity, Resampled, Zone};
use csv::CsvRows;
use parquet::ParquetRows;
use std::path::Path;
use warpstride_files::IoError;

/// The format of timestamps in CSV.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Timestamps {
    /// Nanoseconds since 1970, in the column `timestamp_ns`.
    #[default]
    Nanoseconds,
    /// ISO 8601 in UTC, in the column `timestamp`.
    Iso,
    /// ISO 8601 with the offset of a zone, in the column `timestamp`.
    Local(Zone),
}

/// The format of a result file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResultFormat {
    /// Text; numbers are as short as possible such that they are parsed to the same bits.
    Csv(Timestamps),
    /// Dictionary-encoded strings, timestamps in nanoseconds (UTC), 64-bit values, Zstandard
    /// compression.
    Parquet,
}

impl ResultFormat {
    /// Selects the format by the file extension: Parquet for `.parquet` and `.pq`, otherwise CSV.
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

/// Buckets of one series, granularity and aggregate, in time order.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Run<'r> {
    /// Name of the series.
    pub series: &'r str,
    /// Length of the buckets.
    pub granularity: Granularity,
    /// The aggregate of the values.
    pub aggregate: Aggregate,
    /// (bucket), bucket start in nanoseconds since 1970.
    pub starts: &'r [i64],
    /// (bucket).
    pub values: &'r [f64],
    /// (bucket), number of points; buckets with too few points for the aggregate are omitted.
    /// `None` if there are none.
    pub counts: Option<&'r [u32]>,
    /// The axis of `starts`; `None`: they are nanoseconds since 1970, UTC.
    pub axis: Option<BucketAxis>,
}

impl<'r> Run<'r> {
    /// The runs of a result: series by series in the order of `names`, each with its granularities
    /// and aggregates in the order of the result.
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
        let range = *buckets.offsets.get(series)?..*buckets.offsets.get(series + 1)?;
        Some(Self {
            series: name,
            granularity: buckets.granularity,
            aggregate: column.aggregate,
            starts: buckets.starts.get(range.clone())?,
            values: column.values.get(range.clone())?,
            counts: buckets.counts.get(range),
            axis: None,
        })
    }

    /// A range of its buckets.
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

    /// Starts and values of the buckets to write.
    fn rows(&self) -> impl Iterator<Item = (i64, f64)> {
        let least = self.aggregate.method.min_values();
        let (counts, axis) = (self.counts, self.axis);
        let enough = move |bucket: usize| {
            counts.is_none_or(|counts| counts.get(bucket).is_none_or(|n| *n >= least))
        };
        self.starts
            .iter()
            .zip(self.values)
            .enumerate()
            .filter(move |(bucket, _)| enough(*bucket))
            .map(move |(_, (start, value))| {
                (axis.map_or(*start, |axis| axis.start(*start)), *value)
            })
    }
}

/// The bucket length for the column `granularity_s`: seconds, or a calendar letter.
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

/// A result file being written. It gets its name when it is finished, and is removed if dropped
/// before.
pub struct ResultWriter {
    rows: Rows,
    written: u64,
}

impl ResultWriter {
    /// Creates a temporary file next to `path`.
    ///
    /// # Errors
    /// [`IoError::Write`].
    pub fn create(path: &Path, format: ResultFormat) -> Result<Self, IoError> {
        Self::create_with_labels(path, format, None)
    }

    /// Creates a temporary file next to `path`, with `labels` in place of the column `series`.
    ///
    /// # Errors
    /// [`IoError::Write`].
    pub fn create_with_labels(
        path: &Path,
        format: ResultFormat,
        labels: Option<LabelColumns>,
    ) -> Result<Self, IoError> {
        let rows = match format {
            ResultFormat::Csv(timestamps) => {
                Rows::Csv(Box::new(CsvRows::create(path, timestamps, labels)?))
            }
            ResultFormat::Parquet => Rows::Parquet(Box::new(ParquetRows::create(path, labels)?)),
        };
        Ok(Self { rows, written: 0 })
    }

    /// Writes CSV to standard output. It is not an error if the reader goes away.
    ///
    /// # Errors
    /// [`IoError::Write`].
    pub fn to_standard_output(timestamps: Timestamps) -> Result<Self, IoError> {
        Self::to_standard_output_with_labels(timestamps, None)
    }

    /// Writes CSV to standard output, with `labels` in place of the column `series`.
    ///
    /// # Errors
    /// [`IoError::Write`].
    pub fn to_standard_output_with_labels(
        timestamps: Timestamps,
        labels: Option<LabelColumns>,
    ) -> Result<Self, IoError> {
        let rows = Rows::Csv(Box::new(CsvRows::to_standard_output(timestamps, labels)?));
        Ok(Self { rows, written: 0 })
    }

    /// Appends the results of a batch with series `names`.
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

    /// Appends `runs` in order.
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

    /// Number of rows appended.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.written
    }

    /// Syncs the file to disk and gives it its name.
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
