//! Selects the columns of timestamps, values and series names.

mod named;
mod wide;

use super::notes::Notes;
use super::series_key::SeriesKey;
use super::timestamp::TimestampFormat;
use super::zone_columns::ZoneColumn;
use super::{IoError, ReadOptions, TimeUnit, number};
use named::{NamedColumns, named_twice};
use std::hash::{DefaultHasher, Hasher};
pub(super) use wide::WideColumns;
#[cfg(feature = "parquet")]
pub(super) use wide::{WIDE_EXPECTED, wide_rows};

/// Names of timestamp columns, in lower case, in order of precedence.
const TIMES: [&str; 17] = [
    "utc_timestamp",
    "timestamp_utc",
    "utc_datetime",
    "datetime_utc",
    "utc_time",
    "time_utc",
    "timestamp",
    "time",
    "datetime",
    "date",
    "ts",
    "t",
    "_time",
    "epoch",
    "unixtime",
    "ds",
    "utc",
];
/// Suffixes of [`TIMES`] that state the unit.
const UNITS: [&str; 4] = ["_ns", "_us", "_ms", "_s"];
/// Names of value columns.
const VALUES: [&str; 7] = ["value", "v", "val", "values", "_value", "y", "measurement"];
/// Names of series columns.
const SERIES: [&str; 9] = [
    "series",
    "metric",
    "name",
    "id",
    "sensor",
    "key",
    "series_id",
    "metric_id",
    "unique_id",
];

/// Names of columns with the hours of dates, in lower case.
const HOURS: [&str; 4] = ["hour", "hours", "hh", "hr"];

/// A column with the hours of the dates in the column of times, by its name; nothing reads the
/// hours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Hours {
    /// The names of the columns.
    date: String,
    pub(super) hours: String,
    /// The format of a date and an hour in a text file, whose options join both; `None` if none
    /// does.
    pub(super) joined: Option<String>,
}

impl Hours {
    /// The column with hours among `names` beside the column `date`.
    pub(super) fn among<'n>(date: &str, mut names: impl Iterator<Item = &'n str>) -> Option<Self> {
        let hours = names.find(|name| is_hours(name))?;
        Some(Self {
            date: date.to_owned(),
            hours: hours.to_owned(),
            joined: None,
        })
    }

    /// The error if the times are dates without a time of day.
    pub(super) fn refusal(&self, file: &str) -> IoError {
        let (date, hours) = (super::shorten(&self.date), super::shorten(&self.hours));
        let (option, joined) = match &self.joined {
            Some(format) => (
                "--date-column",
                format!("--date-column {date} --time-column {hours} --time-format '{format}'"),
            ),
            None => ("--time-column", "a column of whole times".to_owned()),
        };
        IoError::Option {
            file: file.to_owned(),
            option,
            reason: format!(
                "expected {joined}, as {date} has dates without a time of day, or --ignore-columns {hours}, found neither"
            ),
        }
    }
}

/// Column indices, from 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Columns {
    pub(super) time: usize,
    /// The dates, if `time` has times of day only.
    pub(super) date: Option<usize>,
    pub(super) value: usize,
    pub(super) series: SeriesKey,
    /// Columns that nothing is read from, unless an option says so: (index, name).
    pub(super) unused: Vec<(usize, String)>,
}

impl Columns {
    /// The column of hours that nothing is read from, beside one of dates.
    pub(super) fn hours(&self, names: &[String]) -> Option<Hours> {
        let unused = self.unused.iter().map(|(_, name)| name.as_str());
        Hours::among(&names[self.time], unused).filter(|_| self.date.is_none())
    }

    /// The columns beside the times that may have their zones, by their names and their cells in
    /// the row `below` them; none if the zone is known.
    pub(super) fn zones(
        &self,
        names: &[String],
        below: &[String],
        options: &ReadOptions,
    ) -> Vec<ZoneColumn> {
        let of_times = names[self.time].to_lowercase();
        if options.zone.is_some() || of_times.contains("utc") || of_times.contains("gmt") {
            return Vec::new();
        }
        let used = [Some(self.time), Some(self.value), self.date];
        let others = names.iter().enumerate();
        let others = others.filter(|(column, _)| !used.contains(&Some(*column)));
        let zone = |(column, name): (usize, &String)| {
            let first = below.get(column).map_or("", String::as_str);
            let is_label = self.series.columns().contains(&column);
            ZoneColumn::of(column, name, first, is_label)
        };
        others.filter_map(zone).collect()
    }

    /// Fails if a column that no option names may hold labels, such as texts.
    #[cfg(feature = "parquet")]
    pub(super) fn reject_labels(
        &self,
        file: &str,
        may_be_label: impl Fn(usize) -> bool,
        is_text: impl Fn(usize) -> bool,
        is_name: impl Fn(usize) -> bool,
    ) -> Result<(), IoError> {
        let unused = self.unused.iter();
        let (columns, names): (Vec<usize>, Vec<&str>) = unused
            .filter(|(column, _)| may_be_label(*column))
            .map(|(column, name)| (*column, name.as_str()))
            .unzip();
        if columns.is_empty() {
            return Ok(());
        }
        let all = columns.iter().zip(&names);
        let (can, cannot): (Vec<_>, Vec<_>) = all.partition(|(column, _)| is_name(**column));
        let names_of = |some: &[(&usize, &&'_ str)]| list(some.iter().map(|(_, name)| **name));
        let are_none = format!(
            "{}, whose type (such as a list or a map) cannot be a label",
            names_of(&cannot)
        );
        if can.is_empty() {
            return Err(IoError::Option {
                file: file.to_owned(),
                option: "--ignore-columns",
                reason: format!("expected {are_none}, found no such option"),
            });
        }
        let are_texts = can.iter().all(|(column, _)| is_text(**column));
        let mut error = unnamed_texts(file, can.iter().map(|(_, name)| **name), are_texts);
        if let (IoError::Option { reason, .. }, false) = (&mut error, cannot.is_empty()) {
            reason.push_str(&format!("; and in --ignore-columns {are_none}"));
        }
        Err(error)
    }

    /// Adds a note about columns that nothing is read from; `is_name` says which of them could name
    /// series.
    pub(super) fn note_unused(
        &self,
        file: &str,
        notes: &mut Notes,
        is_name: impl Fn(usize) -> bool,
    ) {
        let all = list(self.unused.iter().map(|(_, name)| name.as_str()));
        let of_names = self.unused.iter().filter(|(column, _)| is_name(*column));
        let of_names: Vec<&str> = of_names.map(|(_, name)| name.as_str()).collect();
        let remedy = match of_names.len() {
            _ if self.unused.is_empty() => return,
            0 => String::new(),
            count if count == self.unused.len() => {
                "; name those that tell series apart with --series-columns".to_owned()
            }
            _ => format!(
                "; name those of {} that tell series apart with --series-columns",
                list(of_names)
            ),
        };
        notes.add(file, format!("unused columns: {all}{remedy}"));
    }

    /// Describes the columns of a file without a header.
    pub(super) fn without_header(&self) -> String {
        let mut columns = vec![(self.time, "timestamp"), (self.value, "value")];
        columns.extend(self.date.map(|date| (date, "date")));
        let what = match &self.series {
            SeriesKey::Labels(_) => "label",
            SeriesKey::File | SeriesKey::Column(_) => "series",
        };
        columns.extend(self.series.columns().iter().map(|column| (*column, what)));
        columns.sort_unstable();
        let described = columns
            .iter()
            .map(|(position, what)| format!("{} as {what}", position + 1));
        let described: Vec<String> = described.collect();
        format!(
            "no header: columns are used by position, {}",
            described.join(", ")
        )
    }
}

/// Selects columns by the options or by the usual names. `has_numbers` says whether a column has
/// numbers, so that the error of a table without a column of values can say that it may be a wide
/// one.
pub(super) fn by_name(
    file: &str,
    names: &[String],
    options: &ReadOptions,
    notes: &mut Notes,
    has_numbers: impl Fn(usize) -> bool,
) -> Result<Columns, IoError> {
    let plain: Vec<String> = names.iter().map(|n| n.trim().to_lowercase()).collect();
    let asked = NamedColumns::of(file, options, |option, wanted| {
        named(file, names, option, wanted)
    })?;
    let taken = |column: usize| {
        asked.labels.contains(&column)
            || asked.ignored.contains(&column)
            || asked.date == Some(column)
    };
    let find = |known: &[&str]| {
        known
            .iter()
            .find_map(|k| (0..plain.len()).find(|c| plain[*c] == *k && !taken(*c)))
    };
    let time = asked.time.or_else(|| usual_time(&plain, taken));
    let time = time.ok_or_else(|| unknown(file, names, "--time-column", "timestamp or time"))?;
    let free = |column: &usize| *column != time && Some(*column) != asked.value;
    let usual = match options.series_columns.is_empty() {
        true => find(&SERIES).filter(free),
        false => None,
    };
    let series = asked.series(names, usual);
    let rest: Vec<usize> = (0..names.len())
        .filter(|column| *column != time && series != SeriesKey::Column(*column) && !taken(*column))
        .collect();
    let only = || match rest[..] {
        [column] => Some(column),
        _ => None,
    };
    let value = asked
        .value
        .or_else(|| find(&VALUES).filter(|column| rest.contains(column)))
        .or_else(only);
    let is_wide = || {
        let of_series = series.columns();
        of_series.is_empty() && rest.len() > 1 && rest.iter().all(|column| has_numbers(*column))
    };
    let value = value.ok_or_else(|| {
        let mut error = unknown(file, names, "--value-column", "value");
        if let (IoError::Option { reason, .. }, true) = (&mut error, is_wide()) {
            reason.push_str("; as all columns but the timestamps have numbers, it may be a wide table, of which --wide reads every column as a series");
        }
        error
    })?;
    for (option, twice) in [
        (
            "--value-column",
            value == time || series == SeriesKey::Column(value),
        ),
        ("--series-column", series == SeriesKey::Column(time)),
    ] {
        if twice {
            return Err(named_twice(file, option));
        }
    }
    let mut used = vec![(time, "timestamps"), (value, "values")];
    used.extend(series.columns().iter().map(|column| (*column, "names")));
    for (column, what) in used {
        if let Some(other) = (0..names.len()).find(|c| *c != column && plain[*c] == plain[column]) {
            notes.add(
                file,
                format!(
                    "columns {} and {} are both named '{}': using the {what} of column {}",
                    column.min(other) + 1,
                    column.max(other) + 1,
                    super::shorten(&names[column]),
                    column + 1
                ),
            );
        }
    }
    let unused = asked.unused(names, time, value, &series);
    Ok(Columns {
        time,
        date: asked.date,
        value,
        series,
        unused,
    })
}

/// Whether a column of times often has this name, perhaps with a unit.
#[must_use]
pub fn is_usual_time(name: &str) -> bool {
    usual_time(&[name.trim().to_lowercase()], |_| false).is_some()
}

/// Whether a column of values often has this name.
#[must_use]
pub fn is_usual_value(name: &str) -> bool {
    VALUES.contains(&name.trim().to_lowercase().as_str())
}

/// Whether this is the name of a column with the hours of dates.
#[must_use]
pub fn is_hours(name: &str) -> bool {
    HOURS.contains(&name.trim().to_lowercase().as_str())
}

/// The timestamp column among `plain` names, in lower case, by its name.
fn usual_time(plain: &[String], taken: impl Fn(usize) -> bool) -> Option<usize> {
    let named = TIMES
        .iter()
        .find_map(|known| (0..plain.len()).find(|c| plain[*c] == *known && !taken(*c)));
    let with_unit = || {
        plain.iter().position(|name| {
            let bare = UNITS.iter().find_map(|unit| name.strip_suffix(unit));
            bare.is_some_and(|bare| TIMES.contains(&bare))
        })
    };
    named.or_else(|| with_unit().filter(|column| !taken(*column)))
}

/// Texts that stand for a missing number, in lower case.
const MISSING: [&str; 15] = [
    "-", "--", "---", ".", "?", "na", "n/a", "#n/a", "#na", "<na>", "null", "(null)", "none",
    "nil", "\\n",
];

/// Whether a field without blanks around it stands for a missing number: empty, or `NA`, `null`,
/// `-`.
pub(super) fn is_missing(field: &[u8]) -> bool {
    field.is_empty() || stands_for_missing(field)
}

fn stands_for_missing(field: &[u8]) -> bool {
    let mut missing = MISSING.iter();
    missing.any(|text| field.eq_ignore_ascii_case(text.as_bytes()))
}

/// What a field of a column is that nothing is read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UnusedField {
    Text,
    /// A date or a time in ISO 8601, with a number that differs between such texts.
    Date(u64),
    /// A number, empty, or what stands for a missing number.
    Other,
}

impl UnusedField {
    pub(super) fn of(field: &[u8]) -> Self {
        // Most fields are digits with a point, and every row has such fields.
        if field.iter().all(u8::is_ascii_digit) {
            return Self::Other;
        }
        let field = field.trim_ascii();
        if number::value(field).is_some() || is_missing(field) {
            return Self::Other;
        }
        match TimestampFormat::of_first(field, TimeUnit::Auto) {
            Some(TimestampFormat::Epoch { .. }) => Self::Other,
            Some(_) => {
                let time = TimestampFormat::Iso.read(field).map(i64::cast_unsigned);
                Self::Date(time.unwrap_or_else(|_| {
                    let mut hasher = DefaultHasher::new();
                    hasher.write(field);
                    hasher.finish()
                }))
            }
            None => Self::Text,
        }
    }
}

/// The error of texts in columns that no option names: they may tell series apart, whose points
/// would be mixed.
pub(super) fn unnamed_texts<'n>(
    file: &str,
    names: impl IntoIterator<Item = &'n str>,
    are_texts: bool,
) -> IoError {
    let names: Vec<&str> = names.into_iter().collect();
    let columns = match (&names[..], are_texts) {
        ([_], true) => "text column",
        ([_], false) => "column",
        (_, true) => "text columns",
        (_, false) => "columns",
    };
    IoError::Option {
        file: file.to_owned(),
        option: "--series-columns",
        reason: format!(
            "expected the {columns} {} here if a series is a combination of labels, or in --ignore-columns, found neither",
            list(names)
        ),
    }
}

/// The error of columns of dates that tell series apart, as `UnusedDates` finds them.
pub(super) fn overlapping_dates<'n>(
    file: &str,
    names: impl IntoIterator<Item = &'n str>,
) -> IoError {
    let names: Vec<&str> = names.into_iter().collect();
    let (whose, within) = match names.len() {
        1 => ("its dates", "it"),
        _ => ("their dates", "them"),
    };
    let names = list(names);
    IoError::Option {
        file: file.to_owned(),
        option: "--series-columns",
        reason: format!(
            "expected {names} here, to make a series of each of {whose}, or in --ignore-columns, as points of different dates in {within} lie side by side in time, found neither"
        ),
    }
}

/// The index of the column `wanted`.
fn named(
    file: &str,
    names: &[String],
    option: &'static str,
    wanted: &str,
) -> Result<usize, IoError> {
    let exact = names.iter().position(|name| name.trim() == wanted.trim());
    exact.ok_or_else(|| IoError::Option {
        file: file.to_owned(),
        option,
        reason: format!(
            "expected one of the columns {}, found '{}'",
            list(names.iter().map(String::as_str)),
            super::shorten(wanted)
        ),
    })
}

fn unknown(file: &str, names: &[String], option: &'static str, usual: &str) -> IoError {
    IoError::Option {
        file: file.to_owned(),
        option,
        reason: if names.is_empty() {
            "expected the name of a column, found a file without columns".to_owned()
        } else {
            format!(
                "expected the name of one of the columns {}, as none has a usual name such as {usual}",
                list(names.iter().map(String::as_str))
            )
        },
    }
}

/// Selects the columns of a file without a header by number: timestamp, value; or series,
/// timestamp, value; or as numbered from 1 by the options.
pub(super) fn by_number(
    file: &str,
    count: usize,
    options: &ReadOptions,
) -> Result<Option<Columns>, IoError> {
    let asked = NamedColumns::of(file, options, |option, text| {
        let number: Option<usize> = text.trim().parse().ok();
        let number = number.filter(|n| (1..=count).contains(n));
        number.map(|n| n - 1).ok_or_else(|| IoError::Option {
            file: file.to_owned(),
            option,
            reason: format!(
                "expected the number of a column, 1 to {count}, as the first line is no header; found '{}'",
                super::shorten(text)
            ),
        })
    })?;
    let names = numbers(count);
    let any = asked.series.is_some() || !asked.labels.is_empty() || !asked.ignored.is_empty();
    let (time, value, usual) = match (count, asked.time, asked.value) {
        (2, None, None) if !any => (0, 1, None),
        (3, None, None) if !any => (1, 2, Some(0)),
        (_, Some(time), Some(value)) => (time, value, None),
        _ => return Ok(None),
    };
    let series = asked.series(&names, usual);
    let unused = asked.unused(&names, time, value, &series);
    Ok(Some(Columns {
        time,
        date: asked.date,
        value,
        series,
        unused,
    }))
}

/// The numbers of columns, from 1, which name those of a file without a header.
pub(super) fn numbers(count: usize) -> Vec<String> {
    (1..=count).map(|number| number.to_string()).collect()
}

/// Up to eight names, separated by commas.
pub(super) fn list<'n>(names: impl IntoIterator<Item = &'n str>) -> String {
    let shown = |name: &'n str| match name.trim() {
        "" => "an unnamed column".to_owned(),
        name => super::shorten(name),
    };
    let names: Vec<String> = names.into_iter().take(9).map(shown).collect();
    let more = if names.len() > 8 { ", …" } else { "" };
    format!("{}{more}", names[..names.len().min(8)].join(", "))
}

/// The unit stated by the name of a timestamp column: by the ending of any name if an option names
/// the column (`elapsed_ms`), else of a usual one.
pub(super) fn unit_of(name: &str, is_asked: bool) -> TimeUnit {
    let name = name.trim().to_lowercase();
    let units = [
        TimeUnit::Nanoseconds,
        TimeUnit::Microseconds,
        TimeUnit::Milliseconds,
        TimeUnit::Seconds,
    ];
    UNITS
        .iter()
        .zip(units)
        .find(|(ending, _)| {
            name.strip_suffix(*ending)
                .is_some_and(|bare| is_asked || TIMES.contains(&bare))
        })
        .map_or(TimeUnit::Auto, |(_, unit)| unit)
}

#[cfg(test)]
mod tests;
