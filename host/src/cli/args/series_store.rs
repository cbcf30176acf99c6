//! The options of `warpstride series ingest`, `query` and `info`.

use super::{MachineTyped, NanWord, PointsTyped, TimestampsWord};
use clap::Args;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(crate) struct IngestTyped {
    /// The store, one file; it is made if it is not there
    #[arg(value_name = "STORE")]
    pub(crate) store: PathBuf,
    #[command(flatten)]
    pub(crate) points: PointsTyped,

    /// What the store keeps: low, medium, high, or a TOML file; needed to make a store, which keeps it
    #[arg(
        long,
        value_name = "low|medium|high|FILE.toml",
        help_heading = "What to store"
    )]
    pub(crate) policy: Option<String>,
    /// Points of a transaction
    #[arg(
        long,
        value_name = "POINTS",
        default_value_t = 1_000_000,
        help_heading = "What to store"
    )]
    pub(crate) batch: usize,
    /// Values that are no numbers: store them too, or leave their points out
    #[arg(long, value_enum, default_value_t = NanWord::Keep, help_heading = "What to store")]
    pub(crate) nan: NanWord,

    #[command(flatten)]
    pub(crate) machine: MachineTyped,

    /// Counts, back end, seconds as JSON
    #[arg(long, value_name = "S.json", help_heading = "What to write")]
    pub(crate) summary: Option<PathBuf>,
    /// A JSON line on standard output for every batch that is on the storage, and no other text there
    #[arg(long, help_heading = "What to write", conflicts_with = "quiet")]
    pub(crate) json_progress: bool,
    /// Print errors only
    #[arg(long, help_heading = "What to write")]
    pub(crate) quiet: bool,
}

#[derive(Debug, Args)]
pub(crate) struct SeriesQueryTyped {
    /// The store
    #[arg(value_name = "STORE")]
    pub(crate) store: PathBuf,
    /// Name of the series
    #[arg(
        short,
        long,
        value_name = "NAME",
        required = true,
        allow_hyphen_values = true,
        help_heading = "What to read"
    )]
    pub(crate) series: String,
    /// Length of the buckets, one of the store's
    #[arg(
        short,
        long,
        value_name = "LENGTH",
        required = true,
        allow_hyphen_values = true,
        help_heading = "What to read"
    )]
    pub(crate) granularity: String,
    /// What is told of a bucket, one of the store's
    #[arg(
        short,
        long,
        value_name = "NAME",
        required = true,
        allow_hyphen_values = true,
        help_heading = "What to read"
    )]
    pub(crate) aggregate: String,
    /// Leave out buckets that begin before this time (ISO 8601, UTC, or a number: s, ms, us or ns by its size)
    #[arg(
        long,
        value_name = "TIME",
        allow_hyphen_values = true,
        help_heading = "What to read"
    )]
    pub(crate) start: Option<String>,
    /// Leave out buckets that begin at this time or later
    #[arg(
        long,
        value_name = "TIME",
        allow_hyphen_values = true,
        help_heading = "What to read"
    )]
    pub(crate) end: Option<String>,

    /// The buckets as CSV or Parquet, by the name; - is CSV on standard output [default: -]
    #[arg(
        short,
        long,
        value_name = "OUT.csv|OUT.parquet",
        help_heading = "What to write"
    )]
    pub(crate) output: Option<PathBuf>,
    /// Times in CSV: nanoseconds since 1970, or ISO 8601
    #[arg(long, value_enum, default_value_t = TimestampsWord::Ns, help_heading = "What to write")]
    pub(crate) timestamps: TimestampsWord,
    /// Print JSON
    #[arg(long, help_heading = "What to write", conflicts_with = "output")]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct SeriesInfoTyped {
    /// The store
    #[arg(value_name = "STORE")]
    pub(crate) store: PathBuf,
    /// Print JSON, with every series
    #[arg(long)]
    pub(crate) json: bool,
}
