//! `warpstride series query`: buckets of one series.

use crate::cli::args::{SeriesQueryTyped, TimestampsWord};
use crate::cli::failure::Failure;
use crate::cli::output::say_json;
use crate::cli::paths;
use crate::cli::series::points::limits;
use crate::cli::series::rows::Out;
use serde::Serialize;
use std::path::PathBuf;
use warpstride::io::series::{Run, TimeUnit};
use warpstride::series::Granularity;
use warpstride::series::store::{Query, StoreReader};

/// A checked query.
#[derive(Debug)]
pub(crate) struct StoreQuery {
    store: PathBuf,
    query: Query,
    out: Out,
    json: bool,
}

/// What `--json` prints. Values that are not finite are `null`.
#[derive(Serialize)]
struct Found<'a> {
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
    /// Checks options and outputs.
    pub(crate) fn from_typed(typed: SeriesQueryTyped) -> Result<Self, Failure> {
        let granularity = typed.granularity.parse();
        let granularity =
            granularity.map_err(|why| Failure::usage(format!("--granularity: {why}")))?;
        let aggregate = typed.aggregate.parse();
        let aggregate = aggregate.map_err(|why| Failure::usage(format!("--aggregate: {why}")))?;
        let (start, end) = limits(typed.start.as_deref(), typed.end.as_deref(), TimeUnit::Auto)?;
        let output = typed.output.unwrap_or_else(|| PathBuf::from("-"));
        let out = Out::new(output, typed.timestamps)?;
        if typed.json && typed.timestamps == TimestampsWord::Iso {
            return Err(Failure::usage(
                "--timestamps iso is about CSV: --json has nanoseconds",
            ));
        }
        let outputs: Vec<_> = out.path().into_iter().collect();
        paths::check(&outputs, &[&typed.store])?;
        Ok(Self {
            store: typed.store,
            query: Query {
                series: typed.series,
                granularity,
                aggregate,
                start,
                end,
            },
            out,
            json: typed.json,
        })
    }

    /// Reads and writes.
    pub(crate) fn run(self) -> Result<(), Failure> {
        let found = StoreReader::open(&self.store)?.query(&self.query)?;
        if self.json {
            return say_json(&Found {
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
        let mut writer = self.out.create()?;
        writer.append_runs([Run {
            series: &self.query.series,
            granularity: self.query.granularity,
            aggregate: self.query.aggregate,
            starts: &found.starts,
            values: &found.values,
            counts: None,
        }])?;
        Ok(writer.finish()?)
    }
}
