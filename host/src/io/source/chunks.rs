//! Chunks with filters: read from the file, decoded by several threads. HDF5 has some of the filters, but decodes one chunk after the other.

use super::chunk_list::{LISTED_AT_ONCE, chunk_list};
use super::shape::bytes_of;
use super::stored::{Stored, StoredNumber};
use super::{IoError, Source};
use hdf5_metno as hdf5;
use hdf5_metno::dataset::{ChunkInfo, ChunkOpts};
use ndarray::{ArrayD, IxDyn};
use rayon::prelude::*;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::ops::Range;
use std::sync::{Mutex, PoisonError};
use warpstride_formats::chunk_filters::{FilterSpec, Pipeline, Scratch};

/// Chunks that a thread decodes before their numbers are put in their places.
const TOGETHER: usize = 4;

/// Chunks that are decoded before the next ones are read.
fn together() -> usize {
    TOGETHER * rayon::current_num_threads().max(1)
}

/// The parameters of `filter`, as HDF5 stores them.
pub(super) fn spec(filter: &hdf5::filters::Filter, item: usize) -> Option<FilterSpec> {
    use hdf5::filters::Filter;
    let cd_values = match filter {
        Filter::Deflate(level) => vec![u32::from(*level)],
        Filter::Shuffle => vec![u32::try_from(item).ok()?],
        Filter::Fletcher32 => Vec::new(),
        Filter::User(_, parameters) => parameters.clone(),
        _ => return None,
    };
    Some(FilterSpec {
        id: u32::try_from(filter.id()).ok()?,
        cd_values,
        optional: false,
    })
}

/// The chunks of a dataset of numbers.
pub(super) struct Chunks {
    pipeline: Pipeline,
    /// Shape of a chunk.
    chunk: Vec<usize>,
    /// Shape of the dataset.
    shape: Vec<usize>,
    stored: Stored,
    /// Bytes of a number in chunks that the file does not have.
    fill: Vec<u8>,
    /// Whether chunks that reach beyond the dataset are stored without filters.
    whole_only: bool,
    /// Whether HDF5 has all filters, too.
    by_hdf5: bool,
    list: Vec<ChunkInfo>,
    file: Mutex<File>,
}

/// Numbers of a part of a dataset, and the part.
type Decoded<T> = (Vec<Range<usize>>, Vec<T>);

impl Source {
    /// The chunks of a dataset with filters; `None` if HDF5 reads it.
    pub(super) fn chunks(
        &self,
        path: &str,
        dataset: &hdf5::Dataset,
        shape: &[usize],
    ) -> Result<Option<Chunks>, IoError> {
        let broken = |_| self.damaged(path, "its header is damaged");
        let filters = dataset.filters();
        let by_hdf5 = filters.iter().all(hdf5::filters::Filter::decode_enabled);
        if filters.is_empty() || (by_hdf5 && !LISTED_AT_ONCE) {
            return Ok(None);
        }
        let kind = dataset.dtype().map_err(broken)?;
        let item = kind.size();
        let stored = Stored::new(&kind);
        let specs: Vec<FilterSpec> = filters.iter().filter_map(|f| spec(f, item)).collect();
        let known = stored.is_some() && specs.len() == filters.len();
        if by_hdf5 && !known {
            return Ok(None);
        }
        let stored = stored.ok_or_else(|| IoError::Type {
            file: self.name().to_owned(),
            dataset: path.to_owned(),
            expected: "integers or floating-point numbers of 1 to 8 bytes, or complex numbers (r, i), with this filter",
        })?;
        let properties = dataset.create_plist().map_err(broken)?;
        let chunk = properties.get_chunk().map_err(broken)?.unwrap_or_default();
        let chunk_bytes = usize::try_from(bytes_of(&chunk, item)).unwrap_or(usize::MAX);
        let pipeline = (specs.len() == filters.len())
            .then(|| Pipeline::new(&specs, item, chunk_bytes))
            .ok_or_else(|| self.damaged(path, "its filters are damaged"))?;
        let pipeline = pipeline.map_err(|e| self.damaged(path, &e.to_string()))?;
        if chunk.len() != shape.len() || chunk.contains(&0) {
            return Err(self.damaged(path, "the shape of its chunks is damaged"));
        }
        let options = properties.get_chunk_opts().map_err(broken)?;
        let whole_only =
            options.is_some_and(|of| of.contains(ChunkOpts::DONT_FILTER_PARTIAL_CHUNKS));
        let list = chunk_list(dataset)
            .ok_or_else(|| self.damaged(path, "its list of chunks is damaged"))?;
        for of in &list {
            let ends = of.addr.checked_add(of.size);
            if ends.is_none_or(|end| end > self.length) || of.offset.len() != shape.len() {
                let reason = format!(
                    "a chunk of {} bytes is at byte {}, but the file has {} bytes (truncated or damaged)",
                    of.size, of.addr, self.length
                );
                return Err(self.damaged(path, &reason));
            }
        }
        let open = |e: std::io::Error| IoError::Open {
            file: self.name().to_owned(),
            reason: e.to_string(),
        };
        Ok(Some(Chunks {
            pipeline,
            chunk,
            shape: shape.to_vec(),
            fill: stored.fill(dataset),
            stored,
            whole_only,
            by_hdf5,
            list,
            file: Mutex::new(File::open(&self.path).map_err(open)?),
        }))
    }
}

impl Chunks {
    /// Bytes for `sizes` numbers of `item` bytes, and while they are decoded: stored and decoded bytes, the result of a filter, and numbers,
    /// of the chunks that are decoded together.
    fn bytes(&self, sizes: &[usize], item: usize) -> u128 {
        let longest = self.list.iter().map(|of| of.size).max().unwrap_or(0);
        let one = u128::from(longest)
            + 3 * self.pipeline.chunk_bytes() as u128
            + bytes_of(&self.chunk, item);
        bytes_of(sizes, item).saturating_add(one.saturating_mul(together() as u128))
    }

    /// Whether HDF5 should read `parts` as numbers of `item` bytes: it can, and memory for several chunks at once is short, or there is one only.
    pub(super) fn left_to_hdf5(
        &self,
        (source, path): (&Source, &str),
        parts: &[Range<usize>],
        item: usize,
    ) -> bool {
        let sizes: Vec<usize> = parts.iter().map(ExactSizeIterator::len).collect();
        self.by_hdf5
            && (self.list.len() < 2 || source.allow(path, self.bytes(&sizes, item)).is_err())
    }

    /// Reads the range `parts` of every axis, which the caller has checked against the shape, and the memory for the numbers.
    pub(super) fn part<T: StoredNumber>(
        &self,
        (source, path): (&Source, &str),
        parts: &[Range<usize>],
    ) -> Result<ArrayD<T>, IoError> {
        let sizes: Vec<usize> = parts.iter().map(ExactSizeIterator::len).collect();
        let elements: usize = sizes.iter().product();
        let together = together();
        source.allow(path, self.bytes(&sizes, size_of::<T>()))?;
        let fill: T = self.stored.number(&self.fill);
        let mut to = vec![fill; elements];
        let overlapping: Vec<(&ChunkInfo, Vec<Range<usize>>)> = (self.list.iter())
            .filter_map(|of| Some((of, self.overlap(of, parts)?)))
            .collect();
        for group in overlapping.chunks(together) {
            let decoded: Result<Vec<Decoded<T>>, String> = group
                .par_iter()
                .with_max_len(1)
                .map_init(Buffers::default, |buffers, (of, region)| {
                    let numbers = self.numbers(of, region, buffers)?;
                    Ok((region.clone(), numbers))
                })
                .collect();
            for (region, numbers) in decoded.map_err(|reason| source.damaged(path, &reason))? {
                let begins: Vec<usize> = region
                    .iter()
                    .zip(parts)
                    .map(|(r, p)| r.start - p.start)
                    .collect();
                let lengths: Vec<usize> = region.iter().map(ExactSizeIterator::len).collect();
                let row = lengths.last().copied().unwrap_or(1).max(1);
                for (from, at) in numbers.chunks(row).zip(rows(&begins, &lengths, &sizes)) {
                    to[at..at + from.len()].copy_from_slice(from);
                }
            }
        }
        ArrayD::from_shape_vec(IxDyn(&sizes), to)
            .map_err(|_| source.damaged(path, "its shape is damaged"))
    }

    /// The part of the dataset that a chunk and `parts` have in common; `None` if that is nothing.
    fn overlap(&self, of: &ChunkInfo, parts: &[Range<usize>]) -> Option<Vec<Range<usize>>> {
        let axes = of.offset.iter().zip(&self.chunk).zip(parts);
        axes.map(|((offset, length), part)| {
            let begin = usize::try_from(*offset).ok()?;
            let range = begin.max(part.start)..begin.saturating_add(*length).min(part.end);
            (!range.is_empty()).then_some(range)
        })
        .collect()
    }

    /// What the file stores of `parts`: see [`Share`].
    pub(super) fn share(&self, parts: &[Range<usize>]) -> Share<'_> {
        let mut share = Share::default();
        for of in &self.list {
            let Some(region) = self.overlap(of, parts) else {
                continue;
            };
            let numbers = region
                .iter()
                .fold(1_u128, |n, r| n.saturating_mul(r.len() as u128));
            share.numbers = share.numbers.saturating_add(numbers);
            share.stored = share.stored.saturating_add(of.size.into());
            share.chunks.push(of);
        }
        share
    }

    /// Bytes of a decoded chunk.
    pub(super) fn chunk_bytes(&self) -> usize {
        self.pipeline.chunk_bytes()
    }

    /// Bytes of all chunks when they are decoded.
    pub(super) fn all_bytes(&self) -> u128 {
        self.chunk_bytes() as u128 * self.list.len() as u128
    }

    /// Bytes of all chunks as they are stored.
    pub(super) fn stored_bytes(&self) -> u128 {
        self.list.iter().map(|of| u128::from(of.size)).sum()
    }

    /// How many numbers of a chunk differ from the one before, and how many numbers it has; or why it cannot be decoded.
    pub(super) fn changes(&self, of: &ChunkInfo) -> Result<[usize; 2], String> {
        let mut buffers = Buffers::default();
        self.decode(of, &mut buffers)?;
        let numbers = buffers.decoded.chunks_exact(self.stored.bytes());
        let before = numbers.clone();
        let changes = (numbers.clone().skip(1).zip(before)).filter(|(this, last)| this != last);
        Ok([changes.count(), numbers.len()])
    }

    /// Reads a chunk and decodes it; returns where it begins.
    fn decode(&self, of: &ChunkInfo, buffers: &mut Buffers) -> Result<Vec<usize>, String> {
        let Buffers {
            stored,
            decoded,
            scratch,
        } = buffers;
        stored.resize(of.size as usize, 0);
        decoded.resize(self.pipeline.chunk_bytes(), 0);
        {
            let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
            let read = file.seek(SeekFrom::Start(of.addr));
            read.and_then(|_| file.read_exact(stored))
                .map_err(|e| format!("a chunk cannot be read: {e}"))?;
        }
        let offset: Vec<usize> = of.offset.iter().map(|n| *n as usize).collect();
        let ends = offset.iter().zip(&self.chunk).map(|(o, c)| o + c);
        let partial = ends.zip(&self.shape).any(|(end, length)| end > *length);
        let mask = if partial && self.whole_only {
            u32::MAX
        } else {
            of.filter_mask
        };
        (self.pipeline.decode(mask, stored, decoded, scratch))
            .map_err(|e| format!("its chunk at {offset:?}: {e}"))?;
        Ok(offset)
    }

    /// The numbers of a chunk in `region`, or why there are none.
    fn numbers<T: StoredNumber>(
        &self,
        of: &ChunkInfo,
        region: &[Range<usize>],
        buffers: &mut Buffers,
    ) -> Result<Vec<T>, String> {
        let offset = self.decode(of, buffers)?;
        let decoded = &buffers.decoded;
        let begins: Vec<usize> = region
            .iter()
            .zip(&offset)
            .map(|(r, o)| r.start - o)
            .collect();
        let lengths: Vec<usize> = region.iter().map(ExactSizeIterator::len).collect();
        let row = lengths.last().copied().unwrap_or(1);
        let mut numbers = vec![T::default(); lengths.iter().product()];
        let item = self.stored.bytes();
        for (to, at) in (numbers.chunks_mut(row.max(1))).zip(rows(&begins, &lengths, &self.chunk)) {
            self.stored
                .convert(&decoded[at * item..(at + row) * item], to);
        }
        Ok(numbers)
    }
}

/// The chunks that a part of a dataset is in.
#[derive(Default)]
pub(super) struct Share<'c> {
    /// Numbers of the part that are in chunks.
    pub(super) numbers: u128,
    /// Bytes of these chunks as they are stored.
    pub(super) stored: u128,
    pub(super) chunks: Vec<&'c ChunkInfo>,
}

/// Memory of a thread.
#[derive(Default)]
struct Buffers {
    stored: Vec<u8>,
    decoded: Vec<u8>,
    scratch: Scratch,
}

/// Where the rows, along the last axis, of a region that begins at `begins` and has `lengths` are in an array of `shape`, in their order.
fn rows(begins: &[usize], lengths: &[usize], shape: &[usize]) -> impl Iterator<Item = usize> {
    let outer = lengths.len().saturating_sub(1);
    let count: usize = lengths[..outer].iter().product();
    let (begins, lengths, shape) = (begins.to_vec(), lengths.to_vec(), shape.to_vec());
    (0..count).map(move |row| {
        let mut left = row;
        let mut at = begins.last().copied().unwrap_or(0);
        let mut stride = shape.last().copied().unwrap_or(1);
        for axis in (0..outer).rev() {
            at += (begins[axis] + left % lengths[axis]) * stride;
            left /= lengths[axis];
            stride *= shape[axis];
        }
        at
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_a_region_follow_the_array() {
        let at: Vec<usize> = rows(&[1, 0, 2], &[2, 2, 3], &[4, 3, 5]).collect();
        // (1, 0, 2), (1, 1, 2), (2, 0, 2), (2, 1, 2) of 4 × 3 × 5.
        assert_eq!(at, [17, 22, 32, 37]);
        assert_eq!(rows(&[3], &[2], &[7]).collect::<Vec<_>>(), [3]);
        assert_eq!(rows(&[], &[], &[]).collect::<Vec<_>>(), [0]);
    }

    /// Every filter, element type and shape of chunks of `tests/data/filtered.h5`, which h5py and hdf5plugin wrote, whole and in part.
    #[test]
    fn filtered_numbers_are_those_of_the_plain_datasets() {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/filtered.h5");
        let source = Source::open(&path, crate::system::Memory::available()).unwrap();
        let names = source.members("/plain").unwrap().unwrap();
        assert_eq!(names.len(), 12);
        for name in names {
            let filtered = source.numbers(&name).unwrap().unwrap();
            let plain = source.numbers(&format!("/plain/{name}")).unwrap().unwrap();
            if filtered.is_complex() {
                assert_eq!(filtered.complex().unwrap(), plain.complex().unwrap());
                continue;
            }
            assert_eq!(filtered.reals().unwrap(), plain.reals().unwrap(), "{name}");
            assert_eq!(
                filtered.unsigned().unwrap(),
                plain.unsigned().unwrap(),
                "{name}"
            );
            for part in [
                [0..6, 0..11, 0..13],
                [1..5, 2..11, 3..4],
                [5..6, 0..1, 0..13],
                [2..2, 0..1, 0..1],
            ] {
                let found = filtered.part(&part).unwrap();
                assert_eq!(found, plain.part(&part).unwrap(), "{name} {part:?}");
            }
        }
    }

    /// Filters that HDF5 has, too, by both decoders.
    #[test]
    fn numbers_with_the_filters_of_hdf5_are_those_that_hdf5_reads() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("gzip.h5");
        let file = hdf5::File::create(&path).unwrap();
        let counts = ndarray::Array3::from_shape_fn((9, 11, 13), |(n, r, c)| {
            ((n * 7919 + r * 131 + c * 17) % 1009) as i16 - 500
        });
        let dataset = file
            .new_dataset_builder()
            .chunk((2, 5, 13))
            .shuffle()
            .deflate(4)
            .fletcher32()
            .with_data(&counts);
        dataset.create("data").unwrap();
        file.close().unwrap();
        let all = crate::system::Memory::available();
        let source = Source::open(&path, all).unwrap();
        let numbers = source.numbers("/data").unwrap().unwrap();
        let expected = counts.mapv(f64::from).into_dyn();
        assert_eq!(numbers.reals().unwrap(), expected);
        let part = [3..8, 1..11, 2..3];
        let dataset = source.dataset("/data").unwrap().unwrap();
        let chunks = source.chunks("/data", &dataset, &[9, 11, 13]).unwrap();
        assert_eq!(chunks.is_some(), LISTED_AT_ONCE);
        let found = numbers.part(&part).unwrap();
        let cut = counts.slice(ndarray::s![3..8, 1..11, 2..3]);
        assert_eq!(found, cut.mapv(f32::from).into_dyn());
        // With too little memory for several chunks at once, HDF5 reads.
        let small = Source::open(&path, crate::system::Memory::limited(12_000)).unwrap();
        let numbers = small.numbers("/data").unwrap().unwrap();
        assert_eq!(numbers.reals().unwrap(), expected);
    }

    #[test]
    fn damaged_chunks_and_small_memories_are_refused() {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/filtered.h5");
        let bytes = std::fs::read(path).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("damaged.h5");
        let all = crate::system::Memory::available();
        let chunk = {
            std::fs::write(&path, &bytes).unwrap();
            let source = Source::open(&path, all).unwrap();
            let numbers = source.dataset("/bitshuffle_lz4").unwrap().unwrap();
            numbers.chunk_info(0).unwrap()
        };
        let mut damaged = bytes;
        // The size of the decoded chunk, which the filter stores first.
        damaged[chunk.addr as usize] = 0x7f;
        std::fs::write(&path, &damaged).unwrap();
        let source = Source::open(&path, all).unwrap();
        let error = source.numbers("/bitshuffle_lz4").unwrap().unwrap().reals();
        let error = error.unwrap_err().to_string();
        assert!(
            error.contains("/bitshuffle_lz4") && error.contains("chunk at [0, 0, 0]"),
            "{error}"
        );
        let source = Source::open(&path, crate::system::Memory::limited(4000)).unwrap();
        assert!(
            source
                .numbers("/lz4")
                .and_then(|of| of.unwrap().reals())
                .is_err()
        );
    }
}
