//! Where records end, and how a stream is cut at their ends.
//!
//! A record ends at a line feed that is not inside a quoted field. A field is quoted if it begins with a quote, and ends
//! at a quote that is not doubled; other quotes are ordinary characters. A quote that is not closed within the longest
//! record allowed quotes nothing: the record is then its line, and malformed.

use crate::io::series::input::Stream;
use memchr::{memchr, memchr_iter, memchr2, memrchr};
use std::io;

/// Sizes of what is worked on at a time, bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::io::series) struct Sizes {
    /// What is read at once; more than two records.
    pub(in crate::io::series) window: usize,
    /// What one thread parses at once.
    pub(in crate::io::series) chunk: usize,
    /// The longest record.
    pub(in crate::io::series) record: usize,
}

impl Default for Sizes {
    fn default() -> Self {
        Self {
            window: 8 << 20,
            chunk: 1 << 20,
            record: 1 << 20,
        }
    }
}

/// A record in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Record {
    /// Where the next begins.
    pub(super) end: usize,
    pub(super) form: Form,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// Without quotes.
    Plain,
    /// With at least one quote.
    Quoted,
    /// A line with a quote that opens a field and is not closed.
    Open,
}

/// The record that begins at `at`; `None` where `text` must go on before that can be said. `last`: nothing follows
/// `text`.
pub(super) fn record(
    text: &[u8],
    at: usize,
    delimiter: u8,
    most: usize,
    last: bool,
) -> Option<Record> {
    // One byte more tells whether a quote at the end is doubled.
    let reach = text.len().min(at.saturating_add(most).saturating_add(1));
    let seen = &text[..reach];
    match quoted_end(seen, at, delimiter) {
        Some(found) if found.end - at <= most => return Some(found),
        None if reach == text.len() && reach - at <= most && !last => return None,
        _ => {}
    }
    let line = memchr(b'\n', &text[at..]).map(|place| at + place + 1);
    let end = match line {
        Some(end) => end,
        None if last => text.len(),
        None => return None,
    };
    let form = match memchr(b'"', &text[at..end]) {
        None => Form::Plain,
        // The last record of a text may lack its line feed.
        Some(_) if last && end == text.len() && closes(&text[at..], delimiter) => Form::Quoted,
        Some(_) => Form::Open,
    };
    Some(Record { end, form })
}

/// The record from `at` to a line feed outside quotes.
fn quoted_end(text: &[u8], at: usize, delimiter: u8) -> Option<Record> {
    let mut from = at;
    let mut form = Form::Plain;
    loop {
        let place = from + memchr2(b'\n', b'"', &text[from..])?;
        if text[place] == b'\n' {
            return Some(Record {
                end: place + 1,
                form,
            });
        }
        form = Form::Quoted;
        from = if place == at || text[place - 1] == delimiter {
            closing(text, place + 1)?
        } else {
            place + 1
        };
    }
}

/// The place after the quote that closes a field.
pub(super) fn closing(text: &[u8], from: usize) -> Option<usize> {
    let mut from = from;
    loop {
        from += memchr(b'"', &text[from..])? + 1;
        if text.get(from) != Some(&b'"') {
            return Some(from);
        }
        from += 1;
    }
}

/// Whether every quoted field of a record without line feed at its end is closed.
fn closes(record: &[u8], delimiter: u8) -> bool {
    let mut from = 0;
    while let Some(place) = memchr(b'"', &record[from..]) {
        let place = from + place;
        from = if place == 0 || record[place - 1] == delimiter {
            match closing(record, place + 1) {
                Some(next) => next,
                None => return false,
            }
        } else {
            place + 1
        };
    }
    true
}

/// Whole records, cut into chunks.
#[derive(Debug, Default)]
pub(super) struct Window {
    pub(super) text: Vec<u8>,
    /// Ends of chunks; the last is the text's.
    pub(super) ends: Vec<usize>,
}

/// Why a stream cannot be cut.
#[derive(Debug)]
pub(super) enum Stop {
    Read(io::Error),
    /// A line is longer than a record may be; so many line feeds come before it.
    Long(u64),
}

/// A stream, cut at ends of records.
pub(super) struct Cutter {
    pub(super) stream: Stream,
    /// Read and not yet given.
    pub(super) carry: Vec<u8>,
    pub(super) ended: bool,
    pub(super) delimiter: u8,
    pub(super) sizes: Sizes,
}

impl Cutter {
    /// Reads until a window is full, the stream at its end, or a pipe has no more for now.
    pub(super) fn fill(&mut self) -> io::Result<()> {
        let window = self.sizes.window;
        self.carry
            .reserve_exact(window.saturating_sub(self.carry.len()));
        // Inputs may be many and small: no more memory is touched than they need.
        let mut step = 1 << 16;
        while !self.ended && self.carry.len() < window {
            let old = self.carry.len();
            let wanted = step.min(window - old);
            self.carry.resize(old + wanted, 0);
            let count = self.stream.next(&mut self.carry[old..]);
            self.carry.truncate(old + count.as_ref().map_or(0, |c| *c));
            let count = count?;
            if self.stream.live() {
                self.ended = count == 0;
                if count < wanted {
                    break;
                }
            } else {
                self.ended = count < wanted;
            }
            step *= 2;
        }
        Ok(())
    }

    /// Reads until the first line that is not blank is there.
    pub(super) fn fill_head(&mut self) -> io::Result<()> {
        loop {
            self.fill()?;
            let full = self.carry.len() >= self.sizes.window;
            let mut lines = self.carry.split_inclusive(|b| *b == b'\n');
            let line = lines.find(|line| !line.trim_ascii().is_empty());
            let whole = line.is_some_and(|line| {
                line.ends_with(b"\n") && memchr_iter(b'"', line).count().is_multiple_of(2)
            });
            if self.ended || full || whole {
                return Ok(());
            }
        }
    }

    /// The next records; `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<Window>, Stop> {
        // What a pipe gave already does not wait for what may come.
        let mut ends = if self.stream.live() {
            self.ends()
        } else {
            Vec::new()
        };
        while ends.is_empty() {
            self.fill().map_err(Stop::Read)?;
            if self.carry.is_empty() {
                return Ok(None);
            }
            ends = self.ends();
            if ends.is_empty() && (self.ended || self.carry.len() >= self.sizes.window) {
                return Err(Stop::Long(0));
            }
        }
        let cut = ends.last().copied().unwrap_or(self.carry.len());
        let rest = self.carry[cut..].to_vec();
        let mut text = std::mem::replace(&mut self.carry, rest);
        text.truncate(cut);
        Ok(Some(Window { text, ends }))
    }

    /// Ends of chunks of the records that are there wholly.
    fn ends(&self) -> Vec<usize> {
        if memchr(b'"', &self.carry).is_none() {
            self.plain_ends()
        } else {
            self.quoted_ends()
        }
    }

    fn plain_ends(&self) -> Vec<usize> {
        let text = &self.carry;
        let cut = if self.ended {
            text.len()
        } else {
            memrchr(b'\n', text).map_or(0, |place| place + 1)
        };
        let mut ends = Vec::new();
        let mut at = 0;
        while at < cut {
            let from = at + self.sizes.chunk.max(1) - 1;
            at = match text.get(from..cut).and_then(|rest| memchr(b'\n', rest)) {
                Some(place) => from + place + 1,
                None => cut,
            };
            ends.push(at);
        }
        ends
    }

    fn quoted_ends(&self) -> Vec<usize> {
        let text = &self.carry;
        let mut ends = Vec::new();
        let (mut begin, mut at) = (0, 0);
        while at < text.len() {
            let found = record(text, at, self.delimiter, self.sizes.record, self.ended);
            let Some(found) = found else { break };
            at = found.end;
            if at - begin >= self.sizes.chunk {
                ends.push(at);
                begin = at;
            }
        }
        if at > begin {
            ends.push(at);
        }
        ends
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Ends of all records of a text.
    fn ends(text: &[u8], most: usize) -> Vec<(usize, Form)> {
        let mut found = Vec::new();
        let mut at = 0;
        while at < text.len() {
            let next = record(text, at, b',', most, true).unwrap();
            at = next.end;
            found.push((at, next.form));
        }
        found
    }

    #[test]
    fn records_end_outside_quotes() {
        use Form::{Open, Plain, Quoted};
        for (text, expected) in [
            ("a,b\nc\n", vec![(4, Plain), (6, Plain)]),
            ("a,\"b\nc\"\nd", vec![(8, Quoted), (9, Plain)]),
            ("\"a\"\"\n\"\n", vec![(7, Quoted)]),
            ("5\" disk,1\nb\n", vec![(10, Quoted), (12, Plain)]),
            ("a,\"b\nc\nd", vec![(5, Open), (7, Plain), (8, Plain)]),
            ("a,\"b\"", vec![(5, Quoted)]),
            ("a,\"b", vec![(4, Open)]),
            ("\"a\"b\"c\nd\n", vec![(7, Quoted), (9, Plain)]),
            ("\n\n", vec![(1, Plain), (2, Plain)]),
        ] {
            assert_eq!(ends(text.as_bytes(), 1000), expected, "{text:?}");
        }
        // A closing quote too far away closes nothing.
        assert_eq!(
            ends(b"\"a\nbbbb\nbbbb\"\nc\n", 8),
            [(3, Open), (8, Plain), (14, Quoted), (16, Plain)]
        );
    }

    /// The records that the csv-core crate finds, each with its fields.
    fn by_csv_core(text: &[u8]) -> Vec<Vec<Vec<u8>>> {
        use csv_core::{ReadRecordResult, ReaderBuilder, Terminator};
        let mut reader = ReaderBuilder::new()
            .terminator(Terminator::Any(b'\n'))
            .build();
        let (mut output, mut ends) = (vec![0; text.len() + 1], vec![0; text.len() + 2]);
        let (mut read, mut written, mut fields) = (0, 0, 0);
        let mut records = Vec::new();
        loop {
            let (result, r, w, f) =
                reader.read_record(&text[read..], &mut output[written..], &mut ends[fields..]);
            (read, written, fields) = (read + r, written + w, fields + f);
            match result {
                ReadRecordResult::Record => {
                    let mut from = 0;
                    let mut record = Vec::new();
                    for end in &ends[..fields] {
                        record.push(output[from..*end].to_vec());
                        from = *end;
                    }
                    records.push(record);
                    (written, fields) = (0, 0);
                }
                ReadRecordResult::End => return records,
                ReadRecordResult::InputEmpty => {}
                other => panic!("{other:?}"),
            }
        }
    }

    /// A pipe that holds few bytes at a time.
    struct Drops(Vec<u8>, usize);

    impl io::Read for Drops {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let count = self.0.len().min(self.1).min(buffer.len());
            for (to, from) in buffer.iter_mut().zip(self.0.drain(..count)) {
                *to = from;
            }
            Ok(count)
        }
    }

    proptest! {
        #[test]
        fn records_are_those_of_csv_core(text in "[a,\"\n]{0,30}") {
            let bytes = text.as_bytes();
            let found = ends(bytes, 1000);
            // csv-core takes an open quote to reach to the end, and passes over blank lines.
            prop_assume!(found.iter().all(|(_, form)| *form != Form::Open));
            let mut from = 0;
            let mut one_by_one = Vec::new();
            for (end, _) in &found {
                one_by_one.extend(by_csv_core(&bytes[from..*end]));
                from = *end;
            }
            prop_assert_eq!(one_by_one, by_csv_core(bytes));
        }

        #[test]
        fn cuts_are_ends_of_records_however_little_is_seen(
            text in "[a,\"\n\n\n]{0,200}", window in 61_usize..120, chunk in 1_usize..60,
            most in 10_usize..30, drop in 1_usize..20,
        ) {
            let bytes = text.clone().into_bytes();
            let whole = ends(&bytes, most);
            let longest = whole.iter().scan(0, |from, (end, _)| Some(end - std::mem::replace(from, *end))).max();
            if longest.is_some_and(|longest| longest > most) {
                return Ok(());
            }
            for stream in [
                Stream::of(Box::new(io::Cursor::new(bytes.clone()))),
                Stream::of_pipe(Box::new(Drops(bytes.clone(), drop))),
            ] {
                let mut cutter = Cutter {
                    stream,
                    carry: Vec::new(),
                    ended: false,
                    delimiter: b',',
                    sizes: Sizes { window, chunk, record: most },
                };
                let mut joined = Vec::new();
                let mut found = Vec::new();
                while let Some(window) = cutter.next().map_err(|e| TestCaseError::fail(format!("{e:?}")))? {
                    let mut from = 0;
                    for end in window.ends {
                        let base = joined.len() + from;
                        let part = ends(&window.text[from..end], most);
                        found.extend(part.into_iter().map(|(end, form)| (base + end, form)));
                        from = end;
                    }
                    prop_assert_eq!(from, window.text.len());
                    joined.extend(window.text);
                }
                prop_assert_eq!(&joined, &bytes);
                prop_assert_eq!(&found, &whole);
            }
        }
    }
}
