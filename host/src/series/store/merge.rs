//! What an ingest changes of a series: which points are new, which buckets they touch, and which points those buckets
//! are to be computed from.

use super::Policy;
use super::record::Points;

/// The points of a series from some time on, after an ingest.
#[derive(Debug, Default)]
pub(super) struct Merged {
    /// Those that were stored, and those that were taken.
    pub(super) points: Points,
    /// (point): whether it is new, or has another value than before.
    pub(super) fresh: Vec<bool>,
    /// New timestamps.
    pub(super) added: u64,
    /// Points that took the place of stored ones.
    pub(super) replaced: u64,
    /// Points of the batch at the time of an earlier one in it.
    pub(super) duplicates: u64,
}

/// Merges `stored` points (rising times) with those of a batch, of any order: of the batch's points of one time the
/// first counts, and it takes the place of a stored one.
pub(super) fn merge(stored: Points, mut batch: Vec<(i64, f64)>) -> Merged {
    let given = batch.len();
    if !batch.is_sorted_by(|a, b| a.0 < b.0) {
        batch.sort_by_key(|point| point.0);
        batch.dedup_by_key(|point| point.0);
    }
    let mut merged = Merged {
        duplicates: (given - batch.len()) as u64,
        ..Merged::default()
    };
    // Most batches come after what is stored.
    let early = batch.first().map_or(stored.times.len(), |first| {
        stored.times.partition_point(|time| *time < first.0)
    });
    let Points {
        mut times,
        mut values,
    } = stored;
    let late: Vec<(i64, f64)> = times.drain(early..).zip(values.drain(early..)).collect();
    merged.fresh = vec![false; early];
    merged.points = Points { times, values };
    let mut late = late.into_iter().peekable();
    for (time, value) in batch {
        while let Some(before) = late.next_if(|point| point.0 < time) {
            merged.push(before, false);
        }
        match late.next_if(|point| point.0 == time) {
            Some((_, old)) => {
                merged.replaced += 1;
                merged.push((time, value), old.to_bits() != value.to_bits());
            }
            None => {
                merged.added += 1;
                merged.push((time, value), true);
            }
        }
    }
    for point in late {
        merged.push(point, false);
    }
    merged
}

impl Merged {
    fn push(&mut self, (time, value): (i64, f64), fresh: bool) {
        self.points.times.push(time);
        self.points.values.push(value);
        self.fresh.push(fresh);
    }
}

/// Buckets to be computed again, and from what.
#[derive(Debug, Default)]
pub(super) struct Touched {
    /// (archive): numbers of the buckets, rising.
    pub(super) buckets: Vec<Vec<u64>>,
    /// All points of these buckets and, for rates, the one before each run of them.
    pub(super) points: Points,
}

/// What `merged` touches in archives whose last point is at `last`. All points of the touched buckets must be in it and,
/// for rates, the one before them.
///
/// A new point also changes the difference at the point after it.
pub(super) fn touched(policy: &Policy, merged: &Merged, last: i64) -> Touched {
    let rates = policy.has_rates();
    let fresh = &merged.fresh;
    let times = &merged.points.times;
    let touches = |point: usize| fresh[point] || rates && point > 0 && fresh[point - 1];
    let mut needed = vec![false; times.len()];
    let mut touched = Touched::default();
    for archive in policy.archives() {
        let first_kept = archive.first_kept(last);
        let bucket_of = |point: usize| times[point] as u64 / archive.step;
        let mut buckets = Vec::new();
        let mut begin = 0;
        while begin < times.len() {
            let bucket = bucket_of(begin);
            let next = (bucket + 1).saturating_mul(archive.step);
            let points = times[begin..].partition_point(|time| (*time as u64) < next);
            let end = begin + points;
            if bucket >= first_kept && (begin..end).any(touches) {
                buckets.push(bucket);
                let from = if rates {
                    begin.saturating_sub(1)
                } else {
                    begin
                };
                needed[from..end].fill(true);
            }
            begin = end;
        }
        touched.buckets.push(buckets);
    }
    for (point, _) in needed.iter().enumerate().filter(|(_, needed)| **needed) {
        touched.points.times.push(times[point]);
        touched.points.values.push(merged.points.values[point]);
    }
    touched
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(of: &[(i64, f64)]) -> Points {
        Points {
            times: of.iter().map(|p| p.0).collect(),
            values: of.iter().map(|p| p.1).collect(),
        }
    }

    fn policy(aggregates: &str) -> Policy {
        let text = format!(
            "back_window = 1\naggregates = [{aggregates}]\n[[archive]]\ngranularity = '10ns'\npoints = 100\n[[archive]]\ngranularity = '40ns'\npoints = 3\n"
        );
        Policy::from_toml("p", "p", &text).unwrap()
    }

    #[test]
    fn the_first_of_a_batch_counts_and_takes_the_stored_ones_place() {
        let stored = points(&[(1, 10.0), (5, 50.0), (7, 70.0), (9, 90.0)]);
        let batch = vec![(8, 1.0), (5, 2.0), (5, 3.0), (11, 4.0), (7, 70.0), (8, 5.0)];
        let merged = merge(stored, batch);
        let expected = [
            (1, 10.0),
            (5, 2.0),
            (7, 70.0),
            (8, 1.0),
            (9, 90.0),
            (11, 4.0),
        ];
        assert_eq!(merged.points, points(&expected));
        // The same value again changes nothing.
        assert_eq!(merged.fresh, [false, true, false, true, false, true]);
        let counts = (merged.added, merged.replaced, merged.duplicates);
        assert_eq!(counts, (2, 2, 2));
    }

    #[test]
    fn touched_buckets_have_all_their_points() {
        let stored = points(&[
            (3, 0.0),
            (12, 1.0),
            (18, 2.0),
            (21, 3.0),
            (35, 4.0),
            (41, 5.0),
        ]);
        let merged = merge(stored, vec![(15, 9.0)]);
        let plain = touched(&policy("'sum'"), &merged, 41);
        assert_eq!(plain.buckets, [vec![1], vec![0]]);
        assert_eq!(plain.points.times, [3, 12, 15, 18, 21, 35]);
    }

    #[test]
    fn a_rate_reaches_the_next_point() {
        let stored = points(&[(3, 0.0), (12, 1.0), (35, 4.0), (85, 5.0), (99, 6.0)]);
        let merged = merge(stored, vec![(38, 9.0)]);
        let rates = touched(&policy("'rate:sum'"), &merged, 99);
        // That of 85 changes too.
        assert_eq!(rates.buckets, [vec![3, 8], vec![0, 2]]);
        assert_eq!(rates.points.times, [3, 12, 35, 38, 85, 99]);
        let fine = Policy::from_toml(
            "p",
            "p",
            "back_window = 1\naggregates = ['rate:sum']\n[[archive]]\ngranularity = '10ns'\npoints = 100\n",
        );
        let rates = touched(&fine.unwrap(), &merged, 99);
        assert_eq!(rates.buckets, [vec![3, 8]]);
        // 12 and 38 only for the differences.
        assert_eq!(rates.points.times, [12, 35, 38, 85]);
    }

    #[test]
    fn what_is_not_kept_is_not_computed() {
        let merged = merge(Points::default(), (0..20).map(|i| (i * 20, 1.0)).collect());
        let plain = touched(&policy("'sum'"), &merged, 380);
        assert_eq!(plain.buckets[1], [7, 8, 9]);
        assert_eq!(plain.buckets[0].len(), 20);
    }
}
