//! The options of `warpstride series`.

use super::{IngestTyped, KernelMachineTyped, MachineTyped, SeriesInfoTyped, SeriesQueryTyped};
use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum SeriesCommand {
    /// Aggregate points by time buckets: any number of series, granularities and statistics in one pass
    #[command(after_help = "\
Examples:
  warpstride series resample cpu.csv -o minutes.csv
  warpstride series resample cpu.csv -o out.csv --granularity 60s,5m,1h --aggregate mean,95pct
  warpstride series resample *.csv.gz -o out.parquet --granularity 1h,W,M --aggregate all
  warpstride series resample net.csv -o rates.csv --aggregate rate:mean,rate:max -g 5m
  warpstride series resample log.csv -o - --time-column when --value-column load
  warpstride series resample cpu.csv -o d.csv --start 2014-01-01 --end 2014-01-02 --plot d.png

A bucket is a multiple of the granularity from 1970 on (UTC), or a week from Sunday (W), month
(M), quarter (Q), half year (H) or year (Y); only buckets with points are written. Points may
come in any order; of several at one time of a series the first of the input counts. rate: takes
the differences of neighbours first. Inputs larger than memory are taken in parts, with the same
results to the bit.")]
    Resample(Box<ResampleTyped>),
    /// Aggregate the same points by each kernel from the first attempt to the product's, and time them
    #[command(after_help = "\
Examples:
  warpstride series ladder
  warpstride series ladder --backend emulator
  warpstride series ladder --json
  warpstride series ladder -o ladder.json")]
    Ladder(SeriesLadderTyped),
    /// Put points into a store that keeps aggregates of every series, as long as a policy says
    #[command(after_help = "\
Examples:
  warpstride series ingest metrics.store monday.csv tuesday.csv.gz --policy medium
  warpstride series ingest metrics.store wednesday.parquet
  warpstride series ingest net.store net.csv --policy counters.toml --json-progress

A policy has archives (length of the buckets, timespan), aggregates and a back window; low is 5m
for 30d, medium 1m for 7d and 1h for 365d, high 1s for 1h besides. Points may be late by the back
window (low, medium, high: an hour and the present bucket); older ones are refused and counted.
Of several at one time of a series the newest batch counts, and in a batch the first. Every batch
is on the storage, wholly, when it is reported; after a kill the same command goes on.")]
    Ingest(Box<IngestTyped>),
    /// Read the buckets of a series from a store
    #[command(after_help = "\
Examples:
  warpstride series query metrics.store --series cpu --granularity 1h --aggregate mean
  warpstride series query metrics.store -s cpu -g 1m -a 95pct --start 2014-02-14 -o from.csv
  warpstride series query metrics.store -s cpu -g 1h -a max --json")]
    Query(Box<SeriesQueryTyped>),
    /// Say what a store keeps: policy, series, points, last and refused ones
    #[command(after_help = "\
Examples:
  warpstride series info metrics.store
  warpstride series info metrics.store --json")]
    Info(SeriesInfoTyped),
}

#[derive(Debug, Args)]
pub(crate) struct ResampleTyped {
    #[command(flatten)]
    pub(crate) points: PointsTyped,

    /// Lengths of the buckets, with commas between them: 250ms, 60s, 5m, 1h, 1d, W, M, Q, H, Y
    #[arg(
        short,
        long,
        value_name = "LENGTH,…",
        default_value = "60s",
        allow_hyphen_values = true,
        help_heading = "What to compute"
    )]
    pub(crate) granularity: Vec<String>,
    /// What to tell of a bucket: count, sum, mean, min, max, first, last, nunique, std, median, 95pct,
    /// any of them with rate: before it; or all
    #[arg(
        short,
        long,
        value_name = "NAME,…",
        default_value = "mean",
        allow_hyphen_values = true,
        help_heading = "What to compute"
    )]
    pub(crate) aggregate: Vec<String>,
    /// Values that are no numbers: aggregate them too, or leave their points out
    #[arg(long, value_enum, default_value_t = NanWord::Keep, help_heading = "What to compute")]
    pub(crate) nan: NanWord,

    #[command(flatten)]
    pub(crate) machine: MachineTyped,
    /// Memory that points, engine and results may take: 500M, 8G; what is more goes to temporary files
    /// beside the output. Program and fixed buffers come on top, 20 to 50 MB [default: half of what is
    /// free]
    #[arg(
        long,
        value_name = "SIZE",
        allow_hyphen_values = true,
        help_heading = "Where to compute"
    )]
    pub(crate) memory: Option<String>,

    /// The aggregates: series,granularity_s,aggregate,timestamp_ns,value as CSV or Parquet, by the name;
    /// - is CSV on standard output
    #[arg(
        short,
        long,
        value_name = "OUT.csv|OUT.parquet",
        required = true,
        help_heading = "What to write"
    )]
    pub(crate) output: PathBuf,
    /// Times in the output: nanoseconds since 1970, or ISO 8601
    #[arg(long, value_enum, default_value_t = TimestampsWord::Ns, help_heading = "What to write")]
    pub(crate) timestamps: TimestampsWord,
    /// Counts, back end, seconds of each stage as JSON
    #[arg(long, value_name = "S.json", help_heading = "What to write")]
    pub(crate) summary: Option<PathBuf>,
    /// Curves of the first aggregate at the first granularity, of up to eight series
    #[arg(long, value_name = "F.png", help_heading = "What to write")]
    pub(crate) plot: Option<PathBuf>,
    /// Progress as JSON lines on standard output, and no other text there
    #[arg(long, help_heading = "What to write", conflicts_with = "quiet")]
    pub(crate) json_progress: bool,
    /// Print errors only
    #[arg(long, help_heading = "What to write")]
    pub(crate) quiet: bool,
}

/// What is read, by every command that reads points.
#[derive(Debug, Args)]
pub(crate) struct PointsTyped {
    /// Points: CSV (also .gz, .zst), Parquet or Arrow; series,timestamp,value or timestamp,value
    #[arg(value_name = "INPUT", required = true)]
    pub(crate) inputs: Vec<PathBuf>,

    /// Name of the column with timestamps [default: by its name, else by its place]
    #[arg(long, value_name = "NAME", help_heading = "What to read")]
    pub(crate) time_column: Option<String>,
    /// Name of the column with values
    #[arg(long, value_name = "NAME", help_heading = "What to read")]
    pub(crate) value_column: Option<String>,
    /// Name of the column with the names of the series
    #[arg(long, value_name = "NAME", help_heading = "What to read")]
    pub(crate) series_column: Option<String>,
    /// Unit of timestamps that are numbers; auto goes by their size
    #[arg(long, value_enum, default_value_t = TimeUnitWord::Auto, help_heading = "What to read")]
    pub(crate) time_unit: TimeUnitWord,
    /// Leave out points before this time: ISO 8601, UTC, or a number in the unit of --time-unit or of
    /// the first input
    #[arg(
        long,
        value_name = "TIME",
        allow_hyphen_values = true,
        help_heading = "What to read"
    )]
    pub(crate) start: Option<String>,
    /// Leave out points from this time on
    #[arg(
        long,
        value_name = "TIME",
        allow_hyphen_values = true,
        help_heading = "What to read"
    )]
    pub(crate) end: Option<String>,
    /// Rows that cannot be read: end with the line's number, or leave them out and count them
    #[arg(long, value_enum, default_value_t = OnErrorWord::Fail, help_heading = "What to read")]
    pub(crate) on_error: OnErrorWord,
}

#[derive(Debug, Args)]
pub(crate) struct SeriesLadderTyped {
    #[command(flatten)]
    pub(crate) machine: KernelMachineTyped,
    /// The measurements as JSON
    #[arg(short, long, value_name = "OUT.json")]
    pub(crate) output: Option<PathBuf>,
    /// Print JSON instead of the table
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum NanWord {
    /// They are values, greater than all others
    Keep,
    /// Their points are left out before anything else
    Skip,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnErrorWord {
    /// End at the first
    Fail,
    /// Leave them out, count them, show the first
    Skip,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TimeUnitWord {
    /// By their size
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
pub(crate) enum TimestampsWord {
    /// Nanoseconds since 1970
    Ns,
    /// 2014-01-01T12:00:00Z
    Iso,
}
