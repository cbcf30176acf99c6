//! Chunks with filters: read from the file, decoded by several threads. HDF5 has some of the
//! filters, but decodes one chunk after the other.

mod places;

use super::chunk_list::{LISTED_AT_ONCE, chunk_list};
use super::look::{Look, look_at_lines};
use super::shape::bytes_of;
use super::stored::{Stored, StoredNumber};
use super::{IoError, Source};
use hdf5_metno as hdf5;
use hdf5_metno::dataset::{ChunkInfo, ChunkOpts};
use ndarray::{ArrayD, IxDyn};
use places::{Piece, Places};
use rayon::prelude::*;
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use warpstride_formats::chunk_filters::{FilterSpec, Pipeline, Scratch};

/// Chunks that a thread decodes before their numbers are put in their places.
const TOGETHER: usize = 4;

/// Numbers that are looked at as soon as they are converted: 32 KiB in single precision.
const LOOKED_AT: usize = 1 << 13;

/// Chunks that are decoded before the next ones are read.
fn together() -> usize {
    TOGETHER * rayon::current_num_threads().max(1)
}

/// The parameters of `filter`, as HDF5 stores them.
pub(crate) fn spec(filter: &hdf5::filters::Filter, item: usize) -> Option<FilterSpec> {
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
    /// The file, which is open while chunks are read.
    file: PathBuf,
}

/// What is read along the first axis of the dataset (its lines, from the first to the last), the
/// chunks with it, and where it goes.
struct Slab<'c, 't, T> {
    lines: Range<usize>,
    /// Place of the first number among all that are read.
    first: usize,
    pieces: Vec<Piece<'c>>,
    to: &'t mut [T],
}

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
        let length = self.length();
        for of in &list {
            let ends = of.addr.checked_add(of.size);
            if ends.is_none_or(|end| end > length) || of.offset.len() != shape.len() {
                let reason = format!(
                    "a chunk of {} bytes is at byte {}, but the file has {} bytes (truncated or damaged)",
                    of.size, of.addr, length
                );
                return Err(self.damaged(path, &reason));
            }
        }
        Ok(Some(Chunks {
            pipeline,
            chunk,
            shape: shape.to_vec(),
            fill: stored.fill(dataset),
            stored,
            whole_only,
            by_hdf5,
            list,
            file: self.path.clone(),
        }))
    }
}

impl Chunks {
    /// Bytes for `sizes` numbers of `item` bytes, and while they are decoded: stored and decoded
    /// bytes, the result of a filter, and numbers, of the chunks that are decoded together.
    fn bytes(&self, sizes: &[usize], item: usize) -> u128 {
        let longest = self.list.iter().map(|of| of.size).max().unwrap_or(0);
        let one = u128::from(longest)
            + 3 * self.pipeline.chunk_bytes() as u128
            + bytes_of(&self.chunk, item);
        bytes_of(sizes, item).saturating_add(one.saturating_mul(together() as u128))
    }

    /// Whether HDF5 should read `parts` as numbers of `item` bytes: it can, and memory for several
    /// chunks at once is short, or there is one only.
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

    /// Reads the range `parts` of every axis, which the caller has checked against the shape, and
    /// the memory for the numbers.
    pub(super) fn part<T: StoredNumber>(
        &self,
        here: (&Source, &str),
        parts: &[Range<usize>],
    ) -> Result<ArrayD<T>, IoError> {
        let sizes: Vec<usize> = parts.iter().map(ExactSizeIterator::len).collect();
        here.0.allow(here.1, self.bytes(&sizes, size_of::<T>()))?;
        let mut to = vec![T::default(); sizes.iter().product()];
        self.part_into(here, parts, &mut to, None)?;
        ArrayD::from_shape_vec(IxDyn(&sizes), to)
            .map_err(|_| here.0.damaged(here.1, "its shape is damaged"))
    }

    /// Like [`Chunks::part`], into memory for these numbers, with the last axis fastest. `look`
    /// sees those that the file has, whole lines of the first axis one after the other.
    pub(super) fn part_into<T: StoredNumber>(
        &self,
        (source, path): (&Source, &str),
        parts: &[Range<usize>],
        to: &mut [T],
        look: Option<&dyn Look<T>>,
    ) -> Result<(), IoError> {
        let sizes: Vec<usize> = parts.iter().map(ExactSizeIterator::len).collect();
        source.allow(path, self.bytes(&sizes, size_of::<T>()))?;
        let mut pieces: Vec<Piece<'_>> = (self.list.iter())
            .filter_map(|of| Some((of, self.overlap(of, parts)?)))
            .collect();
        let elements = |(_, region): &Piece<'_>| -> usize {
            region.iter().map(ExactSizeIterator::len).product()
        };
        if pieces.iter().map(elements).sum::<usize>() != to.len() {
            // Some chunks are not in the file.
            to.fill(self.stored.number(&self.fill));
        }
        pieces.sort_by_key(|(_, region)| region.first().map_or(0, |lines| lines.start));
        let slabs = slabs(pieces, parts, to);
        let slabs =
            slabs.ok_or_else(|| source.damaged(path, "the places of its chunks are damaged"))?;
        let spare = Spare::default();
        let file = File::open(&self.file).map_err(|e| IoError::Open {
            file: source.name().to_owned(),
            reason: e.to_string(),
        })?;
        let from = (&file, &spare);
        let read = if slabs.len() >= rayon::current_num_threads() {
            let slabs = slabs.into_par_iter().with_max_len(1);
            slabs.try_for_each(|slab| self.directly(slab, (parts, &sizes), from, look))
        } else {
            let mut slabs = slabs.into_iter();
            slabs.try_for_each(|slab| self.together(slab, (parts, &sizes), from, look))
        };
        read.map_err(|reason: String| source.damaged(path, &reason))
    }

    /// Reads the chunks of a slab one after the other, each into its places.
    fn directly<T: StoredNumber>(
        &self,
        slab: Slab<'_, '_, T>,
        (parts, sizes): (&[Range<usize>], &[usize]),
        (file, spare): (&File, &Spare),
        look: Option<&dyn Look<T>>,
    ) -> Result<(), String> {
        let sizes = slab_sizes(&slab.lines, sizes);
        let places = |piece| Places::new(piece, &slab.lines, parts, &sizes, &self.chunk);
        if let ([piece], Some(look)) = (slab.pieces.as_slice(), look)
            && let Some(from) = places(piece).only_row(slab.to.len())
        {
            return spare.with(|buffers| {
                self.decode(file, piece.0, buffers)?;
                let (item, row) = (self.stored.bytes(), sizes.last().map_or(1, |n| (*n).max(1)));
                let some = (LOOKED_AT / row).max(1) * row;
                let mut visit = look.at(slab.first);
                let from = buffers.decoded[from * item..].chunks(some * item);
                for (from, to) in from.zip(slab.to.chunks_mut(some)) {
                    self.stored.convert(from, to);
                    visit(to);
                }
                Ok(())
            });
        }
        slab.pieces.iter().try_for_each(|piece| {
            spare.with(|buffers| {
                self.decode(file, piece.0, buffers)?;
                places(piece).convert(self.stored, &buffers.decoded, slab.to);
                Ok::<(), String>(())
            })
        })?;
        if let Some(look) = look {
            look.at(slab.first)(slab.to);
        }
        Ok(())
    }

    /// Reads the chunks of a slab by several threads.
    fn together<T: StoredNumber>(
        &self,
        slab: Slab<'_, '_, T>,
        (parts, sizes): (&[Range<usize>], &[usize]),
        (file, spare): (&File, &Spare),
        look: Option<&dyn Look<T>>,
    ) -> Result<(), String> {
        let sizes = slab_sizes(&slab.lines, sizes);
        for group in slab.pieces.chunks(together()) {
            let decoded: Result<Vec<_>, String> = (group.par_iter().with_max_len(1))
                .map(|piece| {
                    let lengths: Vec<usize> = piece.1.iter().map(ExactSizeIterator::len).collect();
                    let mut numbers = vec![T::default(); lengths.iter().product()];
                    let alone = Places::new(piece, &piece.1[0], &piece.1, &lengths, &self.chunk);
                    spare.with(|buffers| {
                        self.decode(file, piece.0, buffers)?;
                        alone.convert(self.stored, &buffers.decoded, &mut numbers);
                        Ok((piece, lengths, numbers))
                    })
                })
                .collect();
            for (piece, lengths, numbers) in decoded? {
                let places = Places::new(piece, &slab.lines, parts, &sizes, &lengths);
                places.copy(&numbers, slab.to);
            }
        }
        if let Some(look) = look {
            look_at_lines(look, slab.first, slab.lines.len(), slab.to);
        }
        Ok(())
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

    /// How many numbers of a chunk differ from the one before, and how many numbers it has; or why
    /// it cannot be decoded.
    pub(super) fn changes(&self, of: &ChunkInfo) -> Result<[usize; 2], String> {
        let mut buffers = Buffers::default();
        let file = File::open(&self.file).map_err(|e| format!("its file cannot be opened: {e}"))?;
        self.decode(&file, of, &mut buffers)?;
        let numbers = buffers.decoded.chunks_exact(self.stored.bytes());
        let before = numbers.clone();
        let changes = (numbers.clone().skip(1).zip(before)).filter(|(this, last)| this != last);
        Ok([changes.count(), numbers.len()])
    }

    /// Reads and decodes a chunk into the buffer for that, or says why it cannot be.
    fn decode(&self, file: &File, of: &ChunkInfo, buffers: &mut Buffers) -> Result<(), String> {
        let Buffers {
            stored,
            decoded,
            scratch,
        } = buffers;
        stored.resize(of.size as usize, 0);
        decoded.resize(self.pipeline.chunk_bytes(), 0);
        (file.read_exact_at(stored, of.addr))
            .map_err(|e| format!("a chunk cannot be read: {e}"))?;
        let offset: Vec<usize> = of.offset.iter().map(|n| *n as usize).collect();
        let ends = offset.iter().zip(&self.chunk).map(|(o, c)| o + c);
        let partial = ends.zip(&self.shape).any(|(end, length)| end > *length);
        let mask = if partial && self.whole_only {
            u32::MAX
        } else {
            of.filter_mask
        };
        (self.pipeline.decode(mask, stored, decoded, scratch))
            .map_err(|e| format!("its chunk at {offset:?}: {e}"))
    }
}

/// The parts of `to`, the numbers in `parts`, that chunks have along the first axis, in which the
/// pieces are ordered; `None` if some of them overlap without being equal.
fn slabs<'c, 't, T>(
    pieces: Vec<Piece<'c>>,
    parts: &[Range<usize>],
    to: &'t mut [T],
) -> Option<Vec<Slab<'c, 't, T>>> {
    let all = parts.first()?;
    let line = to.len() / all.len().max(1);
    let mut slabs: Vec<Slab<'c, 't, T>> = Vec::new();
    let (mut left, mut at) = (to, all.start);
    for piece in pieces {
        let lines = piece.1.first()?.clone();
        match slabs.last_mut() {
            Some(slab) if slab.lines == lines => slab.pieces.push(piece),
            _ => {
                let before = lines.start.checked_sub(at)?;
                let (_, rest) = left.split_at_mut_checked(before * line)?;
                let (to, rest) = rest.split_at_mut_checked(lines.len() * line)?;
                (left, at) = (rest, lines.end);
                slabs.push(Slab {
                    first: (lines.start - all.start) * line,
                    lines,
                    pieces: vec![piece],
                    to,
                });
            }
        }
    }
    Some(slabs)
}

/// Sizes of what a slab with these lines is a part of `sizes`.
fn slab_sizes(lines: &Range<usize>, sizes: &[usize]) -> Vec<usize> {
    let others = sizes.iter().skip(1).copied();
    std::iter::once(lines.len()).chain(others).collect()
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

/// Memory that no thread uses at the moment.
#[derive(Default)]
struct Spare(Mutex<Vec<Buffers>>);

impl Spare {
    /// Calls `work` with memory that another chunk may have been decoded with.
    fn with<R>(&self, work: impl FnOnce(&mut Buffers) -> R) -> R {
        let all = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let one = all().pop();
        let mut one = one.unwrap_or_default();
        let result = work(&mut one);
        all().push(one);
        result
    }
}

#[cfg(test)]
mod tests;
