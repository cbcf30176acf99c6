//! One-dimensional datasets of records (compound types with members of variable length).

mod sequences;

use super::IoError;
use super::source::Source;
use hdf5_metno as hdf5;
use hdf5_metno::types::TypeDescriptor;
use std::ops::Range;
use warpstride_core::system::Bytes;

/// Most bytes of a record in a file, above any that ISMRMRD uses.
const LARGEST: usize = 1 << 16;

/// A dataset of records, inspected but not yet read.
pub struct Records<'s> {
    source: &'s Source,
    path: String,
    dataset: hdf5::Dataset,
    kind: TypeDescriptor,
    count: usize,
}

/// The type that a member must have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Member {
    /// An integer or floating-point number of any width.
    Number,
    /// A sequence of single-precision numbers, of variable length.
    Singles,
}

impl Source {
    /// Inspects the dataset of records `path`; `None` if it does not exist.
    pub fn records(&self, path: &str) -> Result<Option<Records<'_>>, IoError> {
        let Some(dataset) = self.dataset(path)? else {
            return Ok(None);
        };
        let not_records = || IoError::Type {
            file: self.name().to_owned(),
            dataset: path.to_owned(),
            expected: "records (an HDF5 compound type)",
        };
        let kind = dataset
            .dtype()
            .map_err(|_| self.damaged(path, "its element type is damaged"))?;
        // The size first: larger types are not inspected any further.
        if !(1..=LARGEST).contains(&kind.size()) {
            return Err(not_records());
        }
        let described = kind.to_descriptor().map_err(|_| not_records())?;
        if !matches!(described, TypeDescriptor::Compound(_)) {
            return Err(not_records());
        }
        self.check_heaps()?;
        let shape = self.checked_shape(path, &dataset, kind.size())?;
        let [count] = shape[..] else {
            return Err(self.bad_shape(path, &shape, "(record)"));
        };
        Ok(Some(Records {
            source: self,
            path: path.to_owned(),
            dataset,
            kind: described,
            count,
        }))
    }
}

impl Records<'_> {
    /// Number of records.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Checks that `bytes` for each of `count` records are within the limit of memory.
    pub fn allow(&self, count: usize, bytes: usize) -> Result<(), IoError> {
        self.fits(count as u128 * bytes as u128)
    }

    /// Checks that `bytes` are within the limit of memory.
    pub fn fits(&self, bytes: u128) -> Result<(), IoError> {
        let limit = u128::from(self.source.memory().limit());
        if bytes <= limit {
            return Ok(());
        }
        Err(IoError::AcquisitionsTooLarge {
            file: self.source.name().to_owned(),
            dataset: self.path.clone(),
            needed: Bytes(bytes),
            available: Bytes(limit),
        })
    }

    /// The error for record `number`.
    pub fn wrong(&self, number: usize, found: String, expected: &str) -> IoError {
        IoError::Acquisition {
            file: self.source.name().to_owned(),
            dataset: self.path.clone(),
            acquisition: number,
            found,
            expected: expected.to_owned(),
        }
    }

    /// Length of the file, bytes.
    pub fn file_length(&self) -> u64 {
        self.source.length()
    }

    /// Path of the dataset.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Checks that the records have the member `name` (`outer.inner`) and that it has the
    /// `expected` type: HDF5 leaves members that a file lacks uninitialised.
    pub fn require(&self, name: &str, expected: Member) -> Result<(), IoError> {
        let kind = self.member(name).ok_or_else(|| self.no_member(name))?;
        let (fits, description) = match expected {
            Member::Number => (
                matches!(
                    kind,
                    TypeDescriptor::Integer(_)
                        | TypeDescriptor::Unsigned(_)
                        | TypeDescriptor::Float(_)
                ),
                "a number",
            ),
            Member::Singles => (
                matches!(kind, TypeDescriptor::VarLenArray(inner)
                    if **inner == TypeDescriptor::Float(hdf5::types::FloatSize::U4)),
                "a variable-length sequence of 32-bit floating-point numbers",
            ),
        };
        if fits {
            return Ok(());
        }
        Err(IoError::Type {
            file: self.source.name().to_owned(),
            dataset: format!("{}, member {name}", self.path),
            expected: description,
        })
    }

    /// The type of the member `name` (`outer.inner`), if the records have it.
    fn member(&self, name: &str) -> Option<&TypeDescriptor> {
        name.split('.').try_fold(&self.kind, |kind, part| {
            let TypeDescriptor::Compound(record) = kind else {
                return None;
            };
            let field = record.fields.iter().find(|field| field.name == part)?;
            Some(&field.ty)
        })
    }

    /// Whether the records have a member `name` of three floating-point numbers.
    pub fn has_vector(&self, name: &str) -> bool {
        matches!(self.member(name), Some(TypeDescriptor::FixedArray(inner, 3))
            if matches!(**inner, TypeDescriptor::Float(_)))
    }

    fn no_member(&self, name: &str) -> IoError {
        self.source
            .missing(&format!("member {name} in its records"), &self.path)
    }

    /// Reads a range of records. The caller has [required](Self::require) the members of `T` and
    /// has checked the memory.
    pub fn read<T: hdf5::H5Type>(&self, which: Range<usize>) -> Result<Vec<T>, IoError> {
        if which.is_empty() {
            return Ok(Vec::new());
        }
        let expected = which.len();
        let read = self
            .dataset
            .read_slice_1d::<T, _>(hdf5::Hyperslab::from(which))
            .map_err(|error| self.not_read(&error.to_string()))?;
        if read.len() != expected {
            return Err(self.unreadable());
        }
        Ok(read.into_raw_vec_and_offset().0)
    }

    fn unreadable(&self) -> IoError {
        self.source.damaged(&self.path, "its records are damaged")
    }

    /// The error for records of which HDF5 `said` why it does not read them.
    fn not_read(&self, said: &str) -> IoError {
        if !said.contains("alloc") {
            return self.unreadable();
        }
        // A damaged length asks for any memory.
        let reason = "there is no memory for its records, or they are damaged";
        self.source.damaged(&self.path, reason)
    }
}
