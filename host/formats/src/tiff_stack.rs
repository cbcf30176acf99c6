//! TIFF files with one image for each frame: integers of 8, 16 and 32 bits, floating-point numbers
//! of 32 and 64 bits.
//!
//! The crate `tiff` decodes them: classic TIFF and BigTIFF, strips and tiles, without compression
//! or with PackBits, LZW, deflate or Zstandard. Rows are returned as they are stored, the first one
//! at the top.

use crate::element::Element;
use crate::file_error::{FileError, name_of, open_regular};
use crate::frame_file::{FrameFile, check_range, convert_integers, read_by_pixels};
use crate::pixel::Pixel;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use tiff::decoder::{Decoder, DecodingResult, Limits};
use tiff::tags::Tag;
use tiff::{ColorType, TiffError, TiffFormatError};

/// The largest frame, bytes.
const MOST_FRAME_BYTES: usize = 128 << 20;

/// The largest compressed strip or tile, bytes.
const MOST_CHUNK_BYTES: usize = 64 << 20;

/// The largest value of a tag, bytes: offsets of a million strips.
const MOST_TAG_BYTES: usize = 8 << 20;

/// What may be read of directories beyond the size of the file, bytes.
const LEAST_BUDGET: u64 = 1 << 20;

/// Photometric interpretation of images whose zero is white: their values are stored inverted.
const WHITE_IS_ZERO: u16 = 0;

type FileDecoder = Decoder<Budgeted>;

/// A file of which only so much is read: directories that overlap could make a small file take
/// hours.
struct Budgeted {
    file: BufReader<File>,
    /// Bytes that may still be read.
    left: u64,
}

impl Read for Budgeted {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(bytes)?;
        self.left = self
            .left
            .checked_sub(count as u64)
            .ok_or_else(|| io::Error::other("its directories overlap"))?;
        Ok(count)
    }
}

impl Seek for Budgeted {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}

/// An open TIFF file with frames of one size and type.
pub struct TiffStack {
    path: PathBuf,
    name: String,
    /// Frames, rows, columns.
    shape: [usize; 3],
    element: Element,
    /// Decoders that no thread uses now. Each knows where the images are that it has passed.
    idle: Mutex<Vec<FileDecoder>>,
}

impl std::fmt::Debug for TiffStack {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TiffStack")
            .field("path", &self.path)
            .field("shape", &self.shape)
            .field("element", &self.element)
            .finish_non_exhaustive()
    }
}

impl TiffStack {
    /// Opens a file and looks at the size and type of all its images.
    ///
    /// # Errors
    /// The file cannot be read, or has images that are not of one size and of one supported type.
    pub fn open(path: &Path) -> Result<Self, FileError> {
        let name = name_of(path);
        let mut decoder = open_decoder(path, &name)?;
        let first = image(&name, 0, &mut decoder)?;
        let ([rows, columns], element) = first;
        let mut frames = 1;
        // Each directory of a valid file is read once.
        while decoder.more_images() {
            let (passed, part) = (decoder.next_image(), Part::Tags(frames));
            passed.map_err(|e| damaged(&name, part, &e))?;
            let found = image(&name, frames, &mut decoder)?;
            if found != first {
                let ([found_rows, found_columns], found_element) = found;
                return Err(FileError::format(
                    &name,
                    format!(
                        "{rows} x {columns} pixels of {element} in image {frames}, as in the first"
                    ),
                    format!("{found_rows} x {found_columns} pixels of {found_element}"),
                ));
            }
            frames += 1;
        }
        if frames == 1 {
            check_imagej(&name, &mut decoder)?;
        }
        Ok(Self {
            path: path.to_owned(),
            name,
            shape: [frames, rows, columns],
            element,
            idle: Mutex::new(vec![decoder]),
        })
    }

    fn read_pixels<T: Pixel>(&self, frames: Range<usize>, out: &mut [T]) -> Result<(), FileError> {
        check_range(&self.name, self.shape, &frames, out.len())?;
        let idle = self
            .idle
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .pop();
        let mut decoder = match idle {
            Some(decoder) => decoder,
            None => open_decoder(&self.path, &self.name)?,
        };
        decoder.inner().left = u64::MAX;
        let [_, rows, columns] = self.shape;
        for (frame, out) in frames.zip(out.chunks_exact_mut(rows * columns)) {
            decoder
                .seek_to_image(frame)
                .map_err(|e| damaged(&self.name, Part::Tags(frame), &e))?;
            // The file may have been changed since it was opened.
            if image(&self.name, frame, &mut decoder)? != ([rows, columns], self.element) {
                return Err(FileError::format(
                    &self.name,
                    "the images that it had when it was opened",
                    "others",
                ));
            }
            let pixels =
                (decoder.read_image()).map_err(|e| damaged(&self.name, Part::Pixels(frame), &e))?;
            self.convert(frame, pixels, out)?;
        }
        self.idle
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(decoder);
        Ok(())
    }

    fn convert<T: Pixel>(
        &self,
        frame: usize,
        pixels: DecodingResult,
        out: &mut [T],
    ) -> Result<(), FileError> {
        fn integers<V: Copy + Into<i64>>(values: &[V]) -> impl Iterator<Item = i64> + Clone {
            values.iter().map(|value| (*value).into())
        }
        let (name, columns) = (&self.name, self.shape[2]);
        match pixels {
            DecodingResult::U8(values) => {
                convert_integers(name, frame, columns, integers(&values), out)
            }
            DecodingResult::U16(values) => {
                convert_integers(name, frame, columns, integers(&values), out)
            }
            DecodingResult::U32(values) => {
                convert_integers(name, frame, columns, integers(&values), out)
            }
            DecodingResult::I8(values) => {
                convert_integers(name, frame, columns, integers(&values), out)
            }
            DecodingResult::I16(values) => {
                convert_integers(name, frame, columns, integers(&values), out)
            }
            DecodingResult::I32(values) => {
                convert_integers(name, frame, columns, integers(&values), out)
            }
            DecodingResult::F32(values) => {
                out.iter_mut()
                    .zip(values)
                    .for_each(|(to, value)| *to = T::from_single(value));
                Ok(())
            }
            DecodingResult::F64(values) => {
                out.iter_mut()
                    .zip(values)
                    .for_each(|(to, value)| *to = T::from_double(value));
                Ok(())
            }
            _ => Err(unsupported(name, "another type")),
        }
    }
}

fn open_decoder(path: &Path, name: &str) -> Result<FileDecoder, FileError> {
    let unreadable = |e: io::Error| FileError::open(name, &e);
    let file = open_regular(path).map_err(unreadable)?;
    let size = file.metadata().map_err(unreadable)?.len();
    let file = Budgeted {
        file: BufReader::new(file),
        left: size.saturating_add(LEAST_BUDGET),
    };
    let mut limits = Limits::default();
    limits.decoding_buffer_size = MOST_FRAME_BYTES;
    limits.intermediate_buffer_size = MOST_CHUNK_BYTES;
    limits.ifd_value_size = MOST_TAG_BYTES;
    let decoder = Decoder::new(file).map_err(|e| damaged(name, Part::Header, &e))?;
    Ok(decoder.with_limits(limits))
}

/// Rows, columns and type of the decoder's image, which is that of `frame`.
fn image(
    name: &str,
    frame: usize,
    decoder: &mut FileDecoder,
) -> Result<([usize; 2], Element), FileError> {
    let damaged = |e: TiffError| damaged(name, Part::Tags(frame), &e);
    let (columns, rows) = decoder.dimensions().map_err(damaged)?;
    let (rows, columns) = (rows as usize, columns as usize);
    let bits = match decoder.colortype().map_err(damaged)? {
        ColorType::Gray(bits) => bits,
        other => return Err(unsupported(name, &format!("{other:?}"))),
    };
    let mut tag = |tag| decoder.find_tag_unsigned::<u16>(tag).map_err(damaged);
    if tag(Tag::PhotometricInterpretation)? == Some(WHITE_IS_ZERO) {
        return Err(FileError::format(
            name,
            "images whose zero is black",
            "images whose zero is white",
        ));
    }
    let format = tag(Tag::SampleFormat)?.unwrap_or(1);
    let element = match (format, bits) {
        (1 | 4, 8 | 16 | 32) => Element::Unsigned(bits),
        (2, 8 | 16 | 32) => Element::Signed(bits),
        (3, 32 | 64) => Element::Float(bits),
        _ => {
            return Err(unsupported(
                name,
                &format!("sample format {format} with {bits} bits"),
            ));
        }
    };
    let bytes = rows
        .saturating_mul(columns)
        .saturating_mul(usize::from(bits) / 8);
    if bytes == 0 || bytes > MOST_FRAME_BYTES {
        return Err(FileError::format(
            name,
            format!("frames of 1 to {MOST_FRAME_BYTES} bytes"),
            format!("{rows} x {columns} pixels of {element}"),
        ));
    }
    Ok(([rows, columns], element))
}

fn unsupported(name: &str, found: &str) -> FileError {
    FileError::format(
        name,
        "grey images of integers with 8, 16 or 32 bits, or of float32 or float64",
        found,
    )
}

/// Refuses a file of ImageJ that has one image for many frames: all but the first would be missed.
fn check_imagej(name: &str, decoder: &mut FileDecoder) -> Result<(), FileError> {
    let Ok(description) = decoder.get_tag_ascii_string(Tag::ImageDescription) else {
        return Ok(());
    };
    let frames = description
        .lines()
        .find_map(|line| line.strip_prefix("images="));
    match frames.and_then(|frames| frames.trim().parse::<u64>().ok()) {
        Some(frames) if frames > 1 && description.starts_with("ImageJ=") => Err(FileError::format(
            name,
            format!("an image for each of the {frames} frames that ImageJ announces"),
            "one image (save the stack as separate files or as a BigTIFF)",
        )),
        _ => Ok(()),
    }
}

/// Where a file is damaged.
#[derive(Clone, Copy)]
enum Part {
    Header,
    /// The tags of an image.
    Tags(usize),
    /// The pixels of an image.
    Pixels(usize),
}

impl std::fmt::Display for Part {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Header => write!(f, "header or tags of image 0"),
            Self::Tags(frame) => write!(f, "tags of image {frame}"),
            Self::Pixels(frame) => write!(f, "pixels of image {frame}"),
        }
    }
}

/// The error of the decoder in the words of this program.
fn damaged(name: &str, part: Part, error: &TiffError) -> FileError {
    use TiffFormatError as Format;
    let reason = match error {
        TiffError::IoError(e) if e.kind() != io::ErrorKind::UnexpectedEof => {
            return FileError::open(name, e);
        }
        TiffError::FormatError(Format::TiffSignatureNotFound | Format::TiffSignatureInvalid) => {
            return FileError::format(
                name,
                "a TIFF file, which begins with II or MM and the number 42 or 43",
                "other bytes",
            );
        }
        TiffError::UnsupportedError(reason) => {
            let found = format!("{part} with what is not supported ({reason})");
            return unsupported(name, &found);
        }
        TiffError::IoError(_) => "beyond the end of the file".to_owned(),
        TiffError::LimitsExceeded | TiffError::IntSizeError => {
            let (frame, chunk, tag) = (
                MOST_FRAME_BYTES >> 20,
                MOST_CHUNK_BYTES >> 20,
                MOST_TAG_BYTES >> 20,
            );
            let expected = format!(
                "frames of at most {frame} MiB, in strips or tiles of at most {chunk} MiB, and tags of at most {tag} MiB"
            );
            return FileError::format(name, expected, format!("larger ones in the {part}"));
        }
        TiffError::FormatError(Format::RequiredTagNotFound(tag)) => format!("without {tag:?}"),
        TiffError::FormatError(Format::CycleInOffsets) => {
            "that lead back to images before".to_owned()
        }
        TiffError::FormatError(Format::ImageFileDirectoryNotFound) => "that are absent".to_owned(),
        TiffError::FormatError(reason) => format!("that are damaged ({reason})"),
        TiffError::UsageError(_) => "that contradict each other".to_owned(),
    };
    FileError::format(
        name,
        "a TIFF file whose images are complete",
        format!("{part} {reason}"),
    )
}

impl FrameFile for TiffStack {
    fn shape(&self) -> [usize; 3] {
        self.shape
    }

    fn element(&self) -> Element {
        self.element
    }

    fn stored_bytes(&self) -> Option<u64> {
        std::fs::metadata(&self.path).ok().map(|of| of.len())
    }

    /// TIFF files do not say how a scan goes.
    fn scan_shape(&self) -> Option<[usize; 2]> {
        None
    }

    read_by_pixels!();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_read_than_the_budget() {
        let mut file = tempfile::tempfile().expect("a file");
        io::Write::write_all(&mut file, &[7; 100]).expect("a file");
        let mut file = Budgeted {
            file: BufReader::new(file),
            left: 150,
        };
        for _ in 0..3 {
            file.seek(SeekFrom::Start(0)).expect("the start");
            file.read_exact(&mut [0; 50]).expect("within the budget");
        }
        file.seek(SeekFrom::Start(0)).expect("the start");
        assert!(file.read_exact(&mut [0; 1]).is_err());
    }
}
