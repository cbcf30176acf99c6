//! NumPy arrays of frames: `.npy`, and `.npz` files with several arrays.
//!
//! An array has the axes (frame, row, column) or (slow, fast, row, column), in C order. A frame of a compressed array of
//! an `.npz` file is found by decompressing what is before it.

mod header;

use crate::file_error::{FileError, name_of};
use crate::frame_file::{Element, FrameFile, Pixel, check_range, read_by_pixels};
use header::Header;
use std::fs::File;
use std::io::{BufReader, Read};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use zip::ZipArchive;

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
    /// A compressed part of an `.npz` file, and its bytes there.
    Compressed(PathBuf, String, u64),
}

impl NumpyFile {
    /// Opens an `.npy` file, or an `.npz` file in which one array has frames.
    ///
    /// # Errors
    /// The file cannot be read, or does not have one array of frames.
    pub fn open(path: &Path) -> Result<Self, FileError> {
        if !path
            .extension()
            .is_some_and(|end| end.eq_ignore_ascii_case("npz"))
        {
            return Self::open_npy(path);
        }
        let file = name_of(path);
        let arrays = arrays(path)?;
        let mut with_frames = arrays
            .iter()
            .filter(|(_, header)| matches!(header.shape.len(), 3 | 4));
        match (with_frames.next(), with_frames.next()) {
            (Some((name, _)), None) => Self::open_array(path, name),
            (found, _) => Err(FileError::format(
                &file,
                "one array with 3 or 4 axes",
                format!(
                    "{}: {}",
                    if found.is_some() { "several" } else { "none" },
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
        let name = format!("{}: {array}", name_of(path));
        let member = format!("{array}.npy");
        let mut archive = archive(path)?;
        let mut part = archive
            .by_name(&member)
            .map_err(|e| FileError::format(&name, "an array of this name", e.to_string()))?;
        let (size, compressed) = (part.size(), part.compressed_size());
        if size > compressed.saturating_mul(GREATEST_RATIO) {
            return Err(FileError::format(
                &name,
                format!(
                    "at most {GREATEST_RATIO} times the {compressed} bytes of the compressed array"
                ),
                format!("{size} bytes"),
            ));
        }
        let stored = (part.compression() == zip::CompressionMethod::Stored)
            .then(|| part.data_start())
            .flatten();
        let header = Header::read(&name, &mut part)?;
        drop(part);
        let source = match stored {
            Some(start) => {
                let file = File::open(path).map_err(|e| FileError::open(&name, &e))?;
                let end = file
                    .metadata()
                    .map_err(|e| FileError::open(&name, &e))?
                    .len();
                let size = size.min(end.saturating_sub(start));
                let source = Source::At(file, start.saturating_add(header.length as u64));
                return Self::new(name, header, source, size);
            }
            None => Source::Compressed(path.to_owned(), member, compressed),
        };
        Self::new(name, header, source, size)
    }

    fn open_npy(path: &Path) -> Result<Self, FileError> {
        let name = name_of(path);
        let unreadable = |e: std::io::Error| FileError::open(&name, &e);
        let file = File::open(path).map_err(unreadable)?;
        let size = file.metadata().map_err(unreadable)?.len();
        let header = Header::read(&name, &mut BufReader::new(&file))?;
        let start = header.length as u64;
        Self::new(name, header, Source::At(file, start), size)
    }

    /// Checks the shape against the size of header and array.
    fn new(name: String, header: Header, source: Source, size: u64) -> Result<Self, FileError> {
        let (shape, scan_shape) = match *header.shape {
            [frames, rows, columns] => ([frames, rows, columns], None),
            [slow, fast, rows, columns] => (
                [slow.saturating_mul(fast), rows, columns],
                Some([slow, fast]),
            ),
            _ => {
                return Err(FileError::format(
                    &name,
                    "3 axes (frame, row, column) or 4 (slow, fast, row, column)",
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
        match header.bytes() {
            Some(bytes) if bytes == available => Ok(Self {
                name,
                header,
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

    fn read_pixels<T: Pixel>(&self, frames: Range<usize>, out: &mut [T]) -> Result<(), FileError> {
        check_range(&self.name, self.shape, &frames, out.len())?;
        let [_, rows, columns] = self.shape;
        let unreadable = |e: std::io::Error| FileError::open(&self.name, &e);
        let frame_bytes = rows * columns * self.header.width();
        if frames.is_empty() {
            return Ok(());
        }
        let mut bytes = vec![0; frame_bytes];
        let frames_out = out.chunks_exact_mut(rows * columns);
        match &self.source {
            Source::At(file, start) => {
                for (frame, out) in frames.zip(frames_out) {
                    let at = start + (frame * frame_bytes) as u64;
                    file.read_exact_at(&mut bytes, at).map_err(unreadable)?;
                    self.header
                        .convert(&self.name, frame, columns, &bytes, out)?;
                }
            }
            Source::Compressed(path, member, _) => {
                let mut archive = archive(path)?;
                let mut part = archive.by_name(member).map_err(|e| {
                    FileError::format(&self.name, "an array of this name", e.to_string())
                })?;
                let before = (self.header.length + frames.start * frame_bytes) as u64;
                std::io::copy(&mut part.by_ref().take(before), &mut std::io::sink())
                    .map_err(unreadable)?;
                for (frame, out) in frames.zip(frames_out) {
                    part.read_exact(&mut bytes).map_err(unreadable)?;
                    self.header
                        .convert(&self.name, frame, columns, &bytes, out)?;
                }
            }
        }
        Ok(())
    }
}

fn archive(path: &Path) -> Result<ZipArchive<BufReader<File>>, FileError> {
    let file = name_of(path);
    let source = File::open(path).map_err(|e| FileError::open(&file, &e))?;
    ZipArchive::new(BufReader::new(source))
        .map_err(|e| FileError::format(&file, "an .npz file", e.to_string()))
}

/// The names of the arrays in an `.npz` file, without their ending `.npy`, and their headers.
fn arrays(path: &Path) -> Result<Vec<(String, Header)>, FileError> {
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
        if let Ok(header) = Header::read(&file, &mut part) {
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
        self.header.element
    }

    fn stored_bytes(&self) -> Option<u64> {
        match self.source {
            Source::At(..) => None,
            Source::Compressed(.., bytes) => Some(bytes),
        }
    }

    fn scan_shape(&self) -> Option<[usize; 2]> {
        self.scan_shape
    }

    read_by_pixels!();
}
