//! Snapshots of Prometheus' remote-read and remote-write protocols as text in its exposition
//! format.
//!
//! A `ReadResponse` or `WriteRequest` is a message in Protocol Buffers' encoding
//! (`prompb/remote.proto` and `types.proto` of Prometheus), usually compressed as one block of
//! Snappy:
//!
//! | message | field | content |
//! |---|---|---|
//! | `ReadResponse` | 1 | `QueryResult`, one for each query |
//! | `QueryResult`, `WriteRequest` | 1 | `TimeSeries` |
//! | `TimeSeries` | 1, 2 | `Label`, `Sample` |
//! | `Label` | 1, 2 | name, value |
//! | `Sample` | 1, 2 | value (f64), time (milliseconds since 1970) |
//!
//! Other fields (metadata, exemplars, native histograms) are left out, and so are samples that mark
//! the end of a series.

use super::prometheus::SeriesText;
use super::stream::Stream;
use super::{IoError, Memory, allow, damaged, format_error};
use std::io::{self, Read, Write as _};
use std::ops::Range;
use std::path::Path;

/// Bits of the NaN that marks the end of a series.
const STALE: u64 = 0x7ff0_0000_0000_0002;
/// Most bytes that a byte of a Snappy block can stand for: copies of 64 bytes take three.
const EXPANSION: u64 = 22;
/// First bytes of Snappy's framed format.
const FRAMED: &[u8] = b"\xff\x06\x00\x00sNaPpY";
/// The label that has the name of the metric.
const METRIC: &[u8] = b"__name__";
/// Bytes of text that are made at once, at least.
const TEXT: usize = 1 << 16;

/// What such a file is called in messages.
const WHAT: &str = "snapshot of Prometheus' remote read";

/// Whether the file's name says that it is such a snapshot: `.snappy` or `.pb`.
pub(super) fn is_remote_read(path: &Path) -> bool {
    let ending = path.extension();
    ["snappy", "pb"]
        .iter()
        .any(|known| ending.is_some_and(|ending| ending.eq_ignore_ascii_case(known)))
}

/// The samples of a snapshot as lines of text, in the order of the message.
pub(super) fn as_text(
    file: &str,
    path: &Path,
    bytes: Box<dyn Read + Send>,
    memory: Memory,
) -> Result<Stream, IoError> {
    let is_compressed = path
        .extension()
        .is_some_and(|ending| ending.eq_ignore_ascii_case("snappy"));
    let message = message(file, bytes, is_compressed, memory)?;
    let broken = || damaged(file, WHAT, "it is no message of this protocol");
    let series = series(&message).ok_or_else(broken)?;
    if series.is_empty() {
        return Err(format_error(file, format!("a {WHAT} without series")));
    }
    // Everything is looked at before the first sample is used.
    for range in &series {
        let named = Samples::text_of(&message[range.clone()], &mut Vec::new());
        if !named.ok_or_else(broken)? {
            let why = "expected a label __name__ of each series, found a series without it";
            return Err(damaged(file, WHAT, why));
        }
    }
    Ok(Stream::of(Box::new(Samples {
        message,
        series,
        next: 0,
        text: Vec::new(),
        given: 0,
    })))
}

/// The bytes of the message.
fn message(
    file: &str,
    bytes: Box<dyn Read + Send>,
    is_compressed: bool,
    memory: Memory,
) -> Result<Vec<u8>, IoError> {
    let most = memory.limit() / 4;
    let whole = |from: &mut dyn Read, what: &str| {
        let mut all = Vec::new();
        from.take(most.saturating_add(1))
            .read_to_end(&mut all)
            .map_err(|why| damaged(file, what, why))?;
        allow(file, WHAT, 4 * all.len() as u128, memory)?;
        Ok(all)
    };
    let mut bytes = bytes;
    let stored = whole(&mut bytes, WHAT)?;
    if !is_compressed {
        return Ok(stored);
    }
    if stored.starts_with(FRAMED) {
        return whole(
            &mut snap::read::FrameDecoder::new(&stored[..]),
            "Snappy stream",
        );
    }
    let refuse = |why: snap::Error| damaged(file, "Snappy block", why);
    let length = snap::raw::decompress_len(&stored).map_err(refuse)? as u64;
    if length > EXPANSION * stored.len() as u64 {
        let why = format!("{} bytes cannot stand for {length}", stored.len());
        return Err(damaged(file, "Snappy block", why));
    }
    allow(file, WHAT, 4 * u128::from(length), memory)?;
    let mut decoder = snap::raw::Decoder::new();
    decoder.decompress_vec(&stored).map_err(refuse)
}

/// A field of a message: its number and content.
enum Field<'m> {
    Number(u64),
    Double(f64),
    Bytes(&'m [u8], Range<usize>),
}

/// Bytes that are no field.
struct Broken;

/// The fields of a message.
struct Fields<'m> {
    message: &'m [u8],
    at: usize,
}

impl<'m> Fields<'m> {
    fn new(message: &'m [u8]) -> Self {
        Self { message, at: 0 }
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = *self.message.get(self.at)?;
            self.at += 1;
            value |= u64::from(byte & 0x7f).checked_shl(shift)?;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }

    fn take(&mut self, count: u64) -> Option<Range<usize>> {
        let end = self.at.checked_add(usize::try_from(count).ok()?)?;
        let range = self.at..end;
        self.message.get(range.clone())?;
        self.at = end;
        Some(range)
    }

    /// The next field with its number; `None` at the end.
    fn read(&mut self) -> Result<Option<(u64, Field<'m>)>, Broken> {
        if self.at == self.message.len() {
            return Ok(None);
        }
        self.field().map(Some).ok_or(Broken)
    }

    fn field(&mut self) -> Option<(u64, Field<'m>)> {
        let key = self.varint()?;
        let field = match key & 7 {
            0 => Field::Number(self.varint()?),
            1 => {
                let range = self.take(8)?;
                let bytes = self.message.get(range)?.try_into().ok()?;
                Field::Double(f64::from_le_bytes(bytes))
            }
            2 => {
                let length = self.varint()?;
                let range = self.take(length)?;
                Field::Bytes(self.message.get(range.clone())?, range)
            }
            5 => {
                self.take(4)?;
                Field::Number(0)
            }
            _ => return None,
        };
        (key >> 3 > 0).then_some((key >> 3, field))
    }
}

/// The ranges of the submessages of number 1; `None` where the bytes are no message.
fn submessages(message: &[u8], within: Range<usize>) -> Option<Vec<Range<usize>>> {
    let mut found = Vec::new();
    let mut fields = Fields::new(message.get(within.clone())?);
    while let Some((number, field)) = fields.read().ok()? {
        if let (1, Field::Bytes(_, range)) = (number, field) {
            found.push(within.start + range.start..within.start + range.end);
        }
    }
    Some(found)
}

/// Name and value of a label.
fn label(message: &[u8]) -> Option<(&[u8], &[u8])> {
    let (mut name, mut value) = (&[][..], &[][..]);
    let mut fields = Fields::new(message);
    while let Some((number, field)) = fields.read().ok()? {
        match (number, field) {
            (1, Field::Bytes(text, _)) => name = text,
            (2, Field::Bytes(text, _)) => value = text,
            _ => return None,
        }
    }
    // A message begins with a control character where a label has the first letter of its name.
    let is_name = !name.is_empty() && name.iter().all(|byte| *byte >= b' ');
    (is_name && std::str::from_utf8(name).is_ok() && std::str::from_utf8(value).is_ok())
        .then_some((name, value))
}

/// The time series of a `ReadResponse` or a `WriteRequest`.
fn series(message: &[u8]) -> Option<Vec<Range<usize>>> {
    let outer = submessages(message, 0..message.len())?;
    // In a request, the submessages of the outer ones are labels.
    let mut inner = Vec::new();
    for range in &outer {
        inner.extend(submessages(message, range.clone())?);
        if let Some(first) = inner.first()
            && label(&message[first.clone()]).is_some()
        {
            return Some(outer);
        }
    }
    Some(inner)
}

/// Writes the samples of a message as text.
struct Samples {
    message: Vec<u8>,
    series: Vec<Range<usize>>,
    next: usize,
    text: Vec<u8>,
    /// Bytes of `text` that have been read.
    given: usize,
}

impl Samples {
    /// Appends a line for each sample of a series. Whether it has a name; `None` where the bytes
    /// are no series.
    fn text_of(series: &[u8], text: &mut Vec<u8>) -> Option<bool> {
        let (mut metric, mut labels) = (Vec::new(), Vec::new());
        let mut fields = Fields::new(series);
        while let Some((number, field)) = fields.read().ok()? {
            if let (1, Field::Bytes(of_label, _)) = (number, field) {
                match label(of_label)? {
                    (METRIC, name) => metric = name.to_vec(),
                    (name, value) => labels.push((name.to_vec(), value.to_vec())),
                }
            }
        }
        if metric.is_empty() {
            return Some(false);
        }
        let mut name = Vec::new();
        SeriesText::new(metric, labels).write_name(&mut name);
        let mut fields = Fields::new(series);
        while let Some((number, field)) = fields.read().ok()? {
            if let (2, Field::Bytes(sample, _)) = (number, field) {
                let (value, time) = of_sample(sample)?;
                if value.to_bits() != STALE {
                    text.extend_from_slice(&name);
                    // Writing into memory cannot fail.
                    let _ = match value {
                        f64::INFINITY => writeln!(text, " +Inf {time}"),
                        f64::NEG_INFINITY => writeln!(text, " -Inf {time}"),
                        value => writeln!(text, " {value:e} {time}"),
                    };
                }
            }
        }
        Some(true)
    }
}

/// Value and time of a sample.
fn of_sample(sample: &[u8]) -> Option<(f64, i64)> {
    let (mut value, mut time) = (0.0, 0);
    let mut fields = Fields::new(sample);
    while let Some((number, field)) = fields.read().ok()? {
        match (number, field) {
            (1, Field::Double(found)) => value = found,
            (2, Field::Number(found)) => time = found.cast_signed(),
            _ => return None,
        }
    }
    Some((value, time))
}

impl Read for Samples {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.given == self.text.len() && self.next < self.series.len() {
            self.text.clear();
            self.given = 0;
            while self.text.len() < TEXT && self.next < self.series.len() {
                let range = self.series[self.next].clone();
                self.next += 1;
                let written = Self::text_of(&self.message[range], &mut self.text);
                if written.is_none() {
                    return Err(io::Error::other("it is no message of this protocol"));
                }
            }
        }
        let rest = &self.text[self.given..];
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        self.given += count;
        Ok(count)
    }
}
