//! Results as CSV, formatted in parallel.

use super::{Run, Timestamps, seconds};
use crate::io::IoError;
use crate::io::atomic::{Partial, refusal};
use crate::io::series::timestamp::write_iso;
use rayon::prelude::*;
use std::fs::File;
use std::io::Write;
use std::path::Path;

/// Buckets that one thread formats at once.
const PART: usize = 1 << 14;
/// Parts that are formatted before they are written.
const PARTS: usize = 64;

pub(super) struct CsvRows {
    partial: Partial,
    file: File,
    timestamps: Timestamps,
}

impl CsvRows {
    pub(super) fn create(path: &Path, timestamps: Timestamps) -> Result<Self, IoError> {
        let partial = Partial::begin(path)?;
        let mut rows = Self {
            file: partial.file()?,
            partial,
            timestamps,
        };
        let column = match timestamps {
            Timestamps::Nanoseconds => "timestamp_ns",
            Timestamps::Iso => "timestamp",
        };
        rows.write(format!("series,granularity_s,aggregate,{column},value\n").as_bytes())?;
        Ok(rows)
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), IoError> {
        self.file
            .write_all(bytes)
            .map_err(|e| refusal(self.partial.path(), &e))
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
        Ok(rows + self.format(&parts)?)
    }

    fn format(&mut self, parts: &[Vec<Run<'_>>]) -> Result<u64, IoError> {
        let timestamps = self.timestamps;
        let texts: Vec<(Vec<u8>, u64)> = parts
            .par_iter()
            .map(|runs| format(runs, timestamps))
            .collect();
        let mut rows = 0;
        for (text, count) in texts {
            self.write(&text)?;
            rows += count;
        }
        Ok(rows)
    }

    pub(super) fn finish(self) -> Result<(), IoError> {
        drop(self.file);
        self.partial.finish()
    }
}

/// The rows of `runs`, and their number.
fn format(runs: &[Run<'_>], timestamps: Timestamps) -> (Vec<u8>, u64) {
    let buckets: usize = runs.iter().map(Run::len).sum();
    let mut text = Vec::with_capacity(buckets * 48);
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
                Timestamps::Iso => write_iso(&mut text, start),
            }
            text.push(b',');
            text.extend_from_slice(real.format(value).as_bytes());
            text.push(b'\n');
            rows += 1;
        }
    }
    (text, rows)
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
