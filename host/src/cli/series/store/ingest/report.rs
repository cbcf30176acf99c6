//! Progress lines, the summary, and the failure messages of an ingest.

use crate::cli::failure::Failure;
use crate::cli::output::{counted, facts};
use crate::run::Setup;
use crate::series::store::{Ingested, Totals};
use crate::system::Bytes;
use crate::text::significant;
use serde::Serialize;
use std::path::Path;

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
pub(super) struct Summary<'a> {
    pub(super) store: String,
    pub(super) policy: String,
    pub(super) inputs: Vec<String>,
    pub(super) input_bytes: u64,
    #[serde(flatten)]
    pub(super) so_far: Counts,
    pub(super) batches: u64,
    pub(super) malformed: u64,
    /// Errors of the first malformed rows.
    pub(super) first_malformed: &'a [String],
    /// Counts of the whole store after the run.
    pub(super) totals: Totals,
    pub(super) store_bytes: u64,
    #[serde(flatten)]
    pub(super) setup: Setup,
    pub(super) seconds: Seconds,
    pub(super) points_per_second: f64,
    pub(super) notes: &'a [String],
    pub(super) version: &'static str,
}

#[derive(Debug, Clone, Copy, Default, Serialize)]
pub(super) struct Seconds {
    pub(super) compute: f64,
    /// Time for merging and writing.
    pub(super) store: f64,
    pub(super) total: f64,
}

/// Adds to a failure what was stored before it.
pub(super) fn after(failure: Failure, store: &Path, so_far: Counts, batches: u64) -> Failure {
    if batches == 0 {
        return failure;
    }
    let stored = format!(
        "{} of the points before it are stored in {} ({batches} batches); run the same command to continue",
        so_far.taken.points,
        store.display()
    );
    match failure {
        Failure::Failed(why) => Failure::Failed(format!("{why}; {stored}")),
        Failure::Interrupted(_) => Failure::Interrupted(format!("stopped: {stored}")),
        usage @ Failure::Usage(_) => usage,
    }
}

impl Summary<'_> {
    /// The summary as text.
    pub(super) fn table(&self) -> String {
        let taken = self.so_far.taken;
        let left_out = counted(&[
            (self.malformed, ["malformed row", "malformed rows"]),
            (
                self.so_far.left_out,
                ["point filtered out", "points filtered out"],
            ),
            (taken.duplicates, ["duplicate", "duplicates"]),
            (taken.refused, ["older than the back window"; 2]),
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
            format!("{} computed, in {} batches", taken.buckets, self.batches),
        ));
        lines.push((
            "back end",
            format!("{} ({})", self.setup.backend, self.setup.device),
        ));
        let seconds = |value: f64| significant(value, 3);
        lines.push((
            "time",
            format!(
                "{} s: compute {}, store {}; {} points/s",
                seconds(self.seconds.total),
                seconds(self.seconds.compute),
                seconds(self.seconds.store),
                significant(self.points_per_second, 3)
            ),
        ));
        facts(&lines)
    }
}
