//! An HDF5 file as this program reads it: every dataset is looked at before anything is allocated
//! for it.
//!
//! Only links inside the file are followed. Virtual datasets and external storage are refused:
//! their data are in other files that nobody named. Attributes are read where a format hangs on them
//! (`attributes.rs`), and only short texts.

use super::{IoError, Memory, global_heap, superblock};
use hdf5_metno as hdf5;
use hdf5_metno::dataset::Layout;
use ndarray::{ArrayD, IxDyn};
use num_complex::Complex;
use std::cell::Cell;
use std::path::{Path, PathBuf};

/// The highest rank that any dataset here has, and some room; HDF5 itself allows 32.
const HIGHEST_RANK: usize = 8;

/// Chunks are decompressed whole, whatever part of them is asked for.
const ADVICE_REPACK: &str = "copy the data into one plain file, for example with h5repack";

/// An open file.
pub(crate) struct Source {
    name: String,
    path: PathBuf,
    /// Its global heaps were looked through.
    heaps: Cell<bool>,
    file: hdf5::File,
    length: u64,
    memory: Memory,
}

/// A dataset of numbers, looked at and not yet read.
pub(crate) struct Numbers<'s> {
    source: &'s Source,
    path: String,
    dataset: hdf5::Dataset,
    shape: Vec<usize>,
    complex: Option<Precision>,
}

/// Of the parts of a complex number.
#[derive(Clone, Copy)]
enum Precision {
    Single,
    Double,
}

impl Source {
    /// Opens `path` for reading.
    pub(crate) fn open(path: &Path, memory: Memory) -> Result<Self, IoError> {
        let name = path.display().to_string();
        let length = superblock::check(path)?;
        let file = hdf5::File::open(path).map_err(|_| IoError::Format {
            file: name.clone(),
            expected: "a readable HDF5 file",
            found: "its structure is damaged, or another program is writing it".to_owned(),
        })?;
        Ok(Self {
            name,
            path: path.to_owned(),
            heaps: Cell::new(false),
            file,
            length,
            memory,
        })
    }

    /// The file, as given.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Bytes of the file.
    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    /// Bytes that may be allocated.
    pub(crate) fn memory(&self) -> Memory {
        self.memory
    }

    /// Refuses global heaps on which HDF5 would stay for ever; before anything of variable length is
    /// read.
    pub(super) fn check_heaps(&self) -> Result<(), IoError> {
        if !self.heaps.get() {
            global_heap::check(&self.path)?;
            self.heaps.set(true);
        }
        Ok(())
    }

    /// Agrees to `bytes` for `dataset`.
    pub(crate) fn allow(&self, dataset: &str, bytes: u128) -> Result<(), IoError> {
        self.memory.allow(&self.name, dataset, bytes)
    }

    /// The error of a dataset whose shape is not `expected`.
    pub(crate) fn bad_shape(&self, dataset: &str, found: &[usize], expected: &str) -> IoError {
        IoError::Shape {
            file: self.name.clone(),
            dataset: dataset.to_owned(),
            found: found.to_vec(),
            expected: expected.to_owned(),
        }
    }

    pub(super) fn damaged(&self, dataset: &str, reason: &str) -> IoError {
        IoError::Damaged {
            file: self.name.clone(),
            dataset: dataset.to_owned(),
            reason: reason.to_owned(),
        }
    }

    fn unsupported(&self, dataset: &str, found: &str, advice: &'static str) -> IoError {
        IoError::Unsupported {
            file: self.name.clone(),
            dataset: dataset.to_owned(),
            found: found.to_owned(),
            advice,
        }
    }

    /// The group that holds the last part of `path`, and that part; `None` where a link is absent.
    fn parent<'p>(&self, path: &'p str) -> Result<Option<(hdf5::Group, &'p str)>, IoError> {
        let mut group = self
            .file
            .group("/")
            .map_err(|_| self.damaged("/", "the root group is damaged"))?;
        let mut parts = path.split('/').filter(|p| !p.is_empty()).peekable();
        while let Some(part) = parts.next() {
            let link = group
                .find_link(
                    hdf5::IndexType::Name,
                    hdf5::IterationOrder::Native,
                    |name, info| Ok((name == part).then_some(info.link_type)),
                )
                .map_err(|_| self.damaged(path, "the links that lead to it are damaged"))?;
            match link {
                None => return Ok(None),
                Some(hdf5::LinkType::External) => {
                    return Err(self.unsupported(path, "is a link to another file", ADVICE_REPACK));
                }
                Some(hdf5::LinkType::Hard | hdf5::LinkType::Soft) => {}
            }
            if parts.peek().is_none() {
                return Ok(Some((group, part)));
            }
            group = match group.group(part) {
                Ok(next) => next,
                Err(_) => return Ok(None),
            };
            if group.filename() != self.file.filename() {
                return Err(self.unsupported(path, "is a link to another file", ADVICE_REPACK));
            }
        }
        Ok(None)
    }

    /// The group `path`; `None` where there is no such group.
    pub(super) fn group(&self, path: &str) -> Result<Option<hdf5::Group>, IoError> {
        if path == "/" {
            let root = self.file.group("/");
            return root
                .map(Some)
                .map_err(|_| self.damaged("/", "the root group is damaged"));
        }
        let Some((parent, last)) = self.parent(path)? else {
            return Ok(None);
        };
        let Ok(group) = parent.group(last) else {
            return Ok(None);
        };
        if group.filename() != self.file.filename() {
            return Err(self.unsupported(path, "is a link to another file", ADVICE_REPACK));
        }
        Ok(Some(group))
    }

    /// Names of the links of the group `path`; `None` where there is no such group.
    pub(crate) fn members(&self, path: &str) -> Result<Option<Vec<String>>, IoError> {
        let Some((parent, last)) = self.parent(path)? else {
            return Ok(None);
        };
        let Ok(group) = parent.group(last) else {
            return Ok(None);
        };
        let mut names = Vec::new();
        group
            .iter_visit_default(|name, _| {
                names.push(name.to_owned());
                Ok(())
            })
            .map_err(|_| self.damaged(path, "its links are damaged"))?;
        names.sort();
        Ok(Some(names))
    }

    /// Names of what the file's root holds.
    pub(crate) fn groups(&self) -> Result<Vec<String>, IoError> {
        let damaged = |_| self.damaged("/", "the root group is damaged");
        let root = self.file.group("/").map_err(damaged)?;
        let mut names = root.member_names().map_err(damaged)?;
        names.sort();
        Ok(names)
    }

    /// Whether there is a link of this name (it may lead nowhere).
    pub(crate) fn has(&self, path: &str) -> Result<bool, IoError> {
        Ok(self.parent(path)?.is_some())
    }

    pub(super) fn dataset(&self, path: &str) -> Result<Option<hdf5::Dataset>, IoError> {
        let Some((group, last)) = self.parent(path)? else {
            return Ok(None);
        };
        let dataset = group.dataset(last).map_err(|_| {
            self.damaged(
                path,
                "it is not a dataset, or its header or link is damaged",
            )
        })?;
        if dataset.filename() != self.file.filename() {
            return Err(self.unsupported(path, "is a link to another file", ADVICE_REPACK));
        }
        Ok(Some(dataset))
    }

    /// Looks at the dataset `path`; `None` where there is none.
    pub(crate) fn numbers(&self, path: &str) -> Result<Option<Numbers<'_>>, IoError> {
        let Some(dataset) = self.dataset(path)? else {
            return Ok(None);
        };
        let kind = dataset
            .dtype()
            .map_err(|_| self.damaged(path, "its element type is damaged"))?;
        let complex = if kind.is::<Complex<f32>>() {
            Some(Precision::Single)
        } else if kind.is::<Complex<f64>>() {
            Some(Precision::Double)
        } else {
            None
        };
        // The size comes first: wider types (strings, sequences, records) are not looked into.
        let number = (1..=8).contains(&kind.size()) && kind.conv_to::<f64>().is_some();
        if complex.is_none() && !number {
            return Err(IoError::Type {
                file: self.name.clone(),
                dataset: path.to_owned(),
                expected: "integers, floating-point numbers or complex numbers (r, i)",
            });
        }
        let shape = self.checked_shape(path, &dataset, kind.size())?;
        Ok(Some(Numbers {
            source: self,
            path: path.to_owned(),
            dataset,
            shape,
            complex,
        }))
    }

    /// The shape of `dataset`, after its size was held against the file and the memory.
    pub(super) fn checked_shape(
        &self,
        path: &str,
        dataset: &hdf5::Dataset,
        item: usize,
    ) -> Result<Vec<usize>, IoError> {
        let broken = |_| self.damaged(path, "its header is damaged");
        let space = dataset.space().map_err(broken)?;
        if space.is_null() {
            return Err(self.damaged(path, "it holds nothing"));
        }
        let rank = space.ndim();
        if rank > HIGHEST_RANK {
            return Err(self.bad_shape(path, &vec![0; rank], "a rank of 8 or less"));
        }
        let shape = space.shape();
        if shape.len() != rank {
            return Err(self.damaged(path, "its shape is damaged"));
        }
        let bytes = bytes_of(&shape, item);
        let stored = dataset.storage_size();
        if stored > self.length {
            return Err(self.damaged(
                path,
                &format!(
                    "it claims {stored} bytes, but the file has {} (truncated or damaged)",
                    self.length
                ),
            ));
        }
        let properties = dataset.create_plist().map_err(broken)?;
        if !properties.get_external().map_err(broken)?.is_empty() {
            return Err(self.unsupported(path, "is stored in other files", ADVICE_REPACK));
        }
        match properties.get_layout().map_err(broken)? {
            Layout::Virtual => {
                return Err(self.unsupported(path, "is a virtual dataset", ADVICE_REPACK));
            }
            Layout::Contiguous => {
                if let Some(offset) = dataset.offset() {
                    let end = u128::from(offset) + bytes;
                    if end > u128::from(self.length) {
                        return Err(self.damaged(
                            path,
                            &format!(
                                "it should end at byte {end}, but the file has {} (truncated or damaged)",
                                self.length
                            ),
                        ));
                    }
                }
            }
            Layout::Chunked => {
                let chunk = properties.get_chunk().map_err(broken)?.unwrap_or_default();
                self.allow(path, bytes_of(&chunk, item))?;
                // Absent chunks are filled one by one, which takes time without bound.
                let chunks = shape.iter().zip(&chunk).fold(1_u128, |n, (d, c)| {
                    n.saturating_mul(d.div_ceil((*c).max(1)) as u128)
                });
                if chunks > u128::from(self.length) {
                    return Err(self.damaged(
                        path,
                        &format!(
                            "it claims {chunks} chunks, more than its file of {} bytes can hold",
                            self.length
                        ),
                    ));
                }
            }
            Layout::Compact => {}
        }
        Ok(shape)
    }

    /// The first of `candidates` that is there.
    pub(crate) fn first(&self, candidates: &[&str]) -> Result<Option<Numbers<'_>>, IoError> {
        for path in candidates {
            if let Some(found) = self.numbers(path)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// The first of `candidates` that is there; `what` names it in the error.
    pub(crate) fn require(&self, what: &str, candidates: &[&str]) -> Result<Numbers<'_>, IoError> {
        self.first(candidates)?.ok_or_else(|| IoError::Missing {
            file: self.name.clone(),
            what: what.to_owned(),
            tried: candidates.iter().map(|c| (*c).to_owned()).collect(),
        })
    }

    /// The error of `what` not being at `path`.
    pub(crate) fn missing(&self, what: &str, path: &str) -> IoError {
        IoError::Missing {
            file: self.name.clone(),
            what: what.to_owned(),
            tried: vec![path.to_owned()],
        }
    }

    /// A UTF-8 text of variable length; `None` where there is none.
    pub(crate) fn text(&self, path: &str) -> Result<Option<String>, IoError> {
        match self.dataset(path)? {
            None => Ok(None),
            Some(dataset) => Ok(self.strings(path, &dataset, &[])?.pop()),
        }
    }

    /// A text of variable length, UTF-8 or ASCII, as a single value or the only one of an array;
    /// `None` where there is none.
    pub(crate) fn lone_text(&self, path: &str) -> Result<Option<String>, IoError> {
        let Some(dataset) = self.dataset(path)? else {
            return Ok(None);
        };
        let wrong = || IoError::Type {
            file: self.name.clone(),
            dataset: path.to_owned(),
            expected: "text of variable length (UTF-8 or ASCII)",
        };
        let kind = dataset
            .dtype()
            .map_err(|_| self.damaged(path, "its element type is damaged"))?;
        let like = [
            kind.is::<hdf5::types::VarLenUnicode>(),
            kind.is::<hdf5::types::VarLenAscii>(),
        ];
        if like == [false; 2] {
            return Err(wrong());
        }
        let shape = self.checked_shape(path, &dataset, kind.size())?;
        if bytes_of(&shape, 1) != 1 {
            return Err(self.bad_shape(path, &shape, "one text"));
        }
        self.check_heaps()?;
        // HDF5 calls both alike, but does not convert one into the other.
        let unicode = dataset
            .read_raw()
            .map(|read: Vec<hdf5::types::VarLenUnicode>| bytes_of_first(&read));
        let ascii = || {
            let read = dataset.read_raw::<hdf5::types::VarLenAscii>();
            read.map(|read| bytes_of_first(&read))
        };
        let bytes = unicode
            .or_else(|_| ascii())
            .map_err(|_| self.damaged(path, "its text is damaged"))?;
        String::from_utf8(bytes).map(Some).map_err(|_| wrong())
    }

    /// `count` UTF-8 texts of variable length.
    pub(crate) fn texts(&self, path: &str, count: usize) -> Result<Vec<String>, IoError> {
        let dataset = self
            .dataset(path)?
            .ok_or_else(|| self.missing("texts", path))?;
        self.strings(path, &dataset, &[count])
    }

    fn strings(
        &self,
        path: &str,
        dataset: &hdf5::Dataset,
        expected: &[usize],
    ) -> Result<Vec<String>, IoError> {
        let wrong = || IoError::Type {
            file: self.name.clone(),
            dataset: path.to_owned(),
            expected: "UTF-8 text of variable length",
        };
        let kind = dataset
            .dtype()
            .map_err(|_| self.damaged(path, "its element type is damaged"))?;
        if !kind.is::<hdf5::types::VarLenUnicode>() {
            return Err(wrong());
        }
        let shape = self.checked_shape(path, dataset, kind.size())?;
        if shape != expected {
            return Err(self.bad_shape(path, &shape, &format!("{expected:?}")));
        }
        self.allow(path, bytes_of(&shape, kind.size()))?;
        if shape.contains(&0) {
            return Ok(Vec::new());
        }
        self.check_heaps()?;
        let texts: Vec<hdf5::types::VarLenUnicode> = dataset
            .read_raw()
            .map_err(|_| self.damaged(path, "its text is damaged"))?;
        texts
            .iter()
            .map(|t| String::from_utf8(t.as_bytes().to_vec()).map_err(|_| wrong()))
            .collect()
    }
}

/// A copy of the first text.
fn bytes_of_first(texts: &[impl AsRef<[u8]>]) -> Vec<u8> {
    texts
        .first()
        .map_or_else(Vec::new, |text| text.as_ref().to_vec())
}

/// Bytes of an array; no product of dimensions overflows.
fn bytes_of(shape: &[usize], item: usize) -> u128 {
    shape
        .iter()
        .fold(item as u128, |b, d| b.saturating_mul(*d as u128))
}

impl Numbers<'_> {
    /// Where it is.
    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// Its dimensions.
    pub(crate) fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Whether the numbers are complex in double precision.
    pub(crate) fn is_double(&self) -> bool {
        matches!(self.complex, Some(Precision::Double))
    }

    /// The error of this dataset having the wrong shape.
    pub(crate) fn bad_shape(&self, expected: &str) -> IoError {
        self.source.bad_shape(&self.path, &self.shape, expected)
    }

    /// The error of a value of this dataset.
    pub(crate) fn bad_value(&self, found: impl ToString, expected: &str) -> IoError {
        IoError::Value {
            file: self.source.name.clone(),
            dataset: self.path.clone(),
            found: found.to_string(),
            expected: expected.to_owned(),
        }
    }

    fn real_only(&self) -> Result<(), IoError> {
        if self.complex.is_some() {
            return Err(IoError::Type {
                file: self.source.name.clone(),
                dataset: self.path.clone(),
                expected: "real numbers",
            });
        }
        Ok(())
    }

    fn allow(&self, item: usize) -> Result<(), IoError> {
        self.source.allow(&self.path, bytes_of(&self.shape, item))
    }

    fn unreadable(&self) -> IoError {
        self.source.damaged(
            &self.path,
            "its data are damaged or compressed with a filter that is not here (gzip, shuffle and Fletcher 32 are)",
        )
    }

    fn whole<T: hdf5::H5Type>(&self) -> Result<ArrayD<T>, IoError> {
        self.allow(size_of::<T>())?;
        if self.shape.contains(&0) {
            return ArrayD::from_shape_vec(IxDyn(&self.shape), Vec::new())
                .map_err(|_| self.unreadable());
        }
        self.dataset.read_dyn().map_err(|_| self.unreadable())
    }

    /// All of it.
    pub(crate) fn reals(&self) -> Result<ArrayD<f64>, IoError> {
        self.real_only()?;
        self.whole()
    }

    /// All of it; unsigned integers up to 2⁶⁴ − 1 unrounded.
    pub(crate) fn unsigned(&self) -> Result<ArrayD<u64>, IoError> {
        self.real_only()?;
        self.whole()
    }

    /// All of it; real numbers get a zero imaginary part.
    pub(crate) fn complex(&self) -> Result<ArrayD<Complex<f64>>, IoError> {
        self.allow(size_of::<Complex<f64>>())?;
        match self.complex {
            Some(Precision::Double) => self.whole(),
            Some(Precision::Single) => Ok(self
                .whole::<Complex<f32>>()?
                .mapv(|v| Complex::new(f64::from(v.re), f64::from(v.im)))),
            None => Ok(self.whole::<f64>()?.mapv(|v| Complex::new(v, 0.0))),
        }
    }

    /// The part `first..end` of every axis, as f32. `parts` has one entry an axis and was checked
    /// against the shape; the caller has asked for the memory.
    pub(crate) fn part(&self, parts: &[std::ops::Range<usize>]) -> Result<ArrayD<f32>, IoError> {
        self.real_only()?;
        let shape: Vec<usize> = parts.iter().map(ExactSizeIterator::len).collect();
        if shape.contains(&0) {
            return ArrayD::from_shape_vec(IxDyn(&shape), Vec::new())
                .map_err(|_| self.unreadable());
        }
        let whole = parts.len() == self.shape.len()
            && parts.iter().zip(&self.shape).all(|(p, n)| *p == (0..*n));
        let read = if whole {
            self.dataset.read_dyn::<f32>()
        } else {
            let slices: Vec<hdf5::SliceOrIndex> = parts
                .iter()
                .map(|p| hdf5::SliceOrIndex::from(p.clone()))
                .collect();
            self.dataset
                .read_slice::<f32, _, IxDyn>(hdf5::Hyperslab::from(slices))
        };
        let read = read.map_err(|_| self.unreadable())?;
        if read.shape() != shape {
            return Err(self.unreadable());
        }
        Ok(read)
    }

    /// Its only value, or the first of values that agree within 10⁻⁶; one per frame is common.
    pub(crate) fn common_value(&self) -> Result<f64, IoError> {
        let all = self.reals()?;
        let Some(first) = all.first().copied() else {
            return Err(self.bad_shape("at least one number"));
        };
        // Written so that a NaN anywhere is refused too, unless it is the only value.
        let agree = |v: &f64| (v - first).abs() <= 1e-6 * first.abs();
        if all.len() > 1 && !all.iter().all(agree) {
            return Err(self.bad_value("not the same for every frame", "one common value"));
        }
        Ok(first)
    }

    /// One number for both directions, or one for each (row, column).
    pub(crate) fn one_or_two(&self) -> Result<[f64; 2], IoError> {
        let elements = bytes_of(&self.shape, 1);
        if !(1..=2).contains(&elements) {
            return Err(self.bad_shape("one or two numbers"));
        }
        let all: Vec<f64> = self.reals()?.into_iter().collect();
        match all[..] {
            [both] => Ok([both, both]),
            [row, column] => Ok([row, column]),
            _ => Err(self.unreadable()),
        }
    }
}
