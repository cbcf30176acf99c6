//! Datasets of numbers, inspected first and then read whole or in part.

use super::chunks::Chunks;
use super::shape::{Decoder, bytes_of};
use super::stored::StoredNumber;
use super::{IoError, Source};
use hdf5_metno as hdf5;
use ndarray::{ArrayD, IxDyn};
use num_complex::Complex;

/// A dataset of numbers, inspected but not yet read.
pub(crate) struct Numbers<'s> {
    source: &'s Source,
    path: String,
    dataset: hdf5::Dataset,
    shape: Vec<usize>,
    complex: Option<Precision>,
    /// Its chunks, if HDF5 cannot decode them.
    chunks: Option<Chunks>,
}

/// Precision of the parts of a complex number.
#[derive(Clone, Copy)]
enum Precision {
    Single,
    Double,
}

impl Source {
    /// Inspects the dataset `path`; `None` if it does not exist.
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
        // The size first: wider types (strings, sequences, records) are not inspected any further.
        let number = (1..=8).contains(&kind.size()) && kind.conv_to::<f64>().is_some();
        if complex.is_none() && !number {
            return Err(IoError::Type {
                file: self.name().to_owned(),
                dataset: path.to_owned(),
                expected: "integers, floating-point numbers or complex numbers (r, i)",
            });
        }
        let shape = self.checked_shape_by(path, &dataset, kind.size(), Decoder::Own)?;
        let chunks = self.chunks(path, &dataset, &shape)?;
        Ok(Some(Numbers {
            chunks,
            source: self,
            path: path.to_owned(),
            dataset,
            shape,
            complex,
        }))
    }

    /// The first of `candidates` that exists.
    pub(crate) fn first(&self, candidates: &[&str]) -> Result<Option<Numbers<'_>>, IoError> {
        for path in candidates {
            if let Some(found) = self.numbers(path)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// The first of `candidates` that exists; `what` names it in the error.
    pub(crate) fn require(&self, what: &str, candidates: &[&str]) -> Result<Numbers<'_>, IoError> {
        self.first(candidates)?.ok_or_else(|| IoError::Missing {
            file: self.name().to_owned(),
            what: what.to_owned(),
            tried: candidates.iter().map(|c| (*c).to_owned()).collect(),
        })
    }
}

impl Numbers<'_> {
    /// Path of the dataset.
    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// Shape of the dataset.
    pub(crate) fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Whether the numbers are complex in double precision.
    pub(crate) fn is_double(&self) -> bool {
        matches!(self.complex, Some(Precision::Double))
    }

    /// Whether the numbers are complex.
    pub(crate) fn is_complex(&self) -> bool {
        self.complex.is_some()
    }

    /// The error for the shape of this dataset.
    pub(crate) fn bad_shape(&self, expected: &str) -> IoError {
        self.source.bad_shape(&self.path, &self.shape, expected)
    }

    /// The error for a value of this dataset.
    pub(crate) fn bad_value(&self, found: impl ToString, expected: &str) -> IoError {
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
        self.source.allow(&self.path, bytes_of(&self.shape, item))
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
        if let Some(chunks) = &self.chunks {
            let all: Vec<_> = self.shape.iter().map(|length| 0..*length).collect();
            return chunks.part((self.source, &self.path), &all);
        }
        self.dataset.read_dyn().map_err(|_| self.unreadable())
    }

    /// Reads the whole dataset.
    pub(crate) fn reals(&self) -> Result<ArrayD<f64>, IoError> {
        self.real_only()?;
        self.whole()
    }

    /// Reads the whole dataset; unsigned integers up to 2⁶⁴ − 1 are not rounded.
    pub(crate) fn unsigned(&self) -> Result<ArrayD<u64>, IoError> {
        self.real_only()?;
        self.whole()
    }

    /// Reads the whole dataset; real numbers get a zero imaginary part.
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

    /// Reads the range `parts` of every axis as f32. The caller has checked `parts`, with one range
    /// per axis, against the shape, and the memory.
    pub(crate) fn part(&self, parts: &[std::ops::Range<usize>]) -> Result<ArrayD<f32>, IoError> {
        self.real_only()?;
        let shape: Vec<usize> = parts.iter().map(ExactSizeIterator::len).collect();
        if shape.contains(&0) {
            return ArrayD::from_shape_vec(IxDyn(&shape), Vec::new())
                .map_err(|_| self.unreadable());
        }
        if let Some(chunks) = &self.chunks {
            return chunks.part((self.source, &self.path), parts);
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

    /// The only value, or the first of several that agree within 10⁻⁶: many files have one per
    /// frame.
    pub(crate) fn common_value(&self) -> Result<f64, IoError> {
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
