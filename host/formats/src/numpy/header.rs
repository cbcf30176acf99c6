//! The header of an `.npy` array, from NumPy's description of the format (NEP 1).

use crate::file_error::FileError;
use crate::frame_file::{Element, Pixel, convert_integers};
use std::io::Read;

/// The longest header, bytes: NumPy's own limit.
const LONGEST: usize = 10_000;

const MAGIC: &[u8; 6] = b"\x93NUMPY";

/// The largest number of axes.
const MOST_AXES: usize = 32;

/// An array's header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) element: Element,
    pub(super) big_endian: bool,
    pub(super) shape: Vec<usize>,
    /// Bytes of the header.
    pub(super) length: usize,
}

impl Header {
    /// Reads a header from the beginning of an array.
    pub(super) fn read(file: &str, source: &mut impl Read) -> Result<Self, FileError> {
        let mut read = |bytes: &mut [u8]| {
            source.read_exact(bytes).map_err(|e| match e.kind() {
                std::io::ErrorKind::UnexpectedEof => {
                    FileError::format(file, "a NumPy array", "the end of the data in its header")
                }
                _ => FileError::open(file, &e),
            })
        };
        let mut start = [0; 8];
        read(&mut start)?;
        if &start[..6] != MAGIC {
            return Err(FileError::format(file, "a NumPy array", "other bytes"));
        }
        let (length, before) = match start[6] {
            1 => {
                let mut length = [0; 2];
                read(&mut length)?;
                (usize::from(u16::from_le_bytes(length)), 10)
            }
            2 | 3 => {
                let mut length = [0; 4];
                read(&mut length)?;
                (u32::from_le_bytes(length) as usize, 12)
            }
            other => {
                return Err(FileError::format(
                    file,
                    "version 1, 2 or 3 of NumPy's format",
                    format!("version {other}"),
                ));
            }
        };
        if length > LONGEST {
            return Err(FileError::format(
                file,
                format!("a header of at most {LONGEST} bytes"),
                format!("{length} bytes"),
            ));
        }
        let mut text = vec![0; length];
        read(&mut text)?;
        Self::parse(file, &String::from_utf8_lossy(&text), before + length)
    }

    /// Parses the literal that NumPy writes.
    fn parse(file: &str, text: &str, length: usize) -> Result<Self, FileError> {
        let refused = |expected: &str, found: &str| {
            let found: String = found.chars().take(40).collect();
            Err(FileError::format(
                file,
                expected,
                format!("'{}'", found.trim()),
            ))
        };
        let value = |key: &str| {
            let at = text.find(&format!("'{key}':"))?;
            Some(text[at + key.len() + 3..].trim_start())
        };
        let (Some(descr), Some(fortran), Some(shape)) =
            (value("descr"), value("fortran_order"), value("shape"))
        else {
            return refused("a header with 'descr', 'fortran_order' and 'shape'", text);
        };
        let name = descr
            .strip_prefix('\'')
            .and_then(|name| name.split_once('\''));
        let Some((name, _)) = name else {
            return refused("an array of numbers", descr);
        };
        let (order, kind) = name.split_at_checked(1).unwrap_or_default();
        let element = match kind {
            "u1" => Element::Unsigned(8),
            "u2" => Element::Unsigned(16),
            "u4" => Element::Unsigned(32),
            "i1" => Element::Signed(8),
            "i2" => Element::Signed(16),
            "i4" => Element::Signed(32),
            "i8" => Element::Signed(64),
            "f4" => Element::Float(32),
            "f8" => Element::Float(64),
            _ => {
                return refused(
                    "an array of integers of 8, 16 or 32 bits, int64, float32 or float64",
                    name,
                );
            }
        };
        let big_endian = match order {
            "<" | "|" => false,
            ">" => true,
            _ => return refused("a byte order of < or >", name),
        };
        if !fortran.starts_with("False") {
            return refused(
                "an array whose last axis is the fastest (fortran_order False)",
                fortran.split(',').next().unwrap_or_default(),
            );
        }
        let lengths = shape
            .strip_prefix('(')
            .and_then(|shape| shape.split_once(')'));
        let Some((lengths, _)) = lengths else {
            return refused("a shape in brackets", shape);
        };
        let shape: Option<Vec<usize>> = lengths
            .split(',')
            .map(str::trim)
            .filter(|length| !length.is_empty())
            .take(MOST_AXES + 1)
            .map(|length| length.parse().ok())
            .collect();
        match shape {
            Some(shape) if shape.len() <= MOST_AXES => Ok(Self {
                element,
                big_endian,
                shape,
                length,
            }),
            _ => refused("a shape of at most 32 lengths", lengths),
        }
    }

    /// Bytes of an element.
    pub(super) fn width(&self) -> usize {
        let (Element::Unsigned(bits) | Element::Signed(bits) | Element::Float(bits)) = self.element;
        usize::from(bits) / 8
    }

    /// Bytes of the array, if they can be counted.
    pub(super) fn bytes(&self) -> Option<u64> {
        let lengths = self
            .shape
            .iter()
            .chain([&self.width()])
            .copied()
            .collect::<Vec<_>>();
        lengths
            .iter()
            .try_fold(1_u64, |bytes, length| bytes.checked_mul(*length as u64))
    }

    /// Converts a frame with rows of `columns` pixels.
    pub(super) fn convert<T: Pixel>(
        &self,
        file: &str,
        frame: usize,
        columns: usize,
        bytes: &[u8],
        out: &mut [T],
    ) -> Result<(), FileError> {
        // The bytes of an element in little-endian order.
        fn values<const N: usize>(
            bytes: &[u8],
            big_endian: bool,
        ) -> impl Iterator<Item = [u8; N]> + Clone {
            bytes.as_chunks::<N>().0.iter().map(move |element| {
                let mut element = *element;
                if big_endian {
                    element.reverse();
                }
                element
            })
        }
        let big = self.big_endian;
        match self.element {
            Element::Unsigned(8) => convert_integers(
                file,
                frame,
                columns,
                bytes.iter().map(|value| i64::from(*value)),
                out,
            ),
            Element::Signed(8) => convert_integers(
                file,
                frame,
                columns,
                bytes.iter().map(|value| i64::from(value.cast_signed())),
                out,
            ),
            Element::Unsigned(16) => convert_integers(
                file,
                frame,
                columns,
                values(bytes, big).map(|v| u16::from_le_bytes(v).into()),
                out,
            ),
            Element::Signed(16) => convert_integers(
                file,
                frame,
                columns,
                values(bytes, big).map(|v| i16::from_le_bytes(v).into()),
                out,
            ),
            Element::Unsigned(_) => convert_integers(
                file,
                frame,
                columns,
                values(bytes, big).map(|v| u32::from_le_bytes(v).into()),
                out,
            ),
            Element::Signed(32) => convert_integers(
                file,
                frame,
                columns,
                values(bytes, big).map(|v| i32::from_le_bytes(v).into()),
                out,
            ),
            Element::Signed(_) => convert_integers(
                file,
                frame,
                columns,
                values(bytes, big).map(i64::from_le_bytes),
                out,
            ),
            Element::Float(32) => {
                let values = values(bytes, big).map(f32::from_le_bytes);
                out.iter_mut()
                    .zip(values)
                    .for_each(|(to, value)| *to = T::from_single(value));
                Ok(())
            }
            Element::Float(_) => {
                let values = values(bytes, big).map(f64::from_le_bytes);
                out.iter_mut()
                    .zip(values)
                    .for_each(|(to, value)| *to = T::from_double(value));
                Ok(())
            }
        }
    }
}
