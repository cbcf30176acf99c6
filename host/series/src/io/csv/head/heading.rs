//! Rows between the first and the last: headers, and empty fields after those of the header.

use super::Head;
use crate::io::csv::fields::trimmed;
use crate::io::number;

/// What a row of names is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::io::csv) enum Heading {
    /// The header, as that of another file which was appended.
    Same,
    /// The header of a table with other columns.
    Other,
}

impl Head {
    /// What a row is that repeats the name of the column of times and has no number.
    pub(in crate::io::csv) fn heading(&self, row: &[&[u8]]) -> Option<Heading> {
        let time = self.names.get(self.columns.time)?.as_bytes();
        let is = |field: &&[u8], name: &[u8]| field.eq_ignore_ascii_case(name);
        let has_time = !time.is_empty() && row.iter().any(|field| is(field, time));
        if !has_time || row.len() < 2 || row.iter().any(|field| number::value(field).is_some()) {
            return None;
        }
        let last = row.iter().rposition(|field| !field.is_empty())?;
        let names = self.names.iter().rposition(|name| !name.is_empty())?;
        let mut pairs = row.iter().zip(&self.names);
        let is_same = last == names && pairs.all(|(field, name)| is(field, name.as_bytes()));
        Some(if is_same {
            Heading::Same
        } else {
            Heading::Other
        })
    }

    /// A row without quotes, without the empty fields after those of the header.
    #[inline]
    pub(in crate::io::csv) fn without_trailing<'r>(&self, row: &'r [u8]) -> &'r [u8] {
        if self.trailing == 0 {
            return row;
        }
        let bare = trimmed(row);
        let count = memchr::memchr_iter(self.delimiter, bare).count() + 1;
        let (kept, rest) = bare.split_at(bare.len().saturating_sub(self.trailing));
        match count == self.fields + self.trailing && rest.iter().all(|b| *b == self.delimiter) {
            true => kept,
            false => row,
        }
    }

    /// The same for the fields of a row.
    pub(in crate::io::csv) fn without_trailing_fields(&self, fields: &mut Vec<&[u8]>) {
        let is_longer = fields.len() == self.fields + self.trailing;
        if is_longer && fields[self.fields..].iter().all(|field| field.is_empty()) {
            fields.truncate(self.fields);
        }
    }
}
