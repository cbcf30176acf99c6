//! NumPy arrays of frames: `.npy`, and `.npz` files with several arrays.
//!
//! An array has the axes (frame, row, column) or (slow, fast, row, column), in C or in Fortran
//! order (`fortran.rs`). A frame of a compressed array of an `.npz` file in C order is found by
//! decompressing what is between the frames read before and it, or all that is before it; a
//! compressed array in Fortran order is decompressed as a whole.

use super::fortran;
use super::header::{Header, HeaderError, Numbers};
use crate::element::Element;
use crate::file_error::{FileError, name_of, open_regular};
use crate::frame_file::{FrameFile, check_range};
use crate::pixel::Pixel;
use flate2::CrcReader;
use flate2::read::DeflateDecoder;
use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom, Take};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use zip::{CompressionMethod, ZipArchive};

/// The largest number of arrays in an `.npz` file.
const MOST_ARRAYS: usize = 1000;

/// The greatest ratio of sizes that deflate reaches, 1032, and some more for its beginning.
const GREATEST_RATIO: u64 = 1040;

/// An array of frames in a file.
#[derive(Debug)]
pub struct NumpyFile {
    /// The file, and the array in it if there are several.
    name: String,
    header: Header,
    /// Type of the elements.
    element: Element,
    source: Source,
    /// Frames, rows, columns.
    shape: [usize; 3],
    scan_shape: Option<[usize; 2]>,
}

/// Where an array is.
#[derive(Debug)]
enum Source {
    /// In a file, from a position on.
    At(File, u64),
    /// A compressed part of an `.npz` file.
    Compressed(Box<Mutex<Deflated>>),
    /// The elements of a compressed array in Fortran order.
    Memory(Vec<u8>),
}

/// A part of a file that is compressed with deflate.
#[derive(Debug)]
struct Deflated {
    file: File,
    /// Where it begins.
    start: u64,
    /// Compressed bytes.
    size: u64,
    /// Decompressed bytes, and their CRC-32.
    whole: (u64, u32),
    /// What decompresses it, and how many bytes it has given.
    decoder: Option<(Decoder, u64)>,
}

type Decoder = CrcReader<DeflateDecoder<BufReader<Take<File>>>>;

impl Deflated {
    /// What decompresses the bytes from the `first` one on.
    fn decoder_at(&mut self, first: u64) -> std::io::Result<Decoder> {
        let (mut decoder, given) = match self.decoder.take() {
            Some((decoder, given)) if given <= first => (decoder, given),
            _ => {
                let mut file = self.file.try_clone()?;
                file.seek(SeekFrom::Start(self.start))?;
                let decoder = DeflateDecoder::new(BufReader::new(file.take(self.size)));
                (CrcReader::new(decoder), 0)
            }
        };
        std::io::copy(
            &mut (&mut decoder).take(first - given),
            &mut std::io::sink(),
        )?;
        Ok(decoder)
    }
}

impl NumpyFile {
    /// Opens an `.npy` file, or an `.npz` file in which one array has frames.
    ///
    /// # Errors
    /// The file cannot be read, or does not have one array of frames.
    pub fn open(path: &Path) -> Result<Self, FileError> {
        Self::open_axes(path, Axes::Frames)
    }

    /// Like [`NumpyFile::open`]; an array (row, column) is one frame.
    ///
    /// # Errors
    /// The file cannot be read, or does not have one array of frames or a frame.
    pub fn open_frames_or_one(path: &Path) -> Result<Self, FileError> {
        Self::open_axes(path, Axes::FramesOrOne)
    }

    fn open_axes(path: &Path, axes: Axes) -> Result<Self, FileError> {
        if !path
            .extension()
            .is_some_and(|end| end.eq_ignore_ascii_case("npz"))
        {
            return Self::open_npy(path, axes);
        }
        let file = name_of(path);
        let arrays = npz_arrays(path)?;
        let with_axes = |least: usize, most: usize| {
            let names = arrays
                .iter()
                .filter(move |(_, header)| (least..=most).contains(&header.shape.len()));
            names.map(|(name, _)| name).collect::<Vec<_>>()
        };
        let mut names = with_axes(3, 4);
        if names.is_empty() && axes == Axes::FramesOrOne {
            names = with_axes(2, 2);
        }
        match *names {
            [name] => Self::open_member(path, name, axes),
            _ => Err(FileError::format(
                &file,
                match axes {
                    Axes::Frames => "one array with 3 or 4 axes",
                    Axes::FramesOrOne => "one array with 3 or 4 axes, or one with 2",
                },
                format!(
                    "{}: {}",
                    if names.is_empty() { "none" } else { "several" },
                    arrays
                        .iter()
                        .map(|(name, header)| format!("{name} {:?}", header.shape))
                        .collect::<Vec<_>>()
                        .join(", ")
                ),
            )),
        }
    }

    /// Opens an array of an `.npz` file by its name, without the ending `.npy`.
    ///
    /// # Errors
    /// The file cannot be read, or does not have the array, or the array has no frames.
    pub fn open_array(path: &Path, array: &str) -> Result<Self, FileError> {
        Self::open_member(path, array, Axes::Frames)
    }

    /// Like [`NumpyFile::open_array`]; an array (row, column) is one frame.
    ///
    /// # Errors
    /// The file cannot be read, or does not have the array, or the array has neither frames nor a
    /// frame.
    pub fn open_array_or_one(path: &Path, array: &str) -> Result<Self, FileError> {
        Self::open_member(path, array, Axes::FramesOrOne)
    }

    fn open_member(path: &Path, array: &str, axes: Axes) -> Result<Self, FileError> {
        let name = format!("{}: {array}", name_of(path));
        let member = format!("{array}.npy");
        let mut archive = archive(path)?;
        let mut part = archive
            .by_name(&member)
            .map_err(|e| FileError::format(&name, "an array of this name", e.to_string()))?;
        let (size, compressed) = (part.size(), part.compressed_size());
        let whole = (size, part.crc32());
        if size > compressed.saturating_mul(GREATEST_RATIO) {
            return Err(FileError::format(
                &name,
                format!(
                    "at most {GREATEST_RATIO} times the {compressed} bytes of the compressed array"
                ),
                format!("{size} bytes"),
            ));
        }
        let stored = (part.compression() == CompressionMethod::Stored)
            .then(|| part.data_start())
            .flatten();
        if !matches!(
            part.compression(),
            CompressionMethod::Stored | CompressionMethod::Deflated
        ) {
            return Err(FileError::format(
                &name,
                "an array that is stored or compressed with deflate",
                part.compression().to_string(),
            ));
        }
        let start = part.data_start().unwrap_or(0);
        let header = Header::read(&mut part).map_err(|e| refused(&name, e))?;
        drop(part);
        let file = open_regular(path).map_err(|e| FileError::open(&name, &e))?;
        let deflated = Deflated {
            file,
            start,
            size: compressed,
            whole,
            decoder: None,
        };
        let source = match stored {
            Some(start) => {
                let file = deflated.file;
                let end = file
                    .metadata()
                    .map_err(|e| FileError::open(&name, &e))?
                    .len();
                let size = size.min(end.saturating_sub(start));
                let source = Source::At(file, start.saturating_add(header.length as u64));
                return Self::new(name, header, source, (size, axes));
            }
            None => Source::Compressed(Box::new(Mutex::new(deflated))),
        };
        Self::new(name, header, source, (size, axes))?.with_fortran_order_in_memory()
    }

    fn open_npy(path: &Path, axes: Axes) -> Result<Self, FileError> {
        let name = name_of(path);
        let unreadable = |e: std::io::Error| FileError::open(&name, &e);
        let file = open_regular(path).map_err(unreadable)?;
        let size = file.metadata().map_err(unreadable)?.len();
        let header = Header::read(&mut BufReader::new(&file)).map_err(|e| refused(&name, e))?;
        let start = header.length as u64;
        Self::new(name, header, Source::At(file, start), (size, axes))
    }

    /// Checks the shape against the size of header and array.
    fn new(
        name: String,
        header: Header,
        source: Source,
        (size, axes): (u64, Axes),
    ) -> Result<Self, FileError> {
        let Numbers::Real(element) = header.numbers else {
            return Err(refused(&name, HeaderError::Element(header.description)));
        };
        let (shape, scan_shape) = match *header.shape {
            [rows, columns] if axes == Axes::FramesOrOne => ([1, rows, columns], None),
            [frames, rows, columns] => ([frames, rows, columns], None),
            [slow, fast, rows, columns] => (
                [slow.saturating_mul(fast), rows, columns],
                Some([slow, fast]),
            ),
            _ => {
                let one = match axes {
                    Axes::Frames => "",
                    Axes::FramesOrOne => "2 axes (row, column), ",
                };
                return Err(FileError::format(
                    &name,
                    format!("{one}3 axes (frame, row, column) or 4 (slow, fast, row, column)"),
                    format!("the shape {:?}", header.shape),
                ));
            }
        };
        if header.shape.contains(&0) {
            return Err(FileError::format(
                &name,
                "an array with elements",
                format!("the shape {:?}", header.shape),
            ));
        }
        let available = size.saturating_sub(header.length as u64);
        match header.data_bytes() {
            Some(bytes) if bytes == available => Ok(Self {
                name,
                header,
                element,
                source,
                shape,
                scan_shape,
            }),
            bytes => Err(FileError::format(
                &name,
                match bytes {
                    Some(bytes) => format!("{bytes} bytes for the shape {:?}", header.shape),
                    None => "a shape whose bytes can be counted".to_owned(),
                },
                format!("{available} bytes and the shape {:?}", header.shape),
            )),
        }
    }

    /// Decompresses an array of several frames in Fortran order, in which each frame is spread over
    /// the whole of it.
    fn with_fortran_order_in_memory(mut self) -> Result<Self, FileError> {
        if !self.is_spread() {
            return Ok(self);
        }
        let Source::Compressed(deflated) = &mut self.source else {
            return Ok(self);
        };
        let deflated = deflated.get_mut().unwrap_or_else(PoisonError::into_inner);
        let (whole, expected) = deflated.whole;
        let unreadable = |e: std::io::Error| FileError::open(&self.name, &e);
        let too_large = |_| {
            let reason = format!("its {whole} bytes do not fit into memory");
            FileError::open(&self.name, &std::io::Error::other(reason))
        };
        let length = usize::try_from(whole).unwrap_or(usize::MAX) - self.header.length;
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(length).map_err(too_large)?;
        let mut decoder = deflated
            .decoder_at(self.header.length as u64)
            .map_err(unreadable)?;
        bytes.resize(length, 0);
        decoder.read_exact(&mut bytes).map_err(unreadable)?;
        let found = decoder.crc().sum();
        drop(decoder);
        if found != expected {
            return Err(self.damaged(expected, found));
        }
        self.source = Source::Memory(bytes);
        Ok(self)
    }

    /// Whether each of several frames is spread over the whole array.
    fn is_spread(&self) -> bool {
        self.header.fortran && self.header.shape.len() > 2
    }

    /// The error of an array whose checksum differs from that of the file.
    fn damaged(&self, expected: u32, found: u32) -> FileError {
        FileError::format(
            &self.name,
            format!("an array with the CRC-32 {expected:08x}, as the file says"),
            format!("{found:08x}: the file is damaged"),
        )
    }

    /// Reads frames; integers that `T` does not represent are an error if `exact`.
    fn read_pixels<T: Pixel>(
        &self,
        frames: Range<usize>,
        out: &mut [T],
        exact: bool,
    ) -> Result<(), FileError> {
        check_range(&self.name, self.shape, &frames, out.len())?;
        let [_, rows, columns] = self.shape;
        let unreadable = |e: std::io::Error| FileError::open(&self.name, &e);
        let frame_bytes = rows * columns * self.element.bytes();
        if frames.is_empty() {
            return Ok(());
        }
        if self.is_spread() {
            return self.read_spread(frames, out, exact);
        }
        let mut bytes = vec![0; frame_bytes];
        let frames_out = out.chunks_exact_mut(rows * columns);
        match &self.source {
            Source::At(file, start) => {
                for (frame, out) in frames.zip(frames_out) {
                    let at = start + (frame * frame_bytes) as u64;
                    file.read_exact_at(&mut bytes, at).map_err(unreadable)?;
                    self.convert_frame((frame, exact), &bytes, out)?;
                }
            }
            Source::Compressed(deflated) => {
                let mut deflated = deflated.lock().unwrap_or_else(PoisonError::into_inner);
                let first = (self.header.length + frames.start * frame_bytes) as u64;
                let end = (self.header.length + frames.end * frame_bytes) as u64;
                let mut decoder = deflated.decoder_at(first).map_err(unreadable)?;
                for (frame, out) in frames.zip(frames_out) {
                    decoder.read_exact(&mut bytes).map_err(unreadable)?;
                    self.convert_frame((frame, exact), &bytes, out)?;
                }
                let (whole, expected) = deflated.whole;
                let found = decoder.crc().sum();
                if end == whole && found != expected {
                    return Err(self.damaged(expected, found));
                }
                deflated.decoder = Some((decoder, end));
            }
            // Only arrays whose frames are spread are in memory.
            Source::Memory(_) => {}
        }
        Ok(())
    }

    /// Reads frames of an array in Fortran order, as [`NumpyFile::read_pixels`] does.
    fn read_spread<T: Pixel>(
        &self,
        frames: Range<usize>,
        out: &mut [T],
        exact: bool,
    ) -> Result<(), FileError> {
        let [all, rows, columns] = self.shape;
        let array = fortran::FortranArray {
            pixels: [rows, columns],
            raster: self.scan_shape.unwrap_or([all, 1]),
            bytes: self.element.bytes(),
        };
        let read = |at: u64, bytes: &mut [u8]| match &self.source {
            Source::At(file, start) => file.read_exact_at(bytes, start + at),
            Source::Memory(all) => {
                let at = usize::try_from(at).unwrap_or(usize::MAX);
                let part = all.get(at..).and_then(|rest| rest.get(..bytes.len()));
                bytes.copy_from_slice(part.ok_or(std::io::ErrorKind::UnexpectedEof)?);
                Ok(())
            }
            Source::Compressed(_) => Err(std::io::ErrorKind::Unsupported.into()),
        };
        let wrong = array
            .read(frames, out, (&self.header, exact), read)
            .map_err(|e| FileError::open(&self.name, &e))?;
        match wrong {
            None => Ok(()),
            Some(([frame, row, column], found)) => Err(FileError::Inexact {
                file: self.name.clone(),
                frame,
                row,
                column,
                found,
            }),
        }
    }

    fn convert_frame<T: Pixel>(
        &self,
        (frame, exact): (usize, bool),
        bytes: &[u8],
        out: &mut [T],
    ) -> Result<(), FileError> {
        let [_, rows, columns] = self.shape;
        if self.header.fortran {
            // A frame alone, whose columns follow one another.
            let mut stored = vec![T::default(); out.len()];
            self.header.convert(bytes, &mut stored);
            for (row, to) in out.chunks_exact_mut(columns).enumerate() {
                for (to, from) in to.iter_mut().zip(stored[row..].iter().step_by(rows)) {
                    *to = *from;
                }
            }
            return Ok(());
        }
        self.header.convert(bytes, out);
        let inexact = exact.then(|| self.header.inexact(bytes, out)).flatten();
        match inexact {
            None => Ok(()),
            Some((n, found)) => Err(FileError::Inexact {
                file: self.name.clone(),
                frame,
                row: n / columns,
                column: n % columns,
                found: found.to_string(),
            }),
        }
    }
}

/// The axes that an array may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Axes {
    /// 3 or 4.
    Frames,
    /// 2 of a frame alone, 3 or 4.
    FramesOrOne,
}

/// The error for a header.
fn refused(file: &str, error: HeaderError) -> FileError {
    match error {
        HeaderError::Read(e) => FileError::open(file, &e),
        HeaderError::Form(found) => FileError::format(file, "a NumPy array", found),
        HeaderError::Element(found) => FileError::format(
            file,
            "an array of integers, truth values or floating-point numbers of 16, 32 or 64 bits",
            format!("'{found}'"),
        ),
    }
}

fn archive(path: &Path) -> Result<ZipArchive<BufReader<File>>, FileError> {
    let file = name_of(path);
    let source = open_regular(path).map_err(|e| FileError::open(&file, &e))?;
    ZipArchive::new(BufReader::new(source))
        .map_err(|e| FileError::format(&file, "an .npz file", e.to_string()))
}

/// The names of the arrays in an `.npz` file, without their ending `.npy`, and their headers.
/// Arrays of other elements than numbers are left out.
///
/// # Errors
/// The file cannot be read, or has too many parts.
pub fn npz_arrays(path: &Path) -> Result<Vec<(String, Header)>, FileError> {
    let file = name_of(path);
    let mut archive = archive(path)?;
    if archive.len() > MOST_ARRAYS {
        return Err(FileError::format(
            &file,
            format!("at most {MOST_ARRAYS} arrays"),
            archive.len().to_string(),
        ));
    }
    let mut found = Vec::new();
    for n in 0..archive.len() {
        let mut part = archive
            .by_index(n)
            .map_err(|e| FileError::format(&file, "an .npz file", e.to_string()))?;
        let Some(name) = part
            .name()
            .ok()
            .and_then(|name| name.strip_suffix(".npy").map(str::to_owned))
        else {
            continue;
        };
        // Arrays of other types, of text for instance, have no frames.
        if let Ok(header) = Header::read(&mut part) {
            found.push((name, header));
        }
    }
    Ok(found)
}

impl FrameFile for NumpyFile {
    fn shape(&self) -> [usize; 3] {
        self.shape
    }

    fn element(&self) -> Element {
        self.element
    }

    fn scan_shape(&self) -> Option<[usize; 2]> {
        self.scan_shape
    }

    fn stored_bytes(&self) -> Option<u64> {
        match &self.source {
            Source::At(..) | Source::Memory(_) => None,
            Source::Compressed(part) => {
                Some(part.lock().unwrap_or_else(PoisonError::into_inner).size)
            }
        }
    }

    fn is_sequential(&self) -> bool {
        matches!(self.source, Source::Compressed(_))
    }

    fn read(&self, frames: Range<usize>, out: &mut [f32]) -> Result<(), FileError> {
        self.read_pixels(frames, out, true)
    }

    fn read_f64(&self, frames: Range<usize>, out: &mut [f64]) -> Result<(), FileError> {
        self.read_pixels(frames, out, false)
    }
}
