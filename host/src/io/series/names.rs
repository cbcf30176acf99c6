//! Names of series and their numbers.

use hashbrown::{DefaultHashBuilder, HashTable};
use std::hash::BuildHasher;

/// Names in the order of their first appearance; a series' number is its place.
#[derive(Debug, Clone, Default)]
pub struct Names {
    list: Vec<Box<str>>,
    numbers: HashTable<u32>,
    hasher: DefaultHashBuilder,
    bytes: u64,
}

/// What a name takes besides its text: its place in the list and twice one in the table.
const PLACE: u64 = 32;

impl Names {
    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The name of series `number`.
    #[must_use]
    pub fn get(&self, number: u32) -> Option<&str> {
        self.list.get(number as usize).map(|name| &**name)
    }

    /// The number of the series `name`.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<u32> {
        self.find_bytes(name.as_bytes())
    }

    /// Names in the order of their numbers.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.list.iter().map(|name| &**name)
    }

    /// Names in the order of their numbers.
    #[must_use]
    pub fn into_list(self) -> Vec<String> {
        self.list.into_iter().map(String::from).collect()
    }

    /// Bytes of memory that they take, about.
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

    /// The number of `name`, which gets one if it has none; `None` where all 2³² − 1 are given.
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

/// Numbers of names that come row after row: files repeat a name, or go round their series.
///
/// What followed a name once is compared first, so that most names are not hashed.
#[derive(Debug, Default)]
pub(super) struct Lookup<'n> {
    known: Option<&'n Names>,
    /// Names that `known` does not have; numbered after its own.
    fresh: Names,
    /// Bytes of a name.
    most: usize,
    last: u32,
    /// (name), which came after it.
    after: Vec<u32>,
}

impl<'n> Lookup<'n> {
    pub(super) fn new(known: &'n Names, longest: Option<usize>) -> Self {
        Self {
            known: Some(known),
            most: longest.unwrap_or(usize::MAX),
            ..Self::default()
        }
    }

    fn known(&self) -> usize {
        self.known.map_or(0, Names::len)
    }

    fn is(&self, number: u32, name: &[u8]) -> bool {
        let place = number as usize;
        let known = self.known();
        let text = match self.known {
            Some(names) if place < known => names.list.get(place),
            _ => self.fresh.list.get(place - known),
        };
        text.is_some_and(|text| text.as_bytes() == name)
    }

    /// The number of `name`.
    pub(super) fn number(&mut self, name: &[u8]) -> Result<u32, NoName> {
        if let Some(next) = self.after.get(self.last as usize).copied()
            && self.is(next, name)
        {
            self.last = next;
            return Ok(next);
        }
        if name.is_empty() {
            return Err(NoName::Empty);
        }
        if name.len() > self.most {
            return Err(NoName::Long(self.most));
        }
        let known = self.known.and_then(|names| names.find_bytes(name));
        let number = match known {
            Some(number) => number,
            None => {
                let text = std::str::from_utf8(name).map_err(|_| NoName::Encoding)?;
                if memchr::memchr(0, name).is_some() {
                    return Err(NoName::Zero);
                }
                let fresh = self.fresh.number(text).ok_or(NoName::TooMany)?;
                u32::try_from(self.known() + fresh as usize).map_err(|_| NoName::TooMany)?
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

    /// The names that were new, in the order of their numbers.
    pub(super) fn into_fresh(self) -> Names {
        self.fresh
    }
}

/// Why a text names no series.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoName {
    Empty,
    Encoding,
    /// A byte of it is 0: no text has that, so no CSV could be written.
    Zero,
    /// Longer than so many bytes.
    Long(usize),
    TooMany,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lookup_numbers_as_a_plain_table_does() {
        let mut known = Names::default();
        for name in ["a", "b"] {
            known.number(name).unwrap();
        }
        let mut lookup = Lookup::new(&known, Some(3));
        let mut plain = known.clone();
        let order = [
            "b", "c", "a", "b", "c", "a", "d", "d", "b", "e", "c", "a", "a",
        ];
        for name in order {
            let expected = plain.number(name).unwrap();
            assert_eq!(lookup.number(name.as_bytes()), Ok(expected), "{name}");
        }
        assert_eq!(lookup.number(b""), Err(NoName::Empty));
        assert_eq!(lookup.number(b"long"), Err(NoName::Long(3)));
        assert_eq!(lookup.number(b"\xff"), Err(NoName::Encoding));
        assert_eq!(lookup.number(b"a\0"), Err(NoName::Zero));
        assert_eq!(lookup.number(b"c"), Ok(2));
        let fresh: Vec<_> = lookup.into_fresh().into_list();
        assert_eq!(fresh, ["c", "d", "e"]);
        assert_eq!(plain.find("e"), Some(4));
        assert_eq!(plain.get(4), Some("e"));
        assert_eq!(plain.get(5), None);
    }
}
