//! Datasets of numbers, inspected first and then read whole or in part.

mod stored_size;

pub use stored_size::{check_stored, is_alike};

use super::chunks::Chunks;
use super::linked::Holder;
use super::look::{Look, look_at_lines};
use super::matlab_complex::{MatlabDouble, MatlabSingle};
use super::shape::{Decoder, bytes_of};
use super::stored::{Stored, StoredNumber};
use super::virtual_numbers::VirtualNumbers;
use super::{IoError, Source};
use hdf5_metno as hdf5;
use ndarray::{ArrayD, IxDyn};
use num_complex::Complex;

/// A dataset of numbers, inspected but not yet read.
pub struct Numbers<'s> {
    /// The file that has it, which may be another than that where it was looked for.
    source: Holder<'s>,
    path: String,
    data: Data<'s>,
    shape: Vec<usize>,
    /// Stored axis of each axis, if they are in another order.
    axes: Option<Vec<usize>>,
    complex: Option<Precision>,
}

/// Where the numbers are.
enum Data<'s> {
    /// In the dataset; its chunks are there if they have filters.
    Here {
        /// The open dataset; none if its file may be closed before it is read.
        dataset: Option<hdf5::Dataset>,
        stored: DatasetStorage,
        chunks: Option<Box<Chunks>>,
    },
    /// In other datasets.
    Virtual(Box<VirtualNumbers<'s>>),
}

/// How a dataset is stored.
struct DatasetStorage {
    /// The type of its numbers; `None` if the decoder of chunks does not know it.
    number: Option<Stored>,
    /// Bytes of a number.
    width: usize,
    /// Bytes in the file.
    bytes: u64,
    has_filters: bool,
}

/// Precision of the parts of a complex number, and how they are called.
#[derive(Clone, Copy)]
enum Precision {
    Single,
    Double,
    MatlabSingle,
    MatlabDouble,
}

impl Source {
    /// Inspects the dataset `path`; `None` if it does not exist.
    pub fn numbers(&self, path: &str) -> Result<Option<Numbers<'_>>, IoError> {
        Numbers::find(&Holder::Own(self), path, 0)
    }

    /// The first of `candidates` that exists.
    pub fn first(&self, candidates: &[&str]) -> Result<Option<Numbers<'_>>, IoError> {
        for path in candidates {
            if let Some(found) = self.numbers(path)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// The first of `candidates` that exists; `what` names it in the error.
    pub fn require(&self, what: &str, candidates: &[&str]) -> Result<Numbers<'_>, IoError> {
        self.first(candidates)?.ok_or_else(|| IoError::Missing {
            file: self.name().to_owned(),
            what: what.to_owned(),
            tried: candidates.iter().map(|c| self.with_target(c)).collect(),
        })
    }
}

impl<'s> Numbers<'s> {
    /// Inspects the dataset `given` of `holder`, or of the file where its links lead, inside
    /// `depth` virtual datasets; `None` if it does not exist.
    pub(super) fn find(
        holder: &Holder<'s>,
        given: &str,
        depth: usize,
    ) -> Result<Option<Self>, IoError> {
        let (source, path) = holder.followed(given)?;
        if let Some(registry) = source.registry.get()
            && !registry.count_dataset()
        {
            return Err(source.damaged(&path, "too many datasets lead to others"));
        }
        if let Some((address, of)) = source.virtual_dataset(&path)? {
            let (data, shape) = VirtualNumbers::find(&source, &path, (address, &of), depth)?;
            return Ok(Some(Self {
                source,
                path,
                data: Data::Virtual(Box::new(data)),
                shape,
                axes: None,
                complex: None,
            }));
        }
        let Some(dataset) = source.dataset(&path)? else {
            // A link to nothing; what a linked group does not have is absent.
            if holder.path() != source.path() && holder.group_elsewhere(given)?.is_none() {
                let reason = format!(
                    "its data are in {path} of {}, which does not exist",
                    source.name()
                );
                return Err(holder.damaged(given, &reason));
            }
            return Ok(None);
        };
        let kind = dataset
            .dtype()
            .map_err(|_| source.damaged(&path, "its element type is damaged"))?;
        let complex = if kind.is::<Complex<f32>>() {
            Some(Precision::Single)
        } else if kind.is::<Complex<f64>>() {
            Some(Precision::Double)
        } else if kind.is::<MatlabSingle>() {
            Some(Precision::MatlabSingle)
        } else if kind.is::<MatlabDouble>() {
            Some(Precision::MatlabDouble)
        } else {
            None
        };
        // The size first: wider types (strings, sequences, records) are not inspected any further.
        let number = (1..=8).contains(&kind.size()) && kind.conv_to::<f64>().is_some();
        if complex.is_none() && !number {
            return Err(IoError::Type {
                file: source.name().to_owned(),
                dataset: path,
                expected: "integers, floating-point numbers or complex numbers (r, i)",
            });
        }
        let shape = source.checked_shape_by(&path, &dataset, kind.size(), Decoder::Own)?;
        let chunks = source.chunks(&path, &dataset, &shape)?;
        let stored = DatasetStorage {
            number: Stored::new(&kind),
            width: kind.size(),
            bytes: dataset.storage_size(),
            has_filters: !dataset.filters().is_empty(),
        };
        Ok(Some(Self {
            data: Data::Here {
                dataset: (!source.may_close()).then_some(dataset),
                stored,
                chunks: chunks.map(Box::new),
            },
            source,
            path,
            shape,
            axes: None,
            complex,
        }))
    }

    /// The type of the stored numbers; `None` if the decoder of chunks does not know it.
    pub(super) fn number_type(&self) -> Option<Stored> {
        match &self.data {
            Data::Here { stored, .. } => stored.number,
            Data::Virtual(of) => Some(of.stored()),
        }
    }
}

impl Numbers<'_> {
    /// Path of the dataset.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The largest number of the stored type, if that is one of unsigned integers.
    pub fn largest(&self) -> Option<f64> {
        self.number_type()?.largest_unsigned()
    }

    /// Shape of the dataset.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The same numbers with their axes in another order: axis i is the stored axis `axes[i]`.
    /// `None` if `axes` are not the axes of the dataset, each once.
    pub fn reordered(mut self, axes: &[usize]) -> Option<Self> {
        let mut sorted = axes.to_vec();
        sorted.sort_unstable();
        if self.axes.is_some() || !sorted.into_iter().eq(0..self.shape.len()) {
            return None;
        }
        if axes.is_sorted() {
            return Some(self);
        }
        self.shape = axes.iter().map(|axis| self.shape[*axis]).collect();
        self.axes = Some(axes.to_vec());
        Some(self)
    }

    /// What belongs to the stored axes, from what belongs to these axes.
    fn as_stored<T: Clone>(&self, of_axes: &[T]) -> Vec<T> {
        let Some(axes) = &self.axes else {
            return of_axes.to_vec();
        };
        let mut stored: Vec<(usize, &T)> = axes.iter().copied().zip(of_axes).collect();
        stored.sort_by_key(|(axis, _)| *axis);
        stored.into_iter().map(|(_, of)| of.clone()).collect()
    }

    /// What was read, with its axes in this order.
    fn in_order<T: Clone>(&self, read: ArrayD<T>) -> ArrayD<T> {
        match &self.axes {
            Some(axes) if axes.len() == read.ndim() => read
                .permuted_axes(IxDyn(axes))
                .as_standard_layout()
                .into_owned(),
            _ => read,
        }
    }

    /// Whether the numbers are complex in double precision.
    pub fn is_double(&self) -> bool {
        matches!(
            self.complex,
            Some(Precision::Double | Precision::MatlabDouble)
        )
    }

    /// Whether the numbers are complex.
    pub fn is_complex(&self) -> bool {
        self.complex.is_some()
    }

    /// The error for the shape of this dataset.
    pub fn bad_shape(&self, expected: &str) -> IoError {
        self.source.bad_shape(&self.path, &self.shape, expected)
    }

    /// The file, as given.
    pub fn file(&self) -> &str {
        self.source.name()
    }

    /// The error for a value of this dataset.
    pub fn bad_value(&self, found: impl ToString, expected: &str) -> IoError {
        IoError::Value {
            file: self.source.name().to_owned(),
            dataset: self.path.clone(),
            found: found.to_string(),
            expected: expected.to_owned(),
        }
    }

    fn real_only(&self) -> Result<(), IoError> {
        if self.complex.is_some() {
            return Err(IoError::Type {
                file: self.source.name().to_owned(),
                dataset: self.path.clone(),
                expected: "real numbers",
            });
        }
        Ok(())
    }

    fn allow(&self, item: usize) -> Result<(), IoError> {
        // As stored, and in another order.
        let copies = if self.axes.is_some() { 2 } else { 1 };
        self.source
            .allow(&self.path, bytes_of(&self.shape, item * copies))
    }

    /// The dataset, which is opened again if its file may have been closed.
    fn opened(&self, dataset: Option<&hdf5::Dataset>) -> Result<hdf5::Dataset, IoError> {
        match dataset {
            Some(dataset) => Ok(dataset.clone()),
            None => (self.source.dataset(&self.path)?).ok_or_else(|| self.unreadable()),
        }
    }

    fn unreadable(&self) -> IoError {
        self.source.damaged(&self.path, "its data are damaged")
    }

    fn whole<T: hdf5::H5Type + StoredNumber>(&self) -> Result<ArrayD<T>, IoError> {
        self.allow(size_of::<T>())?;
        if self.shape.contains(&0) {
            return ArrayD::from_shape_vec(IxDyn(&self.shape), Vec::new())
                .map_err(|_| self.unreadable());
        }
        let all: Vec<_> = self.shape.iter().map(|length| 0..*length).collect();
        check_stored(&[(self, all.clone())], size_of::<T>())?;
        let all = self.as_stored(&all);
        let source: &Source = &self.source;
        let here = (source, self.path.as_str());
        let read = match &self.data {
            Data::Virtual(of) => of.part(here, &all)?,
            Data::Here {
                chunks: Some(chunks),
                ..
            } if !chunks.left_to_hdf5(here, &all, size_of::<T>()) => chunks.part(here, &all)?,
            Data::Here { dataset, .. } => {
                let dataset = self.opened(dataset.as_ref())?;
                dataset.read_dyn().map_err(|_| self.unreadable())?
            }
        };
        Ok(self.in_order(read))
    }

    /// Reads the whole dataset.
    pub fn reals(&self) -> Result<ArrayD<f64>, IoError> {
        self.real_only()?;
        self.whole()
    }

    /// Reads the whole dataset; unsigned integers up to 2⁶⁴ − 1 are not rounded.
    pub fn unsigned(&self) -> Result<ArrayD<u64>, IoError> {
        self.real_only()?;
        self.whole()
    }

    /// Reads the whole dataset; real numbers get a zero imaginary part.
    pub fn complex(&self) -> Result<ArrayD<Complex<f64>>, IoError> {
        self.allow(size_of::<Complex<f64>>())?;
        match self.complex {
            Some(Precision::Double) => self.whole(),
            Some(Precision::Single) => Ok(self
                .whole::<Complex<f32>>()?
                .mapv(|v| Complex::new(f64::from(v.re), f64::from(v.im)))),
            Some(Precision::MatlabSingle) => {
                Ok(self.whole::<MatlabSingle>()?.mapv(MatlabSingle::widened))
            }
            Some(Precision::MatlabDouble) => {
                Ok(self.whole::<MatlabDouble>()?.mapv(MatlabDouble::widened))
            }
            None => Ok(self.whole::<f64>()?.mapv(|v| Complex::new(v, 0.0))),
        }
    }

    /// Reads the range `parts` of every axis as f32. The caller has checked `parts`, with one range
    /// per axis, against the shape, and the memory.
    pub fn part(&self, parts: &[std::ops::Range<usize>]) -> Result<ArrayD<f32>, IoError> {
        self.real_only()?;
        self.part_as(parts)
    }

    /// Like [`Numbers::part`], into memory for these numbers, 0 before, with the last axis fastest.
    /// `look` sees them, whole lines of the first axis one after the other, unless the file does
    /// not have all of them.
    pub fn part_into(
        &self,
        parts: &[std::ops::Range<usize>],
        to: &mut [f32],
        look: Option<&dyn Look<f32>>,
    ) -> Result<(), IoError> {
        self.real_only()?;
        let source: &Source = &self.source;
        let here = (source, self.path.as_str());
        if let (
            None,
            Data::Here {
                chunks: Some(chunks),
                ..
            },
        ) = (&self.axes, &self.data)
            && !to.is_empty()
            && !chunks.left_to_hdf5(here, parts, size_of::<f32>())
        {
            return chunks.part_into(here, parts, to, look);
        }
        let read = self.part(parts)?;
        match read.as_slice() {
            Some(read) if read.len() == to.len() => to.copy_from_slice(read),
            _ => return Err(self.unreadable()),
        }
        if let Some(look) = look {
            look_at_lines(look, 0, parts.first().map_or(1, ExactSizeIterator::len), to);
        }
        Ok(())
    }

    /// Like [`Numbers::part`], as other numbers.
    pub(super) fn part_as<T: hdf5::H5Type + StoredNumber>(
        &self,
        parts: &[std::ops::Range<usize>],
    ) -> Result<ArrayD<T>, IoError> {
        let shape: Vec<usize> = parts.iter().map(ExactSizeIterator::len).collect();
        if shape.contains(&0) {
            return ArrayD::from_shape_vec(IxDyn(&shape), Vec::new())
                .map_err(|_| self.unreadable());
        }
        if self.axes.is_some() {
            let copies = bytes_of(&shape, 2 * size_of::<T>());
            self.source.allow(&self.path, copies)?;
        }
        check_stored(&[(self, parts.to_vec())], size_of::<T>())?;
        let whole = parts.len() == self.shape.len()
            && parts.iter().zip(&self.shape).all(|(p, n)| *p == (0..*n));
        let stored = self.as_stored(parts);
        let source: &Source = &self.source;
        let here = (source, self.path.as_str());
        let read = match &self.data {
            Data::Virtual(of) => of.part(here, &stored)?,
            Data::Here {
                chunks: Some(chunks),
                ..
            } if !chunks.left_to_hdf5(here, &stored, size_of::<T>()) => {
                chunks.part(here, &stored)?
            }
            Data::Here { dataset, .. } if whole => {
                let dataset = self.opened(dataset.as_ref())?;
                dataset.read_dyn::<T>().map_err(|_| self.unreadable())?
            }
            Data::Here { dataset, .. } => {
                let slices = stored.iter().cloned().map(hdf5::SliceOrIndex::from);
                let slices: Vec<hdf5::SliceOrIndex> = slices.collect();
                let dataset = self.opened(dataset.as_ref())?;
                dataset
                    .read_slice::<T, _, IxDyn>(hdf5::Hyperslab::from(slices))
                    .map_err(|_| self.unreadable())?
            }
        };
        let read = self.in_order(read);
        if read.shape() != shape {
            return Err(self.unreadable());
        }
        Ok(read)
    }

    /// The only value, or the first of several that agree within 10⁻⁶: many files have one per
    /// frame.
    pub fn common_value(&self) -> Result<f64, IoError> {
        let all = self.reals()?;
        let Some(first) = all.first().copied() else {
            return Err(self.bad_shape("at least one number"));
        };
        // This form also refuses a NaN anywhere, unless it is the only value.
        let agree = |v: &f64| (v - first).abs() <= 1e-6 * first.abs();
        if all.len() > 1 && !all.iter().all(agree) {
            return Err(self.bad_value("different values", "the same value for every frame"));
        }
        Ok(first)
    }

    /// One number for both directions, or one per direction (row, column).
    pub fn one_or_two(&self) -> Result<[f64; 2], IoError> {
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
