//! Splits a record into its fields.

use super::records::{Quoting, closing};
use csv_core::{ReadRecordResult, Reader, ReaderBuilder, Terminator};
use memchr::{memchr, memchr_iter};
use std::ops::Range;

/// Splits records; reuses its memory for each record.
pub(super) struct Fields {
    delimiter: u8,
    quotes: Option<Reader>,
    text: Vec<u8>,
    ends: Vec<usize>,
    /// (field), whether it is not enclosed in quotes.
    bare: Vec<bool>,
}

/// A record without its line end.
pub(super) fn trimmed(record: &[u8]) -> &[u8] {
    let record = record.strip_suffix(b"\n").unwrap_or(record);
    record.strip_suffix(b"\r").unwrap_or(record)
}

/// Whether a field of `record` goes on after its closing quote, other than with blanks.
pub(super) fn has_text_after_quote(record: &[u8], delimiter: u8) -> bool {
    let record = trimmed(record);
    let mut at = 0;
    loop {
        let mut from = at;
        if record.get(at) == Some(&b'"') {
            from = closing(record, at + 1).unwrap_or(record.len());
            let end = memchr(delimiter, &record[from..]).map_or(record.len(), |p| from + p);
            if !record[from..end].trim_ascii().is_empty() {
                return true;
            }
        }
        match memchr(delimiter, &record[from..]) {
            Some(position) => at = from + position + 1,
            None => return false,
        }
    }
}

impl Fields {
    pub(super) fn new(delimiter: u8) -> Self {
        Self {
            delimiter,
            quotes: None,
            text: Vec::new(),
            ends: Vec::new(),
            bare: Vec::new(),
        }
    }

    /// Returns the fields at `indices`; the error is the number of fields if it differs from
    /// `count`.
    #[inline]
    pub(super) fn of_plain<'r, const N: usize>(
        &self,
        record: &'r [u8],
        indices: [usize; N],
        count: usize,
    ) -> Result<[&'r [u8]; N], usize> {
        let record = trimmed(record);
        let mut found = [&record[..0]; N];
        let (mut from, mut field) = (0, 0);
        let mut end_field = |range: Range<usize>, field: usize| {
            for (position, kept) in indices.iter().zip(&mut found) {
                if *position == field {
                    *kept = &record[range.clone()];
                }
            }
        };
        for (end, byte) in record.iter().enumerate() {
            if *byte == self.delimiter {
                end_field(from..end, field);
                from = end + 1;
                field += 1;
            }
        }
        end_field(from..record.len(), field);
        if field + 1 == count {
            Ok(found)
        } else {
            Err(field + 1)
        }
    }

    /// Replaces `ends` by the ends of the fields of a record without quotes.
    pub(super) fn ends_of_plain(&self, record: &[u8], ends: &mut Vec<usize>) {
        let record = trimmed(record);
        ends.clear();
        ends.extend(memchr_iter(self.delimiter, record));
        ends.push(record.len());
    }

    /// All fields of a record; blanks around unquoted fields are removed.
    pub(super) fn all(&mut self, record: &[u8], quoting: Quoting) -> Vec<&[u8]> {
        let record = trimmed(record);
        if quoting == Quoting::Plain {
            self.text.clear();
            self.text.extend_from_slice(record);
            self.text.push(self.delimiter);
            self.ends.clear();
            self.ends.extend(memchr_iter(self.delimiter, &self.text));
            let starts = std::iter::once(0).chain(self.ends.iter().map(|end| end + 1));
            return starts
                .zip(&self.ends)
                .map(|(from, end)| self.text[from..*end].trim_ascii())
                .collect();
        }
        let count = self.unquote(record);
        self.find_bare(record);
        let starts = std::iter::once(0).chain(self.ends[..count].iter().copied());
        starts
            .zip(&self.ends[..count])
            .zip(&self.bare)
            .map(|((from, end), bare)| {
                let field = &self.text[from..*end];
                if *bare { field.trim_ascii() } else { field }
            })
            .collect()
    }

    /// Determines which fields of `record` do not begin with a quote.
    fn find_bare(&mut self, record: &[u8]) {
        self.bare.clear();
        let mut at = 0;
        loop {
            let quoted = record.get(at) == Some(&b'"');
            self.bare.push(!quoted);
            let from = if quoted {
                closing(record, at + 1).unwrap_or(record.len())
            } else {
                at
            };
            match memchr(self.delimiter, &record[from..]) {
                Some(position) => at = from + position + 1,
                None => return,
            }
        }
    }

    /// Writes the fields of `record` to `text`, one after another. Returns their number.
    fn unquote(&mut self, record: &[u8]) -> usize {
        let most = memchr_iter(self.delimiter, record).count() + 1;
        if self.text.len() < record.len() {
            self.text.resize(record.len(), 0);
        }
        if self.ends.len() < most {
            self.ends.resize(most, 0);
        }
        let delimiter = self.delimiter;
        let reader = self.quotes.get_or_insert_with(|| {
            ReaderBuilder::new()
                .delimiter(delimiter)
                .terminator(Terminator::Any(b'\n'))
                .build()
        });
        reader.reset();
        let (mut read, mut written, mut fields) = (0, 0, 0);
        loop {
            let (result, r, w, f) = reader.read_record(
                &record[read..],
                &mut self.text[written..],
                &mut self.ends[fields..],
            );
            (read, written, fields) = (read + r, written + w, fields + f);
            match result {
                // The empty input tells the reader that the record is complete.
                ReadRecordResult::InputEmpty => {}
                _ => return fields,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn all(record: &str, quoting: Quoting) -> Vec<String> {
        Fields::new(b',')
            .all(record.as_bytes(), quoting)
            .into_iter()
            .map(|f| String::from_utf8_lossy(f).into_owned())
            .collect()
    }

    proptest! {
        #[test]
        fn plain_fields_are_split(record in "[a,;\u{80}é+\\-]{0,40}", indices: [usize; 2]) {
            let expected: Vec<&[u8]> = record.as_bytes().split(|byte| *byte == b',').collect();
            let count = expected.len();
            let indices = indices.map(|position| position % count);
            let fields = Fields::new(b',');
            let found = fields.of_plain(record.as_bytes(), indices, count);
            prop_assert_eq!(found, Ok(indices.map(|position| expected[position])));
            prop_assert_eq!(fields.of_plain(record.as_bytes(), indices, count + 1), Err(count));
        }
    }

    #[test]
    fn text_after_a_closing_quote_is_found() {
        for (record, found) in [
            ("0,\"1\"2", true),
            ("\"a\"b,1\r\n", true),
            ("\"a\"\"b\" ,1\r\n", false),
            ("5\" disk,\"1\"", false),
            ("\"\",\"x,y\"", false),
            ("a,\"b\"\"c\"d", true),
        ] {
            assert_eq!(
                has_text_after_quote(record.as_bytes(), b','),
                found,
                "{record}"
            );
        }
    }

    #[test]
    fn fields_are_split_and_unquoted() {
        assert_eq!(all("a,b,\r\n", Quoting::Plain), ["a", "b", ""]);
        assert_eq!(all("a", Quoting::Plain), ["a"]);
        assert_eq!(
            all("\"a,\"\"b\"\"\",c\n", Quoting::Quoted),
            ["a,\"b\"", "c"]
        );
        assert_eq!(all("\"a\nb\",\"\"\r\n", Quoting::Quoted), ["a\nb", ""]);
        assert_eq!(all("a\"b,\"c\"", Quoting::Quoted), ["a\"b", "c"]);
        assert_eq!(all(" a ,b \n", Quoting::Plain), ["a", "b"]);
        assert_eq!(
            all(" a ,\" b,\"\"\" , c,\" \"\r\n", Quoting::Quoted),
            ["a", " b,\" ", "c", " "]
        );
        let mut again = Fields::new(b',');
        assert_eq!(again.all(b"\"aaaa\",b,c", Quoting::Quoted).len(), 3);
        assert_eq!(again.all(b"\"a\",b", Quoting::Quoted), [&b"a"[..], b"b"]);
        let fields = Fields::new(b';');
        assert_eq!(
            fields.of_plain(b"a;b;c\r\n", [2, 0], 3),
            Ok([&b"c"[..], b"a"])
        );
        assert_eq!(fields.of_plain(b"a;b", [0], 3), Err(2));
        assert_eq!(fields.of_plain(b"a", [0, 0], 1), Ok([&b"a"[..], b"a"]));
    }
}
