//! The options of `warpstride series`.

use super::{BackendArgs, KernelBackendArgs};
#[cfg(feature = "store")]
use super::{IngestArgs, SeriesInfoArgs, SeriesQueryArgs};
use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;

/// The subcommands of `warpstride series`.
#[derive(Debug, Subcommand)]
#[command(after_help = "\
Examples:
  warpstride series resample cpu.csv -o minutes.csv
  warpstride series resample *.csv.gz -o out.parquet --granularity 5m,1h,1d \\
      --aggregate all
  warpstride series ingest metrics.store cpu.csv --policy medium
  warpstride series query metrics.store --series cpu --granularity 1h \\
      --aggregate mean
  warpstride series ladder")]
pub(crate) enum SeriesCommand {
    /// Aggregate points by time buckets: any number of series, granularities and statistics in one
    /// pass
    #[command(after_help = "\
Examples:
  warpstride series resample cpu.csv -o minutes.csv
  warpstride series resample *.csv.gz -o out.parquet --granularity 1h,W,M \\
      --aggregate all
  warpstride series resample net.csv -o rates.csv \\
      --aggregate rate:mean,rate:max -g 5m
  warpstride series resample hosts.csv -o - --series-columns host,region \\
      --label-columns
  warpstride series resample sensors.csv -o out.csv --wide -g 1h
  warpstride series resample meter.csv -o days.csv -g 1d --timestamps iso \\
      --timezone Europe/Zurich --time-format '%d.%m.%Y %H:%M'
  warpstride series resample cpu.csv -o d.csv --start 2014-01-01 \\
      --end 2014-01-02 --plot d.png

A bucket is a multiple of the granularity since 1970 (UTC), or a calendar week from Sunday (W),
month (M), quarter (Q), half-year (H) or year (Y); only buckets with points are written. With
--timezone, days and calendar periods begin at local midnight. Points may come in any order; if
several points of a series share a timestamp, all of them count, in the order of the input, unless
--duplicates says otherwise. rate: aggregates the differences of consecutive values. Inputs larger than memory are processed in parts, with
bit-identical results.")]
    Resample(Box<ResampleArgs>),
    /// Aggregate the same points with every kernel version, from the first to the current, and time
    /// them
    #[command(after_help = "\
Examples:
  warpstride series ladder
  warpstride series ladder --backend emulator
  warpstride series ladder --json
  warpstride series ladder -o ladder.json")]
    Ladder(SeriesLadderArgs),
    /// Add points to a store, which keeps aggregates of every series for as long as its policy says
    #[cfg(feature = "store")]
    #[command(after_help = "\
Examples:
  warpstride series ingest metrics.store monday.csv tuesday.csv.gz \\
      --policy medium
  warpstride series ingest metrics.store wednesday.parquet
  warpstride series ingest metrics.store hosts.csv --series-columns host,region
  curl -s localhost:9100/metrics | warpstride series ingest metrics.store - \\
      --scrape-time now
  warpstride series ingest net.store net.csv --policy counters.toml \\
      --json-progress

A policy has archives (bucket length, timespan), aggregates and a back window: low keeps 5m for 30d,
medium 1m for 7d and 1h for 365d, high also 1s for 1h. Points may be late by up to the back window
(low, medium, high: one hour and the current bucket); older points are refused and counted. If
several points of a series share a timestamp, the newest batch wins, and the first within a batch.
Points later than this computer's clock by more than --max-future are refused and counted, too.
A batch is reported once it is completely on disk; after a kill, run the same command to continue.")]
    Ingest(Box<IngestArgs>),
    #[cfg(feature = "store")]
    /// Read the buckets of a series from a store
    #[command(
        override_usage = "warpstride series query [OPTIONS] <STORE> \\\n    --series <NAME> --granularity <LENGTH> --aggregate <NAME>",
        after_help = "\
Examples:
  warpstride series query metrics.store --series cpu --granularity 1h \\
      --aggregate mean
  warpstride series query metrics.store -s cpu -g 1m -a 95pct \\
      --start 2014-02-14 -o from.csv
  warpstride series query metrics.store -s cpu -g 1h -a max --json"
    )]
    Query(Box<SeriesQueryArgs>),
    /// Show the policy, series, points, last point and refused points of a store
    #[cfg(feature = "store")]
    #[command(after_help = "\
Examples:
  warpstride series info metrics.store
  warpstride series info metrics.store --timezone Europe/Zurich
  warpstride series info metrics.store --json")]
    Info(SeriesInfoArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ResampleArgs {
    #[command(flatten)]
    pub(crate) points: PointsArgs,

    /// Bucket lengths, separated by commas: 250ms, 60s, 5m, 1h, 1d, W, M, Q, H, Y
    #[arg(
        short,
        long,
        value_name = "LENGTH,…",
        default_value = "60s",
        allow_hyphen_values = true,
        help_heading = "What to compute"
    )]
    pub(crate) granularity: Vec<String>,
    /// Aggregates, separated by commas: count, sum, mean, min, max, first, last, nunique, std,
    /// median, 95pct, each also with the prefix rate:; or all
    #[arg(
        short,
        long,
        value_name = "NAME,…",
        default_value = "mean",
        allow_hyphen_values = true,
        help_heading = "What to compute"
    )]
    pub(crate) aggregate: Vec<String>,
    /// NaN values: aggregate them too, or leave their points out
    #[arg(long, value_enum, default_value_t = NanArg::Keep, help_heading = "What to compute")]
    pub(crate) nan: NanArg,

    /// Points of one series at the same time: keep them all, use the first or the last in the
    /// input, or fail
    #[arg(long, value_enum, default_value_t = DuplicatesArg::Keep, help_heading = "What to compute")]
    pub(crate) duplicates: DuplicatesArg,

    #[command(flatten)]
    pub(crate) backend: BackendArgs,
    /// Memory for points, engine and results: 500M, 8G; the rest goes to temporary files next to
    /// the output. The program and fixed buffers add 20 to 50 MB [default: half of the free memory]
    #[arg(
        long,
        value_name = "SIZE",
        allow_hyphen_values = true,
        help_heading = "Where to compute"
    )]
    pub(crate) memory: Option<String>,

    /// The aggregates (series,granularity_s,aggregate,timestamp_ns,value) as CSV or Parquet, by
    /// file extension; - is CSV on standard output
    #[arg(
        short,
        long,
        value_name = "OUT.csv|OUT.parquet",
        required = true,
        help_heading = "What to write"
    )]
    pub(crate) output: PathBuf,
    /// Timestamps in the output: nanoseconds since 1970, or ISO 8601, with the offset of --timezone
    #[arg(long, value_enum, default_value_t = TimestampsArg::Ns, help_heading = "What to write")]
    pub(crate) timestamps: TimestampsArg,
    /// Write each label of the series as a column of its own in place of series: host,region,…
    #[arg(long, help_heading = "What to write")]
    pub(crate) label_columns: bool,
    /// Write counts, back end and the seconds of each stage as JSON
    #[arg(long, value_name = "S.json", help_heading = "What to write")]
    pub(crate) summary: Option<PathBuf>,
    /// Plot the first aggregate at the first granularity for up to eight series
    #[arg(long, value_name = "F.png", help_heading = "What to write")]
    pub(crate) plot: Option<PathBuf>,
    /// Print progress as JSON lines on standard output, and no other text there
    #[arg(long, help_heading = "What to write", conflicts_with = "quiet")]
    pub(crate) json_progress: bool,
    /// Print errors only
    #[arg(long, help_heading = "What to write")]
    pub(crate) quiet: bool,
}

/// The inputs of every command that reads points.
#[derive(Debug, Args)]
pub(crate) struct PointsArgs {
    /// Points: CSV (also .gz, .zst), Prometheus' text format (.prom) or remote read (.snappy, .pb),
    /// Parquet or Arrow; series,timestamp,value or timestamp,value
    #[arg(value_name = "INPUT", required = true)]
    pub(crate) inputs: Vec<PathBuf>,

    /// Name of the timestamp column [default: by name, else by position]
    #[arg(long, value_name = "NAME", help_heading = "What to read")]
    pub(crate) time_column: Option<String>,
    /// Name of the column of dates, where the timestamp column has times of day only (CSV); without
    /// --time-column, the first other column of times of day is used
    #[arg(long, value_name = "NAME", help_heading = "What to read")]
    pub(crate) date_column: Option<String>,
    /// Name of the value column
    #[arg(long, value_name = "NAME", help_heading = "What to read")]
    pub(crate) value_column: Option<String>,
    /// Name of the column that holds the series names
    #[arg(long, value_name = "NAME", help_heading = "What to read")]
    pub(crate) series_column: Option<String>,
    /// Names of label columns, separated by commas: every combination of their values is a series,
    /// named host=a,region=eu
    #[arg(
        long,
        value_name = "NAME,…",
        value_delimiter = ',',
        conflicts_with = "series_column",
        help_heading = "What to read"
    )]
    pub(crate) series_columns: Vec<String>,
    /// Each column but the timestamps is a series, named after the column: one row per time. Empty
    /// cells are no points
    #[arg(
        long,
        conflicts_with_all = ["value_column", "series_column", "series_columns"],
        help_heading = "What to read"
    )]
    pub(crate) wide: bool,
    /// Names of text columns that do not tell series apart, separated by commas; any other text
    /// column without an option is an error
    #[arg(
        long,
        value_name = "NAME,…",
        value_delimiter = ',',
        help_heading = "What to read"
    )]
    pub(crate) ignore_columns: Vec<String>,
    /// Decimals of values follow a comma, as in 21,5 (CSV)
    #[arg(long, help_heading = "What to read")]
    pub(crate) decimal_comma: bool,
    /// Values that stand for missing ones, such as -9999, separated by commas: rows or cells with
    /// them are no points
    #[arg(
        long,
        value_name = "NUMBER,…",
        value_delimiter = ',',
        allow_hyphen_values = true,
        value_parser = missing_value,
        help_heading = "What to read"
    )]
    pub(crate) missing_values: Vec<f64>,
    /// Unit of numeric timestamps; auto infers it from their magnitude
    #[arg(long, value_enum, default_value_t = TimeUnitArg::Auto, help_heading = "What to read")]
    pub(crate) time_unit: TimeUnitArg,
    /// Format of timestamps: auto, iso, rfc3339, unix, unix-ms, unix-us, unix-ns, or a pattern such
    /// as '%d.%m.%Y %H:%M:%S' (strftime; %f and %.f are fractions, %z is the offset)
    #[arg(
        long,
        value_name = "FORMAT",
        default_value = "auto",
        hide_default_value = true,
        conflicts_with = "time_unit",
        help_heading = "What to read"
    )]
    pub(crate) time_format: String,
    /// IANA time zone, such as Europe/Zurich, of times without an offset [default: UTC]
    #[arg(long, value_name = "ZONE", help_heading = "What to read")]
    pub(crate) timezone: Option<String>,
    /// Local times that clocks show twice when they are set back: bad rows, or the earlier or later
    /// time
    #[arg(
        long,
        value_enum,
        default_value_t = AmbiguousArg::Refuse,
        requires = "timezone",
        help_heading = "What to read"
    )]
    pub(crate) ambiguous: AmbiguousArg,
    /// Time of samples without one in Prometheus' text format: ISO 8601, a number, or now
    #[arg(
        long,
        value_name = "TIME|now",
        allow_hyphen_values = true,
        help_heading = "What to read"
    )]
    pub(crate) scrape_time: Option<String>,
    /// Leave out points before this time: ISO 8601 (UTC, or in --timezone), or a number in the unit
    /// of --time-unit or of the first input
    #[arg(
        long,
        value_name = "TIME",
        allow_hyphen_values = true,
        help_heading = "What to read"
    )]
    pub(crate) start: Option<String>,
    /// Leave out points at or after this time
    #[arg(
        long,
        value_name = "TIME",
        allow_hyphen_values = true,
        help_heading = "What to read"
    )]
    pub(crate) end: Option<String>,
    /// Rows that cannot be read: fail with the line number, or skip and count them
    #[arg(long, value_enum, default_value_t = OnErrorArg::Fail, help_heading = "What to read")]
    pub(crate) on_error: OnErrorArg,
}

/// A number that stands for a missing value.
fn missing_value(text: &str) -> Result<f64, String> {
    let number = text
        .trim()
        .parse()
        .ok()
        .filter(|number: &f64| number.is_finite());
    number.ok_or_else(|| "a number such as -9999 (empty cells, NA and null are no values without this option; --nan skip leaves out NaN)".to_owned())
}

#[derive(Debug, Args)]
pub(crate) struct SeriesLadderArgs {
    #[command(flatten)]
    pub(crate) backend: KernelBackendArgs,
    /// Write the measurements as JSON
    #[arg(short, long, value_name = "OUT.json")]
    pub(crate) output: Option<PathBuf>,
    /// Print JSON instead of the table
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum NanArg {
    /// NaN counts as a value, greater than all others
    Keep,
    /// Points with NaN are left out before anything else
    Skip,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DuplicatesArg {
    /// All of them are points: events, and series that are aggregated together
    Keep,
    /// The first in the input is used
    First,
    /// The last in the input is used
    Last,
    /// They are an error
    Error,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnErrorArg {
    /// Fail at the first malformed row
    Fail,
    /// Skip and count malformed rows, and show the first
    Skip,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TimeUnitArg {
    /// Infer the unit from the magnitude
    Auto,
    /// Seconds since 1970
    S,
    /// Milliseconds
    Ms,
    /// Microseconds
    Us,
    /// Nanoseconds
    Ns,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum AmbiguousArg {
    /// They are malformed rows
    Refuse,
    /// The earlier of the two times
    Earlier,
    /// The later of the two times
    Later,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TimestampsArg {
    /// Nanoseconds since 1970
    Ns,
    /// 2014-01-01T12:00:00Z
    Iso,
}
