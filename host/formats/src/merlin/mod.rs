//! Merlin and Medipix3 detectors: `.mib` files, with or without a `.hdr` file beside them.
//!
//! Each frame has a header of text, then its pixels: big-endian integers (`U08`, `U16`, `U32`) of
//! one or several chips, with or without columns and rows for the gaps between chips, or raw
//! counters (`R64`) of one chip or of 2x2 chips. From the manual of the detectors.
//!
//! | pixels | chips | compared with |
//! |---|---|---|
//! | `U08`, `U16`, `U32` | any, region of interest | rosettasciio |
//! | `R64`, 6 and 12 bits | 1x1, 2x2, 2x2G | LiberTEM |
//! | `R64`, 24 bits | 1x1 | LiberTEM |
//! | `R64`, 1 bit; 24 bits of 2x2 | | no other reader |
//!
//! Refused are `U64`, raw frames of chips side by side (Nx1), and raw regions of interest of 2x2
//! chips.

mod header;
mod raw;

use crate::element::Element;
use crate::file_error::{FileError, name_of, open_regular};
use crate::frame_file::{FrameFile, check_range, convert_integers, read_by_pixels};
use crate::pixel::Pixel;
pub use header::FrameHeader;
use header::{FIXED, Sidecar, Storage, nanoseconds};
use raw::Raw;
use std::fs::File;
use std::io::Read;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::OnceLock;

/// Order of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RowOrder {
    /// The last stored row first, as the detector's own program and rosettasciio show frames.
    #[default]
    TopDown,
    /// As they are stored.
    Stored,
}

/// An open `.mib` file.
#[derive(Debug)]
pub struct MibFile {
    file: File,
    name: String,
    /// The header of the first frame.
    header: FrameHeader,
    pixels: Pixels,
    /// Frames, rows, columns.
    shape: [usize; 3],
    order: RowOrder,
    sidecar: Sidecar,
    incomplete: u64,
    scan_shape: OnceLock<Option<[usize; 2]>>,
}

/// How the pixels of a frame are stored.
#[derive(Debug, Clone, Copy)]
enum Pixels {
    /// Big-endian integers with this number of bytes.
    Integers(usize),
    Raw(Raw),
}

impl MibFile {
    /// Opens a file. A file with the same name that ends in `.hdr` is read too if there is one.
    ///
    /// # Errors
    /// The file cannot be read, is not of this format, or has no whole frame.
    pub fn open(path: &Path) -> Result<Self, FileError> {
        let name = name_of(path);
        let unreadable = |e: std::io::Error| FileError::open(&name, &e);
        let file = open_regular(path).map_err(unreadable)?;
        let size = file.metadata().map_err(unreadable)?.len();
        let short = |expected: u64| {
            FileError::format(
                &name,
                format!("at least {expected} bytes, for one frame"),
                format!("{size} (truncated)"),
            )
        };
        let mut start = [0; FIXED];
        if size < FIXED as u64 {
            return Err(short(FIXED as u64));
        }
        file.read_exact_at(&mut start, 0).map_err(unreadable)?;
        let length = FrameHeader::length_from(&name, &start)?;
        if size < length as u64 {
            return Err(short(length as u64));
        }
        let mut text = vec![0; length];
        file.read_exact_at(&mut text, 0).map_err(unreadable)?;
        let header = FrameHeader::parse(&name, &text)?;
        let sidecar = sidecar(&path.with_extension("hdr"))?;
        let (pixels, [rows, columns]) = match header.storage {
            Storage::Integers(width) => (Pixels::Integers(width), [header.rows, header.columns]),
            Storage::Raw => {
                let raw = Raw::new(
                    &name,
                    &header,
                    header.counter_depth.or(sidecar.counter_depth),
                )?;
                (Pixels::Raw(raw), raw.shape())
            }
        };
        if rows == 0 || columns == 0 {
            return Err(FileError::format(
                &name,
                "frames with pixels",
                format!("{rows} rows and {columns} columns"),
            ));
        }
        let bytes = match pixels {
            Pixels::Integers(width) => rows.checked_mul(columns).and_then(|n| n.checked_mul(width)),
            Pixels::Raw(raw) => Some(raw.bytes()),
        };
        let stride = bytes
            .and_then(|bytes| bytes.checked_add(length))
            .unwrap_or(usize::MAX) as u64;
        let frames = usize::try_from(size / stride).unwrap_or(usize::MAX);
        if frames == 0 {
            return Err(short(stride));
        }
        Ok(Self {
            file,
            name,
            header,
            pixels,
            shape: [frames, rows, columns],
            order: RowOrder::default(),
            sidecar,
            incomplete: size % stride,
            scan_shape: OnceLock::new(),
        })
    }

    /// The same file with another order of rows.
    #[must_use]
    pub fn with_rows(self, order: RowOrder) -> Self {
        Self { order, ..self }
    }

    /// Bits of a counter, if a header says them.
    #[must_use]
    pub fn counter_depth(&self) -> Option<u32> {
        self.header.counter_depth.or(self.sidecar.counter_depth)
    }

    /// The header of a frame, with its sequence number and time stamp.
    ///
    /// # Errors
    /// The file does not have the frame, or cannot be read.
    pub fn frame_header(&self, frame: usize) -> Result<FrameHeader, FileError> {
        if frame >= self.shape[0] {
            return Err(FileError::Frames {
                file: self.name.clone(),
                frames: self.shape[0],
                start: frame,
                end: frame + 1,
            });
        }
        let mut text = vec![0; self.header.length];
        self.read_at(&mut text, self.offset(frame))?;
        let header = FrameHeader::parse(&self.name, &text)?;
        self.check_alike(frame, &text)?;
        Ok(header)
    }

    /// Bytes of a frame without its header.
    fn bytes(&self) -> usize {
        match self.pixels {
            Pixels::Integers(width) => self.shape[1] * self.shape[2] * width,
            Pixels::Raw(raw) => raw.bytes(),
        }
    }

    /// Where a frame begins.
    fn offset(&self, frame: usize) -> u64 {
        frame as u64 * (self.header.length + self.bytes()) as u64
    }

    fn read_at(&self, bytes: &mut [u8], offset: u64) -> Result<(), FileError> {
        self.file
            .read_exact_at(bytes, offset)
            .map_err(|e| FileError::open(&self.name, &e))
    }

    /// Checks that a frame has the size and type of the first.
    fn check_alike(&self, frame: usize, text: &[u8]) -> Result<(), FileError> {
        let start = String::from_utf8_lossy(&text[..FIXED]);
        let fields: Vec<&str> = start.split(',').collect();
        let storage = match self.header.storage {
            Storage::Integers(1) => "U08",
            Storage::Integers(2) => "U16",
            Storage::Integers(_) => "U32",
            Storage::Raw => "R64",
        };
        let numbers = [
            self.header.length,
            self.header.chips,
            self.header.columns,
            self.header.rows,
        ];
        let alike = fields.first() == Some(&"MQ1")
            && fields.get(6) == Some(&storage)
            && numbers.iter().zip(2..).all(|(number, n)| {
                fields.get(n).and_then(|field| field.trim().parse().ok()) == Some(*number)
            });
        if alike {
            return Ok(());
        }
        let [length, chips, columns, rows] = numbers;
        Err(FileError::format(
            &self.name,
            format!(
                "a header of {length} bytes before frame {frame}, with {chips} chips and {columns} x {rows} pixels as {storage}"
            ),
            "another header or none",
        ))
    }

    fn read_pixels<T: Pixel>(&self, frames: Range<usize>, out: &mut [T]) -> Result<(), FileError> {
        check_range(&self.name, self.shape, &frames, out.len())?;
        let [_, rows, columns] = self.shape;
        let length = self.header.length;
        // Not more than the file has, which was found to have a frame.
        let mut bytes = vec![0; length + self.bytes()];
        let mut values = match self.pixels {
            Pixels::Raw(_) => vec![0; rows * columns],
            Pixels::Integers(_) => Vec::new(),
        };
        for (frame, out) in frames.zip(out.chunks_exact_mut(rows * columns)) {
            self.read_at(&mut bytes, self.offset(frame))?;
            self.check_alike(frame, &bytes)?;
            let stored = &bytes[length..];
            if let Pixels::Raw(raw) = self.pixels {
                raw.decode(stored, &mut values);
            }
            for (row, out) in out.chunks_exact_mut(columns).enumerate() {
                let from = match self.order {
                    RowOrder::TopDown => rows - 1 - row,
                    RowOrder::Stored => row,
                };
                let place = from * columns..(from + 1) * columns;
                let converted = match self.pixels {
                    Pixels::Integers(width) => {
                        let row = &stored[place.start * width..place.end * width];
                        match width {
                            1 => convert(
                                &self.name,
                                frame,
                                row.iter().map(|value| i64::from(*value)),
                                out,
                            ),
                            2 => convert(
                                &self.name,
                                frame,
                                row.as_chunks()
                                    .0
                                    .iter()
                                    .map(|v| u16::from_be_bytes(*v).into()),
                                out,
                            ),
                            _ => convert(
                                &self.name,
                                frame,
                                row.as_chunks()
                                    .0
                                    .iter()
                                    .map(|v| u32::from_be_bytes(*v).into()),
                                out,
                            ),
                        }
                    }
                    Pixels::Raw(_) => convert(
                        &self.name,
                        frame,
                        values[place].iter().map(|value| i64::from(*value)),
                        out,
                    ),
                };
                converted.map_err(|e| in_row(e, row))?;
            }
        }
        Ok(())
    }

    /// Positions (slow, fast): as the text file says, from a trigger for each line, or from longer
    /// gaps between the time stamps of lines.
    fn find_scan_shape(&self) -> Option<[usize; 2]> {
        let frames = self.shape[0];
        if self.sidecar.scan_shape.is_some() {
            return self.sidecar.scan_shape;
        }
        let lines = |fast: usize| {
            (fast > 1 && frames > fast && frames.is_multiple_of(fast))
                .then(|| [frames / fast, fast])
        };
        if let Some(fast) = self.sidecar.frames_per_trigger.filter(|fast| *fast > 1) {
            // One trigger for the whole scan does not say how long a line is.
            match self.sidecar.frames {
                Some(all) if all == fast => {}
                // Frames may be missing, or more than those of the scan.
                Some(all) if all > fast && all.is_multiple_of(fast) => {
                    return Some([all / fast, fast]);
                }
                _ => return lines(fast),
            }
        }
        let mut before = None;
        let mut gaps = Vec::new();
        for frame in 0..frames {
            let time = nanoseconds(&self.frame_header(frame).ok()?.time_stamp)?;
            gaps.extend(before.map(|before: i64| time - before));
            before = Some(time);
        }
        lines(line_length(&gaps)?)
    }
}

/// Frames in a line: all gaps between lines, and no others, are longer than any gap within lines.
fn line_length(gaps: &[i64]) -> Option<usize> {
    let longest = *gaps.iter().max()?;
    let fast = gaps.iter().position(|gap| *gap == longest)? + 1;
    // The longest gap is one of those between lines: the length of a line divides its position.
    (2..=fast)
        .filter(|length| fast % length == 0)
        .find(|length| {
            let between = gaps.iter().skip(length - 1).step_by(*length).min();
            let within = gaps
                .iter()
                .enumerate()
                .filter(|(n, _)| (n + 1) % length != 0)
                .map(|(_, gap)| gap)
                .max();
            between
                .zip(within)
                .is_some_and(|(between, within)| between > within)
        })
}

fn convert<T: Pixel>(
    file: &str,
    frame: usize,
    values: impl Iterator<Item = i64> + Clone,
    out: &mut [T],
) -> Result<(), FileError> {
    let columns = out.len();
    convert_integers(file, frame, columns, values, out)
}

/// An error in a row that was converted alone.
fn in_row(error: FileError, in_row: usize) -> FileError {
    match error {
        FileError::Inexact {
            file,
            frame,
            column,
            found,
            ..
        } => FileError::Inexact {
            file,
            frame,
            row: in_row,
            column,
            found,
        },
        other => other,
    }
}

/// What is used of a `.hdr` file; nothing if there is none.
fn sidecar(path: &Path) -> Result<Sidecar, FileError> {
    let file = match open_regular(path) {
        Ok(file) => file,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Sidecar::default()),
        Err(e) => return Err(FileError::open(&name_of(path), &e)),
    };
    let mut text = Vec::new();
    file.take(Sidecar::LONGEST)
        .read_to_end(&mut text)
        .map_err(|e| FileError::open(&name_of(path), &e))?;
    Ok(Sidecar::parse(&String::from_utf8_lossy(&text)))
}

impl FrameFile for MibFile {
    fn shape(&self) -> [usize; 3] {
        self.shape
    }

    fn incomplete_bytes(&self) -> u64 {
        self.incomplete
    }

    fn element(&self) -> Element {
        match self.pixels {
            Pixels::Integers(width) => Element::Unsigned(8 * width as u8),
            Pixels::Raw(raw) => Element::Unsigned(raw.bits()),
        }
    }

    fn scan_shape(&self) -> Option<[usize; 2]> {
        *self.scan_shape.get_or_init(|| self.find_scan_shape())
    }

    read_by_pixels!();
}
