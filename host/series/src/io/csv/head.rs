//! Reads the first line: the delimiter, the header if present, and the columns.

mod first_rows;
pub(super) mod heading;

use super::fields::{Fields, has_text_after_quote, trimmed};
use super::preamble::{self, Annotations, Preamble, commented};
use super::records::{Quoting, record};
use crate::io::columns::{self, Columns, Hours, WideColumns};
use crate::io::notes::Notes;
use crate::io::series_key::SeriesKey;
use crate::io::timestamp::TimestampFormat;
use crate::io::zone_columns::ZoneColumn;
use crate::io::{IoError, ReadOptions, TimeFormat, TimeUnit, format_error, number, shorten};
use first_rows::{FirstRows, empty_at_end};

/// Properties of a file, determined from its first line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) delimiter: u8,
    /// Fields per row.
    pub(super) fields: usize,
    pub(super) columns: Columns,
    /// The columns of a wide table, in which `columns` has the timestamps only.
    pub(super) wide: Option<WideColumns>,
    /// Unit of numeric timestamps: from the options, or stated by the column's name.
    pub(super) unit: TimeUnit,
    /// Whether it is Prometheus' text format, which has neither columns nor a header.
    pub(super) exposition: bool,
    /// Whether lines that begin with # are comments, as above the header.
    pub(super) comments: bool,
    /// The names in the first line; none without a header.
    pub(super) names: Vec<String>,
    /// Whether the header is written as a comment.
    pub(super) is_commented: bool,
    /// Number of empty fields after those of the header in each row.
    pub(super) trailing: usize,
    /// The header of `InfluxDB`'s annotated CSV, which precedes each of its tables.
    pub(super) repeated: Option<Vec<u8>>,
    /// Hours that nothing is read from.
    pub(super) hours: Option<Hours>,
    /// Columns that may have the zones of times without an offset.
    pub(super) zones: Vec<ZoneColumn>,
    /// What `InfluxDB`'s annotated CSV has in the place of an empty field, for each column.
    pub(super) defaults: Vec<Vec<u8>>,
    /// Number of bytes before the first row.
    pub(super) bytes: usize,
    /// Number of lines before the first row.
    pub(super) lines: u64,
}

impl Head {
    /// The same with a unit of timestamps that no option states.
    pub(super) fn with_unit(self, unit: TimeUnit) -> Self {
        match self.unit {
            TimeUnit::Auto => Self { unit, ..self },
            _ => self,
        }
    }
}

/// Examines the start of a text; `last` if it is the whole text.
pub(super) fn read(
    file: &str,
    text: &[u8],
    last: bool,
    most: usize,
    options: &ReadOptions,
    notes: &mut Notes,
) -> Result<Head, IoError> {
    binary(file, text)?;
    let Preamble {
        bytes: at,
        lines,
        delimiter,
        comments,
    } = Preamble::of(file, text)?;
    let line = text[at..].split(|b| *b == b'\n').next().unwrap_or_default();
    if let [b'{', ..] | [b'[', b'{', ..] = line {
        return Err(format_error(file, "JSON; write the rows as CSV or Parquet"));
    }
    if line.trim_ascii_end().contains(&b'\r') {
        let what = "lines that end with CR alone; write line ends of LF or CR LF";
        return Err(format_error(file, what));
    }
    let Some(delimiter) = delimiter.or_else(|| delimiter_of(line)) else {
        return Err(format_error(
            file,
            format!(
                "a first line without comma, semicolon, tab or vertical bar between its fields (lines before the header begin with #): '{}'",
                shorten(&String::from_utf8_lossy(&line[..line.len().min(400)]))
            ),
        ));
    };
    let found = record(text, at, delimiter, most, last);
    let Some(found) = found.filter(|r| r.quoting != Quoting::Open && r.end - at <= most) else {
        return Err(format_error(
            file,
            "a first line with an unclosed quote or too many bytes",
        ));
    };
    if has_text_after_quote(&text[at..found.end], delimiter) {
        return Err(format_error(
            file,
            "a first line with text after a closing quote",
        ));
    }
    let mut splitter = Fields::new(delimiter);
    let mut names = texts(&mut splitter, &text[at..found.end], found.quoting);
    // A header that is written as a comment.
    let mut end = found.end;
    let mut is_commented = false;
    if names.iter().any(|name| is_value(name))
        && let Some(header) = comments
            .last()
            .and_then(|line| commented(line, &mut splitter))
        && header.len() == names.len()
    {
        names = header;
        end = at;
        is_commented = true;
    }
    let annotations = Annotations::of(&comments, &mut splitter);
    let repeated = annotations
        .as_ref()
        .map(|_| trimmed(&text[at..end]).to_vec());
    let defaults = match annotations {
        Some(_) => preamble::defaults(&comments, &mut splitter),
        None => Vec::new(),
    };
    let adapted = annotations.map(|annotations| annotations.options(&names, options));
    let options = adapted.as_ref().unwrap_or(options);
    let has_comments = !comments.is_empty();
    let lines_of_header = || lines + memchr::memchr_iter(b'\n', &text[at..end]).count() as u64;
    // The row below the header.
    let below = record(text, end, delimiter, most, last);
    let below: Vec<String> = match below.filter(|r| r.quoting != Quoting::Open) {
        Some(row) => texts(&mut splitter, &text[end..row.end], row.quoting),
        None => Vec::new(),
    };
    let trailing = match names.iter().any(|name| is_value(name)) {
        true => 0,
        false => empty_at_end(file, &mut names, &below, notes),
    };
    let first = FirstRows {
        names: &names,
        below: &below,
    };
    let is_asked = options.time_column.is_some();
    if options.wide {
        let dated = first.dated(options);
        let options = dated.as_ref().unwrap_or(options);
        let (wide, has_header) = wide_columns(file, &names, options, notes)?;
        let hours = wide.hours(&names).filter(|_| has_header);
        let hours = first.hours(file, hours, wide.time, options)?;
        let may_be = |column: usize| {
            let mut values = wide.values.iter().map(|(value, _)| *value);
            wide.date.is_none() && (column == wide.time || values.any(|one| one == column))
        };
        if has_header && let Some(why) = first.undated(file, Some(wide.time), may_be) {
            return Err(why);
        }
        let columns = Columns {
            time: wide.time,
            date: wide.date,
            value: wide.time,
            series: SeriesKey::File,
            unused: Vec::new(),
        };
        return Ok(Head {
            delimiter,
            fields: names.len(),
            zones: columns.zones(&names, &below, options),
            columns,
            unit: match (options.unit(), has_header) {
                (TimeUnit::Auto, true) => columns::unit_of(&names[wide.time], is_asked),
                (stated, _) => stated,
            },
            wide: Some(wide),
            exposition: false,
            comments: has_comments,
            names: if has_header {
                names.clone()
            } else {
                Vec::new()
            },
            is_commented,
            trailing,
            repeated,
            hours,
            defaults,
            bytes: if has_header { end } else { at },
            lines: if has_header { lines_of_header() } else { lines },
        });
    }
    let plain = columns::by_number(file, names.len(), options);
    if let Ok(Some(columns)) = &plain
        && is_row(&names, columns, options)
    {
        if is_time_first(&names, columns, options) {
            return Err(format_error(
                file,
                format!(
                    "a first line, '{}', whose first field is a time, where a file of three columns without a header has series, timestamp, value; write numbers with a decimal point, or give --time-column and --value-column by number, from 1",
                    shorten(&names.join(", "))
                ),
            ));
        }
        notes.add(file, columns.without_header());
        return Ok(Head {
            delimiter,
            fields: names.len(),
            columns: columns.clone(),
            wide: None,
            exposition: false,
            comments: has_comments,
            names: Vec::new(),
            is_commented: false,
            trailing: 0,
            repeated,
            hours: None,
            zones: columns.zones(&columns::numbers(names.len()), &names, options),
            defaults,
            unit: options.unit(),
            bytes: at,
            lines,
        });
    }
    // Numbers are not column names: such a first line is a row, but its columns are unknown.
    if names.iter().any(|name| is_value(name)) {
        plain?;
        return Err(format_error(
            file,
            format!(
                "a first line, '{}', that is neither a header nor a row of timestamp, value or series, timestamp, value; give the columns by number, from 1",
                shorten(&names.join(", "))
            ),
        ));
    }
    let dated = first.dated(options);
    let options = dated.as_ref().unwrap_or(options);
    let has_numbers = |column: usize| {
        let text = below.get(column);
        text.is_some_and(|text| columns::is_missing(text.as_bytes()) || is_number(text, options))
    };
    let is_unused = |column: usize| {
        let used = options
            .series_columns
            .iter()
            .chain(&options.ignored_columns);
        let mut used = used
            .chain(&options.series_column)
            .chain(&options.value_column);
        options.date_column.is_none() && used.all(|name| *name != names[column])
    };
    let columns = match columns::by_name(file, &names, options, notes, has_numbers) {
        Err(_) if !is_asked && let Some(why) = first.undated(file, None, is_unused) => {
            return Err(why);
        }
        found => found?,
    };
    let hours = columns.hours(&names);
    let hours = first.hours(file, hours, columns.time, options)?;
    let may_be = |column: usize| {
        let mut unused = columns.unused.iter().map(|(unused, _)| *unused);
        columns.date.is_none() && (column == columns.time || unused.any(|one| one == column))
    };
    if let Some(why) = first.undated(file, Some(columns.time), may_be) {
        return Err(why);
    }
    columns.note_unused(file, notes, |_| true);
    let unit = match options.unit() {
        TimeUnit::Auto => columns::unit_of(&names[columns.time], is_asked),
        stated => stated,
    };
    Ok(Head {
        delimiter,
        fields: names.len(),
        zones: columns.zones(&names, &below, options),
        columns,
        wide: None,
        exposition: false,
        comments: has_comments,
        names,
        is_commented,
        trailing,
        repeated,
        hours,
        defaults,
        unit,
        bytes: end,
        lines: lines_of_header(),
    })
}

/// The fields of a record as texts.
fn texts(splitter: &mut Fields, row: &[u8], quoting: Quoting) -> Vec<String> {
    let fields = splitter.all(row, quoting);
    let text = |field: &&[u8]| String::from_utf8_lossy(field.trim_ascii()).into_owned();
    fields.iter().map(text).collect()
}

/// The columns of a wide table with this first line, and whether that is a header.
fn wide_columns(
    file: &str,
    fields: &[String],
    options: &ReadOptions,
    notes: &mut Notes,
) -> Result<(WideColumns, bool), IoError> {
    let time = WideColumns::numbered_time(options, fields.len());
    let date = options.date_column.as_ref();
    let date = date.and_then(|text| fields.get(text.trim().parse::<usize>().ok()?.checked_sub(1)?));
    let is_time = |column: usize| {
        let clock = &fields[column];
        let text = date.map_or_else(|| clock.clone(), |date| format!("{date} {clock}"));
        let found = options.format_of_first(text.as_bytes());
        found.is_some_and(|time_format| time_format.read(text.as_bytes()).is_ok())
    };
    let is_number =
        |text: &String| columns::is_missing(text.as_bytes()) || is_number(text, options);
    if let Some(time) = time
        && is_time(time)
        && let Ok(wide) = WideColumns::by_number(file, fields.len(), options)
        && wide
            .values
            .iter()
            .all(|(column, _)| is_number(&fields[*column]))
    {
        notes.add(
            file,
            format!(
                "no header: column {} is used for timestamps, and the series are named by the numbers of their columns",
                time + 1
            ),
        );
        return Ok((wide, false));
    }
    Ok((WideColumns::by_name(file, fields, options, notes)?, true))
}

fn is_number(text: &str, options: &ReadOptions) -> bool {
    match options.decimal_comma {
        false => number::value(text.as_bytes()).is_some(),
        true => number::value_with_comma(text.as_bytes()).is_some(),
    }
}

fn is_value(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit() || c == '-' || c == '.')
        && number::value(text.as_bytes()).is_some()
}

fn is_row(fields: &[String], columns: &Columns, options: &ReadOptions) -> bool {
    let field = |column: usize| fields.get(column).map_or("", String::as_str);
    let clock = field(columns.time);
    let time = match columns.date {
        Some(date) => options.format_of_first(format!("{} {clock}", field(date)).as_bytes()),
        None => options.format_of_first(clock.as_bytes()),
    };
    time.is_some() && is_number(field(columns.value), options)
}

/// Whether the column of series names, chosen by its position, holds a time, and that of timestamps
/// does not: then a decimal comma may have divided a number.
fn is_time_first(fields: &[String], columns: &Columns, options: &ReadOptions) -> bool {
    let is_time = |column: usize| {
        let text = fields.get(column).map_or("", String::as_str).as_bytes();
        let found = TimestampFormat::of_first(text, TimeUnit::Auto);
        found.is_some_and(|time_format| time_format.read(text).is_ok())
    };
    let series = columns.series.columns().first();
    options.time_column.is_none()
        && series.is_some_and(|series| is_time(*series) && !is_time(columns.time))
}

/// The properties of Prometheus' text format.
pub(super) fn exposition(file: &str, text: &[u8], options: &ReadOptions) -> Result<Head, IoError> {
    binary(file, text)?;
    let refuse = |option, expected: &str| {
        Err(IoError::Option {
            file: file.to_owned(),
            option,
            reason: format!(
                "expected {expected} with Prometheus' text format, whose lines name series and values themselves, found it"
            ),
        })
    };
    for (option, given) in [
        ("--time-column", options.time_column.is_some()),
        ("--date-column", options.date_column.is_some()),
        ("--value-column", options.value_column.is_some()),
        ("--series-column", options.series_column.is_some()),
        ("--series-columns", !options.series_columns.is_empty()),
        ("--ignore-columns", !options.ignored_columns.is_empty()),
        ("--wide", options.wide),
        ("--decimal-comma", options.decimal_comma),
    ] {
        if given {
            return refuse(option, "no such option");
        }
    }
    if !matches!(options.time_format, TimeFormat::Auto | TimeFormat::Unix(_)) {
        return refuse("--time-format", "unix, unix-ms, unix-us or unix-ns");
    }
    Ok(Head {
        delimiter: b',',
        fields: 0,
        columns: Columns {
            time: 0,
            date: None,
            value: 0,
            series: SeriesKey::Column(0),
            unused: Vec::new(),
        },
        wide: None,
        exposition: true,
        comments: true,
        names: Vec::new(),
        is_commented: false,
        trailing: 0,
        repeated: None,
        hours: None,
        zones: Vec::new(),
        defaults: Vec::new(),
        unit: options.unit(),
        bytes: 0,
        lines: 0,
    })
}

/// Rejects binary data.
fn binary(file: &str, text: &[u8]) -> Result<(), IoError> {
    let start = &text[..text.len().min(1 << 16)];
    if let Some(at) = memchr::memchr(0, start) {
        return Err(format_error(file, format!("binary data (byte {at} is 0)")));
    }
    let odd = start
        .iter()
        .filter(|b| !b.is_ascii() || (b.is_ascii_control() && !b.is_ascii_whitespace()))
        .count();
    // Names may be in any script; the last letter may be cut off.
    let begin = std::str::from_utf8(&start[..start.len().min(64)]);
    if odd > start.len() / 2 + 256 && begin.is_err_and(|e| e.error_len().is_some()) {
        return Err(format_error(file, "binary data"));
    }
    Ok(())
}

/// The most frequent of comma, semicolon and tab outside quotes; a vertical bar if there is none.
pub(super) fn delimiter_of(line: &[u8]) -> Option<u8> {
    let mut counts = [0_usize; 3];
    let mut bar = None;
    let mut quoted = false;
    for byte in line {
        match byte {
            b'"' => quoted = !quoted,
            b',' if !quoted => counts[0] += 1,
            b';' if !quoted => counts[1] += 1,
            b'\t' if !quoted => counts[2] += 1,
            b'|' if !quoted => bar = Some(b'|'),
            _ => {}
        }
    }
    let Some(most) = counts.into_iter().max().filter(|count| *count > 0) else {
        return bar;
    };
    let position = counts.iter().position(|count| *count == most)?;
    Some(b",;\t"[position])
}
