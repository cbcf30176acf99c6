//! Input files of points, the options for reading them, and `--start` and `--end`.

use crate::args::{AmbiguousArg, OnErrorArg, PointsArgs, TimeUnitArg};
use crate::failure::Failure;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};
use warpstride::series::Zone;
use warpstride::series::io::{
    Ambiguous, Block, Names, OnError, ReadOptions, Reader, Skipped, TimeFormat, TimeUnit, iso,
    moment_in,
};
use warpstride::system::Memory;

/// The path that stands for standard input.
const STANDARD: &str = "-";
/// Bytes that a reader may always use.
const MIN_BYTES: u64 = 4 << 20;

/// Input files of points, checked as far as possible without reading them.
#[derive(Debug)]
pub(super) struct Inputs {
    paths: Vec<PathBuf>,
    options: ReadOptions,
    time_range: TimeRange,
    /// Size of each file in bytes; 0 for standard input.
    bytes: Vec<u64>,
}

/// Names, counts and notes of the inputs after they were read to the end.
pub(super) struct PointsRead {
    pub(super) names: Names,
    /// Points, including those outside the limits.
    pub(super) points: u64,
    pub(super) skipped: Skipped,
    /// Assumptions about the inputs.
    pub(super) notes: Vec<String>,
    /// (series), whether a value is NaN or infinite; shorter if the last series have none.
    pub(super) not_finite: Vec<bool>,
}

impl Inputs {
    pub(super) fn from_args(args: &PointsArgs) -> Result<Self, Failure> {
        let mut seen = HashSet::with_capacity(args.inputs.len());
        for path in &args.inputs {
            // The same file must be found under any path; `-` is standard input, not a file of that
            // name.
            let real = match path == Path::new(STANDARD) {
                true => None,
                false => path.canonicalize().ok(),
            };
            if !seen.insert(real.unwrap_or_else(|| path.clone())) {
                return Err(Failure::usage(format!(
                    "{}: expected each input once, found it twice: all its points would be duplicates",
                    path.display()
                )));
            }
        }
        for (option, column) in [
            ("--time-column", &args.time_column),
            ("--date-column", &args.date_column),
            ("--value-column", &args.value_column),
            ("--series-column", &args.series_column),
        ]
        .into_iter()
        .flat_map(|(option, column)| column.iter().map(move |column| (option, column)))
        .chain(args.series_columns.iter().map(|c| ("--series-columns", c)))
        .chain(args.ignore_columns.iter().map(|c| ("--ignore-columns", c)))
        {
            check_column(option, column)?;
        }
        let unit = match args.time_unit {
            TimeUnitArg::Auto => TimeUnit::Auto,
            TimeUnitArg::S => TimeUnit::Seconds,
            TimeUnitArg::Ms => TimeUnit::Milliseconds,
            TimeUnitArg::Us => TimeUnit::Microseconds,
            TimeUnitArg::Ns => TimeUnit::Nanoseconds,
        };
        let time_format: TimeFormat = args
            .time_format
            .parse()
            .map_err(|why| Failure::usage(format!("--time-format: {why}")))?;
        let zone = zone(args.timezone.as_deref())?;
        let range_unit = match time_format {
            TimeFormat::Unix(unit) => unit,
            _ => unit,
        };
        let bytes = args
            .inputs
            .iter()
            .map(|path| std::fs::metadata(path).map_or(0, |found| found.len()));
        Ok(Self {
            time_range: TimeRange::new(args.start.clone(), args.end.clone(), range_unit, zone)?,
            bytes: bytes.collect(),
            paths: args.inputs.clone(),
            options: ReadOptions {
                time_column: args.time_column.clone(),
                date_column: args.date_column.clone(),
                value_column: args.value_column.clone(),
                series_column: args.series_column.clone(),
                series_columns: args.series_columns.clone(),
                ignored_columns: args.ignore_columns.clone(),
                wide: args.wide,
                decimal_comma: args.decimal_comma,
                missing_values: args.missing_values.clone(),
                time_unit: unit,
                time_format,
                zone,
                ambiguous: match args.ambiguous {
                    AmbiguousArg::Refuse => Ambiguous::Refuse,
                    AmbiguousArg::Earlier => Ambiguous::Earlier,
                    AmbiguousArg::Later => Ambiguous::Later,
                },
                scrape_time: scrape_time(args.scrape_time.as_deref(), zone)?,
                on_error: match args.on_error {
                    OnErrorArg::Fail => OnError::Fail,
                    OnErrorArg::Skip => OnError::Skip,
                },
                longest_name: None,
            },
        })
    }

    /// The zone of local times.
    pub(super) fn zone(&self) -> Option<Zone> {
        self.options.zone
    }

    /// Rejects rows whose series name is longer than `bytes`.
    pub(super) fn with_names_up_to(mut self, bytes: usize) -> Self {
        self.options.longest_name = Some(bytes);
        self
    }

    /// Nanoseconds since 1970 of `--start` and `--end`. May have to read the beginning of the first
    /// input for its unit.
    pub(super) fn limits(&self, reader: &mut Reader) -> Result<Limits, Failure> {
        let TimeRange {
            start,
            end,
            unit,
            zone,
        } = &self.time_range;
        let unit = match self.time_range.has_numbers() {
            true => reader.unit()?,
            false => *unit,
        };
        limits(start.as_deref(), end.as_deref(), Some(unit), *zone)
    }

    /// The inputs that are files.
    pub(super) fn paths(&self) -> Vec<&Path> {
        let all = self.paths.iter().map(PathBuf::as_path);
        all.filter(|path| *path != Path::new(STANDARD)).collect()
    }

    /// A name of the inputs for messages.
    pub(super) fn description(&self) -> String {
        match &self.paths[..] {
            [one] if one == Path::new(STANDARD) => "standard input".to_owned(),
            [one] => one.display().to_string(),
            all => format!("{} files", all.len()),
        }
    }

    /// All paths as given on the command line.
    pub(super) fn names(&self) -> Vec<String> {
        self.paths
            .iter()
            .map(|path| path.display().to_string())
            .collect()
    }

    /// Bytes of all files.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes.iter().sum()
    }

    /// Size of all files in MiB, rounded up; at least 1.
    pub(super) fn mebibytes(&self) -> usize {
        (self.bytes().div_ceil(1 << 20) as usize).max(1)
    }

    /// Checks that the inputs exist, and opens a reader.
    pub(super) fn open(&self, memory: u64) -> Result<Reader, Failure> {
        Ok(Reader::open(
            &self.paths,
            &self.options,
            Memory::limited(memory.max(MIN_BYTES)),
        )?)
    }
}

/// The zone of `--timezone`.
pub(super) fn zone(name: Option<&str>) -> Result<Option<Zone>, Failure> {
    let zone = name.map(|name| {
        Zone::named(name).map_err(|why| Failure::usage(format!("--timezone {name}: {why}")))
    });
    zone.transpose()
}

/// Nanoseconds since 1970 of `--scrape-time`.
fn scrape_time(text: Option<&str>, zone: Option<Zone>) -> Result<Option<i64>, Failure> {
    let Some(text) = text else { return Ok(None) };
    let time = if text == "now" {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).ok();
        now.and_then(|now| i64::try_from(now.as_nanos()).ok())
            .ok_or_else(|| "expected a clock from 1970 to 2262, found another time".to_owned())
    } else {
        moment_in(text, TimeUnit::Auto, zone)
    };
    time.map(Some)
        .map_err(|why| Failure::usage(format!("--scrape-time {text}: {why}")))
}

fn check_column(option: &str, name: &str) -> Result<(), Failure> {
    if name.trim().is_empty() {
        return Err(Failure::usage(format!(
            "{option}: expected the name of a column, or its number from 1 if the file has no header, found an empty one"
        )));
    }
    Ok(())
}

impl PointsRead {
    /// Reads all blocks and passes each of them, empty ones included, to `take`, with the number of
    /// MiB read before it.
    pub(super) fn all(
        mut reader: Reader,
        take: &mut dyn FnMut(Block, usize) -> Result<(), Failure>,
    ) -> Result<Self, Failure> {
        let mut points = 0;
        let mut not_finite = Vec::new();
        while let Some(block) = reader.step() {
            let block = block?;
            points += block.len() as u64;
            mark_not_finite(&block, &mut not_finite);
            take(block, (reader.position() >> 20) as usize)?;
        }
        Ok(Self {
            points,
            skipped: reader.skipped().clone(),
            notes: reader.notes(),
            names: reader.into_names(),
            not_finite,
        })
    }
}

/// Marks the series of a block with values that are NaN or infinite.
fn mark_not_finite(block: &Block, marks: &mut Vec<bool>) {
    if block.values.iter().all(|value| value.is_finite()) {
        return;
    }
    for (series, value) in block.series.iter().zip(&block.values) {
        let series = *series as usize;
        if !value.is_finite() {
            if marks.len() <= series {
                marks.resize(series + 1, false);
            }
            marks[series] = true;
        }
    }
}

/// The arguments of `--start` and `--end`. Numbers are in the unit of the inputs.
#[derive(Debug)]
struct TimeRange {
    start: Option<String>,
    end: Option<String>,
    /// `--time-unit`.
    unit: TimeUnit,
    /// `--timezone`.
    zone: Option<Zone>,
}

impl TimeRange {
    /// Checks everything that does not depend on the inputs.
    fn new(
        start: Option<String>,
        end: Option<String>,
        unit: TimeUnit,
        zone: Option<Zone>,
    ) -> Result<Self, Failure> {
        let time_range = Self {
            start,
            end,
            unit,
            zone,
        };
        let (start, end) = (time_range.start.as_deref(), time_range.end.as_deref());
        if unit != TimeUnit::Auto || !time_range.has_numbers() {
            limits(start, end, Some(unit), zone)?;
        }
        Ok(time_range)
    }

    fn has_numbers(&self) -> bool {
        let is_number = |text: &String| text.trim().parse::<f64>().is_ok();
        [&self.start, &self.end]
            .into_iter()
            .flatten()
            .any(is_number)
    }
}

/// Start (inclusive) and end (exclusive), nanoseconds since 1970.
pub(super) type Limits = (Option<i64>, Option<i64>);

/// Parses `--start` and `--end` to nanoseconds since 1970; `unit` is `None` for a command without
/// `--time-unit`.
pub(super) fn limits(
    start: Option<&str>,
    end: Option<&str>,
    unit: Option<TimeUnit>,
    zone: Option<Zone>,
) -> Result<Limits, Failure> {
    let has_option = unit.is_some();
    let unit = unit.unwrap_or(TimeUnit::Auto);
    let read = |option: &str, text: Option<&str>| {
        let Some(text) = text else { return Ok(None) };
        if unit == TimeUnit::Auto && is_year(text) && has_option {
            return Err(Failure::usage(format!(
                "{option} {text}: expected {text}-01-01 for the year, or --time-unit for a number of units since 1970, found a number that may be either"
            )));
        }
        moment_in(text, unit, zone).map(Some).map_err(|why| {
            let why = match has_option || text.trim().parse::<f64>().is_err() {
                true => why,
                false => {
                    "expected a time in ISO 8601 such as 2014-02-14, found a number that is no likely time"
                        .to_owned()
                }
            };
            Failure::usage(format!("{option} {text}: {why}"))
        })
    };
    let (from, to) = (read("--start", start)?, read("--end", end)?);
    if let (Some(a), Some(b), Some(start), Some(end)) = (from, to, start, end)
        && a >= b
    {
        return Err(Failure::usage(format!(
            "--start {start} ({}): expected a time before --end {end} ({})",
            iso(a),
            iso(b)
        )));
    }
    Ok((from, to))
}

/// Whether a number without a unit looks like a year.
fn is_year(text: &str) -> bool {
    text.len() == 4 && matches!(text.parse::<u32>(), Ok(1970..=2262))
}
