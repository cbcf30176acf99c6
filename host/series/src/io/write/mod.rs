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
mod run;

pub use run::{Run, Timestamps};

use super::LabelColumns;
use crate::Resampled;
use csv::CsvRows;
use parquet::ParquetRows;
use std::path::Path;
use warpstride_files::IoError;

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
