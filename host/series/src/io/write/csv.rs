//! Writes results as CSV, formatted in parallel.

use super::run::{Run, Timestamps, seconds};
use crate::io::LabelColumns;
use crate::io::timestamp::{write_iso, write_iso_in};
use rayon::prelude::*;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use warpstride_core::system::atomic_file::{Partial, refusal};
use warpstride_files::IoError;

/// Number of buckets that one thread formats at once.
const PART: usize = 1 << 14;
/// Number of parts that are formatted while the preceding ones are written.
const PARTS: usize = 8;

pub(super) struct CsvRows {
    to: Target,
    timestamps: Timestamps,
    /// Columns in place of `series`.
    labels: Option<LabelColumns>,
    /// (part), formatted but not yet written.
    ready: Vec<Vec<u8>>,
    /// (part), memory for the next parts.
    spare: Vec<Vec<u8>>,
}

enum Target {
    File(Partial, File),
    /// Whether the reader is still there.
    Standard(bool),
}

impl CsvRows {
    pub(super) fn create(
        path: &Path,
        timestamps: Timestamps,
        labels: Option<LabelColumns>,
    ) -> Result<Self, IoError> {
        let partial = Partial::begin(path)?;
        let file = partial.file()?;
        Self::begin(Target::File(partial, file), timestamps, labels)
    }

    pub(super) fn to_standard_output(
        timestamps: Timestamps,
        labels: Option<LabelColumns>,
    ) -> Result<Self, IoError> {
        Self::begin(Target::Standard(true), timestamps, labels)
    }

    fn begin(
        to: Target,
        timestamps: Timestamps,
        labels: Option<LabelColumns>,
    ) -> Result<Self, IoError> {
        let texts = || vec![Vec::new(); PARTS];
        let mut rows = Self {
            to,
            timestamps,
            labels,
            ready: texts(),
            spare: texts(),
        };
        let column = match timestamps {
            Timestamps::Nanoseconds => "timestamp_ns",
            Timestamps::Iso | Timestamps::Local(_) => "timestamp",
        };
        let mut head = Vec::new();
        match &rows.labels {
            None => head.extend_from_slice(b"series,"),
            Some(labels) => fields(&mut head, labels.heads()),
        }
        head.extend_from_slice(format!("granularity_s,aggregate,{column},value\n").as_bytes());
        rows.to.write(&head)?;
        Ok(rows)
    }

    /// Appends `runs`. Returns the number of rows.
    pub(super) fn append<'r>(
        &mut self,
        runs: impl Iterator<Item = Run<'r>>,
    ) -> Result<u64, IoError> {
        let mut rows = 0;
        // Many short runs share a part; a long run is split into several.
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

    /// Formats at most [`PARTS`] parts, and writes the parts that were ready before. Returns the
    /// number of rows.
    fn format(&mut self, parts: &[Vec<Run<'_>>]) -> Result<u64, IoError> {
        let Self {
            to,
            timestamps,
            labels,
            ready,
            spare,
        } = self;
        let (written, rows) = rayon::join(
            || to.take(ready),
            || {
                let texts = spare.par_iter_mut().zip(parts);
                texts
                    .map(|(text, runs)| format(text, runs, *timestamps, labels.as_ref()))
                    .sum()
            },
        );
        std::mem::swap(ready, spare);
        written.map(|()| rows)
    }

    pub(super) fn finish(self) -> Result<(), IoError> {
        match self.to {
            Target::File(partial, file) => {
                drop(file);
                Ok(partial.finish()?)
            }
            Target::Standard(false) => Ok(()),
            Target::Standard(true) => match io::stdout().lock().flush() {
                Err(e) if e.kind() != io::ErrorKind::BrokenPipe => {
                    Err(refusal(Path::new("standard output"), &e))
                }
                _ => Ok(()),
            },
        }
    }
}

impl Target {
    fn write(&mut self, bytes: &[u8]) -> Result<(), IoError> {
        match self {
            Self::File(partial, file) => file
                .write_all(bytes)
                .map_err(|e| refusal(partial.path(), &e)),
            Self::Standard(has_reader) => {
                let written = match has_reader {
                    true => io::stdout().lock().write_all(bytes),
                    false => Ok(()),
                };
                match written {
                    Err(e) if e.kind() == io::ErrorKind::BrokenPipe => *has_reader = false,
                    Err(e) => return Err(refusal(Path::new("standard output"), &e)),
                    Ok(()) => {}
                }
                Ok(())
            }
        }
    }

    /// Writes texts and clears them.
    fn take(&mut self, texts: &mut [Vec<u8>]) -> Result<(), IoError> {
        for text in texts {
            self.write(text)?;
            text.clear();
        }
        Ok(())
    }
}

/// Appends the rows of `runs`. Returns their number.
fn format(
    text: &mut Vec<u8>,
    runs: &[Run<'_>],
    timestamps: Timestamps,
    labels: Option<&LabelColumns>,
) -> u64 {
    let buckets: usize = runs.iter().map(Run::len).sum();
    text.reserve(buckets * 48);
    let mut rows = 0;
    let (mut whole, mut real) = (itoa::Buffer::new(), zmij::Buffer::new());
    let mut prefix = Vec::new();
    for run in runs {
        prefix.clear();
        match labels {
            None => {
                quoted(&mut prefix, run.series);
                prefix.push(b',');
            }
            Some(labels) => fields(&mut prefix, &labels.cells(run.series)),
        }
        prefix.extend_from_slice(
            format!("{},{},", seconds(run.granularity), run.aggregate).as_bytes(),
        );
        for (start, value) in run.rows() {
            text.extend_from_slice(&prefix);
            match timestamps {
                Timestamps::Nanoseconds => text.extend_from_slice(whole.format(start).as_bytes()),
                Timestamps::Iso => write_iso(text, start),
                Timestamps::Local(zone) => write_iso_in(text, start, zone),
            }
            text.push(b',');
            text.extend_from_slice(real.format(value).as_bytes());
            text.push(b'\n');
            rows += 1;
        }
    }
    rows
}

/// Appends fields, each followed by a comma.
fn fields(text: &mut Vec<u8>, fields: &[String]) {
    for field in fields {
        quoted(text, field);
        text.push(b',');
    }
}

/// Appends a field, quoted if necessary.
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
