//! What is read, and how.

use crate::cli::args::{OnErrorWord, PointsTyped, TimeUnitWord};
use crate::cli::failure::Failure;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use warpstride::io::Memory;
use warpstride::io::series::{
    Block, Names, OnError, ReadOptions, Reader, Skipped, TimeUnit, iso, moment,
};

/// Standard input.
const STANDARD: &str = "-";
/// Bytes that a reader is never denied.
const LEAST: u64 = 4 << 20;

/// Files of points, checked as far as that is possible without reading them.
#[derive(Debug)]
pub(super) struct Inputs {
    paths: Vec<PathBuf>,
    options: ReadOptions,
    stretch: Stretch,
    /// Bytes of each; 0 of standard input.
    bytes: Vec<u64>,
}

/// What was read.
pub(super) struct Read {
    pub(super) names: Names,
    /// Points, those outside of the limits among them.
    pub(super) points: u64,
    pub(super) skipped: Skipped,
    /// What was assumed.
    pub(super) notes: Vec<String>,
}

impl Inputs {
    pub(super) fn from_typed(typed: &PointsTyped) -> Result<Self, Failure> {
        let mut seen = HashSet::with_capacity(typed.inputs.len());
        for path in &typed.inputs {
            // By whatever name; standard input is no file of that name.
            let real = match path == Path::new(STANDARD) {
                true => None,
                false => path.canonicalize().ok(),
            };
            if !seen.insert(real.unwrap_or_else(|| path.clone())) {
                return Err(Failure::usage(format!(
                    "{}: is named twice: its points would be duplicates of each other",
                    path.display()
                )));
            }
        }
        for (option, column) in [
            ("--time-column", &typed.time_column),
            ("--value-column", &typed.value_column),
            ("--series-column", &typed.series_column),
        ] {
            if column.as_deref().is_some_and(|name| name.trim().is_empty()) {
                return Err(Failure::usage(format!(
                    "{option}: the name of a column is expected, or its number from 1 where the file has no header"
                )));
            }
        }
        let unit = match typed.time_unit {
            TimeUnitWord::Auto => TimeUnit::Auto,
            TimeUnitWord::S => TimeUnit::Seconds,
            TimeUnitWord::Ms => TimeUnit::Milliseconds,
            TimeUnitWord::Us => TimeUnit::Microseconds,
            TimeUnitWord::Ns => TimeUnit::Nanoseconds,
        };
        let bytes = typed
            .inputs
            .iter()
            .map(|path| std::fs::metadata(path).map_or(0, |found| found.len()));
        Ok(Self {
            stretch: Stretch::new(typed.start.clone(), typed.end.clone(), unit)?,
            bytes: bytes.collect(),
            paths: typed.inputs.clone(),
            options: ReadOptions {
                time_column: typed.time_column.clone(),
                value_column: typed.value_column.clone(),
                series_column: typed.series_column.clone(),
                time_unit: unit,
                on_error: match typed.on_error {
                    OnErrorWord::Fail => OnError::Fail,
                    OnErrorWord::Skip => OnError::Skip,
                },
                longest_name: None,
            },
        })
    }

    /// Refuses rows whose series has a name of more bytes.
    pub(super) fn with_names_up_to(mut self, bytes: usize) -> Self {
        self.options.longest_name = Some(bytes);
        self
    }

    /// Nanoseconds since 1970 of `--start` and `--end`, for which the first input may have to be looked at.
    pub(super) fn limits(&self, reader: &mut Reader) -> Result<Limits, Failure> {
        let Stretch { start, end, unit } = &self.stretch;
        let unit = match self.stretch.has_numbers() {
            true => reader.unit()?,
            false => *unit,
        };
        limits(start.as_deref(), end.as_deref(), unit)
    }

    /// Those that are files.
    pub(super) fn paths(&self) -> Vec<&Path> {
        let all = self.paths.iter().map(PathBuf::as_path);
        all.filter(|path| *path != Path::new(STANDARD)).collect()
    }

    /// For sentences.
    pub(super) fn words(&self) -> String {
        match &self.paths[..] {
            [one] if one == Path::new(STANDARD) => "standard input".to_owned(),
            [one] => one.display().to_string(),
            all => format!("{} files", all.len()),
        }
    }

    /// All names as they were typed.
    pub(super) fn names(&self) -> Vec<String> {
        self.paths
            .iter()
            .map(|path| path.display().to_string())
            .collect()
    }

    /// Of all files.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes.iter().sum()
    }

    /// The same in MiB, rounded up; at least 1.
    pub(super) fn mebibytes(&self) -> usize {
        (self.bytes().div_ceil(1 << 20) as usize).max(1)
    }

    /// Looks whether they are there.
    pub(super) fn open(&self, memory: u64) -> Result<Reader, Failure> {
        Ok(Reader::open(
            &self.paths,
            &self.options,
            Memory::limited(memory.max(LEAST)),
        )?)
    }
}

impl Read {
    /// Reads to the end, and hands blocks, empty ones too, and the MiB that were read before to `take`.
    pub(super) fn all(
        mut reader: Reader,
        take: &mut dyn FnMut(Block, usize) -> Result<(), Failure>,
    ) -> Result<Self, Failure> {
        let mut points = 0;
        while let Some(block) = reader.step() {
            let block = block?;
            points += block.len() as u64;
            take(block, (reader.position() >> 20) as usize)?;
        }
        Ok(Self {
            points,
            skipped: reader.skipped().clone(),
            notes: reader.notes(),
            names: reader.into_names(),
        })
    }
}

/// `--start` and `--end`; their numbers are in the unit of the inputs.
#[derive(Debug)]
struct Stretch {
    start: Option<String>,
    end: Option<String>,
    /// `--time-unit`.
    unit: TimeUnit,
}

impl Stretch {
    /// Checks what does not depend on the inputs.
    fn new(start: Option<String>, end: Option<String>, unit: TimeUnit) -> Result<Self, Failure> {
        let stretch = Self { start, end, unit };
        let (start, end) = (stretch.start.as_deref(), stretch.end.as_deref());
        if unit != TimeUnit::Auto || !stretch.has_numbers() {
            limits(start, end, unit)?;
        }
        Ok(stretch)
    }

    fn has_numbers(&self) -> bool {
        let is_number = |text: &String| text.trim().parse::<f64>().is_ok();
        [&self.start, &self.end]
            .into_iter()
            .flatten()
            .any(is_number)
    }
}

/// Nanoseconds since 1970: from here on, and up to there.
pub(super) type Limits = (Option<i64>, Option<i64>);

/// Nanoseconds since 1970 of `--start` and `--end`.
pub(super) fn limits(
    start: Option<&str>,
    end: Option<&str>,
    unit: TimeUnit,
) -> Result<Limits, Failure> {
    let read = |option: &str, text: Option<&str>| {
        let Some(text) = text else { return Ok(None) };
        if unit == TimeUnit::Auto && is_year(text) {
            return Err(Failure::usage(format!(
                "{option} {text}: a year or seconds since 1970? {text}-01-01 or {text}.0 is expected"
            )));
        }
        moment(text, unit)
            .map(Some)
            .map_err(|why| Failure::usage(format!("{option} {text}: {why}")))
    };
    let (from, to) = (read("--start", start)?, read("--end", end)?);
    if let (Some(a), Some(b), Some(start), Some(end)) = (from, to, start, end)
        && a >= b
    {
        return Err(Failure::usage(format!(
            "--start {start} ({}) is not before --end {end} ({}): nothing could lie between them",
            iso(a),
            iso(b)
        )));
    }
    Ok((from, to))
}

/// Whether a number without unit is rather a year.
fn is_year(text: &str) -> bool {
    text.len() == 4 && matches!(text.parse::<u32>(), Ok(1970..=2262))
}
