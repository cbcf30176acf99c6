//! NumPy's `.npy`: one array of f32 or f64, (row, column); complex images of any rank in [`complex`].
//!
//! Read is either byte order and either order of storage; what is written is little-endian, the last
//! axis fastest. The header is NumPy's Python literal, of which only the form that NumPy writes is
//! taken: the general parser of the crate `ndarray-npy` allocates what a header's length field asks
//! for and recurses as deep as its brackets. Here a header has at most 10 000 bytes, and an array is
//! allocated after its shape was held against the file's length and against memory.

pub mod complex;
mod header;

use super::{IoError, Memory, atomic, memory::Bytes};
use header::{Header, Kind};
use ndarray::{Array2, ArrayView2};
use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::Path;

/// Elements that are converted at a time.
const CHUNK: usize = 1 << 16;

/// Most bytes of an element.
const WIDEST: usize = 8;

/// Numbers that arrays are read into and written from.
pub trait Element: Copy + Default + Send + Sync + 'static {
    /// Bytes.
    const BYTES: usize;
    /// NumPy's name of the little-endian type.
    const DESCRIPTION: &'static str;
    /// From a file of f32; exact.
    fn from_single(value: f32) -> Self;
    /// From a file of f64; the nearest.
    fn from_double(value: f64) -> Self;
    /// Appends its bytes, the lowest first.
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

/// Rows and columns of the array in a file, whose length was held against them.
///
/// # Errors
/// As [`read`], but for the memory.
pub fn shape(path: &Path) -> Result<[usize; 2], IoError> {
    Opened::new(path)?.plane().map(|(_, shape)| shape)
}

/// Reads an array (row, column): f32 to f64 exactly, f64 to f32 to the nearest.
///
/// # Errors
/// No such file, not `.npy`, another rank or element type, a length that is not the array's, more
/// than the memory available.
pub fn read<T: Element>(path: &Path) -> Result<Array2<T>, IoError> {
    read_within(path, Memory::available())
}

/// [`read`] with another limit of memory.
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
    ) = Opened::new(path)?.plane()?;
    // Both fit: the file has as many elements.
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
        file.read_exact(bytes).map_err(|e| unread(&name, &e))?;
        for element in bytes.chunks_exact(width) {
            let place = if header.fortran {
                done % rows * columns + done / rows
            } else {
                done
            };
            values[place] = convert(element, &header);
            done += 1;
        }
    }
    Array2::from_shape_vec((rows, columns), values).map_err(|e| unread(&name, &e))
}

/// Writes an array (row, column); the file is absent or whole.
///
/// # Errors
/// [`IoError::Write`].
pub fn write<T: Element>(path: &Path, array: ArrayView2<'_, T>) -> Result<(), IoError> {
    atomic::write(path, |temporary| {
        fill(temporary, array).map_err(|e| atomic::refusal(path, &e))
    })
}

fn fill<T: Element>(temporary: &Path, array: ArrayView2<'_, T>) -> std::io::Result<()> {
    let mut file = BufWriter::new(File::create(temporary)?);
    let (rows, columns) = array.dim();
    file.write_all(&header::text(T::DESCRIPTION, &[rows, columns]))?;
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

/// A file at its first element.
struct Opened {
    file: BufReader<File>,
    header: Header,
    name: String,
    /// Bytes.
    length: u64,
}

impl Opened {
    fn new(path: &Path) -> Result<Self, IoError> {
        let name = path.display().to_string();
        let kind = std::fs::metadata(path).map_err(|e| unread(&name, &e))?;
        // Pipes have no length, and may have no end.
        if !kind.is_file() {
            return Err(unread(&name, &"it is not a regular file"));
        }
        let mut file = BufReader::new(File::open(path).map_err(|e| unread(&name, &e))?);
        let header = Header::read(&mut file, &name)?;
        let length = kind.len();
        Ok(Self {
            file,
            header,
            name,
            length,
        })
    }

    /// Refuses a file that is not as long as its array.
    fn whole(self) -> Result<Self, IoError> {
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
            return Err(IoError::Damaged {
                file: name,
                dataset: "the array".to_owned(),
                reason: format!(
                    "{} bytes follow it: a file of one array is expected",
                    self.length - expected
                ),
            });
        }
        Ok(self)
    }

    /// Rows and columns of a real array of two dimensions.
    fn plane(self) -> Result<(Self, [usize; 2]), IoError> {
        if self.header.complex {
            return Err(header::wrong_element(&self.name, &self.header.description));
        }
        let [rows, columns] = self.header.shape[..] else {
            return Err(IoError::Shape {
                file: self.name,
                dataset: "the array".to_owned(),
                found: self.header.shape,
                expected: "an array of two dimensions (row, column)".to_owned(),
            });
        };
        Ok((self.whole()?, [rows, columns]))
    }
}

fn unread(name: &str, reason: &dyn std::fmt::Display) -> IoError {
    IoError::Open {
        file: name.to_owned(),
        reason: reason.to_string(),
    }
}

#[cfg(test)]
mod tests;
