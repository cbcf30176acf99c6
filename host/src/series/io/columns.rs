//! Selects the columns of timestamps, values and series names.

use super::notes::Notes;
use super::{IoError, ReadOptions};

/// Names of timestamp columns, in lower case, in order of precedence.
const TIMES: [&str; 10] = [
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

/// Column indices, from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Columns {
    pub(super) time: usize,
    pub(super) value: usize,
    /// `None`: the file is one series.
    pub(super) series: Option<usize>,
}

impl Columns {
    /// Describes the columns of a file without a header.
    pub(super) fn without_header(self) -> String {
        let mut columns = vec![(self.time, "timestamp"), (self.value, "value")];
        columns.extend(self.series.map(|position| (position, "series")));
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

/// Selects columns by the options or by the usual names; adds a note about unused columns.
pub(super) fn by_name(
    file: &str,
    names: &[String],
    options: &ReadOptions,
    notes: &mut Notes,
) -> Result<Columns, IoError> {
    let plain: Vec<String> = names.iter().map(|n| n.trim().to_lowercase()).collect();
    let find = |known: &[&str]| known.iter().find_map(|k| plain.iter().position(|n| n == k));
    let find_named = |option: &'static str, wanted: &Option<String>| match wanted {
        None => Ok(None),
        Some(wanted) => named(file, names, option, wanted).map(Some),
    };
    let asked_value = find_named("--value-column", &options.value_column)?;
    let asked_time = find_named("--time-column", &options.time_column)?;
    let asked_series = find_named("--series-column", &options.series_column)?;
    let with_unit = || {
        plain.iter().position(|name| {
            let bare = UNITS.iter().find_map(|unit| name.strip_suffix(unit));
            bare.is_some_and(|bare| TIMES.contains(&bare))
        })
    };
    let time = asked_time.or_else(|| find(&TIMES)).or_else(with_unit);
    let time = time.ok_or_else(|| unknown(file, names, "--time-column", "timestamp or time"))?;
    let free = |column: &usize| *column != time && Some(*column) != asked_value;
    let series = asked_series.or_else(|| find(&SERIES).filter(free));
    let rest: Vec<usize> = (0..names.len())
        .filter(|column| *column != time && Some(*column) != series)
        .collect();
    let only = || match rest[..] {
        [column] => Some(column),
        _ => None,
    };
    let free = |column: &usize| *column != time && Some(*column) != series;
    let value = asked_value
        .or_else(|| find(&VALUES).filter(free))
        .or_else(only);
    let value = value.ok_or_else(|| unknown(file, names, "--value-column", "value"))?;
    for (option, twice) in [
        ("--value-column", value == time || Some(value) == series),
        ("--series-column", series == Some(time)),
    ] {
        if twice {
            return Err(IoError::Option {
                file: file.to_owned(),
                option,
                reason: "expected a column of its own, found one that another option names"
                    .to_owned(),
            });
        }
    }
    for (column, what) in [
        (Some(time), "timestamps"),
        (Some(value), "values"),
        (series, "names"),
    ] {
        if let Some(column) = column
            && let Some(other) =
                (0..names.len()).find(|c| *c != column && plain[*c] == plain[column])
        {
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
    let unused: Vec<&str> = rest
        .iter()
        .filter(|column| **column != value)
        .map(|column| names[*column].as_str())
        .collect();
    if !unused.is_empty() {
        notes.add(file, format!("unused columns: {}", list(unused)));
    }
    Ok(Columns {
        time,
        value,
        series,
    })
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
    let find_named = |option: &'static str, wanted: &Option<String>| match wanted {
        None => Ok(None),
        Some(text) => {
            let number: Option<usize> = text.trim().parse().ok();
            let number = number.filter(|n| (1..=count).contains(n));
            number.map(|n| Some(n - 1)).ok_or_else(|| IoError::Option {
                file: file.to_owned(),
                option,
                reason: format!(
                    "expected the number of a column, 1 to {count}, as the first line is no header; found '{}'",
                    super::shorten(text)
                ),
            })
        }
    };
    let time = find_named("--time-column", &options.time_column)?;
    let value = find_named("--value-column", &options.value_column)?;
    let series = find_named("--series-column", &options.series_column)?;
    Ok(match (count, time, value, series) {
        (2, None, None, None) => Some(Columns {
            time: 0,
            value: 1,
            series: None,
        }),
        (3, None, None, None) => Some(Columns {
            time: 1,
            value: 2,
            series: Some(0),
        }),
        (_, Some(time), Some(value), series)
            if time != value && series != Some(time) && series != Some(value) =>
        {
            Some(Columns {
                time,
                value,
                series,
            })
        }
        _ => None,
    })
}

/// Up to eight names, separated by commas.
fn list<'n>(names: impl IntoIterator<Item = &'n str>) -> String {
    let shown = |name: &'n str| match name.trim() {
        "" => "an unnamed column".to_owned(),
        name => super::shorten(name),
    };
    let names: Vec<String> = names.into_iter().take(9).map(shown).collect();
    let more = if names.len() > 8 { ", …" } else { "" };
    format!("{}{more}", names[..names.len().min(8)].join(", "))
}

/// The unit stated by the name of a timestamp column.
pub(super) fn unit_of(name: &str) -> super::TimeUnit {
    use super::TimeUnit;
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
                .is_some_and(|bare| TIMES.contains(&bare))
        })
        .map_or(TimeUnit::Auto, |(_, unit)| unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(header: &str, options: &ReadOptions) -> Result<Columns, String> {
        let names: Vec<String> = header.split(',').map(str::to_owned).collect();
        by_name("a.csv", &names, options, &mut Notes::default()).map_err(|e| e.to_string())
    }

    #[test]
    fn usual_names_are_recognized() {
        for (header, expected) in [
            ("timestamp,value", (0, 1, None)),
            ("Series,Timestamp,Value", (1, 2, Some(0))),
            ("time,temperature", (0, 1, None)),
            ("metric,ts,reading", (1, 2, Some(0))),
            ("value, time ,name", (1, 0, Some(2))),
            (
                "series,granularity_s,aggregate,timestamp_ns,value",
                (3, 4, Some(0)),
            ),
            ("t,v", (0, 1, None)),
        ] {
            let columns = chosen(header, &ReadOptions::default()).unwrap();
            assert_eq!(
                (columns.time, columns.value, columns.series),
                expected,
                "{header}"
            );
        }
        assert_eq!(unit_of("timestamp_ns"), super::super::TimeUnit::Nanoseconds);
        assert_eq!(unit_of("timestamp"), super::super::TimeUnit::Auto);
    }

    #[test]
    fn options_take_precedence() {
        let options = ReadOptions {
            time_column: Some("when".into()),
            value_column: Some("id".into()),
            ..ReadOptions::default()
        };
        let columns = chosen("time,when,id,value", &options).unwrap();
        assert_eq!((columns.time, columns.value, columns.series), (1, 2, None));
    }

    #[test]
    fn repeated_names_are_noted() {
        let names = ["time", "value", "Value", "value"].map(str::to_owned);
        let mut notes = Notes::default();
        let columns = by_name("a.csv", &names, &ReadOptions::default(), &mut notes).unwrap();
        assert_eq!(columns.value, 1);
        let described = notes.sentences().join("\n");
        assert!(
            described.contains("columns 2 and 3 are both named 'value'")
                && described.contains("using the values of column 2"),
            "{described}"
        );
        let of_two = Columns {
            time: 0,
            value: 2,
            series: Some(1),
        };
        assert!(
            of_two
                .without_header()
                .ends_with("1 as timestamp, 2 as series, 3 as value")
        );
    }

    #[test]
    fn undetermined_columns_are_reported() {
        let none = ReadOptions::default();
        let error = chosen("when,temperature", &none).unwrap_err();
        assert!(
            error.contains("when, temperature") && error.contains("time-column"),
            "{error}"
        );
        let error = chosen("time,a,b", &none).unwrap_err();
        assert!(error.contains("value-column"), "{error}");
        let options = ReadOptions {
            series_column: Some("host".into()),
            ..ReadOptions::default()
        };
        let error = chosen("time,value", &options).unwrap_err();
        assert!(
            error.contains("'host'") && error.contains("time, value"),
            "{error}"
        );
        let options = ReadOptions {
            value_column: Some("time".into()),
            ..ReadOptions::default()
        };
        assert!(chosen("time,value", &options).is_err());
    }

    #[test]
    fn columns_without_a_header_are_numbered() {
        let none = ReadOptions::default();
        assert_eq!(by_number("a", 4, &none).unwrap(), None);
        assert_eq!(by_number("a", 3, &none).unwrap().unwrap().series, Some(0));
        let options = ReadOptions {
            time_column: Some("4".into()),
            value_column: Some("1".into()),
            ..ReadOptions::default()
        };
        assert_eq!(by_number("a", 4, &options).unwrap().unwrap().time, 3);
        assert!(by_number("a", 3, &options).is_err());
    }
}
