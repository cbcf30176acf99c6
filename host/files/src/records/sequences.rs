//! Lengths of the sequences in records, and of strings, from the bytes of the file.
//!
//! HDF5 takes memory for the length that a record claims before it looks into the heap that holds
//! the sequence. In the file a sequence is its length (4 bytes, little-endian), an address (8) and
//! an index (4); file format specification 3.0, section IV.A.2.d.

use super::Records;
use crate::IoError;
use crate::source::{Source, filter_spec};
use hdf5_metno as hdf5;
use hdf5_metno::dataset::Layout;
use hdf5_metno::types::TypeDescriptor;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use warpstride_core::system::Bytes;
use warpstride_formats::chunk_filters::{FilterSpec, Pipeline, Scratch};

/// Bytes by which a string of variable length is longer in a file than in memory: 16 instead of a
/// pointer.
const STRING_GROWTH: usize = 16 - size_of::<usize>();

/// Bytes of a string of variable length in a file.
const STRING: usize = 16;

/// Most bytes of the texts of a dataset, of which there are several copies while they are read.
const MOST_TEXT: u128 = 32 << 20;

/// Records that are stored one after the other.
struct Part {
    /// Number of the first of them.
    first: usize,
    count: usize,
    /// Where they begin, bytes from the start of the file.
    address: u64,
    /// Bytes that they take there.
    stored: u64,
    /// Filters that were not applied to them, one bit each.
    skipped: u32,
}

impl Records<'_> {
    /// The lengths of the sequences `members` of each record.
    ///
    /// # Errors
    /// The file is damaged, or the records are stored in a way in which they cannot be read without
    /// HDF5.
    pub fn sequence_lengths<const N: usize>(
        &self,
        members: [&str; N],
    ) -> Result<Vec<[u32; N]>, IoError> {
        let TypeDescriptor::Compound(record) = &self.kind else {
            return Err(self.unreadable());
        };
        let growth_before = |offset: usize| -> usize {
            let before = record.fields.iter().filter(|field| field.offset < offset);
            before.map(|field| growth(&field.ty)).sum()
        };
        let mut offsets = [0; N];
        for (offset, name) in offsets.iter_mut().zip(members) {
            let field = record.fields.iter().find(|field| field.name == name);
            let Some(field) = field else {
                return Err(self.no_member(name));
            };
            *offset = field.offset + growth_before(field.offset);
        }
        let size = record.size + growth_before(record.size);
        self.stored_lengths(offsets, size)
    }

    /// The lengths of the sequences at `offsets` of each record of `size` bytes in the file.
    fn stored_lengths<const N: usize>(
        &self,
        offsets: [usize; N],
        size: usize,
    ) -> Result<Vec<[u32; N]>, IoError> {
        let parts = self.parts(size)?;
        self.allow(self.count, size_of::<[u32; N]>())?;
        let mut lengths = vec![[0; N]; self.count];
        // All parts have as many records.
        let whole = parts
            .first()
            .map_or(0, |part| part.count.saturating_mul(size));
        self.fits(whole as u128)?;
        let pipeline = self.pipeline(size, whole);
        let pipeline = pipeline.ok_or_else(|| self.unreadable())?;
        let (mut bytes, mut scratch) = (vec![0; whole], Scratch::default());
        let unreadable = |_| self.unreadable();
        let mut file = File::open(self.source.path()).map_err(unreadable)?;
        for part in parts {
            let Some(found) = lengths.get_mut(part.first..) else {
                continue;
            };
            // No more than the file has is read.
            let mut stored = Vec::new();
            file.seek(SeekFrom::Start(part.address))
                .map_err(unreadable)?;
            (&mut file)
                .take(part.stored)
                .read_to_end(&mut stored)
                .map_err(unreadable)?;
            (pipeline.decode(part.skipped, &stored, &mut bytes, &mut scratch))
                .map_err(|_| self.unreadable())?;
            // The last chunk may reach beyond the last record.
            for (found, record) in found.iter_mut().zip(bytes.chunks_exact(size)) {
                *found = offsets.map(|offset| {
                    let length = record.get(offset..offset + 4);
                    length.map_or(u32::MAX, |b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
                });
            }
        }
        Ok(lengths)
    }

    /// What undoes the filters of a part with `whole` bytes of records of `size` bytes.
    fn pipeline(&self, size: usize, whole: usize) -> Option<Pipeline> {
        let filters = self.dataset.filters();
        let specs: Option<Vec<FilterSpec>> =
            filters.iter().map(|of| filter_spec(of, size)).collect();
        Pipeline::new(&specs?, size, whole).ok()
    }

    /// The parts of the dataset, of records of `size` bytes.
    fn parts(&self, size: usize) -> Result<Vec<Part>, IoError> {
        let unreadable = |_| self.unreadable();
        let properties = self.dataset.create_plist().map_err(unreadable)?;
        let bytes = |count: usize| (count as u64).saturating_mul(size as u64);
        match properties.get_layout().map_err(unreadable)? {
            Layout::Contiguous => {
                // Without an address nothing has been written, and all lengths are 0.
                let Some(address) = self.dataset.offset() else {
                    return Ok(Vec::new());
                };
                if self.dataset.storage_size() != bytes(self.count) {
                    return Err(self.unreadable());
                }
                Ok(vec![Part {
                    first: 0,
                    count: self.count,
                    address,
                    stored: bytes(self.count),
                    skipped: 0,
                }])
            }
            Layout::Chunked => {
                let chunk = properties.get_chunk().map_err(unreadable)?;
                let Some(&[count]) = chunk.as_deref() else {
                    return Err(self.unreadable());
                };
                let mut parts = Vec::new();
                let complete = self.visit_chunks(|first, address, stored, skipped| {
                    parts.push(Part {
                        first: usize::try_from(first).unwrap_or(usize::MAX),
                        count,
                        address,
                        stored,
                        skipped,
                    });
                    stored <= self.source.length()
                });
                complete.then_some(parts).ok_or_else(|| self.unreadable())
            }
            _ => Err(IoError::Unsupported {
                file: self.source.name().to_owned(),
                dataset: self.path.clone(),
                expected: "records in chunks or in one piece",
                found: "records in the header of the dataset".to_owned(),
                advice: "write them again, for example with h5repack -l CHUNK=1",
            }),
        }
    }

    /// Calls `visit` with the first record, the address, the bytes and the skipped filters of each
    /// chunk, as long as it returns true; whether all were visited.
    #[cfg(feature = "static")]
    fn visit_chunks(&self, mut visit: impl FnMut(u64, u64, u64, u32) -> bool) -> bool {
        let mut all = true;
        let visited = self
            .dataset
            .chunks_visit(|chunk: hdf5::dataset::ChunkInfoRef<'_>| {
                let first = chunk.offset.first().copied().unwrap_or(u64::MAX);
                all &= visit(first, chunk.addr, chunk.size, chunk.filter_mask);
                i32::from(!all)
            });
        all && visited.is_ok()
    }

    /// Like the above, for versions of HDF5 that can only be asked for one chunk at a time.
    #[cfg(not(feature = "static"))]
    fn visit_chunks(&self, mut visit: impl FnMut(u64, u64, u64, u32) -> bool) -> bool {
        let chunks = self.dataset.num_chunks().unwrap_or(0);
        (0..chunks).all(|number| match self.dataset.chunk_info(number) {
            Some(chunk) => {
                let first = chunk.offset.first().copied().unwrap_or(u64::MAX);
                visit(first, chunk.addr, chunk.size, chunk.filter_mask)
            }
            None => false,
        })
    }
}

impl Source {
    /// Checks that no string of variable length in `dataset`, of `count` strings, claims to be
    /// longer than the file, and that all of them have at most 32 MiB and fit into memory.
    pub(crate) fn check_string_lengths(
        &self,
        path: &str,
        dataset: &hdf5::Dataset,
        count: usize,
    ) -> Result<(), IoError> {
        let damaged = |_| self.damaged(path, "its text is damaged");
        let properties = dataset.create_plist().map_err(damaged)?;
        let line = dataset.ndim() == 1;
        match properties.get_layout().map_err(damaged)? {
            Layout::Contiguous => {}
            Layout::Chunked if line => {}
            // In the dataset's header, or an array of chunks of a single string.
            _ => return Ok(()),
        }
        let strings = Records {
            source: self,
            path: path.to_owned(),
            dataset: dataset.clone(),
            kind: TypeDescriptor::VarLenUnicode,
            count,
        };
        let lengths = strings
            .stored_lengths([0], STRING)
            .map_err(|_| self.damaged(path, "its text is damaged"))?;
        let mut total = 0_u128;
        for [length] in lengths {
            if u64::from(length) > self.length() {
                return Err(self.damaged(
                    path,
                    &format!(
                        "a text claims to have {length} bytes in a file of {} bytes",
                        self.length()
                    ),
                ));
            }
            total += u128::from(length);
        }
        if total > MOST_TEXT {
            return Err(IoError::Value {
                file: self.name().to_owned(),
                dataset: path.to_owned(),
                found: Bytes(total).to_string(),
                expected: format!("at most {} of text", Bytes(MOST_TEXT)),
            });
        }
        self.allow(path, total)
    }
}

/// Bytes by which a value of this type is longer in a file than in memory.
fn growth(kind: &TypeDescriptor) -> usize {
    match kind {
        TypeDescriptor::VarLenAscii | TypeDescriptor::VarLenUnicode => STRING_GROWTH,
        TypeDescriptor::FixedArray(inner, count) => count.saturating_mul(growth(inner)),
        TypeDescriptor::Compound(record) => record.fields.iter().map(|f| growth(&f.ty)).sum(),
        _ => 0,
    }
}
