//! Results as CSV, formatted in parallel.

use super::{Run, Timestamps, seconds};
use crate::io::IoError;
use crate::io::atomic::{Partial, refusal};
use crate::io::series::timestamp::write_iso;
use rayon::prelude::*;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

/// Buckets that one thread formats at once.
const PART: usize = 1 << 14;
/// Parts that are formatted while those before them are written.
const PARTS: usize = 8;

pub(super) struct CsvRows {
    to: Place,
    timestamps: Timestamps,
    /// (part), formatted and not written yet.
    ready: Vec<Vec<u8>>,
    /// (part), memory for the next ones.
    spare: Vec<Vec<u8>>,
}

enum Place {
    File(Partial, File),
    /// Whether somebody reads it.
    Standard(bool),
}

impl CsvRows {
    pub(super) fn create(path: &Path, timestamps: Timestamps) -> Result<Self, IoError> {
        let partial = Partial::begin(path)?;
        let file = partial.file()?;
        Self::begin(Place::File(partial, file), timestamps)
    }

    pub(super) fn to_standard_output(timestamps: Timestamps) -> Result<Self, IoError> {
        Self::begin(Place::Standard(true), timestamps)
    }

    fn begin(to: Place, timestamps: Timestamps) -> Result<Self, IoError> {
        let texts = || vec![Vec::new(); PARTS];
        let mut rows = Self {
            to,
            timestamps,
            ready: texts(),
            spare: texts(),
        };
        let column = match timestamps {
            Timestamps::Nanoseconds => "timestamp_ns",
            Timestamps::Iso => "timestamp",
        };
        let head = format!("series,granularity_s,aggregate,{column},value\n");
        rows.to.write(head.as_bytes())?;
        Ok(rows)
    }

    /// Gives the number of rows.
    pub(super) fn append<'r>(
        &mut self,
        runs: impl Iterator<Item = Run<'r>>,
    ) -> Result<u64, IoError> {
        let mut rows = 0;
        // Many short runs make one part, a long run makes several.
        let mut parts: Vec<Vec<Run<'r>>> = vec![Vec::new()];
        let mut filled = 0;
        for run in runs {
            let mut from = 0;
            while from < run.len() {
                let end = run.len().min(from + PART - filled);
                if let Some(part) = parts.last_mut() {
                    part.push(run.part(from, end));
                }
                filled += end - from;
                from = end;
                if filled == PART {
                    filled = 0;
                    if parts.len() == PARTS {
                        rows += self.format(&parts)?;
                        parts.clear();
                    }
                    parts.push(Vec::new());
                }
            }
        }
        rows += self.format(&parts)?;
        self.to.take(&mut self.ready)?;
        Ok(rows)
    }

    /// Formats [`PARTS`] at most, and writes what was ready before. Gives the number of rows.
    fn format(&mut self, parts: &[Vec<Run<'_>>]) -> Result<u64, IoError> {
        let Self {
            to,
            timestamps,
            ready,
            spare,
        } = self;
        let (written, rows) = rayon::join(
            || to.take(ready),
            || {
                let texts = spare.par_iter_mut().zip(parts);
                texts
                    .map(|(text, runs)| format(text, runs, *timestamps))
                    .sum()
            },
        );
        std::mem::swap(ready, spare);
        written.map(|()| rows)
    }

    pub(super) fn finish(self) -> Result<(), IoError> {
        match self.to {
            Place::File(partial, file) => {
                drop(file);
                partial.finish()
            }
            Place::Standard(false) => Ok(()),
            Place::Standard(true) => match io::stdout().lock().flush() {
                Err(e) if e.kind() != io::ErrorKind::BrokenPipe => {
                    Err(refusal(Path::new("standard output"), &e))
                }
                _ => Ok(()),
            },
        }
    }
}

impl Place {
    fn write(&mut self, bytes: &[u8]) -> Result<(), IoError> {
        match self {
            Self::File(partial, file) => file
                .write_all(bytes)
                .map_err(|e| refusal(partial.path(), &e)),
            Self::Standard(heard) => {
                let written = match heard {
                    true => io::stdout().lock().write_all(bytes),
                    false => Ok(()),
                };
                match written {
                    Err(e) if e.kind() == io::ErrorKind::BrokenPipe => *heard = false,
                    Err(e) => return Err(refusal(Path::new("standard output"), &e)),
                    Ok(()) => {}
                }
                Ok(())
            }
        }
    }

    /// Writes texts, and empties them.
    fn take(&mut self, texts: &mut [Vec<u8>]) -> Result<(), IoError> {
        for text in texts {
            self.write(text)?;
            text.clear();
        }
        Ok(())
    }
}

/// Appends the rows of `runs`; gives their number.
fn format(text: &mut Vec<u8>, runs: &[Run<'_>], timestamps: Timestamps) -> u64 {
    let buckets: usize = runs.iter().map(Run::len).sum();
    text.reserve(buckets * 48);
    let mut rows = 0;
    let (mut whole, mut real) = (itoa::Buffer::new(), zmij::Buffer::new());
    let mut prefix = Vec::new();
    for run in runs {
        prefix.clear();
        quoted(&mut prefix, run.series);
        prefix.extend_from_slice(
            format!(",{},{},", seconds(run.granularity), run.aggregate).as_bytes(),
        );
        for (start, value) in run.rows() {
            text.extend_from_slice(&prefix);
            match timestamps {
                Timestamps::Nanoseconds => text.extend_from_slice(whole.format(start).as_bytes()),
                Timestamps::Iso => write_iso(text, start),
            }
            text.push(b',');
            text.extend_from_slice(real.format(value).as_bytes());
            text.push(b'\n');
            rows += 1;
        }
    }
    rows
}

/// Appends a field, in quotes if it must be.
fn quoted(text: &mut Vec<u8>, field: &str) {
    let bytes = field.as_bytes();
    let special = |b: &u8| matches!(b, b',' | b';' | b'\t' | b'"' | b'\n' | b'\r');
    let blank = |b: Option<&u8>| b.is_some_and(u8::is_ascii_whitespace);
    if !bytes.iter().any(special) && !blank(bytes.first()) && !blank(bytes.last()) {
        text.extend_from_slice(bytes);
        return;
    }
    text.push(b'"');
    for byte in bytes {
        if *byte == b'"' {
            text.push(b'"');
        }
        text.push(*byte);
    }
    text.push(b'"');
}
