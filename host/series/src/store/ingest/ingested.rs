//! Counts of an ingested batch.

use serde::Serialize;
use warpstride_core::text::count;

/// Counts of an ingested batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Ingested {
    /// Points of the batch.
    pub points: u64,
    /// Points with new timestamps.
    pub added: u64,
    /// Points that replaced stored points of the same time.
    pub replaced: u64,
    /// Those of them whose value is another than the stored one.
    pub changed: u64,
    /// Points left out because an earlier point of the batch has the same series and time.
    pub duplicates: u64,
    /// Those of them whose value is another than that of the earlier point.
    pub conflicts: u64,
    /// Points left out because they are older than the back window.
    pub refused: u64,
    /// Points left out because they are too far in the future.
    pub future: u64,
    /// Series that did not exist before.
    pub new_series: u64,
    /// Buckets computed, in all archives together.
    pub buckets: u64,
}

impl std::ops::AddAssign for Ingested {
    fn add_assign(&mut self, other: Self) {
        self.points += other.points;
        self.added += other.added;
        self.replaced += other.replaced;
        self.changed += other.changed;
        self.duplicates += other.duplicates;
        self.conflicts += other.conflicts;
        self.refused += other.refused;
        self.future += other.future;
        self.new_series += other.new_series;
        self.buckets += other.buckets;
    }
}

impl Ingested {
    /// What is said of points that have the series and the time of others, but other values: events
    /// of one moment, or series that are not told apart.
    #[must_use]
    pub fn other_values(&self) -> Vec<String> {
        let remedy = "a store keeps one point of a series at each time: name the columns that tell series apart with --series-columns, or aggregate events with series resample first";
        let mut sentences = Vec::new();
        if self.conflicts > 0 {
            let points = count(self.conflicts, ["point was", "points were"]);
            sentences.push(format!(
                "{points} left out whose value is another than that of an earlier point of the same series and time; {remedy}"
            ));
        }
        if self.changed > 0 {
            let points = count(self.changed, ["stored point was", "stored points were"]);
            sentences.push(format!(
                "{points} replaced by a later point of the same series and time with another value, as is right for corrections; {remedy}"
            ));
        }
        sentences
    }
}
