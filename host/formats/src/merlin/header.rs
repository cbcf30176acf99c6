//! Headers of Merlin detectors: the one before each frame, and the text file beside the frames.

use crate::file_error::FileError;

/// The longest header of a frame, bytes: 32 chips would have 5 kB.
pub(super) const LONGEST: usize = 1 << 16;

/// Bytes at the beginning of a header that have its fixed fields.
pub(super) const FIXED: usize = 46;

/// How pixels are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Storage {
    /// Big-endian integers with this number of bytes.
    Integers(usize),
    /// As the chips deliver them, in words of 64 bits.
    Raw,
}

/// Arrangement of chips.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Layout {
    /// One chip.
    Single,
    /// Two rows of two chips, with or without columns and rows for the gap between them.
    Quad,
    /// Chips side by side.
    Row,
}

/// The header before a frame.
#[derive(Debug, Clone, PartialEq)]
pub struct FrameHeader {
    /// Sequence number of the frame in its acquisition, from 1.
    pub sequence: u64,
    /// Number of chips.
    pub chips: usize,
    /// Pixels in a row, as the header says.
    pub columns: usize,
    /// Rows, as the header says.
    pub rows: usize,
    /// Time stamp as written: local time with microseconds in older files, UTC with nanoseconds in
    /// newer ones.
    pub time_stamp: String,
    /// Time of exposure, s.
    pub exposure: Option<f64>,
    /// Bits of a counter.
    pub counter_depth: Option<u32>,
    /// Bytes of the header.
    pub(super) length: usize,
    pub(super) storage: Storage,
    pub(super) layout: Layout,
}

impl FrameHeader {
    /// Length of a header, bytes, from its beginning.
    pub(super) fn length_from(file: &str, text: &[u8]) -> Result<usize, FileError> {
        let text = String::from_utf8_lossy(text);
        let mut fields = text.split(',');
        let id = fields.next().unwrap_or_default();
        if id != "MQ1" {
            let found = if id.is_empty() {
                "an empty field"
            } else {
                "other bytes"
            };
            return Err(FileError::format(
                file,
                "a frame of a Merlin detector (MQ1)",
                found,
            ));
        }
        let length = fields.nth(1).unwrap_or_default();
        match length.trim().parse() {
            Ok(length) if (FIXED..=LONGEST).contains(&length) => Ok(length),
            _ => Err(FileError::format(
                file,
                format!("a header of {FIXED} to {LONGEST} bytes"),
                format!("'{length}' in its third field"),
            )),
        }
    }

    /// Parses a whole header.
    pub(super) fn parse(file: &str, bytes: &[u8]) -> Result<Self, FileError> {
        let length = Self::length_from(file, bytes)?;
        let text = String::from_utf8_lossy(bytes);
        let fields: Vec<&str> = text
            .split(',')
            .map(|field| field.trim_matches(['\0', ' ']))
            .collect();
        let field = |n: usize| fields.get(n).copied().unwrap_or_default();
        let number = |n: usize, what: &str| {
            field(n).parse::<usize>().map_err(|_| {
                FileError::format(
                    file,
                    format!("{what} in field {} of the header", n + 1),
                    format!("'{}'", field(n)),
                )
            })
        };
        let storage = match field(6) {
            "U08" => Storage::Integers(1),
            "U16" => Storage::Integers(2),
            "U32" => Storage::Integers(4),
            "R64" => Storage::Raw,
            other => {
                return Err(FileError::format(
                    file,
                    "pixels as U08, U16, U32 or R64",
                    format!("'{other}'"),
                ));
            }
        };
        let layout = match field(7).trim_end_matches('G') {
            "1x1" => Layout::Single,
            "2x2" => Layout::Quad,
            name if name.ends_with("x1") => Layout::Row,
            other => {
                return Err(FileError::format(
                    file,
                    "chips as 1x1, 2x2, 2x2G or Nx1",
                    format!("'{other}'"),
                ));
            }
        };
        // Newer headers have a second part with a finer time stamp, the exposure and the counter's
        // depth.
        let second = fields.iter().position(|field| *field == "MQ1A");
        let later = |n: usize| {
            second
                .map(|at| field(at + n))
                .filter(|text| !text.is_empty())
        };
        let nanoseconds = later(2).and_then(|text| text.strip_suffix("ns")?.parse::<f64>().ok());
        Ok(Self {
            sequence: number(1, "a sequence number")? as u64,
            chips: number(3, "a number of chips")?,
            columns: number(4, "a number of columns")?,
            rows: number(5, "a number of rows")?,
            time_stamp: later(1).unwrap_or(field(9)).to_owned(),
            exposure: nanoseconds
                .map(|ns| ns * 1e-9)
                .or_else(|| field(10).parse().ok()),
            counter_depth: later(3).and_then(|text| text.parse().ok()),
            length,
            storage,
            layout,
        })
    }
}

/// What is used of the text file beside the frames.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Sidecar {
    /// Bits of a counter.
    pub(super) counter_depth: Option<u32>,
    pub(super) frames: Option<usize>,
    /// Frames for one trigger: those of a line, if lines are triggered.
    pub(super) frames_per_trigger: Option<usize>,
    /// Points of the scan (slow, fast), where the program has them.
    pub(super) scan_shape: Option<[usize; 2]>,
}

impl Sidecar {
    /// The longest text, bytes: the usual one has 2048.
    pub(super) const LONGEST: u64 = 1 << 16;

    pub(super) fn parse(text: &str) -> Self {
        let value = |name: &str| {
            let line = text.lines().find(|line| {
                let rest = line.strip_prefix(name);
                rest.is_some_and(|rest| rest.starts_with([':', ' ', '(']))
            })?;
            line.split_once(':').map(|(_, value)| value.trim())
        };
        let number = |name: &str| value(name).and_then(|value| value.parse::<usize>().ok());
        let one_of = |names: [&str; 2]| names.into_iter().find_map(number).filter(|n| *n > 0);
        Self {
            counter_depth: number("Counter Depth").and_then(|depth| depth.try_into().ok()),
            frames: number("Frames in Acquisition"),
            frames_per_trigger: number("Frames per Trigger"),
            scan_shape: (one_of(["ScanY", "Scan Y"]).zip(one_of(["ScanX", "Scan X"])))
                .map(<[usize; 2]>::from),
        }
    }
}

/// Nanoseconds of the time of day in a time stamp.
pub(super) fn nanoseconds(time_stamp: &str) -> Option<i64> {
    let (_, time) = time_stamp.trim_end_matches('Z').split_once([' ', 'T'])?;
    let mut parts = time.split(':');
    let [hours, minutes] = [parts.next()?, parts.next()?].map(|part| part.parse::<u32>().ok());
    let (seconds, fraction) = parts.next()?.split_once('.').unwrap_or_default();
    let seconds: u32 = seconds.parse().ok()?;
    if fraction.len() > 9 || !fraction.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let fraction: i64 = format!("{fraction:0<9}").parse().ok()?;
    let minutes = i64::from(hours?) * 60 + i64::from(minutes?);
    Some((minutes * 60 + i64::from(seconds)) * 1_000_000_000 + fraction)
}
