//! TIFF images of real and complex numbers.
//!
//! TIFF 6.0 specification (Adobe, 1992), with the sample format 6 (complex floating-point numbers)
//! of Adobe Photoshop TIFF Technical Notes and GDAL, which tifffile and GDAL read.

use std::io::{Seek, Write};
use tiff::TiffError;
use tiff::encoder::{DirectoryEncoder, TiffEncoder, TiffKind};
use tiff::tags::Tag;

/// Bytes from which on a file has offsets of 64 bits (BigTIFF).
const BIG: u64 = 4_000_000_000;
/// Sample formats: floating-point numbers, and complex ones.
const FLOAT: u16 = 3;
const COMPLEX: u16 = 6;

/// Numbers of images (page, row, column).
#[derive(Debug, Clone, Copy)]
pub enum Pixels<'a> {
    /// Real numbers.
    Real(&'a [f32]),
    /// Complex numbers: real and imaginary part of each pixel.
    Complex(&'a [[f32; 2]]),
    /// The same in double precision.
    ComplexDouble(&'a [[f64; 2]]),
}

impl Pixels<'_> {
    fn len(&self) -> usize {
        match self {
            Self::Real(values) => values.len(),
            Self::Complex(values) => values.len(),
            Self::ComplexDouble(values) => values.len(),
        }
    }

    fn bits(&self) -> u16 {
        match self {
            Self::Real(_) => 32,
            Self::Complex(_) => 64,
            Self::ComplexDouble(_) => 128,
        }
    }
}

/// Writes images of `shape` (pages, rows, columns), one a page, with a text that describes them
/// (ASCII; other characters become `?`).
///
/// # Errors
/// The number of pixels is not that of the shape, an image has no pixels or more than 2³² − 1 rows
/// or columns, or the operating system refuses to write.
pub fn write(
    to: impl Write + Seek,
    shape: [usize; 3],
    pixels: Pixels<'_>,
    description: &str,
) -> Result<(), std::io::Error> {
    let [pages, rows, columns] = shape;
    let sides = (u32::try_from(rows), u32::try_from(columns));
    let expected = pages.checked_mul(rows).and_then(|n| n.checked_mul(columns));
    let (Ok(height), Ok(width), true) = (sides.0, sides.1, expected == Some(pixels.len())) else {
        return Err(std::io::Error::other(format!(
            "expected {pages} x {rows} x {columns} pixels, found {}",
            pixels.len()
        )));
    };
    if pages == 0 || rows == 0 || columns == 0 {
        return Err(std::io::Error::other("expected at least one pixel"));
    }
    let image = Image {
        sides: [height, width],
        description: description
            .chars()
            .map(|c| if c.is_ascii() { c } else { '?' })
            .collect(),
    };
    let bytes = pixels.len() as u64 * u64::from(pixels.bits() / 8);
    let written = if bytes < BIG {
        TiffEncoder::new(to).and_then(|mut file| image.pages(&mut file, pixels, false))
    } else {
        TiffEncoder::new_big(to).and_then(|mut file| image.pages(&mut file, pixels, true))
    };
    written.map_err(|error| match error {
        TiffError::IoError(error) => error,
        other => std::io::Error::other(other.to_string()),
    })
}

struct Image {
    /// Rows, columns.
    sides: [u32; 2],
    description: String,
}

impl Image {
    fn pages<W: Write + Seek, K: TiffKind>(
        &self,
        file: &mut TiffEncoder<W, K>,
        pixels: Pixels<'_>,
        big: bool,
    ) -> Result<(), TiffError> {
        let page = self.sides[0] as usize * self.sides[1] as usize;
        let mut begin = 0;
        while begin < pixels.len() {
            let part = begin..begin + page;
            let mut directory = file.image_directory()?;
            let offset = match pixels {
                Pixels::Real(values) => directory.write_data(&values[part])?,
                Pixels::Complex(values) => directory.write_data(values[part].as_flattened())?,
                Pixels::ComplexDouble(values) => {
                    directory.write_data(values[part].as_flattened())?
                }
            };
            self.tags(&mut directory, pixels, (offset, big))?;
            directory.finish()?;
            begin += page;
        }
        Ok(())
    }

    fn tags<W: Write + Seek, K: TiffKind>(
        &self,
        directory: &mut DirectoryEncoder<'_, W, K>,
        pixels: Pixels<'_>,
        (offset, big): (u64, bool),
    ) -> Result<(), TiffError> {
        let [height, width] = self.sides;
        let length = u64::from(height) * u64::from(width) * u64::from(pixels.bits() / 8);
        let format = match pixels {
            Pixels::Real(_) => FLOAT,
            Pixels::Complex(_) | Pixels::ComplexDouble(_) => COMPLEX,
        };
        directory.write_tag(Tag::ImageWidth, width)?;
        directory.write_tag(Tag::ImageLength, height)?;
        directory.write_tag(Tag::BitsPerSample, pixels.bits())?;
        // None.
        directory.write_tag(Tag::Compression, 1_u16)?;
        // Black is zero.
        directory.write_tag(Tag::PhotometricInterpretation, 1_u16)?;
        directory.write_tag(Tag::ImageDescription, self.description.as_str())?;
        directory.write_tag(Tag::SamplesPerPixel, 1_u16)?;
        directory.write_tag(Tag::RowsPerStrip, height)?;
        directory.write_tag(Tag::SampleFormat, format)?;
        if big {
            directory.write_tag(Tag::StripOffsets, offset)?;
            directory.write_tag(Tag::StripByteCounts, length)
        } else {
            directory.write_tag(Tag::StripOffsets, u32::try_from(offset)?)?;
            directory.write_tag(Tag::StripByteCounts, u32::try_from(length)?)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;
    use tiff::decoder::Decoder;

    fn written(shape: [usize; 3], pixels: Pixels<'_>) -> Vec<u8> {
        let mut to = Cursor::new(Vec::new());
        write(&mut to, shape, pixels, "object pixel 9.3 nm, µ").unwrap();
        to.into_inner()
    }

    #[test]
    fn real_images_are_read_again() {
        let values: Vec<f32> = (0..12).map(|n| n as f32 * 0.5 - 1.0).collect();
        let bytes = written([2, 3, 2], Pixels::Real(&values));
        let mut file = Decoder::new(Cursor::new(bytes)).unwrap();
        for page in values.chunks(6) {
            assert_eq!(file.dimensions().unwrap(), (2, 3));
            match file.read_image().unwrap() {
                tiff::decoder::DecodingResult::F32(read) => assert_eq!(read, page),
                other => panic!("{other:?}"),
            }
            if file.more_images() {
                file.next_image().unwrap();
            }
        }
    }

    /// The decoder has no complex numbers: tags, and the numbers where they say.
    #[test]
    fn complex_images_have_their_format_and_numbers() {
        let values: Vec<[f32; 2]> = (0..15).map(|n| [n as f32, -0.25 * n as f32]).collect();
        let bytes = written([1, 3, 5], Pixels::Complex(&values));
        let mut file = Decoder::new(Cursor::new(bytes.clone())).unwrap();
        let mut tag = |tag| file.get_tag_u64(tag).unwrap();
        assert_eq!(tag(Tag::SampleFormat), 6);
        assert_eq!(tag(Tag::BitsPerSample), 64);
        let (offset, length) = (tag(Tag::StripOffsets), tag(Tag::StripByteCounts));
        let stored = &bytes[offset as usize..(offset + length) as usize];
        let expected: Vec<u8> = values
            .as_flattened()
            .iter()
            .flat_map(|v| v.to_ne_bytes())
            .collect();
        assert_eq!(stored, expected);
    }

    #[test]
    fn wrong_numbers_of_pixels_are_refused() {
        let values = [0.0_f32; 6];
        for shape in [[1, 2, 2], [0, 2, 3], [1, 0, 6], [usize::MAX, 2, 3]] {
            let to = Cursor::new(Vec::new());
            assert!(
                write(to, shape, Pixels::Real(&values), "").is_err(),
                "{shape:?}"
            );
        }
    }
}
