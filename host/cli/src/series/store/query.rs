//! `warpstride series query`: buckets of one series.

use crate::args::{SeriesQueryArgs, TimestampsArg};
use crate::failure::Failure;
use crate::output::say_json;
use crate::paths;
use crate::series::plan::option;
use crate::series::points::{limits, zone};
use crate::series::rows::OutputConfig;
use serde::Serialize;
use std::path::PathBuf;
use warpstride::series::Granularity;
use warpstride::series::io::Run;
use warpstride::series::store::{Query, StoreReader};

/// The checked arguments of `warpstride series query`.
#[derive(Debug)]
pub(crate) struct StoreQuery {
    store: PathBuf,
    query: Query,
    out: OutputConfig,
    json: bool,
}

/// The document that `--json` prints. Non-finite values are `null`.
#[derive(Serialize)]
struct QueryResult<'a> {
    store: String,
    series: &'a str,
    granularity: String,
    granularity_s: Option<f64>,
    aggregate: String,
    timestamps_ns: &'a [i64],
    values: &'a [f64],
    version: &'static str,
}

impl StoreQuery {
    /// Checks the options and the output path.
    pub(crate) fn from_args(args: SeriesQueryArgs) -> Result<Self, Failure> {
        let granularity = args.granularity.parse().map_err(option)?;
        let aggregate = args.aggregate.parse().map_err(option)?;
        let zone = zone(args.timezone.as_deref())?;
        let (start, end) = limits(args.start.as_deref(), args.end.as_deref(), None, zone)?;
        let output = args.output.unwrap_or_else(|| PathBuf::from("-"));
        let out = OutputConfig::new(output, (args.timestamps, zone), args.label_columns)?;
        if args.json && args.timestamps == TimestampsArg::Iso {
            return Err(Failure::usage(
                "--timestamps iso: expected a CSV output, found --json, which writes nanoseconds",
            ));
        }
        paths::check(out.file().as_slice(), &[&args.store])?;
        Ok(Self {
            store: args.store,
            query: Query {
                series: args.series,
                granularity,
                aggregate,
                start,
                end,
            },
            out,
            json: args.json,
        })
    }

    /// Reads the buckets and writes them.
    pub(crate) fn run(self) -> Result<(), Failure> {
        let found = StoreReader::open(&self.store)?.query(&self.query)?;
        if self.json {
            return say_json(&QueryResult {
                store: self.store.display().to_string(),
                series: &self.query.series,
                granularity: self.query.granularity.to_string(),
                granularity_s: match self.query.granularity {
                    Granularity::Fixed(nanoseconds) => Some(nanoseconds as f64 / 1e9),
                    Granularity::Calendar(_) => None,
                },
                aggregate: self.query.aggregate.to_string(),
                timestamps_ns: &found.starts,
                values: &found.values,
                version: env!("CARGO_PKG_VERSION"),
            });
        }
        let mut writer = self.out.create([self.query.series.as_str()])?;
        writer.append_runs([Run {
            series: &self.query.series,
            granularity: self.query.granularity,
            aggregate: self.query.aggregate,
            starts: &found.starts,
            values: &found.values,
            counts: None,
            axis: None,
        }])?;
        Ok(writer.finish()?)
    }
}
