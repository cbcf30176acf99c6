//! Finds the ends of records.
//!
//! A record ends at a line feed outside quoted fields. A field is quoted if it begins with a quote,
//! and ends at a quote that is not doubled; other quotes are ordinary characters. A quote that is
//! not closed within the longest allowed record quotes nothing: the record is then its line, and
//! malformed.

use memchr::{memchr, memchr2};

/// A record in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Record {
    /// Start of the next record.
    pub(super) end: usize,
    pub(super) quoting: Quoting,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Quoting {
    /// Without quotes.
    Plain,
    /// With at least one quote.
    Quoted,
    /// A line with an unclosed quote at the start of a field.
    Open,
}

/// The record that starts at `at`; `None` if more text is needed. `last`: nothing follows `text`.
pub(super) fn record(
    text: &[u8],
    at: usize,
    delimiter: u8,
    most: usize,
    last: bool,
) -> Option<Record> {
    // One more byte shows whether a quote at the end is doubled.
    let reach = text.len().min(at.saturating_add(most).saturating_add(1));
    let seen = &text[..reach];
    match quoted_end(seen, at, delimiter) {
        Some(found) if found.end - at <= most => return Some(found),
        None if reach == text.len() && reach - at <= most && !last => return None,
        _ => {}
    }
    let line = memchr(b'\n', &text[at..]).map(|position| at + position + 1);
    let end = match line {
        Some(end) => end,
        None if last => text.len(),
        None => return None,
    };
    let quoting = match memchr(b'"', &text[at..end]) {
        None => Quoting::Plain,
        // The last record of a text may lack its line feed.
        Some(_) if last && end == text.len() && closes(&text[at..], delimiter) => Quoting::Quoted,
        Some(_) => Quoting::Open,
    };
    Some(Record { end, quoting })
}

/// The record from `at` to a line feed outside quotes.
fn quoted_end(text: &[u8], at: usize, delimiter: u8) -> Option<Record> {
    let mut from = at;
    let mut quoting = Quoting::Plain;
    loop {
        let position = from + memchr2(b'\n', b'"', &text[from..])?;
        if text[position] == b'\n' {
            return Some(Record {
                end: position + 1,
                quoting,
            });
        }
        quoting = Quoting::Quoted;
        from = if position == at || text[position - 1] == delimiter {
            closing(text, position + 1)?
        } else {
            position + 1
        };
    }
}

/// The position after the quote that closes a field.
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

/// Whether every quoted field is closed, for a record without a line feed at its end.
fn closes(record: &[u8], delimiter: u8) -> bool {
    let mut from = 0;
    while let Some(position) = memchr(b'"', &record[from..]) {
        let position = from + position;
        from = if position == 0 || record[position - 1] == delimiter {
            match closing(record, position + 1) {
                Some(next) => next,
                None => return false,
            }
        } else {
            position + 1
        };
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::csv::splitter::{RecordSplitter, Sizes};
    use crate::io::stream::Stream;
    use proptest::prelude::*;
    use std::io;

    /// Ends of all records of a text.
    fn ends(text: &[u8], most: usize) -> Vec<(usize, Quoting)> {
        let mut found = Vec::new();
        let mut at = 0;
        while at < text.len() {
            let next = record(text, at, b',', most, true).unwrap();
            at = next.end;
            found.push((at, next.quoting));
        }
        found
    }

    #[test]
    fn records_end_outside_quotes() {
        use Quoting::{Open, Plain, Quoted};
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
        // A closing quote beyond the longest allowed record closes nothing.
        assert_eq!(
            ends(b"\"a\nbbbb\nbbbb\"\nc\n", 8),
            [(3, Open), (8, Plain), (14, Quoted), (16, Plain)]
        );
    }

    /// The records found by the csv-core crate, each with its fields.
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
        fn records_agree_with_csv_core(text in "[a,\"\n]{0,30}") {
            let bytes = text.as_bytes();
            let found = ends(bytes, 1000);
            // csv-core extends an open quote to the end of the text, and skips blank lines.
            prop_assume!(found.iter().all(|(_, quoting)| *quoting != Quoting::Open));
            let mut from = 0;
            let mut one_by_one = Vec::new();
            for (end, _) in &found {
                one_by_one.extend(by_csv_core(&bytes[from..*end]));
                from = *end;
            }
            prop_assert_eq!(one_by_one, by_csv_core(bytes));
        }

        #[test]
        fn splits_are_ends_of_records_for_any_window(
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
                let mut cutter = RecordSplitter {
                    stream,
                    carry: Vec::new(),
                    ended: false,
                    delimiter: b',',
                    quotes: true,
                    sizes: Sizes { window, chunk, record: most },
                };
                let mut joined = Vec::new();
                let mut found = Vec::new();
                while let Some(window) = cutter.next().map_err(|e| TestCaseError::fail(format!("{e:?}")))? {
                    let mut from = 0;
                    for end in window.ends {
                        let base = joined.len() + from;
                        let part = ends(&window.text[from..end], most);
                        found.extend(part.into_iter().map(|(end, quoting)| (base + end, quoting)));
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
