//! The options of `warpstride series ingest`, `query` and `info`.

use super::{BackendArgs, NanArg, PointsArgs, TimestampsArg};
use clap::Args;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(crate) struct IngestArgs {
    /// The store, a single file; created if it does not exist
    #[arg(value_name = "STORE")]
    pub(crate) store: PathBuf,
    #[command(flatten)]
    pub(crate) points: PointsArgs,

    /// Policy of a new store, which keeps it: low, medium, high, or a TOML file
    #[arg(
        long,
        value_name = "low|medium|high|FILE.toml",
        help_heading = "What to store"
    )]
    pub(crate) policy: Option<String>,
    /// Points per transaction
    #[arg(
        long,
        value_name = "POINTS",
        default_value_t = 1_000_000,
        help_heading = "What to store"
    )]
    pub(crate) batch: usize,
    /// How far after this computer's clock points may be: 10m, 1h, or none for any time. Later
    /// points are refused and counted: a single one would move the back window of its series for
    /// good
    #[arg(
        long,
        value_name = "LENGTH|none",
        default_value = "1h",
        allow_hyphen_values = true,
        help_heading = "What to store"
    )]
    pub(crate) max_future: String,
    /// NaN values: store them too, or leave their points out
    #[arg(long, value_enum, default_value_t = NanArg::Keep, help_heading = "What to store")]
    pub(crate) nan: NanArg,

    #[command(flatten)]
    pub(crate) backend: BackendArgs,

    /// Write counts, back end and seconds as JSON
    #[arg(long, value_name = "S.json", help_heading = "What to write")]
    pub(crate) summary: Option<PathBuf>,
    /// Print a JSON line on standard output for every batch on disk, and no other text there
    #[arg(long, help_heading = "What to write", conflicts_with = "quiet")]
    pub(crate) json_progress: bool,
    /// Print errors only
    #[arg(long, help_heading = "What to write")]
    pub(crate) quiet: bool,
}

#[derive(Debug, Args)]
pub(crate) struct SeriesQueryArgs {
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
    /// Bucket length, one of the store's
    #[arg(
        short,
        long,
        value_name = "LENGTH",
        required = true,
        allow_hyphen_values = true,
        help_heading = "What to read"
    )]
    pub(crate) granularity: String,
    /// Aggregate, one of the store's
    #[arg(
        short,
        long,
        value_name = "NAME",
        required = true,
        allow_hyphen_values = true,
        help_heading = "What to read"
    )]
    pub(crate) aggregate: String,
    /// IANA time zone, such as Europe/Zurich, of --start and --end without an offset, and of
    /// --timestamps iso [default: UTC]
    #[arg(long, value_name = "ZONE", help_heading = "What to read")]
    pub(crate) timezone: Option<String>,
    /// Leave out buckets that begin before this time: ISO 8601 (UTC, or in --timezone), or a number
    /// whose unit (s, ms, us or ns) is inferred from its magnitude
    #[arg(
        long,
        value_name = "TIME",
        allow_hyphen_values = true,
        help_heading = "What to read"
    )]
    pub(crate) start: Option<String>,
    /// Leave out buckets that begin at or after this time
    #[arg(
        long,
        value_name = "TIME",
        allow_hyphen_values = true,
        help_heading = "What to read"
    )]
    pub(crate) end: Option<String>,

    /// Write the buckets as CSV or Parquet, by file extension; - is CSV on standard output
    /// [default: -]
    #[arg(
        short,
        long,
        value_name = "OUT.csv|OUT.parquet",
        help_heading = "What to write"
    )]
    pub(crate) output: Option<PathBuf>,
    /// Write each label of the series as a column of its own in place of series
    #[arg(long, conflicts_with = "json", help_heading = "What to write")]
    pub(crate) label_columns: bool,
    /// Timestamps in CSV: nanoseconds since 1970, or ISO 8601
    #[arg(long, value_enum, default_value_t = TimestampsArg::Ns, help_heading = "What to write")]
    pub(crate) timestamps: TimestampsArg,
    /// Print JSON
    #[arg(long, help_heading = "What to write", conflicts_with = "output")]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct SeriesInfoArgs {
    /// The store
    #[arg(value_name = "STORE")]
    pub(crate) store: PathBuf,
    /// IANA time zone of the times in the tables, such as Europe/Zurich [default: UTC]
    #[arg(long, value_name = "ZONE", conflicts_with = "json")]
    pub(crate) timezone: Option<String>,
    /// Print JSON, including every series
    #[arg(long)]
    pub(crate) json: bool,
}
