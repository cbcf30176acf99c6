//! Checkpoints: the state of a run, bit for bit.
//!
//! A format of its own, not HDF5: every error while writing is the system's own, NaN payloads and
//! signed zeros survive, and one checksum covers all of it. Integers and numbers are
//! little-endian:
//!
//! | bytes | what |
//! |---|---|
//! | 8 | `WARPSTR\x1a` |
//! | 4 | format version, 1 |
//! | 8 | length of the whole file |
//! | 8, n | length of the header, header (UTF-8) |
//! | 4 | number of arrays |
//! | per array | name length (4), name, kind (1), rank (1), dimensions (8 each), elements |
//! | 4 | CRC-32 (IEEE) of everything before it |

use super::{IoError, Memory, atomic};
use ndarray::{ArrayD, IxDyn};
use num_complex::Complex;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::Path;

const MAGIC: [u8; 8] = *b"WARPSTR\x1a";
const VERSION: u32 = 1;
/// Magic, version, length, header length, number of arrays, checksum.
const LEAST_LENGTH: u64 = 8 + 4 + 8 + 8 + 4 + 4;
/// Elements that are converted to bytes, or back, at a time.
const BLOCK: usize = 8192;
/// More dimensions than any array of a run has.
const HIGHEST_RANK: u8 = 16;
const EXPECTED: &str = "a checkpoint of warpstride";

/// Named arrays and a header that the engine writes and reads.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Checkpoint {
    /// What the arrays belong to (JSON).
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

/// An element and its bytes.
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

/// Writes `checkpoint` to `path`; the file is absent or whole, an older one stays until then.
///
/// # Errors
/// [`IoError::Write`].
pub fn write(path: &Path, checkpoint: &Checkpoint) -> Result<(), IoError> {
    atomic::write(path, |temporary| {
        File::options()
            .write(true)
            .open(temporary)
            .and_then(|file| fill(file, checkpoint))
            .map_err(|e| atomic::refusal(path, &e))
    })
}

/// A writer that sums up what goes through it.
struct Summing<W> {
    inner: W,
    sum: crc32fast::Hasher,
}

impl<W: Write> Summing<W> {
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
                .filter(|r| *r <= HIGHEST_RANK)
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

/// Bytes that a group of arrays takes.
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
    let length = LEAST_LENGTH
        + header.len() as u64
        + bytes_of(complex32)
        + bytes_of(complex64)
        + bytes_of(real32)
        + bytes_of(real);
    let mut out = Summing {
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

/// Reads the checkpoint in `path`, which must fit into the memory that is available.
///
/// # Errors
/// [`IoError::Open`], [`IoError::Format`], [`IoError::Truncated`], [`IoError::Damaged`],
/// [`IoError::TooLarge`].
pub fn read(path: &Path) -> Result<Checkpoint, IoError> {
    read_within(path, Memory::available())
}

/// Like [`read`], with a given limit of memory.
///
/// # Errors
/// As [`read`].
pub fn read_within(path: &Path, memory: Memory) -> Result<Checkpoint, IoError> {
    let name = path.display().to_string();
    let refused = |e: io::Error| IoError::Open {
        file: name.clone(),
        reason: e.to_string(),
    };
    let kind = std::fs::metadata(path).map_err(refused)?;
    if !kind.is_file() {
        return Err(IoError::Format {
            file: name,
            expected: EXPECTED,
            found: "it is not a regular file".to_owned(),
        });
    }
    let file = File::open(path).map_err(refused)?;
    let length = file.metadata().map_err(refused)?.len();
    memory.allow(&name, "the checkpoint", u128::from(length))?;
    Reading {
        inner: BufReader::new(file),
        sum: crc32fast::Hasher::new(),
        left: length,
        name: &name,
    }
    .whole(length)
}

/// A reader that sums up what comes through it and never asks for more than the file has.
struct Reading<'n, R> {
    inner: R,
    sum: crc32fast::Hasher,
    left: u64,
    name: &'n str,
}

impl<R: Read> Reading<'_, R> {
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
            return Err(self.damaged("a length in it points beyond its end"));
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
            return Err(self.damaged("a length in it points beyond its end"));
        }
        let mut bytes = vec![0; length as usize];
        self.exactly(&mut bytes)?;
        String::from_utf8(bytes).map_err(|_| self.damaged("a text in it is not UTF-8"))
    }

    fn elements<T: Element>(&mut self, shape: &[usize]) -> Result<ArrayD<T>, IoError> {
        // With a length of zero anywhere, the others have nothing to be held against.
        let count = shape
            .iter()
            .try_fold(1_usize, |n, d| n.checked_mul(*d))
            .filter(|n| {
                (*n as u64)
                    .checked_mul(T::SIZE as u64)
                    .is_some_and(|b| b <= self.left)
            })
            .ok_or_else(|| self.damaged("an array in it points beyond its end"))?;
        let mut values = Vec::with_capacity(count);
        let mut bytes = vec![0; BLOCK.min(count) * T::SIZE];
        while values.len() < count {
            let part = (count - values.len()).min(BLOCK) * T::SIZE;
            self.exactly(&mut bytes[..part])?;
            values.extend(bytes[..part].chunks_exact(T::SIZE).map(T::get));
        }
        ArrayD::from_shape_vec(IxDyn(shape), values)
            .map_err(|_| self.damaged("the shape of an array in it makes no sense"))
    }

    fn whole(mut self, length: u64) -> Result<Checkpoint, IoError> {
        if length < LEAST_LENGTH {
            return Err(self.format(format!("it has only {length} bytes")));
        }
        if self.fixed::<8>()? != MAGIC {
            return Err(self.format("its first bytes are others".to_owned()));
        }
        let version = u32::from_le_bytes(self.fixed()?);
        if version != VERSION {
            return Err(self.format(format!(
                "its format version is {version}, version {VERSION} is read here"
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
            return Err(self.damaged("something was appended to it"));
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
            if rank > HIGHEST_RANK {
                return Err(self.damaged("the rank of an array in it makes no sense"));
            }
            let mut shape = Vec::with_capacity(usize::from(rank));
            for _ in 0..rank {
                let dimension = u64::from_le_bytes(self.fixed()?);
                shape.push(
                    usize::try_from(dimension)
                        .map_err(|_| self.damaged("the shape of an array in it makes no sense"))?,
                );
            }
            match kind {
                f32::KIND => drop(checkpoint.real32.insert(name, self.elements(&shape)?)),
                f64::KIND => drop(checkpoint.real.insert(name, self.elements(&shape)?)),
                2 => drop(checkpoint.complex32.insert(name, self.elements(&shape)?)),
                3 => drop(checkpoint.complex64.insert(name, self.elements(&shape)?)),
                _ => return Err(self.damaged("the kind of an array in it makes no sense")),
            }
        }
        let sum = self.sum.clone().finalize();
        let stored = u32::from_le_bytes(self.fixed()?);
        if sum != stored || self.left != 0 {
            return Err(self.damaged("its checksum does not agree with its contents"));
        }
        Ok(checkpoint)
    }
}

#[cfg(test)]
mod tests;
