//! Checks the page headers of a file before the decoder uses them.
//!
//! The decoder allocates memory for a page as announced by its header. Therefore each header is
//! first parsed here (Thrift's compact protocol, fields of `parquet.thrift`), and checked against
//! the file and the memory.

use bytes::Bytes;
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::{ChunkReader, Length};
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use warpstride_core::system::Memory;

/// A Parquet file of known length.
#[derive(Debug)]
pub(super) struct CheckedFile {
    file: File,
    length: u64,
    memory: Memory,
    /// Upper bound on the bytes decompressed from a byte, for codecs that do not stop at the
    /// announced size.
    growth: Arc<AtomicU64>,
}

impl CheckedFile {
    pub(super) fn new(file: File, length: u64, memory: Memory) -> Self {
        Self {
            file,
            length,
            memory,
            growth: Arc::new(AtomicU64::new(0)),
        }
    }

    /// Upper bound on the growth of a compressed byte. It must be set before pages are read, and is
    /// 0 while only metadata are read.
    pub(super) fn growth(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.growth)
    }

    /// Reads bytes within the file.
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
                return Err(refused("a page header is truncated"));
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
                "a page needs {} of memory, but only {} is available; use more memory or write smaller pages",
                warpstride_core::system::Bytes(u128::from(needed)),
                warpstride_core::system::Bytes(u128::from(self.memory.limit()))
            )));
        }
        if page.delta_strings {
            // Its decoder trusts the number of strings announced by the page.
            return Err(refused(
                "delta-coded texts are not supported; write the file with dictionary or plain encoding",
            ));
        }
        Ok(())
    }
}

/// Bytes of memory per decoded dictionary entry.
const ENTRY: u64 = 40;

fn refused(why: impl Into<String>) -> ParquetError {
    ParquetError::General(why.into())
}

impl Length for CheckedFile {
    fn len(&self) -> u64 {
        self.length
    }
}

impl ChunkReader for CheckedFile {
    type T = BufReader<File>;

    /// The decoder calls this at the start of a page and then reads its header.
    fn get_read(&self, start: u64) -> Result<Self::T> {
        if self.growth.load(Ordering::Relaxed) > 0 {
            self.check_header(start)?;
        }
        Ok(BufReader::new(self.at(start)?))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        let end = start.checked_add(length as u64);
        if end.is_none_or(|end| end > self.length) {
            return Err(refused("a part extends beyond the end of the file"));
        }
        Ok(self.bytes(start, length)?.into())
    }
}

/// The contents of a page header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Page {
    /// Decompressed size in bytes.
    size: u32,
    /// Size in the file in bytes.
    packed: u32,
    /// Number of dictionary entries.
    entries: u32,
    delta_strings: bool,
}

/// Numbers of DELTA_LENGTH_BYTE_ARRAY and DELTA_BYTE_ARRAY in `parquet.thrift`.
const DELTA_STRINGS: [i32; 2] = [6, 7];

impl Page {
    /// `None` if the bytes end before the header does. If a field occurs twice, the larger number
    /// is used.
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
                // Headers of data pages, dictionaries, and data pages of version 2.
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
            Err(ThriftError::Truncated) => None,
            Err(ThriftError::Invalid) => Some(Err(refused("a page header is damaged"))),
        }
    }
}

/// Bytes in Thrift's compact protocol.
struct Thrift<'b>(&'b [u8]);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ThriftError {
    Truncated,
    Invalid,
}

/// Largest nesting depth of structures; headers have two levels.
const DEEPEST: u32 = 8;

impl Thrift<'_> {
    fn byte(&mut self) -> std::result::Result<u8, ThriftError> {
        let (first, rest) = self.0.split_first().ok_or(ThriftError::Truncated)?;
        self.0 = rest;
        Ok(*first)
    }

    fn skip_bytes(&mut self, count: u64) -> std::result::Result<(), ThriftError> {
        let count = usize::try_from(count).map_err(|_| ThriftError::Truncated)?;
        self.0 = self.0.get(count..).ok_or(ThriftError::Truncated)?;
        Ok(())
    }

    fn variable(&mut self) -> std::result::Result<u64, ThriftError> {
        let mut value = 0_u64;
        for shift in (0..70).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(ThriftError::Invalid)
    }

    fn number(&mut self) -> std::result::Result<i64, ThriftError> {
        let value = self.variable()?;
        Ok((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    /// A 32-bit number. Higher bits are ignored, as the decoder does.
    fn short(&mut self) -> std::result::Result<i32, ThriftError> {
        self.number().map(|number| number as i32)
    }

    /// A number of bytes or entries.
    fn count(&mut self) -> std::result::Result<u32, ThriftError> {
        u32::try_from(self.short()?).map_err(|_| ThriftError::Invalid)
    }

    /// Calls `field` with the number and the type of each field of a structure, after reading its
    /// head.
    fn fields(
        &mut self,
        depth: u32,
        field: &mut dyn FnMut(&mut Self, i64, u8) -> std::result::Result<(), ThriftError>,
    ) -> std::result::Result<(), ThriftError> {
        if depth > DEEPEST {
            return Err(ThriftError::Invalid);
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

    /// Skips a value.
    fn skip(&mut self, kind: u8, depth: u32) -> std::result::Result<(), ThriftError> {
        match kind {
            // The type of a boolean field is its value.
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
                    // Each boolean in a list takes one byte.
                    match head & 0xf {
                        1 | 2 => self.skip_bytes(1)?,
                        0 => return Err(ThriftError::Invalid),
                        kind if depth < DEEPEST => self.skip(kind, depth + 1)?,
                        _ => return Err(ThriftError::Invalid),
                    }
                }
                Ok(())
            }
            12 if depth < DEEPEST => self.fields(depth + 1, &mut |thrift, _, kind| {
                thrift.skip(kind, depth + 1)
            }),
            _ => Err(ThriftError::Invalid),
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
    fn header_sizes_are_parsed() {
        // type = 2 (dictionary), size, packed, dictionary_page_header { num_values = 1000, encoding =
        // 0 }.
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
    fn numbers_are_parsed_like_the_decoder() {
        // A dictionary with this number of entries.
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
        // Negative in 64 bits, and more than 10⁹ in the 32 bits that are used.
        let found = entries(&[0xd9, 0xff, 0xff, 0xff, 0x16]);
        assert!(found.is_ok_and(|n| n > 1_000_000_000));
        assert_eq!(entries(&zigzag((1 << 32) + 7)).unwrap(), 7);
        assert!(entries(&zigzag(-1)).is_err());
    }

    #[test]
    fn malformed_headers_are_rejected() {
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
        // Nested lists.
        assert!(matches!(Page::of(&[0x99; 64]), None | Some(Err(_))));
    }
}
