//! NumPy's `.npy` files: arrays (row, column) of f32 or f64 here, complex images of any rank in
//! [`complex`].
//!
//! The reader accepts both byte orders and both storage orders; files are written little-endian
//! with the last axis fastest. The header is a Python literal, and the reader accepts only the form
//! that NumPy writes: the general parser of the crate `ndarray-npy` allocates whatever size the
//! header's length field states and recurses as deep as its brackets. This one limits a header to
//! 10 000 bytes, and checks an array's shape against the file's length and the available memory
//! before it allocates.

pub mod complex;
mod header;

use super::IoError;
use crate::system::{Bytes, Memory, atomic_file};
use header::{Header, Kind};
use ndarray::{Array2, ArrayView, Dimension};
use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::Path;

/// Elements converted at a time.
const CHUNK: usize = 1 << 16;

/// Bytes of the widest element type.
const WIDEST: usize = 8;

/// Element types of arrays in memory.
pub trait Element: Copy + Default + Send + Sync + 'static {
    /// Size of an element, bytes.
    const BYTES: usize;
    /// NumPy's name of the little-endian type.
    const DESCRIPTION: &'static str;
    /// Converts an f32 of the file, exactly.
    fn from_single(value: f32) -> Self;
    /// Converts an f64 of the file, rounding to nearest.
    fn from_double(value: f64) -> Self;
    /// Appends the little-endian bytes of `self`.
    fn append(self, bytes: &mut Vec<u8>);
}

impl Element for f32 {
    const BYTES: usize = 4;
    const DESCRIPTION: &'static str = "<f4";
    fn from_single(value: f32) -> Self {
        value
    }
    fn from_double(value: f64) -> Self {
        value as Self
    }
    fn append(self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(&self.to_le_bytes());
    }
}

impl Element for f64 {
    const BYTES: usize = 8;
    const DESCRIPTION: &'static str = "<f8";
    fn from_single(value: f32) -> Self {
        value.into()
    }
    fn from_double(value: f64) -> Self {
        value
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
    Ok(Opened::new(path)?.header.kind == Kind::Double)
}

/// Whether the array in a file has complex numbers.
///
/// # Errors
/// The file does not exist or is not `.npy`.
pub fn is_complex(path: &Path) -> Result<bool, IoError> {
    Ok(Opened::new(path)?.header.complex)
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
    let mut values: Vec<T> = Vec::new();
    values.try_reserve_exact(count).map_err(|_| refused(0))?;
    values.resize(count, T::default());
    let width = header.kind.bytes();
    let mut buffer = vec![0; CHUNK.min(count) * width];
    let mut done = 0;
    while done < count {
        let bytes = &mut buffer[..CHUNK.min(count - done) * width];
        file.read_exact(bytes).map_err(|e| unreadable(&name, &e))?;
        for element in bytes.chunks_exact(width) {
            let index = if header.fortran {
                done % rows * columns + done / rows
            } else {
                done
            };
            values[index] = convert(element, &header);
            done += 1;
        }
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

fn convert<T: Element>(bytes: &[u8], header: &Header) -> T {
    let mut padded = [0; WIDEST];
    padded[..bytes.len()].copy_from_slice(bytes);
    if header.big_endian {
        padded[..bytes.len()].reverse();
    }
    match header.kind {
        Kind::Single => {
            let [a, b, c, d, ..] = padded;
            T::from_single(f32::from_le_bytes([a, b, c, d]))
        }
        Kind::Double => T::from_double(f64::from_le_bytes(padded)),
    }
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
        let header = Header::read(&mut file, &name)?;
        let length = metadata.len();
        Ok(Self {
            file,
            header,
            name,
            length,
        })
    }

    /// Checks that the file is exactly as long as its header says.
    fn check_length(self) -> Result<Self, IoError> {
        let name = self.name.clone();
        let expected = self.header.file_bytes().ok_or_else(|| IoError::Shape {
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
        if self.header.complex {
            return Err(header::wrong_element(&self.name, &self.header.description));
        }
        let [rows, columns] = self.header.shape[..] else {
            return Err(IoError::Shape {
                file: self.name,
                dataset: "the array".to_owned(),
                found: self.header.shape,
                expected: "rank 2 (row, column)".to_owned(),
            });
        };
        Ok((self.check_length()?, [rows, columns]))
    }
}

fn unreadable(name: &str, reason: &dyn std::fmt::Display) -> IoError {
    IoError::Open {
        file: name.to_owned(),
        reason: reason.to_string(),
    }
}

#[cfg(test)]
mod tests;
