//! Checkpoints: the state of a run, preserved bit for bit.
//!
//! The format is not HDF5, so that write errors are exactly those of the operating system, NaN
//! payloads and signed zeros survive, and a single checksum covers the whole file. Integers and
//! floating-point numbers are little-endian:
//!
//! | bytes | contents |
//! |---|---|
//! | 8 | `WARPSTR\x1a` |
//! | 4 | format version, 1 |
//! | 8 | length of the whole file |
//! | 8, n | length of the header, header (UTF-8) |
//! | 4 | number of arrays |
//! | per array | name length (4), name, kind (1), rank (1), dimensions (8 each), elements |
//! | 4 | CRC-32 (IEEE) of everything before it |

use ndarray::{ArrayD, IxDyn};
use num_complex::Complex;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::Path;
use warpstride_core::system::Memory;
use warpstride_core::system::atomic_file;
use warpstride_files::{IoError, check_memory};

const MAGIC: [u8; 8] = *b"WARPSTR\x1a";
const VERSION: u32 = 1;
/// Length of magic, version, length, header length, number of arrays and checksum.
const MIN_LENGTH: u64 = 8 + 4 + 8 + 8 + 4 + 4;
/// Elements that are converted to or from bytes at a time.
const BLOCK: usize = 8192;
/// Largest number of dimensions of an array; no array of a run has as many.
const MAX_RANK: u8 = 16;
const EXPECTED: &str = "a checkpoint of warpstride";

/// A header and named arrays, both defined by the caller.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Checkpoint {
    /// Description of the run (JSON).
    pub header: String,
    /// Complex arrays in single precision.
    pub complex32: BTreeMap<String, ArrayD<Complex<f32>>>,
    /// Complex arrays in double precision.
    pub complex64: BTreeMap<String, ArrayD<Complex<f64>>>,
    /// Real arrays in single precision.
    pub real32: BTreeMap<String, ArrayD<f32>>,
    /// Real arrays in double precision.
    pub real: BTreeMap<String, ArrayD<f64>>,
}

/// Element type of an array and its byte representation.
trait Element: Copy {
    const KIND: u8;
    const SIZE: usize;
    fn put(self, to: &mut Vec<u8>);
    fn get(from: &[u8]) -> Self;
}

macro_rules! real_element {
    ($type:ty, $kind:literal) => {
        impl Element for $type {
            const KIND: u8 = $kind;
            const SIZE: usize = size_of::<$type>();
            fn put(self, to: &mut Vec<u8>) {
                to.extend_from_slice(&self.to_bits().to_le_bytes());
            }
            fn get(from: &[u8]) -> Self {
                let mut bytes = [0; size_of::<$type>()];
                bytes.copy_from_slice(from);
                Self::from_le_bytes(bytes)
            }
        }
    };
}
real_element!(f32, 0);
real_element!(f64, 1);

macro_rules! complex_element {
    ($type:ty, $kind:literal) => {
        impl Element for Complex<$type> {
            const KIND: u8 = $kind;
            const SIZE: usize = 2 * size_of::<$type>();
            fn put(self, to: &mut Vec<u8>) {
                self.re.put(to);
                self.im.put(to);
            }
            fn get(from: &[u8]) -> Self {
                let (re, im) = from.split_at(size_of::<$type>());
                Self::new(<$type>::get(re), <$type>::get(im))
            }
        }
    };
}
complex_element!(f32, 2);
complex_element!(f64, 3);

/// Writes `checkpoint` to `path` atomically: on failure an existing file is left unchanged.
///
/// # Errors
/// Returns [`IoError::Write`] if the file cannot be written.
pub fn write(path: &Path, checkpoint: &Checkpoint) -> Result<(), IoError> {
    atomic_file::write(path, |temporary| {
        File::options()
            .write(true)
            .open(temporary)
            .and_then(|file| fill(file, checkpoint))
            .map_err(|e| atomic_file::refusal(path, &e))
    })
}

/// Whether the file begins as a checkpoint does.
#[must_use]
pub fn is_checkpoint(path: &Path) -> bool {
    let mut start = [0; MAGIC.len()];
    // Opening a pipe would wait for its writer.
    let regular = std::fs::metadata(path).is_ok_and(|of| of.is_file());
    regular
        && File::open(path)
            .is_ok_and(|mut file| file.read_exact(&mut start).is_ok() && start == MAGIC)
}

/// A writer that computes a checksum of everything written.
struct ChecksumWriter<W> {
    inner: W,
    sum: crc32fast::Hasher,
}

impl<W: Write> ChecksumWriter<W> {
    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.sum.update(bytes);
        self.inner.write_all(bytes)
    }

    fn arrays<T: Element>(&mut self, arrays: &BTreeMap<String, ArrayD<T>>) -> io::Result<()> {
        let mut bytes = Vec::with_capacity(BLOCK * T::SIZE);
        for (name, array) in arrays {
            self.put(&len32(name.len(), "an array's name")?.to_le_bytes())?;
            self.put(name.as_bytes())?;
            let rank = u8::try_from(array.ndim())
                .ok()
                .filter(|r| *r <= MAX_RANK)
                .ok_or_else(|| too_long("an array's rank"))?;
            self.put(&[T::KIND, rank])?;
            for dimension in array.shape() {
                self.put(&(*dimension as u64).to_le_bytes())?;
            }
            for value in array {
                value.put(&mut bytes);
                if bytes.len() >= BLOCK * T::SIZE {
                    self.put(&bytes)?;
                    bytes.clear();
                }
            }
            self.put(&bytes)?;
            bytes.clear();
        }
        Ok(())
    }
}

fn too_long(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, format!("{what} is too long"))
}

fn len32(length: usize, what: &str) -> io::Result<u32> {
    u32::try_from(length).map_err(|_| too_long(what))
}

/// Bytes that a group of arrays occupies.
fn bytes_of<T: Element>(arrays: &BTreeMap<String, ArrayD<T>>) -> u64 {
    arrays
        .iter()
        .map(|(name, a)| (4 + name.len() + 2 + 8 * a.ndim() + T::SIZE * a.len()) as u64)
        .sum()
}

fn fill(file: File, checkpoint: &Checkpoint) -> io::Result<()> {
    let Checkpoint {
        header,
        complex32,
        complex64,
        real32,
        real,
    } = checkpoint;
    let count = complex32.len() + complex64.len() + real32.len() + real.len();
    let length = MIN_LENGTH
        + header.len() as u64
        + bytes_of(complex32)
        + bytes_of(complex64)
        + bytes_of(real32)
        + bytes_of(real);
    let mut out = ChecksumWriter {
        inner: BufWriter::new(file),
        sum: crc32fast::Hasher::new(),
    };
    out.put(&MAGIC)?;
    out.put(&VERSION.to_le_bytes())?;
    out.put(&length.to_le_bytes())?;
    out.put(&(header.len() as u64).to_le_bytes())?;
    out.put(header.as_bytes())?;
    out.put(&len32(count, "the list of arrays")?.to_le_bytes())?;
    out.arrays(real32)?;
    out.arrays(real)?;
    out.arrays(complex32)?;
    out.arrays(complex64)?;
    let sum = out.sum.finalize();
    out.inner.write_all(&sum.to_le_bytes())?;
    out.inner.flush()
}

/// Reads the checkpoint in `path`, which must fit into the available memory.
///
/// # Errors
/// Returns [`IoError::Open`], [`IoError::Format`], [`IoError::Truncated`], [`IoError::Damaged`] or
/// [`IoError::TooLarge`].
pub fn read(path: &Path) -> Result<Checkpoint, IoError> {
    read_within(path, Memory::available())
}

/// Like [`read`], with a given memory limit.
///
/// # Errors
/// The same as those of [`read`].
pub fn read_within(path: &Path, memory: Memory) -> Result<Checkpoint, IoError> {
    let name = path.display().to_string();
    let refused = |e: io::Error| IoError::Open {
        file: name.clone(),
        reason: e.to_string(),
    };
    let metadata = std::fs::metadata(path).map_err(refused)?;
    if !metadata.is_file() {
        return Err(IoError::Format {
            file: name,
            expected: EXPECTED,
            found: "a folder, device, pipe or socket".to_owned(),
        });
    }
    let file = File::open(path).map_err(refused)?;
    let length = file.metadata().map_err(refused)?.len();
    check_memory(memory, &name, "the checkpoint", u128::from(length))?;
    ChecksumReader {
        inner: BufReader::new(file),
        sum: crc32fast::Hasher::new(),
        left: length,
        name: &name,
    }
    .checkpoint(length)
}

/// A reader that computes a checksum of everything read and never reads beyond the file's length.
struct ChecksumReader<'n, R> {
    inner: R,
    sum: crc32fast::Hasher,
    left: u64,
    name: &'n str,
}

impl<R: Read> ChecksumReader<'_, R> {
    fn damaged(&self, reason: &str) -> IoError {
        IoError::Damaged {
            file: self.name.to_owned(),
            dataset: "the checkpoint".to_owned(),
            reason: reason.to_owned(),
        }
    }

    fn format(&self, found: String) -> IoError {
        IoError::Format {
            file: self.name.to_owned(),
            expected: EXPECTED,
            found,
        }
    }

    fn exactly(&mut self, bytes: &mut [u8]) -> Result<(), IoError> {
        let Some(left) = self.left.checked_sub(bytes.len() as u64) else {
            return Err(self.damaged("a stored length points beyond the end of the file"));
        };
        self.left = left;
        self.inner.read_exact(bytes).map_err(|e| IoError::Open {
            file: self.name.to_owned(),
            reason: e.to_string(),
        })?;
        self.sum.update(bytes);
        Ok(())
    }

    fn fixed<const N: usize>(&mut self) -> Result<[u8; N], IoError> {
        let mut bytes = [0; N];
        self.exactly(&mut bytes)?;
        Ok(bytes)
    }

    fn text(&mut self, length: u64) -> Result<String, IoError> {
        if length > self.left {
            return Err(self.damaged("a stored length points beyond the end of the file"));
        }
        let mut bytes = vec![0; length as usize];
        self.exactly(&mut bytes)?;
        String::from_utf8(bytes).map_err(|_| self.damaged("a stored text is not UTF-8"))
    }

    fn elements<T: Element>(&mut self, shape: &[usize]) -> Result<ArrayD<T>, IoError> {
        // If one dimension is zero, the others are not bounded by the file's length.
        let count = shape
            .iter()
            .try_fold(1_usize, |n, d| n.checked_mul(*d))
            .filter(|n| {
                (*n as u64)
                    .checked_mul(T::SIZE as u64)
                    .is_some_and(|b| b <= self.left)
            })
            .ok_or_else(|| self.damaged("an array extends beyond the end of the file"))?;
        let mut values = Vec::with_capacity(count);
        let mut bytes = vec![0; BLOCK.min(count) * T::SIZE];
        while values.len() < count {
            let part = (count - values.len()).min(BLOCK) * T::SIZE;
            self.exactly(&mut bytes[..part])?;
            values.extend(bytes[..part].chunks_exact(T::SIZE).map(T::get));
        }
        ArrayD::from_shape_vec(IxDyn(shape), values)
            .map_err(|_| self.damaged("the shape of an array is invalid"))
    }

    fn checkpoint(mut self, length: u64) -> Result<Checkpoint, IoError> {
        if length < MIN_LENGTH {
            return Err(self.format(format!("a file of {length} bytes")));
        }
        if self.fixed::<8>()? != MAGIC {
            return Err(self.format("a file that begins otherwise".to_owned()));
        }
        let version = u32::from_le_bytes(self.fixed()?);
        if version != VERSION {
            return Err(self.format(format!(
                "version {version} of the format (only {VERSION} is read)"
            )));
        }
        let expected = u64::from_le_bytes(self.fixed()?);
        if expected > length {
            return Err(IoError::Truncated {
                file: self.name.to_owned(),
                expected,
                found: length,
            });
        }
        if expected < length {
            return Err(self.damaged("bytes were appended to the file"));
        }
        let header_length = u64::from_le_bytes(self.fixed()?);
        let mut checkpoint = Checkpoint {
            header: self.text(header_length)?,
            ..Checkpoint::default()
        };
        for _ in 0..u32::from_le_bytes(self.fixed()?) {
            let name_length = u32::from_le_bytes(self.fixed()?);
            let name = self.text(u64::from(name_length))?;
            let [kind, rank] = self.fixed()?;
            if rank > MAX_RANK {
                return Err(self.damaged("the rank of an array is invalid"));
            }
            let mut shape = Vec::with_capacity(usize::from(rank));
            for _ in 0..rank {
                let dimension = u64::from_le_bytes(self.fixed()?);
                shape.push(
                    usize::try_from(dimension)
                        .map_err(|_| self.damaged("the shape of an array is invalid"))?,
                );
            }
            match kind {
                f32::KIND => drop(checkpoint.real32.insert(name, self.elements(&shape)?)),
                f64::KIND => drop(checkpoint.real.insert(name, self.elements(&shape)?)),
                2 => drop(checkpoint.complex32.insert(name, self.elements(&shape)?)),
                3 => drop(checkpoint.complex64.insert(name, self.elements(&shape)?)),
                _ => return Err(self.damaged("the element type of an array is invalid")),
            }
        }
        let sum = self.sum.clone().finalize();
        let stored = u32::from_le_bytes(self.fixed()?);
        if sum != stored || self.left != 0 {
            return Err(self.damaged("the checksum does not match the contents"));
        }
        Ok(checkpoint)
    }
}

#[cfg(test)]
mod tests;
