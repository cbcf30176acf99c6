//! Names of series and their indices.

use hashbrown::{DefaultHashBuilder, HashTable};
use std::hash::BuildHasher;

/// Names in the order of their first appearance; the index of a series is its position.
#[derive(Debug, Clone, Default)]
pub struct Names {
    list: Vec<Box<str>>,
    numbers: HashTable<u32>,
    hasher: DefaultHashBuilder,
    bytes: u64,
}

/// Bytes per name besides its text: its entry in the list and two in the table.
const PLACE: u64 = 32;

impl Names {
    /// Number of names.
    #[must_use]
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether there are no names.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The name of series `number`.
    #[must_use]
    pub fn get(&self, number: u32) -> Option<&str> {
        self.list.get(number as usize).map(|name| &**name)
    }

    /// The index of the series `name`.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<u32> {
        self.find_bytes(name.as_bytes())
    }

    /// The names in the order of their indices.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.list.iter().map(|name| &**name)
    }

    /// The names in the order of their indices.
    #[must_use]
    pub fn into_list(self) -> Vec<String> {
        self.list.into_iter().map(String::from).collect()
    }

    /// Approximate memory use in bytes.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) fn find_bytes(&self, name: &[u8]) -> Option<u32> {
        let hash = self.hasher.hash_one(name);
        self.numbers
            .find(hash, |number| {
                self.list[*number as usize].as_bytes() == name
            })
            .copied()
    }

    /// The index of `name`, which is added if it is new; `None` if all 2³² − 1 indices are in use.
    pub(super) fn number(&mut self, name: &str) -> Option<u32> {
        if let Some(number) = self.find(name) {
            return Some(number);
        }
        let number = u32::try_from(self.list.len())
            .ok()
            .filter(|n| *n < u32::MAX)?;
        self.bytes += name.len() as u64 + PLACE;
        self.list.push(name.into());
        let (list, hasher) = (&self.list, &self.hasher);
        let hash = |number: &u32| hasher.hash_one(list[*number as usize].as_bytes());
        self.numbers
            .insert_unique(hasher.hash_one(name.as_bytes()), number, hash);
        Some(number)
    }
}

/// Looks up the names of consecutive rows, in files that repeat a name or cycle through their
/// series.
///
/// The name that followed the last name before is compared first, so most names need not be hashed.
#[derive(Debug, Default)]
pub(super) struct Lookup<'n> {
    known: Option<&'n Names>,
    /// Names that are not in `known`; numbered after its names.
    fresh: Names,
    /// Longest name in bytes.
    most: usize,
    last: u32,
    /// (name), the name that followed it.
    after: Vec<u32>,
}

impl<'n> Lookup<'n> {
    pub(super) fn new(known: &'n Names, longest: usize) -> Self {
        Self {
            known: Some(known),
            most: longest,
            ..Self::default()
        }
    }

    fn known(&self) -> usize {
        self.known.map_or(0, Names::len)
    }

    fn is(&self, number: u32, name: &[u8]) -> bool {
        let index = number as usize;
        let known = self.known();
        let text = match self.known {
            Some(names) if index < known => names.list.get(index),
            _ => self.fresh.list.get(index - known),
        };
        text.is_some_and(|text| text.as_bytes() == name)
    }

    /// The index of `name`.
    pub(super) fn number(&mut self, name: &[u8]) -> Result<u32, NameError> {
        if let Some(next) = self.after.get(self.last as usize).copied()
            && self.is(next, name)
        {
            self.last = next;
            return Ok(next);
        }
        if name.is_empty() {
            return Err(NameError::Empty);
        }
        if name.len() > self.most {
            return Err(NameError::TooLong(self.most));
        }
        let known = self.known.and_then(|names| names.find_bytes(name));
        let number = match known {
            Some(number) => number,
            None => {
                let text = std::str::from_utf8(name).map_err(|_| NameError::Encoding)?;
                if memchr::memchr(0, name).is_some() {
                    return Err(NameError::ZeroByte);
                }
                let fresh = self.fresh.number(text).ok_or(NameError::TooMany)?;
                u32::try_from(self.known() + fresh as usize).map_err(|_| NameError::TooMany)?
            }
        };
        let last = self.last as usize;
        if last >= self.after.len() {
            self.after.resize(last + 1, number);
        }
        self.after[last] = number;
        self.last = number;
        Ok(number)
    }

    /// The new names in the order of their indices.
    pub(super) fn into_fresh(self) -> Names {
        self.fresh
    }
}

/// Checks a name of up to `most` bytes.
pub(super) fn check_name(name: &str, most: usize) -> Result<(), NameError> {
    if name.is_empty() {
        return Err(NameError::Empty);
    }
    if name.len() > most {
        return Err(NameError::TooLong(most));
    }
    match memchr::memchr(0, name.as_bytes()) {
        Some(_) => Err(NameError::ZeroByte),
        None => Ok(()),
    }
}

/// Why a text is not a valid series name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NameError {
    Empty,
    Encoding,
    /// It contains a zero byte, so that the CSV output could not be read as text.
    ZeroByte,
    /// It is longer than this number of bytes.
    TooLong(usize),
    TooMany,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lookup_agrees_with_a_plain_table() {
        let mut known = Names::default();
        for name in ["a", "b"] {
            known.number(name).unwrap();
        }
        let mut lookup = Lookup::new(&known, 3);
        let mut plain = known.clone();
        let order = [
            "b", "c", "a", "b", "c", "a", "d", "d", "b", "e", "c", "a", "a",
        ];
        for name in order {
            let expected = plain.number(name).unwrap();
            assert_eq!(lookup.number(name.as_bytes()), Ok(expected), "{name}");
        }
        assert_eq!(lookup.number(b""), Err(NameError::Empty));
        assert_eq!(lookup.number(b"long"), Err(NameError::TooLong(3)));
        assert_eq!(lookup.number(b"\xff"), Err(NameError::Encoding));
        assert_eq!(lookup.number(b"a\0"), Err(NameError::ZeroByte));
        assert_eq!(lookup.number(b"c"), Ok(2));
        let fresh: Vec<_> = lookup.into_fresh().into_list();
        assert_eq!(fresh, ["c", "d", "e"]);
        assert_eq!(plain.find("e"), Some(4));
        assert_eq!(plain.get(4), Some("e"));
        assert_eq!(plain.get(5), None);
    }
}
