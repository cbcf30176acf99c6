//! `warpstride series query`: buckets of one series.

use crate::cli::args::{SeriesQueryTyped, TimestampsWord};
use crate::cli::failure::Failure;
use crate::cli::output::{say, say_json};
use crate::cli::paths;
use crate::cli::series::points::limits;
use serde::Serialize;
use std::path::PathBuf;
use warpstride::io::series::{ResultFormat, ResultWriter, Run, TimeUnit, Timestamps, csv_text};
use warpstride::series::Granularity;
use warpstride::series::store::{Archived, Query, StoreReader};

/// Buckets that are printed at a time.
const AT_A_TIME: usize = 1 << 14;

/// A checked query.
#[derive(Debug)]
pub(crate) struct StoreQuery {
    store: PathBuf,
    query: Query,
    output: Option<PathBuf>,
    timestamps: Timestamps,
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
        let granularity = granularity.map_err(|why| Failure::usage(format!("--granularity: {why}")))?;
        let aggregate = typed.aggregate.parse();
        let aggregate = aggregate.map_err(|why| Failure::usage(format!("--aggregate: {why}")))?;
        let (start, end) = limits(typed.start.as_deref(), typed.end.as_deref(), TimeUnit::Auto)?;
        let outputs: Vec<_> = typed.output.as_deref().into_iter().collect();
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
            output: typed.output,
            timestamps: match typed.timestamps {
                TimestampsWord::Ns => Timestamps::Nanoseconds,
                TimestampsWord::Iso => Timestamps::Iso,
            },
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
        if let Some(path) = &self.output {
            let mut writer = ResultWriter::create(path, ResultFormat::of(path, self.timestamps))?;
            writer.append_runs([self.rows(&found, 0, found.starts.len())])?;
            return Ok(writer.finish()?);
        }
        say(&csv_text(&[], self.timestamps, true))?;
        for from in (0..found.starts.len()).step_by(AT_A_TIME) {
            let end = found.starts.len().min(from + AT_A_TIME);
            say(&csv_text(&[self.rows(&found, from, end)], self.timestamps, false))?;
        }
        Ok(())
    }

    fn rows<'a>(&'a self, found: &'a Archived, from: usize, end: usize) -> Run<'a> {
        Run {
            series: &self.query.series,
            granularity: self.query.granularity,
            aggregate: self.query.aggregate,
            starts: &found.starts[from..end],
            values: &found.values[from..end],
            counts: None,
        }
    }
}
