//! What an aggregation tells at its end.

use crate::output::{counted, facts};
use serde::Serialize;
use warpstride::run::RunRecord;
use warpstride::series::stream::Tally;
use warpstride::series::{Granularity, Resample};
use warpstride::system::Bytes;
use warpstride::text::{Table, count, significant};

/// `--summary`.
#[derive(Debug, Serialize)]
pub(super) struct Summary {
    /// What the summaries of all sciences have. The seconds are those from the first byte to the
    /// last.
    #[serde(flatten)]
    pub(super) record: RunRecord,
    /// Bytes of the inputs.
    pub(super) input_bytes: u64,
    /// Points that were aggregated, duplicates and NaN among them.
    pub(super) points: u64,
    pub(super) malformed: Malformed,
    /// Points before --start or from --end on.
    pub(super) outside: u64,
    /// Points that were left out because another has the same series and time.
    pub(super) duplicates: u64,
    /// Points with the series and time of an earlier one that were kept.
    pub(super) kept_duplicates: u64,
    /// Points that were left out because they were NaN.
    pub(super) skipped: u64,
    /// Series with points.
    pub(super) series: u64,
    pub(super) granularities: Vec<Buckets>,
    pub(super) aggregates: Vec<String>,
    /// Rows of the output.
    pub(super) rows: u64,
    pub(super) stage_seconds: StageSeconds,
    /// Points over all seconds.
    pub(super) points_per_second: f64,
    pub(super) memory: Taken,
}

/// Rows that were left out.
#[derive(Debug, Default, Serialize)]
pub(super) struct Malformed {
    pub(super) rows: u64,
    /// What was wrong with the first of them.
    pub(super) first: Vec<String>,
}

/// The buckets of one granularity.
#[derive(Debug, Serialize)]
pub(super) struct Buckets {
    pub(super) granularity: String,
    /// `null` for those of the calendar.
    pub(super) granularity_s: Option<f64>,
    /// With values; `null` where nothing was asked of the values.
    pub(super) buckets: Option<u64>,
    /// Buckets with rates; `null` without rates.
    pub(super) rate_buckets: Option<u64>,
}

/// Seconds of the stages, which may overlap.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub(super) struct StageSeconds {
    pub(super) read: f64,
    pub(super) compute: f64,
    /// For a store: merging and writing.
    pub(super) write: f64,
}

impl StageSeconds {
    /// The time of the run and of its stages.
    pub(super) fn text(&self, total: f64) -> String {
        let seconds = |value: f64| significant(value, 3);
        format!(
            "{} s: read {}, compute {}, write {}",
            seconds(total),
            seconds(self.read),
            seconds(self.compute),
            seconds(self.write)
        )
    }
}

/// What did not fit.
#[derive(Debug, Serialize)]
pub(super) struct Taken {
    pub(super) limit_bytes: u64,
    /// In temporary files; 0: everything fitted.
    pub(super) spilled_bytes: u64,
    /// Batches that were computed one after the other.
    pub(super) batches: u64,
}

/// Buckets of each granularity.
pub(super) fn buckets(plan: &Resample, tally: &Tally) -> Vec<Buckets> {
    let of = |granularity: Granularity, rate: bool| {
        let found = tally
            .buckets
            .iter()
            .find(|b| (b.0, b.1) == (granularity, rate));
        found.map(|b| b.2)
    };
    plan.granularities()
        .iter()
        .map(|granularity| Buckets {
            granularity: granularity.to_string(),
            granularity_s: match granularity {
                Granularity::Fixed(nanoseconds) => Some(*nanoseconds as f64 / 1e9),
                Granularity::Calendar(_) => None,
            },
            buckets: of(*granularity, false),
            rate_buckets: of(*granularity, true),
        })
        .collect()
}

impl Summary {
    /// For people.
    pub(super) fn table(&self) -> String {
        let mut lines = Vec::new();
        let inputs = match &self.record.inputs[..] {
            [one] => one.clone(),
            [first, .., last] => {
                format!("{} files, {first} to {last}", self.record.inputs.len())
            }
            [] => String::new(),
        };
        lines.push((
            "read",
            format!("{inputs}, {}", Bytes(u128::from(self.input_bytes))),
        ));
        lines.push((
            "points",
            format!(
                "{} of {} series",
                count(self.points, ["point", "points"]),
                self.series
            ),
        ));
        if self.kept_duplicates > 0 {
            let points = count(self.kept_duplicates, ["point", "points"]);
            let text = format!("{points} with the series and time of an earlier one, kept");
            lines.push(("duplicates", text));
        }
        let left_out = counted(&[
            (self.malformed.rows, ["malformed row", "malformed rows"]),
            (
                self.outside,
                [
                    "point outside --start and --end",
                    "points outside --start and --end",
                ],
            ),
            (self.duplicates, ["duplicate", "duplicates"]),
            (self.skipped, ["NaN"; 2]),
        ]);
        lines.extend(left_out.map(|left_out| ("left out", left_out)));
        lines.push(("aggregates", self.aggregates.join(", ")));
        lines.push(("rows", self.rows.to_string()));
        lines.push(("back end", self.record.setup.to_string()));
        if self.memory.spilled_bytes > 0 {
            lines.push((
                "memory",
                format!(
                    "{} allowed; {} of points went to temporary files, {}",
                    Bytes(u128::from(self.memory.limit_bytes)),
                    Bytes(u128::from(self.memory.spilled_bytes)),
                    count(self.memory.batches, ["batch", "batches"])
                ),
            ));
        }
        lines.push(("time", self.stage_seconds.text(self.record.seconds)));
        lines.push((
            "speed",
            format!(
                "{} points/s, {} MB/s",
                significant(self.points_per_second, 3),
                significant(self.input_bytes as f64 / 1e6 / self.record.seconds, 3)
            ),
        ));
        let mut name = "written";
        for path in &self.record.outputs {
            lines.push((std::mem::take(&mut name), path.clone()));
        }
        let rates = self.granularities.iter().any(|g| g.rate_buckets.is_some());
        let values = self.granularities.iter().any(|g| g.buckets.is_some());
        let mut header = vec!["granularity"];
        header.extend(values.then_some("buckets"));
        header.extend(rates.then_some("buckets of rates"));
        let mut table = Table::new(&header);
        for of in &self.granularities {
            let mut row = vec![of.granularity.clone()];
            row.extend(of.buckets.map(|n| n.to_string()));
            row.extend(of.rate_buckets.map(|n| n.to_string()));
            table.row(row);
        }
        format!("{}\n{table}", facts(&lines))
    }
}
