//! BART's arrays: `NAME.cfl`, complex numbers in single precision, and `NAME.hdr`, a text with the
//! dimensions.
//!
//! The numbers are pairs of little-endian 32-bit floats, real part first, with the first dimension
//! running fastest. The text has a line `# Dimensions` and, in the next one, up to 16 whole
//! numbers.

use super::{IoError, reserved};
use ndarray::{ArrayD, IxDyn};
use num_complex::Complex;
use std::fs::File;
use std::io::{BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use warpstride_core::system::{Bytes, Memory, atomic_file, write_whole};

/// Number of dimensions of every array; those that a header leaves out are 1.
pub const DIMENSIONS: usize = 16;

/// Bytes of the header that are searched for the dimensions, which come first.
const HEADER_BYTES: u64 = 1 << 16;
/// Longest excerpt of a header in a message, characters.
const EXCERPT: usize = 40;
/// Numbers that are converted at a time.
const CHUNK: usize = 1 << 14;
/// Bytes of a complex number in the file.
const WIDTH: usize = 8;

/// Whether `path` names such an array.
#[must_use]
pub fn is_cfl(path: &Path) -> bool {
    path.extension()
        .is_some_and(|e| e.eq_ignore_ascii_case("cfl"))
}

/// The text with the dimensions of the array `path`: the same name with the ending `hdr`.
#[must_use]
pub fn header_path(path: &Path) -> PathBuf {
    path.with_extension("hdr")
}

/// The array of which `path` is the text with the dimensions, if there is one beside it; otherwise
/// `path`.
#[must_use]
pub fn array_of(path: PathBuf) -> PathBuf {
    let array = path.with_extension("cfl");
    let is_header = (path.extension()).is_some_and(|e| e.eq_ignore_ascii_case("hdr"));
    match is_header && array.is_file() {
        true => array,
        false => path,
    }
}

/// An open array, whose file has been found to be as long as its header says.
#[derive(Debug)]
pub struct CflFile {
    file: File,
    name: String,
    dimensions: [usize; DIMENSIONS],
    count: usize,
}

impl CflFile {
    /// Opens the array `path` and reads its dimensions.
    ///
    /// # Errors
    /// One of the two files cannot be read, the header has no dimensions or others than whole
    /// numbers from 1, or the array's file is not as long as the dimensions say.
    pub fn open(path: &Path) -> Result<Self, IoError> {
        let name = path.display().to_string();
        let (file, length) = regular(path, &name)?;
        let header = header_path(path);
        let header_name = header.display().to_string();
        let (text, _) = regular(&header, &header_name).map_err(|why| match why {
            IoError::Open { file, reason } => IoError::Open {
                file,
                reason: format!("{reason} (the dimensions of {name} are in it)"),
            },
            other => other,
        })?;
        let mut bytes = Vec::new();
        text.take(HEADER_BYTES)
            .read_to_end(&mut bytes)
            .map_err(|e| unreadable(&header_name, &e))?;
        let dimensions = parse(&bytes).map_err(|found| IoError::Value {
            file: header_name.clone(),
            dataset: "# Dimensions".to_owned(),
            found,
            expected: format!("1 to {DIMENSIONS} whole numbers, 1 or more"),
        })?;
        let count = dimensions
            .iter()
            .try_fold(1_usize, |count, side| count.checked_mul(*side));
        // As complex numbers in double precision, too, they must be addressable.
        let addressable = |count: &usize| {
            let bytes = count.checked_mul(2 * WIDTH);
            bytes.is_some_and(|bytes| isize::try_from(bytes).is_ok())
        };
        let Some(count) = count.filter(addressable) else {
            return Err(IoError::Shape {
                file: header_name,
                dataset: "# Dimensions".to_owned(),
                found: without_ones(&dimensions).to_vec(),
                expected: "a size that memory can address".to_owned(),
            });
        };
        let expected = (count * WIDTH) as u64;
        if length < expected {
            return Err(IoError::Truncated {
                file: name,
                expected,
                found: length,
            });
        }
        if length > expected {
            return Err(IoError::Value {
                file: name,
                dataset: "the array".to_owned(),
                found: format!("{length} bytes"),
                expected: format!("{expected} bytes, as {header_name} says"),
            });
        }
        Ok(Self {
            file,
            name,
            dimensions,
            count,
        })
    }

    /// The dimensions, the fastest first.
    #[must_use]
    pub fn dimensions(&self) -> &[usize; DIMENSIONS] {
        &self.dimensions
    }

    /// The dimensions without ones at the end.
    #[must_use]
    pub fn shape(&self) -> &[usize] {
        without_ones(&self.dimensions)
    }

    /// Number of complex numbers.
    #[must_use]
    pub fn count(&self) -> usize {
        self.count
    }

    /// The file, as given.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Calls `take` with each of the `count` numbers from number `from` on, in the order of the
    /// file.
    ///
    /// # Errors
    /// The file cannot be read, or has fewer numbers.
    pub fn read(
        &mut self,
        from: usize,
        count: usize,
        mut take: impl FnMut(Complex<f32>),
    ) -> Result<(), IoError> {
        if from.checked_add(count).is_none_or(|end| end > self.count) {
            return Err(unreadable(&self.name, &"a part of it lies beyond its end"));
        }
        let failed = |e: &dyn std::fmt::Display| unreadable(&self.name, e);
        self.file
            .seek(SeekFrom::Start((from * WIDTH) as u64))
            .map_err(|e| failed(&e))?;
        let mut buffer = vec![0; CHUNK.min(count) * WIDTH];
        let mut left = count;
        while left > 0 {
            let part = CHUNK.min(left);
            let bytes = &mut buffer[..part * WIDTH];
            self.file.read_exact(bytes).map_err(|e| failed(&e))?;
            for number in bytes.as_chunks::<WIDTH>().0 {
                let [a, b, c, d, e, f, g, h] = *number;
                let re = f32::from_le_bytes([a, b, c, d]);
                take(Complex::new(re, f32::from_le_bytes([e, f, g, h])));
            }
            left -= part;
        }
        Ok(())
    }

    /// The whole array in row-major order, so that the axes are the dimensions in reverse: the
    /// first dimension is the last axis. There are at least `least` axes; further ones as far as a
    /// dimension is above 1.
    ///
    /// # Errors
    /// The array does not fit into `memory`, or the file cannot be read.
    pub fn read_reversed(
        &mut self,
        least: usize,
        memory: Memory,
    ) -> Result<ArrayD<Complex<f64>>, IoError> {
        let needed = self.count as u128 * size_of::<Complex<f64>>() as u128;
        let refused = |file: &str, available: u64| IoError::ArrayTooLarge {
            file: file.to_owned(),
            needed: Bytes(needed),
            available: Bytes(u128::from(available)),
        };
        if needed > u128::from(memory.limit()) {
            return Err(refused(&self.name, memory.limit()));
        }
        let mut values: Vec<Complex<f64>> =
            reserved(self.count).ok_or_else(|| refused(&self.name, 0))?;
        self.read(0, self.count, |v| values.push(widened(v)))?;
        let axes = self.shape().len().max(least).min(DIMENSIONS);
        let mut shape = self.dimensions[..axes].to_vec();
        shape.reverse();
        ArrayD::from_shape_vec(IxDyn(&shape), values).map_err(|e| unreadable(&self.name, &e))
    }
}

/// A number of a file in double precision.
#[must_use]
pub fn widened(value: Complex<f32>) -> Complex<f64> {
    Complex::new(f64::from(value.re), f64::from(value.im))
}

/// Writes an array, rounded to single precision, and then its header, each atomically. `values` are
/// in the order of the file, as many as the product of `dimensions`.
///
/// # Errors
/// [`IoError::Write`].
pub fn write(
    path: &Path,
    dimensions: &[usize; DIMENSIONS],
    values: impl IntoIterator<Item = Complex<f64>>,
) -> Result<(), IoError> {
    atomic_file::write(path, |temporary| {
        fill(temporary, values).map_err(|e| atomic_file::refusal::<IoError>(path, &e))
    })?;
    let sides: Vec<String> = dimensions.iter().map(ToString::to_string).collect();
    let text = format!("# Dimensions\n{}\n", sides.join(" "));
    Ok(write_whole(&header_path(path), text.as_bytes())?)
}

fn fill(temporary: &Path, values: impl IntoIterator<Item = Complex<f64>>) -> std::io::Result<()> {
    let mut file = BufWriter::new(File::create(temporary)?);
    for value in values {
        file.write_all(&(value.re as f32).to_le_bytes())?;
        file.write_all(&(value.im as f32).to_le_bytes())?;
    }
    file.into_inner()?.flush()
}

/// The dimensions in a header, or what was found instead.
fn parse(bytes: &[u8]) -> Result<[usize; DIMENSIONS], String> {
    let text = String::from_utf8_lossy(bytes);
    let mut lines = text.lines().map(str::trim);
    if !lines.by_ref().any(|line| line == "# Dimensions") {
        return Err("no such line".to_owned());
    }
    let line = lines.next().unwrap_or_default();
    let mut dimensions = [1; DIMENSIONS];
    let mut found = 0;
    for part in line.split_whitespace() {
        let number: usize = match part.parse() {
            Ok(number) if number > 0 => number,
            _ => return Err(excerpt(part)),
        };
        match dimensions.get_mut(found) {
            Some(dimension) => *dimension = number,
            None => return Err(format!("more than {DIMENSIONS}")),
        }
        found += 1;
    }
    if found == 0 {
        return Err("none".to_owned());
    }
    Ok(dimensions)
}

fn excerpt(text: &str) -> String {
    text.chars().take(EXCERPT).collect()
}

/// The dimensions up to the last one above 1; at least one.
fn without_ones(dimensions: &[usize; DIMENSIONS]) -> &[usize] {
    let last = dimensions.iter().rposition(|side| *side != 1).unwrap_or(0);
    &dimensions[..=last]
}

/// Opens a regular file; a pipe has no length and may never end.
fn regular(path: &Path, name: &str) -> Result<(File, u64), IoError> {
    let metadata = std::fs::metadata(path).map_err(|e| unreadable(name, &e))?;
    if !metadata.is_file() {
        return Err(unreadable(name, &"it is not a regular file"));
    }
    let file = File::open(path).map_err(|e| unreadable(name, &e))?;
    Ok((file, metadata.len()))
}

fn unreadable(name: &str, reason: &dyn std::fmt::Display) -> IoError {
    IoError::Open {
        file: name.to_owned(),
        reason: reason.to_string(),
    }
}

#[cfg(test)]
mod tests;
