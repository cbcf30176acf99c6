//! NumPy's `.npy` files: arrays (row, column) of f32 or f64 here, complex images and real arrays of
//! any rank and element type in [`complex`].
//!
//! The reader accepts both byte orders and both storage orders; files are written little-endian
//! with the last axis fastest. `warpstride_formats::numpy` reads headers and converts elements. The
//! general parser of the crate `ndarray-npy` allocates whatever size the header's length field
//! states and recurses as deep as its brackets. This one limits a header to 10 000 bytes, and
//! checks an array's shape against the file's length and the available memory before it allocates.

pub mod complex;
mod header;

use super::{IoError, reserved};
use header::unreadable;
use ndarray::{Array2, ArrayView, Dimension};
use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::Path;
use warpstride_core::system::{Bytes, Memory, atomic_file};
use warpstride_formats::Element as FileElement;
use warpstride_formats::numpy::{Header, Numbers};

/// Elements converted at a time.
const CHUNK: usize = 1 << 16;

/// Element types of arrays in memory.
pub trait Element: Copy + Default + Send + Sync + 'static {
    /// Size of an element, bytes.
    const BYTES: usize;
    /// NumPy's name of the little-endian type.
    const DESCRIPTION: &'static str;
    /// Converts the bytes of elements of a file with this header, rounding to nearest.
    fn convert(header: &Header, bytes: &[u8], to: &mut [Self]);
    /// Appends the little-endian bytes of `self`.
    fn append(self, bytes: &mut Vec<u8>);
}

impl Element for f32 {
    const BYTES: usize = 4;
    const DESCRIPTION: &'static str = "<f4";
    fn convert(header: &Header, bytes: &[u8], to: &mut [Self]) {
        header.singles(bytes, to);
    }
    fn append(self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(&self.to_le_bytes());
    }
}

impl Element for f64 {
    const BYTES: usize = 8;
    const DESCRIPTION: &'static str = "<f8";
    fn convert(header: &Header, bytes: &[u8], to: &mut [Self]) {
        header.doubles(bytes, to);
    }
    fn append(self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(&self.to_le_bytes());
    }
}

/// Rows and columns of the array in a file, checked against the file's length.
///
/// # Errors
/// As [`read`], except for the limit of memory.
pub fn shape(path: &Path) -> Result<[usize; 2], IoError> {
    Opened::new(path)?
        .rows_and_columns()
        .map(|(_, shape)| shape)
}

/// Whether the array in a file has double precision.
///
/// # Errors
/// The file does not exist or is not `.npy`.
pub fn is_double(path: &Path) -> Result<bool, IoError> {
    let opened = Opened::new(path)?.floating()?;
    Ok(opened.header.numbers.part() == FileElement::Float(64))
}

/// Whether the array in a file has complex numbers.
///
/// # Errors
/// The file does not exist or is not `.npy`.
pub fn is_complex(path: &Path) -> Result<bool, IoError> {
    Ok(Opened::new(path)?.floating()?.is_complex())
}

/// Reads an array (row, column). The conversion from f32 to f64 is exact, that from f64 to f32
/// rounds to nearest.
///
/// # Errors
/// The file does not exist, is not `.npy`, has another rank, element type or length, or its array
/// does not fit into the available memory.
pub fn read<T: Element>(path: &Path) -> Result<Array2<T>, IoError> {
    read_within(path, Memory::available())
}

/// [`read`] with the given limit of memory.
///
/// # Errors
/// As [`read`].
pub fn read_within<T: Element>(path: &Path, memory: Memory) -> Result<Array2<T>, IoError> {
    let (
        Opened {
            mut file,
            header,
            name,
            ..
        },
        [rows, columns],
    ) = Opened::new(path)?.rows_and_columns()?;
    // No overflow: the file has been found to hold as many elements.
    let count = rows * columns;
    let needed = count as u128 * T::BYTES as u128;
    let refused = |available: u64| IoError::ArrayTooLarge {
        file: name.clone(),
        needed: Bytes(needed),
        available: Bytes(u128::from(available)),
    };
    if needed > u128::from(memory.limit()) {
        return Err(refused(memory.limit()));
    }
    let mut values: Vec<T> = reserved(count).ok_or_else(|| refused(0))?;
    values.resize(count, T::default());
    let width = header.numbers.bytes();
    let mut buffer = vec![0; CHUNK.min(count) * width];
    let mut part = vec![T::default(); if header.fortran { CHUNK.min(count) } else { 0 }];
    let mut done = 0;
    while done < count {
        let some = CHUNK.min(count - done);
        let bytes = &mut buffer[..some * width];
        file.read_exact(bytes).map_err(|e| unreadable(&name, &e))?;
        if header.fortran {
            T::convert(&header, bytes, &mut part[..some]);
            for (index, value) in (done..).zip(&part[..some]) {
                values[index % rows * columns + index / rows] = *value;
            }
        } else {
            T::convert(&header, bytes, &mut values[done..done + some]);
        }
        done += some;
    }
    Array2::from_shape_vec((rows, columns), values).map_err(|e| unreadable(&name, &e))
}

/// Writes an array of one axis or more atomically.
///
/// # Errors
/// [`IoError::Write`].
pub fn write<T: Element, D: Dimension>(
    path: &Path,
    array: ArrayView<'_, T, D>,
) -> Result<(), IoError> {
    atomic_file::write(path, |temporary| {
        fill(temporary, array).map_err(|e| atomic_file::refusal(path, &e))
    })
}

fn fill<T: Element, D: Dimension>(
    temporary: &Path,
    array: ArrayView<'_, T, D>,
) -> std::io::Result<()> {
    let mut file = BufWriter::new(File::create(temporary)?);
    file.write_all(&header::text(T::DESCRIPTION, array.shape()))?;
    let mut bytes = Vec::new();
    for row in array.rows() {
        for part in row.axis_chunks_iter(ndarray::Axis(0), CHUNK) {
            bytes.clear();
            part.iter().for_each(|value| value.append(&mut bytes));
            file.write_all(&bytes)?;
        }
    }
    file.into_inner()?.flush()
}

/// An open file, positioned at its first element.
struct Opened {
    file: BufReader<File>,
    header: Header,
    name: String,
    /// Length of the file, bytes.
    length: u64,
}

impl Opened {
    fn new(path: &Path) -> Result<Self, IoError> {
        let name = path.display().to_string();
        let metadata = std::fs::metadata(path).map_err(|e| unreadable(&name, &e))?;
        // A pipe has no length and may never end.
        if !metadata.is_file() {
            return Err(unreadable(&name, &"it is not a regular file"));
        }
        let mut file = BufReader::new(File::open(path).map_err(|e| unreadable(&name, &e))?);
        let header = Header::read(&mut file).map_err(|e| header::refused(&name, e))?;
        let length = metadata.len();
        Ok(Self {
            file,
            header,
            name,
            length,
        })
    }

    fn is_complex(&self) -> bool {
        matches!(self.header.numbers, Numbers::Complex(_))
    }

    /// Checks for floating-point numbers of 32 or 64 bits, or complex ones of these.
    fn floating(self) -> Result<Self, IoError> {
        match self.header.numbers.part() {
            FileElement::Float(32 | 64) => Ok(self),
            _ => Err(header::wrong_element(&self.name, &self.header.description)),
        }
    }

    /// Checks that the file is exactly as long as its header says.
    fn check_length(self) -> Result<Self, IoError> {
        let name = self.name.clone();
        let bytes = self.header.data_bytes();
        // The array must also be addressable in memory.
        let addressable = bytes.filter(|of| isize::try_from(of.saturating_mul(2)).is_ok());
        let whole = addressable.and_then(|of| of.checked_add(self.header.length as u64));
        let expected = whole.ok_or_else(|| IoError::Shape {
            file: name.clone(),
            dataset: "the array".to_owned(),
            found: self.header.shape.clone(),
            expected: "a size that memory can address".to_owned(),
        })?;
        if expected > self.length {
            return Err(IoError::Truncated {
                file: name,
                expected,
                found: self.length,
            });
        }
        if expected < self.length {
            return Err(IoError::Value {
                file: name,
                dataset: "the array".to_owned(),
                found: format!("{} bytes after it", self.length - expected),
                expected: "a file of one array".to_owned(),
            });
        }
        Ok(self)
    }

    /// Checks for a real array of rank 2, and returns its rows and columns.
    fn rows_and_columns(self) -> Result<(Self, [usize; 2]), IoError> {
        let this = self.floating()?;
        if this.is_complex() {
            return Err(header::wrong_element(&this.name, &this.header.description));
        }
        let [rows, columns] = this.header.shape[..] else {
            return Err(IoError::Shape {
                file: this.name,
                dataset: "the array".to_owned(),
                found: this.header.shape,
                expected: "rank 2 (row, column)".to_owned(),
            });
        };
        Ok((this.check_length()?, [rows, columns]))
    }
}

#[cfg(test)]
mod tests;
