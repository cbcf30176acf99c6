//! What may precede the header of a text: blank lines, comments, the annotations of `InfluxDB`'s
//! CSV, and a line such as `sep=;`.

use super::fields::Fields;
use super::records::Quoting;
use crate::io::{IoError, ReadOptions, format_error};
use memchr::memchr;

/// The lines before the header.
#[derive(Debug)]
pub(super) struct Preamble<'t> {
    /// Number of bytes before the header.
    pub(super) bytes: usize,
    /// Number of lines before the header.
    pub(super) lines: u64,
    /// The delimiter, if a line states it.
    pub(super) delimiter: Option<u8>,
    /// The lines that begin with `#`.
    pub(super) comments: Vec<&'t [u8]>,
}

/// Whether a line is none of the header: blank, a comment, or `sep=;`.
pub(super) fn precedes_header(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    line.is_empty() || line.starts_with(b"#") || stated_delimiter(line).is_some()
}

/// The delimiter of a line such as `sep=;`.
fn stated_delimiter(line: &[u8]) -> Option<u8> {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let quoted = line.strip_prefix(b"\"");
    match quoted
        .and_then(|line| line.strip_suffix(b"\""))
        .unwrap_or(line)
    {
        [
            b's' | b'S',
            b'e' | b'E',
            b'p' | b'P',
            b'=',
            delimiter @ (b',' | b';' | b'\t' | b'|'),
        ] => Some(*delimiter),
        _ => None,
    }
}

impl<'t> Preamble<'t> {
    /// The preamble of a text, which has a line after it.
    pub(super) fn of(file: &str, text: &'t [u8]) -> Result<Self, IoError> {
        let bom = b"\xef\xbb\xbf";
        let mut preamble = Self {
            bytes: if text.starts_with(bom) { bom.len() } else { 0 },
            lines: 0,
            delimiter: None,
            comments: Vec::new(),
        };
        loop {
            let rest = &text[preamble.bytes..];
            let end = memchr(b'\n', rest).map_or(rest.len(), |position| position + 1);
            let line = &rest[..end];
            if line.is_empty() {
                let found = match preamble.comments.is_empty() {
                    true => "an empty file",
                    false => "comments alone",
                };
                return Err(format_error(file, found));
            }
            if line.starts_with(b"#") {
                preamble.comments.push(line);
            } else if let Some(delimiter) = stated_delimiter(line) {
                preamble.delimiter = Some(delimiter);
            } else if !line.trim_ascii().is_empty() {
                return Ok(preamble);
            }
            preamble.bytes += end;
            preamble.lines += 1;
        }
    }
}

/// The names in a header that is written as a comment: `# time,value`.
pub(super) fn commented(line: &[u8], splitter: &mut Fields) -> Option<Vec<String>> {
    let names = line.trim_ascii().strip_prefix(b"#")?.trim_ascii();
    let fields = splitter.all(names, Quoting::Plain);
    let text = |field: &&[u8]| String::from_utf8_lossy(field).into_owned();
    let mut names: Vec<String> = fields.iter().map(text).collect();
    if names.first().is_some_and(String::is_empty) {
        names[0] = "#".to_owned();
    }
    (names.len() > 1).then_some(names)
}

/// The annotations of `InfluxDB`'s CSV, a field for each column.
#[derive(Debug)]
pub(super) struct Annotations {
    /// Whether the column is part of the group key, which tells series apart.
    labels: Vec<bool>,
}

/// Columns of annotated CSV that tell nothing of a series.
const NOT_LABELS: [&str; 5] = ["", "result", "table", "_start", "_stop"];

/// What stands for an empty field of each column, by the comment `#default`.
pub(super) fn defaults(comments: &[&[u8]], splitter: &mut Fields) -> Vec<Vec<u8>> {
    let mut lines = comments.iter().rev();
    let Some(line) = lines.find(|line| line.starts_with(b"#default")) else {
        return Vec::new();
    };
    let fields = splitter.all(line.trim_ascii(), Quoting::Plain);
    // The first column has the name of the annotation.
    let first = std::iter::once(Vec::new());
    first
        .chain(fields.iter().skip(1).map(|field| field.to_vec()))
        .collect()
}

impl Annotations {
    /// The annotations among comments.
    pub(super) fn of(comments: &[&[u8]], splitter: &mut Fields) -> Option<Self> {
        let mut row = |name: &[u8], found: &[u8]| {
            let mut lines = comments.iter().rev();
            let line = lines.find(|line| line.starts_with(name))?;
            let fields = splitter.all(line, Quoting::Plain);
            Some(fields.iter().map(|field| *field == found).collect())
        };
        let labels = row(b"#group", b"true").or_else(|| row(b"#datatype", b"string"))?;
        Some(Self { labels })
    }

    /// The options with the columns that tell series apart, unless options name them.
    pub(super) fn options(self, names: &[String], options: &ReadOptions) -> ReadOptions {
        let mut options = options.clone();
        let is_asked = options.wide
            || options.series_column.is_some()
            || !options.series_columns.is_empty()
            || !options.ignored_columns.is_empty();
        if is_asked {
            return options;
        }
        for (name, is_label) in names.iter().zip(self.labels) {
            let is_known = options.time_column.as_ref() == Some(name)
                || options.value_column.as_ref() == Some(name);
            if NOT_LABELS.contains(&name.as_str()) {
                options.ignored_columns.push(name.clone());
            } else if is_label && !is_known {
                options.series_columns.push(name.clone());
            }
        }
        options
    }
}
