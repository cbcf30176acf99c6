//! A file that is looked at before the decoder believes it.
//!
//! The decoder takes memory for a page by what the page's header says. So every header is read here first (in Thrift's
//! compact protocol, the fields of `parquet.thrift`), and held against the file and the memory.

use crate::io::Memory;
use bytes::Bytes;
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::{ChunkReader, Length};
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A Parquet file of a known length.
#[derive(Debug)]
pub(super) struct Checked {
    file: File,
    length: u64,
    memory: Memory,
    /// Most bytes that a compressed byte can become, where the codec does not stop at the announced size.
    growth: Arc<AtomicU64>,
}

impl Checked {
    pub(super) fn new(file: File, length: u64, memory: Memory) -> Self {
        Self {
            file,
            length,
            memory,
            growth: Arc::new(AtomicU64::new(0)),
        }
    }

    /// How much a compressed byte can become, to be set before pages are read; 0 while only metadata are.
    pub(super) fn growth(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.growth)
    }

    /// Bytes of the file, which it has.
    pub(super) fn bytes(&self, start: u64, length: usize) -> io::Result<Vec<u8>> {
        let mut reader = self.at(start)?;
        let mut bytes = vec![0; length];
        reader.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    fn at(&self, start: u64) -> io::Result<File> {
        let mut file = self.file.try_clone()?;
        file.seek(SeekFrom::Start(start))?;
        Ok(file)
    }

    fn check_header(&self, start: u64) -> Result<()> {
        // Statistics make headers long.
        let mut reach = 1 << 10;
        loop {
            let there = self.length.saturating_sub(start).min(reach);
            let bytes = self.bytes(start, there as usize)?;
            if let Some(page) = Page::of(&bytes) {
                return self.check_page(page?);
            }
            if there < reach || reach >= 1 << 22 {
                return Err(refused("a page's header is cut off"));
            }
            reach *= 8;
        }
    }

    fn check_page(&self, page: Page) -> Result<()> {
        let [size, packed, entries] = [page.size, page.packed, page.entries].map(u64::from);
        let unpacked = size.max(packed.saturating_mul(self.growth.load(Ordering::Relaxed)));
        let needed = packed
            .saturating_add(unpacked)
            .saturating_add(entries.saturating_mul(ENTRY));
        if needed > self.memory.limit() {
            return Err(refused(format!(
                "a page needs {} of memory, but {} may be used: more memory or smaller pages are needed",
                crate::io::Bytes(u128::from(needed)),
                crate::io::Bytes(u128::from(self.memory.limit()))
            )));
        }
        if page.delta_strings {
            // Its decoder believes the number of texts that the page announces.
            return Err(refused(
                "it holds delta-coded texts, which are not read here; write it with dictionaries or plain",
            ));
        }
        Ok(())
    }
}

/// What a decoded entry of a dictionary takes.
const ENTRY: u64 = 40;

fn refused(why: impl Into<String>) -> ParquetError {
    ParquetError::General(why.into())
}

impl Length for Checked {
    fn len(&self) -> u64 {
        self.length
    }
}

impl ChunkReader for Checked {
    type T = BufReader<File>;

    /// The decoder asks for this where a page begins, and reads its header.
    fn get_read(&self, start: u64) -> Result<Self::T> {
        if self.growth.load(Ordering::Relaxed) > 0 {
            self.check_header(start)?;
        }
        Ok(BufReader::new(self.at(start)?))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        let end = start.checked_add(length as u64);
        if end.is_none_or(|end| end > self.length) {
            return Err(refused("a part of it lies beyond the end of the file"));
        }
        Ok(self.bytes(start, length)?.into())
    }
}

/// What a page's header says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Page {
    /// Bytes, decompressed.
    size: u32,
    /// Bytes in the file.
    packed: u32,
    /// Of a dictionary.
    entries: u32,
    delta_strings: bool,
}

/// `parquet.thrift`'s numbers of DELTA_LENGTH_BYTE_ARRAY and DELTA_BYTE_ARRAY.
const DELTA_STRINGS: [i32; 2] = [6, 7];

impl Page {
    /// `None`: the bytes end before the header does. Where a field stands twice, the larger number counts.
    fn of(bytes: &[u8]) -> Option<Result<Self>> {
        let mut page = Self::default();
        let mut thrift = Thrift(bytes);
        let read = thrift.fields(0, &mut |thrift, field, kind| {
            match field {
                2 => page.size = page.size.max(thrift.count()?),
                3 => page.packed = page.packed.max(thrift.count()?),
                1 | 4 => {
                    thrift.number()?;
                }
                // Headers of data pages, of dictionaries, of data pages of version 2.
                5 | 7 | 8 => thrift.fields(1, &mut |thrift, inner, kind| {
                    match (field, inner) {
                        (7, 1) => page.entries = page.entries.max(thrift.count()?),
                        (5, 2) | (8, 4) => {
                            page.delta_strings |= DELTA_STRINGS.contains(&thrift.short()?);
                        }
                        _ => thrift.skip(kind, 1)?,
                    }
                    Ok(())
                })?,
                _ => thrift.skip(kind, 0)?,
            }
            Ok(())
        });
        match read {
            Ok(()) => Some(Ok(page)),
            Err(Bad::Short) => None,
            Err(Bad::Form) => Some(Err(refused("a page's header is damaged"))),
        }
    }
}

/// Bytes in Thrift's compact protocol.
struct Thrift<'b>(&'b [u8]);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bad {
    Short,
    Form,
}

/// Structures in structures; headers have two.
const DEEPEST: u32 = 8;

impl Thrift<'_> {
    fn byte(&mut self) -> std::result::Result<u8, Bad> {
        let (first, rest) = self.0.split_first().ok_or(Bad::Short)?;
        self.0 = rest;
        Ok(*first)
    }

    fn skip_bytes(&mut self, count: u64) -> std::result::Result<(), Bad> {
        let count = usize::try_from(count).map_err(|_| Bad::Short)?;
        self.0 = self.0.get(count..).ok_or(Bad::Short)?;
        Ok(())
    }

    fn variable(&mut self) -> std::result::Result<u64, Bad> {
        let mut value = 0_u64;
        for shift in (0..70).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(Bad::Form)
    }

    fn number(&mut self) -> std::result::Result<i64, Bad> {
        let value = self.variable()?;
        Ok((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    /// A number of 32 bits. The decoder does not look at what it has beyond them; nor may this.
    fn short(&mut self) -> std::result::Result<i32, Bad> {
        self.number().map(|number| number as i32)
    }

    /// Of bytes or of entries.
    fn count(&mut self) -> std::result::Result<u32, Bad> {
        u32::try_from(self.short()?).map_err(|_| Bad::Form)
    }

    /// Calls `field` with the number and the kind of each field of a structure, after its head.
    fn fields(
        &mut self,
        depth: u32,
        field: &mut dyn FnMut(&mut Self, i64, u8) -> std::result::Result<(), Bad>,
    ) -> std::result::Result<(), Bad> {
        if depth > DEEPEST {
            return Err(Bad::Form);
        }
        let mut number = 0_i64;
        loop {
            let head = self.byte()?;
            if head & 0xf == 0 {
                return Ok(());
            }
            number = match head >> 4 {
                0 => self.number()?,
                step => number.saturating_add(i64::from(step)),
            };
            field(self, number, head & 0xf)?;
        }
    }

    /// Passes over a value.
    fn skip(&mut self, kind: u8, depth: u32) -> std::result::Result<(), Bad> {
        match kind {
            // A truth is told by its kind.
            1 | 2 => Ok(()),
            3 => self.skip_bytes(1),
            4..=6 => self.variable().map(drop),
            7 => self.skip_bytes(8),
            8 => {
                let length = self.variable()?;
                self.skip_bytes(length)
            }
            9 | 10 => {
                let head = self.byte()?;
                let count = match head >> 4 {
                    15 => self.variable()?,
                    count => u64::from(count),
                };
                for _ in 0..count {
                    // Truths in a list take a byte each.
                    match head & 0xf {
                        1 | 2 => self.skip_bytes(1)?,
                        0 => return Err(Bad::Form),
                        kind if depth < DEEPEST => self.skip(kind, depth + 1)?,
                        _ => return Err(Bad::Form),
                    }
                }
                Ok(())
            }
            12 if depth < DEEPEST => self.fields(depth + 1, &mut |thrift, _, kind| {
                thrift.skip(kind, depth + 1)
            }),
            _ => Err(Bad::Form),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn zigzag(n: i64) -> Vec<u8> {
        let mut value = ((n << 1) ^ (n >> 63)) as u64;
        let mut bytes = Vec::new();
        loop {
            if value < 0x80 {
                bytes.push(value as u8);
                return bytes;
            }
            bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
    }

    #[test]
    fn headers_say_their_sizes() {
        // type = 2 (dictionary), size, packed, dictionary_page_header { num_values = 1000, encoding = 0 }.
        let header = [
            &[0x15][..],
            &zigzag(2),
            &[0x15],
            &zigzag(1 << 30),
            &[0x15],
            &zigzag(77),
            &[0x4c, 0x15],
            &zigzag(1000),
            &[0x15],
            &zigzag(0),
            &[0],
            &[0],
        ]
        .concat();
        let page = Page::of(&header).unwrap().unwrap();
        assert_eq!(
            page,
            Page {
                size: 1 << 30,
                packed: 77,
                entries: 1000,
                delta_strings: false
            }
        );
        for end in 0..header.len() {
            assert!(Page::of(&header[..end]).is_none(), "{end}");
        }
        // data_page_header { num_values, encoding = 7, …, statistics { a text } }.
        let header = [
            &[0x15][..],
            &zigzag(0),
            &[0x15],
            &zigzag(9),
            &[0x15],
            &zigzag(9),
            &[0x2c, 0x15],
            &zigzag(5),
            &[0x15],
            &zigzag(7),
            &[0x3c, 0x18, 2, b'a', b'b', 0],
            &[0],
            &[0],
        ]
        .concat();
        assert!(Page::of(&header).unwrap().unwrap().delta_strings);
    }

    #[test]
    fn numbers_are_what_the_decoder_takes_them_for() {
        // A dictionary of so many entries.
        let entries = |number: &[u8]| {
            let header = [
                &[0x15, 4, 0x15, 80, 0x15, 82, 0x4c, 0x15][..],
                number,
                &[0x15, 0, 0, 0],
            ]
            .concat();
            Page::of(&header).unwrap().map(|page| page.entries)
        };
        assert_eq!(entries(&zigzag(80)).unwrap(), 80);
        // Below zero in 64 bits, and more than 10⁹ in the 32 that count.
        let found = entries(&[0xd9, 0xff, 0xff, 0xff, 0x16]);
        assert!(found.is_ok_and(|n| n > 1_000_000_000));
        assert_eq!(entries(&zigzag((1 << 32) + 7)).unwrap(), 7);
        assert!(entries(&zigzag(-1)).is_err());
    }

    #[test]
    fn nonsense_ends() {
        let mut state = 1_u64;
        for _ in 0..20_000 {
            let bytes: Vec<u8> = (0..40)
                .map(|_| {
                    state = state
                        .wrapping_mul(6_364_136_223_846_793_005)
                        .wrapping_add(1);
                    (state >> 56) as u8
                })
                .collect();
            let _ = Page::of(&bytes);
        }
        // Lists of lists of lists.
        assert!(matches!(Page::of(&[0x99; 64]), None | Some(Err(_))));
    }
}
