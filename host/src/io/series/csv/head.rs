//! The first line: the delimiter, the header if there is one, and the columns.

use super::fields::Fields;
use super::records::{Form, record};
use crate::io::series::columns::{self, Columns};
use crate::io::series::notes::Notes;
use crate::io::series::timestamp::Clock;
use crate::io::series::{IoError, ReadOptions, TimeUnit, no_series, number, shorten};

/// What is known of a file before its rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) delimiter: u8,
    /// Fields of a row.
    pub(super) fields: usize,
    pub(super) columns: Columns,
    /// Unit of numbers: the options', or what the column's name says.
    pub(super) unit: TimeUnit,
    /// Bytes before the first row.
    pub(super) bytes: usize,
    /// Lines before the first row.
    pub(super) lines: u64,
}

/// Looks at the start of a text; `last`: it is all of it.
pub(super) fn read(
    file: &str,
    text: &[u8],
    last: bool,
    most: usize,
    options: &ReadOptions,
    notes: &mut Notes,
) -> Result<Head, IoError> {
    binary(file, text)?;
    let bom = b"\xef\xbb\xbf";
    let mut at = if text.starts_with(bom) { bom.len() } else { 0 };
    let mut lines = 0;
    loop {
        let line = text[at..].split_inclusive(|b| *b == b'\n').next();
        match line {
            None => return Err(no_series(file, "it is empty")),
            Some(line) if line.trim_ascii().is_empty() => {
                at += line.len();
                lines += 1;
            }
            Some(_) => break,
        }
    }
    let line = text[at..].split(|b| *b == b'\n').next().unwrap_or_default();
    let Some(delimiter) = delimiter_of(line) else {
        return Err(no_series(
            file,
            format!(
                "its first line, '{}', has no comma, semicolon or tab",
                shorten(&String::from_utf8_lossy(&line[..line.len().min(400)]))
            ),
        ));
    };
    let found = record(text, at, delimiter, most, last);
    let Some(found) = found.filter(|r| r.form != Form::Open && r.end - at <= most) else {
        return Err(no_series(
            file,
            "its first line has a quote that is not closed, or is too long",
        ));
    };
    let mut splitter = Fields::new(delimiter);
    let names: Vec<String> = splitter
        .all(&text[at..found.end], found.form)
        .iter()
        .map(|field| String::from_utf8_lossy(field.trim_ascii()).into_owned())
        .collect();
    let plain = columns::by_number(file, names.len(), options);
    if let Ok(Some(columns)) = plain
        && is_row(&names, columns, options)
    {
        notes.add(file, columns.without_header());
        return Ok(Head {
            delimiter,
            fields: names.len(),
            columns,
            unit: options.time_unit,
            bytes: at,
            lines,
        });
    }
    // Numbers cannot be names: a first line of such is a row, but of which columns?
    if names.iter().any(|name| is_value(name)) {
        plain?;
        return Err(no_series(
            file,
            format!(
                "its first line, '{}', is no header, and no row of timestamp, value or of series, timestamp, value; say which columns are which by their numbers from 1",
                shorten(&names.join(", "))
            ),
        ));
    }
    let columns = columns::by_name(file, &names, options, notes)?;
    let unit = match options.time_unit {
        TimeUnit::Auto => columns::unit_of(&names[columns.time]),
        stated => stated,
    };
    Ok(Head {
        delimiter,
        fields: names.len(),
        columns,
        unit,
        bytes: found.end,
        lines: lines + memchr::memchr_iter(b'\n', &text[at..found.end]).count() as u64,
    })
}

fn is_value(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit() || c == '-' || c == '.')
        && number::value(text.as_bytes()).is_some()
}

fn is_row(fields: &[String], columns: Columns, options: &ReadOptions) -> bool {
    let field = |column: usize| fields.get(column).map_or("", String::as_str);
    let time = Clock::of_first(field(columns.time).as_bytes(), options.time_unit);
    time.is_some() && number::value(field(columns.value).as_bytes()).is_some()
}

/// Refuses bytes that no text has.
fn binary(file: &str, text: &[u8]) -> Result<(), IoError> {
    let start = &text[..text.len().min(1 << 16)];
    if let Some(at) = memchr::memchr(0, start) {
        return Err(no_series(file, format!("it is binary (byte {at} is 0)")));
    }
    let odd = start
        .iter()
        .filter(|b| !b.is_ascii() || (b.is_ascii_control() && !b.is_ascii_whitespace()))
        .count();
    // Names may be of any script; a letter may be cut at the end.
    let begin = std::str::from_utf8(&start[..start.len().min(64)]);
    if odd > start.len() / 2 + 256 && begin.is_err_and(|e| e.error_len().is_some()) {
        return Err(no_series(file, "it is binary"));
    }
    Ok(())
}

/// The most frequent of comma, semicolon and tab outside quotes.
fn delimiter_of(line: &[u8]) -> Option<u8> {
    let mut counts = [0_usize; 3];
    let mut quoted = false;
    for byte in line {
        match byte {
            b'"' => quoted = !quoted,
            b',' if !quoted => counts[0] += 1,
            b';' if !quoted => counts[1] += 1,
            b'\t' if !quoted => counts[2] += 1,
            _ => {}
        }
    }
    let most = counts.into_iter().max().filter(|count| *count > 0)?;
    let place = counts.iter().position(|count| *count == most)?;
    Some(b",;\t"[place])
}
