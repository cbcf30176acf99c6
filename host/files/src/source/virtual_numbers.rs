//! Virtual datasets: numbers that are in other datasets, read part by part.

mod axis;

use super::linked::{Holder, MOST_FILES};
use super::numbers::Numbers;
use super::shape::{HIGHEST_RANK, bytes_of};
use super::stored::{Stored, StoredNumber};
use super::{IoError, Source};
use axis::{Along, Elements};
use hdf5_metno as hdf5;
use ndarray::{ArrayD, ArrayViewD, Axis as Dimension, IxDyn, Slice};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use warpstride_formats::hdf5_structure::{Mapping, Selection, VirtualDataset};

/// Most virtual datasets inside each other.
const DEEPEST: usize = 4;
/// Most files with a number in their names that a virtual dataset is looked for in.
const MOST_NUMBERED: u64 = MOST_FILES as u64;

/// A virtual dataset whose parts have been found.
pub(super) struct VirtualNumbers<'s> {
    stored: Stored,
    /// Bytes of a number that is in no part.
    fill: Vec<u8>,
    sources: Vec<Numbers<'s>>,
    parts: Vec<Part>,
}

/// Elements of a virtual dataset that are elements of a source.
struct Part {
    /// Index of the source.
    source: usize,
    /// The elements of each axis of the virtual dataset.
    target: Vec<Elements>,
    /// The elements of each axis of the source.
    from: Vec<Elements>,
}

/// What is found while the parts are looked for.
struct Search<'h, 's> {
    holder: &'h Holder<'s>,
    path: &'h str,
    depth: usize,
    stored: Stored,
    sources: Vec<Numbers<'s>>,
    /// Index of the source, by file and dataset.
    known: BTreeMap<(String, String), usize>,
    parts: Vec<Part>,
}

impl<'s> VirtualNumbers<'s> {
    /// Looks for the parts of the virtual dataset `path` of `holder`; returns them and the shape.
    pub(super) fn find(
        holder: &Holder<'s>,
        path: &str,
        (address, dataset): (u64, &VirtualDataset),
        depth: usize,
    ) -> Result<(Self, Vec<usize>), IoError> {
        let own = (holder.path().to_owned(), address);
        let registry =
            (holder.registry.get()).ok_or_else(|| holder.unsupported(path, "a virtual dataset"))?;
        if registry.inside.borrow().contains(&own) {
            return Err(holder.damaged(path, "it is a virtual dataset of itself"));
        }
        if depth > DEEPEST {
            let reason = format!("more than {DEEPEST} virtual datasets are inside each other");
            return Err(holder.damaged(path, &reason));
        }
        registry.inside.borrow_mut().push(own);
        let found = Self::of_parts(holder, path, dataset, depth);
        registry.inside.borrow_mut().pop();
        found
    }

    fn of_parts(
        holder: &Holder<'s>,
        path: &str,
        dataset: &VirtualDataset,
        depth: usize,
    ) -> Result<(Self, Vec<usize>), IoError> {
        let stored = Stored::of_virtual(dataset)
            .ok_or_else(|| holder.damaged(path, "its element type is damaged"))?;
        let mut shape: Vec<usize> = (dataset.shape.iter())
            .map(|length| usize::try_from(*length).unwrap_or(usize::MAX))
            .collect();
        if shape.len() > HIGHEST_RANK {
            return Err(holder.bad_shape(path, &shape, "rank 8 or less"));
        }
        let mut search = Search {
            holder,
            path,
            depth,
            stored,
            sources: Vec::new(),
            known: BTreeMap::new(),
            parts: Vec::new(),
        };
        let files: BTreeSet<&str> = (dataset.mappings.iter())
            .map(|mapping| mapping.file.as_str())
            .collect();
        if files.len() > MOST_FILES {
            let reason = format!(
                "its data are in {} files; at most {MOST_FILES} are opened",
                files.len()
            );
            return Err(holder.damaged(path, &reason));
        }
        let mut growing = vec![false; shape.len()];
        for mapping in &dataset.mappings {
            search.add(mapping, &shape, &mut growing)?;
        }
        let Search { sources, parts, .. } = search;
        // An axis without limit is as long as its parts.
        for (axis, (length, growing)) in shape.iter_mut().zip(growing).enumerate() {
            if growing {
                let ends = parts.iter().filter_map(|part| part.target[axis].end());
                *length = ends.max().unwrap_or(0);
            }
        }
        let outside = |part: &Part| {
            let ends = part.target.iter().zip(&shape);
            ends.into_iter()
                .any(|(of, length)| of.end().is_none_or(|end| end > *length))
        };
        if parts.iter().any(outside) {
            return Err(holder.damaged(path, "a part of this virtual dataset is outside its shape"));
        }
        let mut fill = dataset.fill.clone();
        fill.resize(stored.bytes(), 0);
        let found = Self {
            stored,
            fill,
            sources,
            parts,
        };
        Ok((found, shape))
    }

    /// The type of its numbers.
    pub(super) fn stored(&self) -> Stored {
        self.stored
    }

    /// The blocks of other datasets that have numbers of `ranges`, and how many of these each has.
    pub(super) fn blocks<'n>(
        &'n self,
        ranges: &'n [Range<usize>],
    ) -> impl Iterator<Item = (usize, Vec<Range<usize>>, u128)> + 'n {
        self.parts.iter().flat_map(move |part| {
            part.pieces(ranges).into_iter().map(move |piece| {
                let numbers = (piece.to.iter())
                    .fold(1_u128, |n, along| n.saturating_mul(along.len() as u128));
                (part.source, piece.from, numbers)
            })
        })
    }

    /// The datasets that have its numbers.
    pub(super) fn sources(&self) -> &[Numbers<'s>] {
        &self.sources
    }

    /// Reads the range `ranges` of every axis, which the caller has checked against the shape, and
    /// the memory for the numbers.
    pub(super) fn part<T: hdf5::H5Type + StoredNumber>(
        &self,
        (source, path): (&Source, &str),
        ranges: &[Range<usize>],
    ) -> Result<ArrayD<T>, IoError> {
        let damaged = || source.damaged(path, "a part of this virtual dataset has another shape");
        let sizes: Vec<usize> = ranges.iter().map(ExactSizeIterator::len).collect();
        let fill: T = self.stored.number(&self.fill);
        let mut to = ArrayD::from_elem(IxDyn(&sizes), fill);
        for part in &self.parts {
            let from = self.sources.get(part.source).ok_or_else(damaged)?;
            for piece in part.pieces(ranges) {
                let bytes = bytes_of(
                    &piece
                        .from
                        .iter()
                        .map(ExactSizeIterator::len)
                        .collect::<Vec<_>>(),
                    size_of::<T>(),
                );
                source.allow(path, bytes.saturating_add(bytes_of(&sizes, size_of::<T>())))?;
                let mut read = from.part_as::<T>(&piece.from)?;
                for (axis, chosen) in piece.chosen.iter().enumerate() {
                    if let Some(chosen) = chosen {
                        read = read.select(Dimension(axis), chosen);
                    }
                }
                let lengths: Vec<usize> = piece.to.iter().map(Along::len).collect();
                // What is selected has the order of its selection in memory.
                let read = read.to_shape(IxDyn(&lengths)).map_err(|_| damaged())?;
                put(&mut to, &piece.to, read.view());
            }
        }
        Ok(to)
    }
}

/// Copies `read` to the elements `at` of each axis.
fn put<T: Copy>(to: &mut ArrayD<T>, at: &[Along], read: ArrayViewD<'_, T>) {
    let ranges: Option<Vec<Range<usize>>> = at.iter().map(Along::range).collect();
    match ranges {
        Some(ranges) => to
            .slice_each_axis_mut(|of| Slice::from(ranges[of.axis.index()].clone()))
            .assign(&read),
        None => {
            for (index, value) in read.indexed_iter() {
                let index: Vec<usize> =
                    (0..at.len()).map(|axis| at[axis].at(index[axis])).collect();
                to[IxDyn(&index)] = *value;
            }
        }
    }
}

/// A block of a source, and where its numbers belong.
struct Piece {
    /// The block.
    from: Vec<Range<usize>>,
    /// The elements that are used, along each axis of the block, if not all.
    chosen: Vec<Option<Vec<usize>>>,
    /// The elements along each axis of what is read.
    to: Vec<Along>,
}

impl Part {
    /// Pairs of axes (target, source) with more than one element; all others have one.
    fn pairs(&self) -> Vec<(usize, usize)> {
        let several = |of: &[Elements]| -> Vec<usize> {
            (0..of.len())
                .filter(|axis| of[*axis].count() != 1)
                .collect()
        };
        several(&self.target)
            .into_iter()
            .zip(several(&self.from))
            .collect()
    }

    /// Whether the axes of the target are those of the source, apart from axes with one element.
    fn is_regular(&self) -> bool {
        let several = |of: &[Elements]| of.iter().filter(|axis| axis.count() != 1).count();
        several(&self.target) == several(&self.from)
            && self
                .pairs()
                .iter()
                .copied()
                .all(|(to, from)| self.target[to].count() == self.from[from].count())
    }

    /// The blocks of the source that have elements in `ranges`.
    fn pieces(&self, ranges: &[Range<usize>]) -> Vec<Piece> {
        let overlaps: Vec<Range<usize>> = (self.target.iter().zip(ranges))
            .map(|(of, range)| of.numbers_in(range))
            .collect();
        if overlaps.iter().any(Range::is_empty) {
            return Vec::new();
        }
        let mut from: Vec<Range<usize>> =
            self.from.iter().map(|of| of.at(0)..of.at(0) + 1).collect();
        let mut chosen = vec![None; from.len()];
        let mut to: Vec<Along> = (self.target.iter().zip(&overlaps).zip(ranges))
            .map(|((of, numbers), range)| of.along(numbers, range.start))
            .collect();
        let pairs = self.pairs();
        for (target, source) in pairs.iter().skip(1).copied() {
            (from[source], chosen[source]) = self.from[source].block(&overlaps[target]);
        }
        let Some((target, source)) = pairs.first().copied() else {
            return vec![Piece { from, chosen, to }];
        };
        // The first axis, usually that of frames, in runs that are together in both.
        let [of, at] = [&self.target[target], &self.from[source]];
        let mut pieces = Vec::new();
        for run in of.runs(at, &overlaps[target]) {
            from[source] = at.at(run.start)..at.at(run.start) + run.len();
            to[target] = of.along(&run, ranges[target].start);
            pieces.push(Piece {
                from: from.clone(),
                chosen: chosen.clone(),
                to: to.clone(),
            });
        }
        pieces
    }
}

impl<'s> Search<'_, 's> {
    /// Adds the parts of a mapping to a dataset of `shape`; an axis that it has without limit is
    /// marked in `growing`.
    fn add(
        &mut self,
        mapping: &Mapping,
        shape: &[usize],
        growing: &mut [bool],
    ) -> Result<(), IoError> {
        if mapping.source == Selection::Nothing || mapping.target == Selection::Nothing {
            return Ok(());
        }
        let target = Elements::of_selection(&mapping.target, shape);
        let target = target.ok_or_else(|| self.damaged("its shape is damaged"))?;
        let unlimited = target.iter().position(|of| of.unlimited);
        if let Some(axis) = unlimited {
            growing[axis] = true;
        }
        let numbered = [&mapping.file, &mapping.dataset].map(|name| numbered(name));
        if !numbered.contains(&true) {
            let [file, dataset] =
                [&mapping.file, &mapping.dataset].map(|name| name.replace("%%", "%"));
            return self.add_source((file, dataset), &mapping.source, target);
        }
        let Some(axis) = unlimited else {
            return Err(self.unsupported("a virtual dataset with numbered files and a limit"));
        };
        for number in 0..MOST_NUMBERED {
            let name = |name: &str| with_number(name, number);
            let (file, dataset) = (name(&mapping.file), name(&mapping.dataset));
            if !self.exists(&file, &dataset)? {
                return Ok(());
            }
            let mut target = target.clone();
            target[axis] = usize::try_from(number)
                .ok()
                .and_then(|number| target[axis].lone_block(number))
                .ok_or_else(|| {
                    self.unsupported("a virtual dataset with numbered files without blocks")
                })?;
            self.add_source((file, dataset), &mapping.source, target)?;
        }
        let reason = format!("its data are in more than {MOST_NUMBERED} files");
        Err(self.damaged(&reason))
    }

    /// Adds the part `target` whose data are in `name` (file, dataset).
    fn add_source(
        &mut self,
        name: (String, String),
        selection: &Selection,
        mut target: Vec<Elements>,
    ) -> Result<(), IoError> {
        let source = match self.known.get(&name) {
            Some(known) => *known,
            None => {
                let numbers = self.open(&name.0, &name.1)?;
                self.sources.push(numbers);
                self.known.insert(name.clone(), self.sources.len() - 1);
                self.sources.len() - 1
            }
        };
        let shape = self.sources[source].shape();
        let mut from = Elements::of_selection(selection, shape)
            .ok_or_else(|| self.unsupported("a virtual dataset of parts of another rank"))?;
        // Without limits, both are as long as the data.
        let mut limited = None;
        for (of, length) in from.iter_mut().zip(shape) {
            if of.unlimited {
                of.limit(*length);
                limited = Some(of.count());
            }
        }
        for of in target.iter_mut().filter(|of| of.unlimited) {
            let count = limited.ok_or_else(|| {
                self.unsupported("a virtual dataset without a limit whose parts have one")
            })?;
            of.shorten(count);
        }
        if let Some((of, length)) =
            (from.iter().zip(shape)).find(|(of, length)| of.end().is_none_or(|end| end > **length))
        {
            let reason = format!(
                "it has elements up to {} of {} in {:?}, which has {length}",
                of.end().unwrap_or(usize::MAX),
                name.1,
                name.0
            );
            return Err(self.damaged(&reason));
        }
        let empty = |of: &[Elements]| of.iter().any(|axis| axis.count() == 0);
        if empty(&target) && empty(&from) {
            return Ok(());
        }
        let part = Part {
            source,
            target,
            from,
        };
        if !part.is_regular() {
            return Err(
                self.unsupported("a virtual dataset with parts of another shape than their data")
            );
        }
        self.parts.push(part);
        Ok(())
    }

    /// The numbers of `dataset` in `file`.
    fn open(&self, file: &str, dataset: &str) -> Result<Numbers<'s>, IoError> {
        let numbers = Numbers::find(&self.file(file)?, dataset, self.depth + 1)?;
        let numbers = numbers.ok_or_else(|| {
            self.damaged(&format!(
                "its data are in {dataset:?} of {file:?}, which does not exist"
            ))
        })?;
        if numbers
            .number_type()
            .is_none_or(|of| !of.is_like(self.stored))
        {
            return Err(self.unsupported("a virtual dataset of another element type than its data"));
        }
        Ok(numbers)
    }

    fn exists(&self, file: &str, dataset: &str) -> Result<bool, IoError> {
        if file != "." && !self.holder.has_file(file) {
            return Ok(false);
        }
        self.file(file)?.has(dataset)
    }

    fn file(&self, name: &str) -> Result<Holder<'s>, IoError> {
        if name == "." {
            return Ok(self.holder.clone());
        }
        let source = self.holder.open_linked(self.path, name)?;
        Ok(Holder::Linked(source))
    }

    fn damaged(&self, reason: &str) -> IoError {
        self.holder.damaged(self.path, reason)
    }

    fn unsupported(&self, found: &str) -> IoError {
        self.holder.unsupported(self.path, found)
    }
}

/// Whether a name has a place for a number.
fn numbered(name: &str) -> bool {
    name.replace("%%", "").contains("%b")
}

/// The name with `number` in its places.
fn with_number(name: &str, number: u64) -> String {
    let parts: Vec<String> = (name.split("%%"))
        .map(|part| part.replace("%b", &number.to_string()))
        .collect();
    parts.join("%")
}
