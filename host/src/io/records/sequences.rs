//! Lengths of the sequences in records, from the bytes of the file.
//!
//! HDF5 takes memory for the length that a record claims before it looks into the heap that holds
//! the sequence. In the file a sequence is its length (4 bytes, little-endian), an address (8) and an
//! index (4); file format specification 3.0, section IV.A.2.d.

use super::Records;
use crate::io::IoError;
use hdf5_metno as hdf5;
use hdf5_metno::dataset::Layout;
use hdf5_metno::types::TypeDescriptor;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};

/// Bytes by which a string of variable length is longer in a file than in memory: 16 instead of a
/// pointer.
const STRING_GROWTH: usize = 16 - size_of::<usize>();

/// Records that are stored one after the other.
struct Part {
    /// Number of the first of them.
    first: usize,
    /// Where they begin, bytes from the start of the file.
    address: u64,
    count: usize,
}

impl Records<'_> {
    /// The lengths of the sequences `members` of each record; `None` if the records are compressed
    /// or in the header of the dataset, where they cannot be read without HDF5, or take another
    /// number of bytes than this layout.
    pub(crate) fn sequence_lengths<const N: usize>(
        &self,
        members: [&str; N],
    ) -> Result<Option<Vec<[u32; N]>>, IoError> {
        let TypeDescriptor::Compound(record) = &self.kind else {
            return Ok(None);
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
        let Some(parts) = self.parts(size)? else {
            return Ok(None);
        };
        self.allow(self.count, size_of::<[u32; N]>())?;
        let mut lengths = vec![[0; N]; self.count];
        let unreadable = |_| self.unreadable();
        let mut file = File::open(self.source.path()).map_err(unreadable)?;
        let mut bytes = Vec::new();
        for stored in parts {
            let Some(part) = lengths.get_mut(stored.first..) else {
                continue;
            };
            // The last chunk may reach beyond the last record.
            let count = stored.count.min(part.len());
            // No more than the file has is read.
            bytes.clear();
            file.seek(SeekFrom::Start(stored.address))
                .map_err(unreadable)?;
            (&mut file)
                .take((count * size) as u64)
                .read_to_end(&mut bytes)
                .map_err(unreadable)?;
            if bytes.len() != count * size {
                return Err(self.unreadable());
            }
            for (found, record) in part.iter_mut().zip(bytes.chunks_exact(size)) {
                *found = offsets.map(|offset| {
                    let length = record.get(offset..offset + 4);
                    length.map_or(u32::MAX, |b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
                });
            }
        }
        Ok(Some(lengths))
    }

    /// The parts of the dataset, of records of `size` bytes; `None` if they cannot be read.
    fn parts(&self, size: usize) -> Result<Option<Vec<Part>>, IoError> {
        let unreadable = |_| self.unreadable();
        let properties = self.dataset.create_plist().map_err(unreadable)?;
        match properties.get_layout().map_err(unreadable)? {
            Layout::Contiguous => {
                // Without an address nothing has been written, and all lengths are 0.
                let Some(address) = self.dataset.offset() else {
                    return Ok(Some(Vec::new()));
                };
                if self.dataset.storage_size() != self.count as u64 * size as u64 {
                    return Ok(None);
                }
                let whole = Part {
                    first: 0,
                    address,
                    count: self.count,
                };
                Ok(Some(vec![whole]))
            }
            Layout::Chunked if self.dataset.filters().is_empty() => {
                let chunk = properties.get_chunk().map_err(unreadable)?;
                let Some(&[count]) = chunk.as_deref() else {
                    return Err(self.unreadable());
                };
                let mut parts = Vec::new();
                let complete = self.visit_chunks(|first, address, bytes| {
                    parts.push(Part {
                        first: usize::try_from(first).unwrap_or(usize::MAX),
                        address,
                        count: count.min(self.count),
                    });
                    bytes == (count as u64).saturating_mul(size as u64)
                });
                Ok(complete.then_some(parts))
            }
            _ => Ok(None),
        }
    }

    /// Calls `visit` with the first record, the address and the bytes of each chunk, as long as it
    /// returns true; whether all were visited.
    #[cfg(feature = "static")]
    fn visit_chunks(&self, mut visit: impl FnMut(u64, u64, u64) -> bool) -> bool {
        let mut all = true;
        let visited = self
            .dataset
            .chunks_visit(|chunk: hdf5::dataset::ChunkInfoRef<'_>| {
                let first = chunk.offset.first().copied().unwrap_or(u64::MAX);
                all &= visit(first, chunk.addr, chunk.size);
                i32::from(!all)
            });
        all && visited.is_ok()
    }

    /// Like the above, for versions of HDF5 that can only be asked for one chunk at a time.
    #[cfg(not(feature = "static"))]
    fn visit_chunks(&self, mut visit: impl FnMut(u64, u64, u64) -> bool) -> bool {
        let chunks = self.dataset.num_chunks().unwrap_or(0);
        (0..chunks).all(|number| match self.dataset.chunk_info(number) {
            Some(chunk) => {
                let first = chunk.offset.first().copied().unwrap_or(u64::MAX);
                visit(first, chunk.addr, chunk.size)
            }
            None => false,
        })
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
