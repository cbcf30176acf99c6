//! Progress lines, the summary, and the failure messages of an ingest.

use crate::failure::Failure;
use crate::output::{counted, facts};
use crate::series::summary::{Malformed, StageSeconds};
use serde::Serialize;
use std::path::Path;
use warpstride::run::RunRecord;
use warpstride::series::store::{Ingested, Totals};
use warpstride::system::Bytes;
use warpstride::text::{count, significant};

/// A line of `--json-progress`.
#[derive(Serialize)]
#[serde(tag = "event", rename_all = "lowercase")]
pub(super) enum ProgressLine {
    Start {
        /// Batches that the store had before.
        batches: u64,
    },
    /// A batch is on disk.
    Batch {
        /// Its number within this run, from 1.
        batch: u64,
        #[serde(flatten)]
        so_far: Counts,
        seconds: f64,
    },
    End,
}

/// Counts of all batches of this run.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub(super) struct Counts {
    #[serde(flatten)]
    pub(super) taken: Ingested,
    /// Points outside `--start` and `--end`, and skipped NaN.
    pub(super) left_out: u64,
}

/// The document of `--summary`.
#[derive(Serialize)]
pub(super) struct Summary {
    pub(super) store: String,
    pub(super) policy: String,
    /// What the summaries of all sciences have. The seconds are those from the first byte to the
    /// last.
    #[serde(flatten)]
    pub(super) record: RunRecord,
    pub(super) input_bytes: u64,
    #[serde(flatten)]
    pub(super) so_far: Counts,
    pub(super) batches: u64,
    pub(super) malformed: Malformed,
    /// Counts of the whole store after the run.
    pub(super) totals: Totals,
    pub(super) store_bytes: u64,
    pub(super) stage_seconds: StageSeconds,
    pub(super) points_per_second: f64,
}

/// Adds to a failure what was stored before it.
pub(super) fn after(failure: Failure, store: &Path, so_far: Counts, batches: u64) -> Failure {
    if batches == 0 {
        return failure;
    }
    let points = so_far.taken.points;
    let stored = format!(
        "stored in {} ({}); run the same command to continue",
        store.display(),
        count(batches, ["batch", "batches"])
    );
    match failure {
        Failure::Failed(why) => Failure::Failed(format!(
            "{why}; {points} of the points before it are {stored}"
        )),
        Failure::Interrupted(_) => {
            let first = count(points, ["point is", "points are"]);
            Failure::Interrupted(format!("stopped: the first {first} {stored}"))
        }
        other => other,
    }
}

impl Summary {
    /// The summary as text.
    pub(super) fn table(&self) -> String {
        let taken = self.so_far.taken;
        let left_out = counted(&[
            (self.malformed.rows, ["malformed row", "malformed rows"]),
            (
                self.so_far.left_out,
                ["point filtered out", "points filtered out"],
            ),
            (taken.duplicates, ["duplicate", "duplicates"]),
            (taken.refused, ["older than the back window"; 2]),
            (taken.future, ["too far in the future"; 2]),
        ]);
        let mut lines = vec![
            (
                "store",
                format!("{}, {}", self.store, Bytes(u128::from(self.store_bytes))),
            ),
            ("policy", self.policy.clone()),
            (
                "points",
                format!(
                    "{} read, {} new, {} replaced",
                    taken.points, taken.added, taken.replaced
                ),
            ),
        ];
        lines.extend(left_out.map(|left_out| ("left out", left_out)));
        lines.push((
            "series",
            format!("{}, {} of them new", self.totals.series, taken.new_series),
        ));
        lines.push((
            "buckets",
            format!(
                "{} computed, in {}",
                taken.buckets,
                count(self.batches, ["batch", "batches"])
            ),
        ));
        lines.push(("back end", self.record.setup.to_string()));
        lines.push(("time", self.stage_seconds.text(self.record.seconds)));
        lines.push((
            "speed",
            format!("{} points/s", significant(self.points_per_second, 3)),
        ));
        facts(&lines)
    }
}
