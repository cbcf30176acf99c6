//! Columns that options name.

use crate::io::series_key::{Labels, SeriesKey};
use crate::io::{IoError, ReadOptions};

/// Columns that options name: indices from 0.
#[derive(Default)]
pub(super) struct NamedColumns {
    pub(super) time: Option<usize>,
    pub(super) date: Option<usize>,
    pub(super) value: Option<usize>,
    pub(super) series: Option<usize>,
    pub(super) labels: Vec<usize>,
    pub(super) ignored: Vec<usize>,
}

impl NamedColumns {
    /// `find` returns the index of the column that an option names.
    pub(super) fn of(
        file: &str,
        options: &ReadOptions,
        find: impl Fn(&'static str, &str) -> Result<usize, IoError>,
    ) -> Result<Self, IoError> {
        let one = |option, wanted: &Option<String>| {
            let wanted = wanted.as_deref();
            wanted.map(|wanted| find(option, wanted)).transpose()
        };
        let several = |option, wanted: &[String]| -> Result<Vec<usize>, IoError> {
            wanted.iter().map(|wanted| find(option, wanted)).collect()
        };
        let named = Self {
            value: one("--value-column", &options.value_column)?,
            time: one("--time-column", &options.time_column)?,
            date: one("--date-column", &options.date_column)?,
            series: one("--series-column", &options.series_column)?,
            labels: several("--series-columns", &options.series_columns)?,
            ignored: several("--ignore-columns", &options.ignored_columns)?,
        };
        named.distinct(file)?;
        Ok(named)
    }

    /// Rejects a column that is named twice.
    fn distinct(&self, file: &str) -> Result<(), IoError> {
        let mut seen = Vec::new();
        let all = [
            ("--time-column", self.time.as_slice()),
            ("--date-column", self.date.as_slice()),
            ("--value-column", self.value.as_slice()),
            ("--series-column", self.series.as_slice()),
            ("--series-columns", self.labels.as_slice()),
            ("--ignore-columns", self.ignored.as_slice()),
        ];
        for (option, columns) in all {
            for column in columns {
                if seen.contains(column) {
                    return Err(named_twice(file, option));
                }
                seen.push(*column);
            }
        }
        Ok(())
    }

    /// What names the series, `usual` if no option says so.
    pub(super) fn series(&self, names: &[String], usual: Option<usize>) -> SeriesKey {
        if !self.labels.is_empty() {
            let labels = self.labels.iter().map(|c| (*c, names[*c].as_str()));
            return SeriesKey::Labels(Labels::new(&labels.collect::<Vec<_>>()));
        }
        match self.series.or(usual) {
            Some(column) => SeriesKey::Column(column),
            None => SeriesKey::File,
        }
    }

    /// The columns of a file in which neither `time` nor `value` nor `series` nor an option names
    /// the others.
    pub(super) fn unused(
        &self,
        names: &[String],
        time: usize,
        value: usize,
        series: &SeriesKey,
    ) -> Vec<(usize, String)> {
        let columns = names.iter().enumerate();
        columns
            .filter(|(column, _)| {
                *column != time
                    && *column != value
                    && self.date != Some(*column)
                    && *series != SeriesKey::Column(*column)
                    && !self.labels.contains(column)
                    && !self.ignored.contains(column)
            })
            .map(|(column, name)| (column, name.clone()))
            .collect()
    }
}

/// The error of a column that two options name, or one twice.
pub(super) fn named_twice(file: &str, option: &'static str) -> IoError {
    IoError::Option {
        file: file.to_owned(),
        option,
        reason: "expected a column of its own, found one that is named twice".to_owned(),
    }
}
