//! Wide tables: a column of timestamps, and every other column is a series.

#[cfg(feature = "parquet")]
use super::Columns;
use super::named::NamedColumns;
use super::{Hours, list, named, usual_time};
use crate::io::names::{NameError, check_name};
use crate::io::notes::Notes;
#[cfg(feature = "parquet")]
use crate::io::series_key::SeriesKey;
use crate::io::source::Shared;
#[cfg(feature = "parquet")]
use crate::io::zone_columns::ZoneColumn;
use crate::io::{IoError, ReadOptions, format_error, shorten};
use std::collections::HashMap;

/// What the columns of a wide table in Parquet and Arrow must be.
#[cfg(feature = "parquet")]
pub(in crate::io) const WIDE_EXPECTED: &str =
    "a named column of numbers (floating-point or integers), or --ignore-columns with its name";

/// Rows of a wide table that have about as many points as `rows` rows of one value.
#[cfg(feature = "parquet")]
pub(in crate::io) fn wide_rows(rows: usize, columns: usize) -> usize {
    (rows / columns.max(1)).max(1)
}

/// The columns of a wide table, indices from 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::io) struct WideColumns {
    pub(in crate::io) time: usize,
    /// The dates, if `time` has times of day only.
    pub(in crate::io) date: Option<usize>,
    /// (series): the column and its name.
    pub(in crate::io) values: Vec<(usize, String)>,
    /// Columns without a name, which must be empty.
    pub(in crate::io) unnamed: Vec<usize>,
}

impl WideColumns {
    /// Selects the columns of a table with a header: timestamps by the option, by a usual name, or
    /// the first; all others that are not ignored are series.
    pub(in crate::io) fn by_name(
        file: &str,
        names: &[String],
        options: &ReadOptions,
        notes: &mut Notes,
    ) -> Result<Self, IoError> {
        let asked = NamedColumns::of(file, options, |option, wanted| {
            named(file, names, option, wanted)
        })?;
        let plain: Vec<String> = names.iter().map(|n| n.trim().to_lowercase()).collect();
        let taken = |column: usize| asked.ignored.contains(&column) || asked.date == Some(column);
        let time = asked.time.or_else(|| usual_time(&plain, taken));
        let time = match time {
            Some(time) => time,
            None => {
                let first = (0..names.len()).find(|column| !taken(*column));
                let first =
                    first.ok_or_else(|| format_error(file, "no columns that are not ignored"))?;
                let name = list([names[first].as_str()]);
                notes.add(
                    file,
                    format!("the first column, {name}, is used for timestamps, as none has a usual name such as timestamp or time"),
                );
                first
            }
        };
        Self::new(file, names, time, &asked, options)
    }

    /// Selects the columns of a table without a header: timestamps by the number in the option,
    /// or the first. The series are named by the numbers of their columns, from 1.
    pub(in crate::io) fn by_number(
        file: &str,
        count: usize,
        options: &ReadOptions,
    ) -> Result<Self, IoError> {
        let numbers: Vec<String> = (1..=count).map(|number| number.to_string()).collect();
        let asked = NamedColumns::of(file, options, |option, wanted| {
            named(file, &numbers, option, wanted)
        })?;
        let time = asked.time.unwrap_or(0);
        Self::new(file, &numbers, time, &asked, options)
    }

    /// The number of the timestamp column, if it is given by number or not at all.
    pub(in crate::io) fn numbered_time(options: &ReadOptions, count: usize) -> Option<usize> {
        match &options.time_column {
            None => Some(0),
            Some(text) => {
                let number: usize = text.trim().parse().ok()?;
                number.checked_sub(1).filter(|column| *column < count)
            }
        }
    }

    fn new(
        file: &str,
        names: &[String],
        time: usize,
        asked: &NamedColumns,
        options: &ReadOptions,
    ) -> Result<Self, IoError> {
        let refuse = |option, reason: String| IoError::Option {
            file: file.to_owned(),
            option,
            reason,
        };
        if asked.value.is_some() || asked.series.is_some() || !asked.labels.is_empty() {
            return Err(refuse(
                "--wide",
                "expected neither --value-column nor --series-column nor --series-columns beside it, found one".to_owned(),
            ));
        }
        let (mut values, mut unnamed) = (Vec::new(), Vec::new());
        let mut seen: HashMap<&str, usize> = HashMap::new();
        for (column, name) in names.iter().enumerate() {
            let name = name.trim();
            if column == time || asked.date == Some(column) || asked.ignored.contains(&column) {
                continue;
            }
            if name.is_empty() {
                unnamed.push(column);
                continue;
            }
            if let Some(other) = seen.insert(name, column) {
                return Err(format_error(
                    file,
                    format!(
                        "columns {} and {} that are both named '{}', where every column is a series",
                        other + 1,
                        column + 1,
                        shorten(name)
                    ),
                ));
            }
            if let Err(why) = check_name(name, options.name_limit()) {
                let found = match why {
                    NameError::TooLong(most) => format!(
                        "the name of column {} with {} bytes, more than {most}",
                        column + 1,
                        name.len()
                    ),
                    _ => format!("the name of column {} with a zero byte", column + 1),
                };
                return Err(format_error(file, found));
            }
            values.push((column, name.to_owned()));
        }
        if values.is_empty() {
            return Err(refuse(
                "--wide",
                format!(
                    "expected columns of values beside the timestamps, found only {}",
                    list(names.iter().map(String::as_str))
                ),
            ));
        }
        Ok(Self {
            time,
            date: asked.date,
            values,
            unnamed,
        })
    }

    /// The columns of a typed table that may have the zones of times, by their positions among its
    /// series.
    #[cfg(feature = "parquet")]
    pub(in crate::io) fn zones(&self, names: &[String], options: &ReadOptions) -> Vec<ZoneColumn> {
        let columns = Columns {
            time: self.time,
            date: None,
            value: self.time,
            series: SeriesKey::File,
            unused: Vec::new(),
        };
        let series = |mut zone: ZoneColumn| {
            let mut values = self.values.iter();
            zone.column = values.position(|(column, _)| *column == zone.column)?;
            Some(zone)
        };
        let zones = columns.zones(names, &[], options).into_iter();
        zones.filter_map(series).collect()
    }

    /// The column of hours beside one of dates; `hours` may be the name of a series.
    pub(in crate::io) fn hours(&self, names: &[String]) -> Option<Hours> {
        let values = self.values.iter().map(|(_, name)| name.as_str());
        let values = values.filter(|name| !name.eq_ignore_ascii_case("hours"));
        Hours::among(&names[self.time], values).filter(|_| self.date.is_none())
    }

    /// The numbers of the series, in the order of [`WideColumns::values`].
    pub(in crate::io) fn numbers(
        &self,
        file: &str,
        shared: &mut Shared,
    ) -> Result<Vec<u32>, IoError> {
        let names = self.values.iter();
        names.map(|(_, name)| shared.number(file, name)).collect()
    }
}
