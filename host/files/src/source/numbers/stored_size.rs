//! How much of some numbers files really store. A file of a few bytes can declare any number of
//! them: with chunks that were never written, with chunks that compress well, or with a virtual
//! dataset that has the same numbers many times.

use super::super::bounds::{
    ADVICE_SPARSE, ADVICE_UNCOMPRESSED, DIFFERENT, GREATEST_RATIO, LOOKED_AT, RATIO, UNJUDGED,
};
use super::super::chunks::Chunks;
use super::super::{IoError, Source};
use super::{Data, Numbers};
use hdf5_metno::dataset::ChunkInfo;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::PathBuf;
use warpstride_core::system::Bytes;

/// The largest chunk that is decoded to look at its numbers, bytes.
const LARGEST_SAMPLE: usize = 32 << 20;
/// Bytes of decoded chunks that are looked at, but at least one chunk, and most chunks.
const SAMPLED: usize = 64 << 20;
const MOST_SAMPLES: usize = 8;
/// At least one number of so many differs from the one before.
const ALIKE: usize = 10_000;

const ADVICE_MISSING: &str =
    "read those that were written (data.frames), or permit the others with --set data.sparse=true";

/// A chunk, and the dataset that has it.
struct Sample<'n> {
    numbers: (&'n Source, &'n str),
    chunks: &'n Chunks,
    chunk: &'n ChunkInfo,
}

/// What files store of some numbers.
#[derive(Default)]
struct StoredSize<'n> {
    /// Bytes of the numbers in memory.
    numbers: u128,
    /// Bytes of those that were never written.
    missing: u128,
    /// Bytes of the chunks, or of the numbers, as they are in files when they are decoded.
    decoded: u128,
    /// Bytes in files.
    stored: u128,
    /// Lengths of these files.
    files: BTreeMap<PathBuf, u64>,
    /// Some of the chunks.
    samples: Vec<Sample<'n>>,
}

/// Refuses numbers of which files store almost nothing: `all` are read together, in the given
/// ranges of every axis, as numbers of `item` bytes.
///
/// # Errors
/// More than half of the numbers were never written, or they are more than 1000 times as large as
/// what is stored of them, or 100 times and all alike; but 256 MiB of them are always read.
pub fn check_stored(all: &[(&Numbers<'_>, Vec<Range<usize>>)], item: usize) -> Result<(), IoError> {
    let Some((first, _)) = all.first() else {
        return Ok(());
    };
    let sparse = first.source.permits_sparse();
    if sparse == Some(true)
        || all
            .iter()
            .all(|(numbers, parts)| numbers.is_small(parts, item))
    {
        return Ok(());
    }
    let mut size = StoredSize::default();
    for (numbers, parts) in all {
        size.add(numbers, &numbers.as_stored(parts), item);
    }
    let (expected, found) = match size.verdict()? {
        None => return Ok(()),
        Some(reason) => reason,
    };
    Err(IoError::Unsupported {
        file: first.source.name().to_owned(),
        dataset: first.path.clone(),
        expected,
        found,
        advice: match (sparse, expected == WRITTEN) {
            (None, _) => ADVICE_UNCOMPRESSED,
            (Some(_), true) => ADVICE_MISSING,
            (Some(_), false) => ADVICE_SPARSE,
        },
    })
}

const WRITTEN: &str = "numbers of which at least half were written";

impl Numbers<'_> {
    /// Whether these numbers, and the chunks that they are in, are so few that they are always
    /// read.
    fn is_small(&self, parts: &[Range<usize>], item: usize) -> bool {
        let chunks = match &self.data {
            Data::Here {
                chunks: Some(chunks),
                ..
            } => chunks.all_bytes(),
            Data::Here { .. } | Data::Virtual(_) => 0,
        };
        elements(parts).saturating_mul(item as u128) <= UNJUDGED && chunks <= UNJUDGED
    }
}

fn elements(parts: &[Range<usize>]) -> u128 {
    (parts.iter()).fold(1, |n, range| n.saturating_mul(range.len() as u128))
}

impl<'n> StoredSize<'n> {
    /// Adds the ranges `parts` of the stored axes.
    fn add(&mut self, numbers: &'n Numbers<'_>, parts: &[Range<usize>], item: usize) {
        let source: &Source = &numbers.source;
        let item = item as u128;
        let elements = elements(parts);
        self.numbers = self.numbers.saturating_add(elements.saturating_mul(item));
        let mut missing = |present: u128| {
            let absent = elements.saturating_sub(present).saturating_mul(item);
            self.missing = self.missing.saturating_add(absent);
        };
        match &numbers.data {
            Data::Virtual(of) => {
                let mut present = 0_u128;
                let mut sources: BTreeMap<usize, StoredSize<'n>> = BTreeMap::new();
                for (index, block, count) in of.blocks(parts) {
                    let Some(from) = of.sources().get(index) else {
                        continue;
                    };
                    let size = sources.entry(index).or_default();
                    size.add(from, &block, 1);
                    present = present.saturating_add(count);
                }
                missing(present);
                for (index, mut size) in sources {
                    // Numbers that are read again and again are stored once.
                    if let Some(from) = of.sources().get(index) {
                        size.stored = size.stored.min(from.stored_bytes());
                    }
                    self.missing = self
                        .missing
                        .saturating_add(size.missing.saturating_mul(item));
                    self.decoded = self.decoded.saturating_add(size.decoded);
                    self.stored = self.stored.saturating_add(size.stored);
                    self.files.append(&mut size.files);
                    self.samples.append(&mut size.samples);
                }
            }
            Data::Here {
                chunks: Some(chunks),
                ..
            } => {
                let share = chunks.share(parts);
                missing(share.numbers);
                let bytes =
                    (chunks.chunk_bytes() as u128).saturating_mul(share.chunks.len() as u128);
                self.decoded = self.decoded.saturating_add(bytes);
                self.stored = self.stored.saturating_add(share.stored);
                self.files.insert(source.path().to_owned(), source.length());
                let step = share.chunks.len().div_ceil(MOST_SAMPLES).max(1);
                // The middle of each stretch: the first frames of a scan may be without light.
                let some = share.chunks.into_iter().skip(step / 2).step_by(step);
                self.samples.extend(some.map(|chunk| Sample {
                    numbers: (source, numbers.path.as_str()),
                    chunks,
                    chunk,
                }));
            }
            Data::Here { stored: of, .. } => {
                let width = of.width as u128;
                let all = elements.saturating_mul(width);
                let stored = numbers.stored_bytes();
                // Of chunks that only HDF5 lists it is not known which were written.
                if !of.has_filters {
                    missing(stored / width.max(1));
                }
                self.decoded = self.decoded.saturating_add(all);
                self.stored = self.stored.saturating_add(stored.min(all));
                self.files.insert(source.path().to_owned(), source.length());
            }
        }
    }

    /// What was expected of the numbers, and what was found; `None` if they may be read.
    fn verdict(self) -> Result<Option<(&'static str, String)>, IoError> {
        if self.numbers <= UNJUDGED && self.decoded <= UNJUDGED {
            return Ok(None);
        }
        if self.numbers > UNJUDGED && self.missing > self.numbers / 2 {
            let found = format!(
                "{} of which {} were never written",
                Bytes(self.numbers),
                Bytes(self.missing)
            );
            return Ok(Some((WRITTEN, found)));
        }
        let lengths: u128 = self.files.values().map(|length| u128::from(*length)).sum();
        let stored = self.stored.min(lengths).max(1);
        let found = || format!("{} in {}", Bytes(self.decoded), Bytes(stored));
        let ratio = self.decoded / stored;
        if ratio > GREATEST_RATIO {
            return Ok(Some((RATIO, found())));
        }
        if ratio <= LOOKED_AT || self.samples.is_empty() {
            return Ok(None);
        }
        if self.are_alike()? {
            return Ok(Some((
                DIFFERENT,
                format!("{}, almost all the same", found()),
            )));
        }
        Ok(None)
    }

    /// Whether the numbers of some chunks are almost all the same, or too many to look at.
    fn are_alike(&self) -> Result<bool, IoError> {
        let step = self.samples.len().div_ceil(MOST_SAMPLES).max(1);
        let [mut changes, mut numbers, mut left] = [0, 0, SAMPLED];
        for sample in self.samples.iter().step_by(step) {
            let bytes = sample.chunks.chunk_bytes();
            if bytes > LARGEST_SAMPLE.min(left) {
                continue;
            }
            left -= bytes;
            let (source, path) = sample.numbers;
            let found = (sample.chunks.changes(sample.chunk))
                .map_err(|reason| source.damaged(path, &reason))?;
            changes += found[0];
            numbers += found[1];
        }
        Ok(is_alike(changes, numbers))
    }
}

/// Whether `numbers` are almost all the same, as `changes` of them differ from the one before.
pub fn is_alike(changes: usize, numbers: usize) -> bool {
    changes <= numbers / ALIKE
}

impl Numbers<'_> {
    /// Refuses numbers of which the file stores less than a thousandth, if they take more than
    /// `unjudged` bytes.
    ///
    /// # Errors
    /// [`IoError::Unsupported`].
    pub fn check_density(&self, unjudged: u128) -> Result<(), IoError> {
        let width = match &self.data {
            Data::Here { stored, .. } => stored.width,
            Data::Virtual(of) => of.stored().bytes(),
        };
        let bytes = super::super::shape::bytes_of(&self.shape, width);
        let stored = self.stored_bytes();
        if bytes <= unjudged || bytes / GREATEST_RATIO <= stored {
            return Ok(());
        }
        Err(IoError::Unsupported {
            file: self.source.name().to_owned(),
            dataset: self.path.clone(),
            expected: RATIO,
            found: format!("{} in {}", Bytes(bytes), Bytes(stored)),
            advice: ADVICE_UNCOMPRESSED,
        })
    }

    /// Bytes that the file has of this dataset; of a virtual one, all bytes of its files.
    fn stored_bytes(&self) -> u128 {
        match &self.data {
            Data::Here {
                chunks: Some(chunks),
                ..
            } => chunks.stored_bytes(),
            Data::Here { stored, .. } => stored.bytes.into(),
            Data::Virtual(_) => u128::MAX,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::Follow;
    use super::*;
    use hdf5_metno as hdf5;
    use ndarray::Array3;
    use warpstride_core::system::Memory;

    /// What is said of the whole dataset `path` of a file that `make` fills, as numbers of 8 bytes;
    /// and the same for a tenth of it.
    fn said(make: impl FnOnce(&hdf5::File) -> hdf5::Result<()>) -> [Option<String>; 2] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.h5");
        let file = hdf5::File::create(&path).unwrap();
        make(&file).unwrap();
        file.close().unwrap();
        let source = Source::open_with_links(&path, Memory::available(), Follow::Inside).unwrap();
        let numbers = source.numbers("/data").unwrap().unwrap();
        let ranges = |part: usize| -> Vec<Range<usize>> {
            let first = numbers.shape()[0] / part;
            let others = numbers.shape()[1..].iter().map(|n| 0..*n);
            std::iter::once(0..first).chain(others).collect()
        };
        let said = [1, 10].map(|part| {
            let checked = check_stored(&[(&numbers, ranges(part))], 8);
            checked.err().map(|e| e.to_string())
        });
        let follow = Source::open_with_links(&path, Memory::available(), Follow::Inside);
        let source = follow.unwrap().permitting_sparse(true);
        let numbers = source.numbers("/data").unwrap().unwrap();
        check_stored(&[(&numbers, ranges(1))], 8).unwrap();
        let alone = Source::open(&path, Memory::available()).unwrap();
        if let Ok(Some(numbers)) = alone.numbers("/data")
            && let Err(e) = check_stored(&[(&numbers, ranges(1))], 8)
        {
            assert!(e.to_string().contains("h5repack -f NONE"), "{e}");
        }
        said
    }

    fn assert_says(found: &[Option<String>; 2], words: &[&str]) {
        let [Some(text), None] = found else {
            panic!("{found:?}");
        };
        for word in words.iter().chain(&["/data", "data.sparse=true"]) {
            assert!(text.contains(word), "{word:?} is not in: {text}");
        }
    }

    #[test]
    fn numbers_that_were_never_written_are_refused() {
        for deflate in [false, true] {
            let found = said(|file| {
                let builder = file.new_dataset::<u16>().shape((600, 256, 256));
                let builder = builder.chunk((1, 256, 256));
                let builder = if deflate { builder.deflate(1) } else { builder };
                let data = builder.create("data")?;
                data.write_slice(&Array3::<u16>::ones((60, 256, 256)), (0..60, .., ..))
            });
            let expected = [
                "300.0 MiB of which 270.0 MiB were never written",
                "data.frames",
            ];
            assert_says(&found, &expected);
        }
        let whole = said(|file| {
            file.new_dataset::<u16>()
                .shape((600, 256, 256))
                .create("data")
                .map(drop)
        });
        assert_says(&whole, &["300.0 MiB of which 300.0 MiB"]);
    }

    /// Zeros, and sparse counts: one of 500 numbers is not 0.
    #[test]
    fn compressed_numbers_have_to_differ() {
        let make = |count: fn(usize) -> u8| {
            said(move |file| {
                let numbers = (0..40 << 20).map(count).collect();
                let numbers = Array3::from_shape_vec((40, 1024, 1024), numbers).unwrap();
                let builder = file.new_dataset_builder().chunk((1, 1024, 1024)).deflate(1);
                builder.with_data(&numbers).create("data").map(drop)
            })
        };
        assert_says(
            &make(|_| 3),
            &["40.0 MiB in", "almost all the same", "differ"],
        );
        assert_eq!(make(|n| u8::from(n % 500 == 0)), [None, None]);
    }

    #[test]
    fn frames_that_a_virtual_dataset_repeats_are_stored_once() {
        let found = said(|file| {
            file.new_dataset_builder()
                .with_data(&Array3::<u8>::ones((1, 256, 256)))
                .create("one")?;
            let frame = |n: usize| hdf5::Hyperslab::from((n..n + 1, .., ..));
            file.new_dataset_builder()
                .with_dcpl(|mut p| {
                    for n in 0..1100 {
                        p = p.virtual_map(
                            ".",
                            "/one",
                            (1, 256, 256),
                            frame(0),
                            (1100, 256, 256),
                            frame(n),
                        );
                    }
                    p
                })
                .empty::<u8>()
                .shape((1100, 256, 256))
                .create("data")
                .map(drop)
        });
        assert_says(&found, &["68.8 MiB in 64.0 KiB", "at most 1000 bytes"]);
    }
}
