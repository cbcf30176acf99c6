//! Determines the effect of new points on a series: which points are new, which buckets they
//! affect, and from which points those buckets are recomputed.

use super::Policy;
use super::record::Points;

/// The points of a series from some time on, after merging.
#[derive(Debug, Default)]
pub(super) struct Merged {
    /// Stored and new points.
    pub(super) points: Points,
    /// (point): whether it is new or has a new value.
    pub(super) fresh: Vec<bool>,
    /// Number of new timestamps.
    pub(super) added: u64,
    /// Number of points that replaced stored points.
    pub(super) replaced: u64,
    /// Number of those whose value is another than the stored one.
    pub(super) changed: u64,
    /// Number of points of the batch with the time of an earlier one.
    pub(super) duplicates: u64,
    /// Number of those whose value is another than that of the earlier one.
    pub(super) conflicts: u64,
}

/// Merges `stored` points (rising times) with the points of a batch, in any order. Of several
/// points of the batch at one time, the first is used, and it replaces a stored point.
pub(super) fn merge(stored: Points, mut batch: Vec<(i64, f64)>) -> Merged {
    let given = batch.len();
    let mut conflicts = 0;
    if !batch.is_sorted_by(|a, b| a.0 < b.0) {
        batch.sort_by_key(|point| point.0);
        batch.dedup_by(|later, first| {
            let same = later.0 == first.0;
            conflicts += u64::from(same && later.1.to_bits() != first.1.to_bits());
            same
        });
    }
    let mut merged = Merged {
        duplicates: (given - batch.len()) as u64,
        conflicts,
        ..Merged::default()
    };
    // Most batches follow the stored points.
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
                let changes = old.to_bits() != value.to_bits();
                merged.replaced += 1;
                merged.changed += u64::from(changes);
                merged.push((time, value), changes);
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

/// Buckets to recompute, and the points to compute them from.
#[derive(Debug, Default)]
pub(super) struct AffectedBuckets {
    /// (archive): bucket indices, rising.
    pub(super) buckets: Vec<Vec<u64>>,
    /// All points of these buckets and, for rates, the point before each run of buckets.
    pub(super) points: Points,
}

/// The buckets affected by `merged` in archives whose last point is at `last`. `merged` must
/// contain all points of these buckets and, for rates, the preceding point.
///
/// A new point also changes the difference at the next point.
pub(super) fn affected(policy: &Policy, merged: &Merged, last: i64) -> AffectedBuckets {
    let rates = policy.has_rates();
    let fresh = &merged.fresh;
    let times = &merged.points.times;
    let touches = |point: usize| fresh[point] || rates && point > 0 && fresh[point - 1];
    let mut needed = vec![false; times.len()];
    let mut affected = AffectedBuckets::default();
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
        affected.buckets.push(buckets);
    }
    for (point, _) in needed.iter().enumerate().filter(|(_, needed)| **needed) {
        affected.points.times.push(times[point]);
        affected.points.values.push(merged.points.values[point]);
    }
    affected
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
    fn the_first_point_of_a_batch_replaces_the_stored_point() {
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
        // Writing the same value again has no effect.
        assert_eq!(merged.fresh, [false, true, false, true, false, true]);
        let counts = (
            merged.added,
            merged.replaced,
            merged.duplicates,
            merged.conflicts,
        );
        assert_eq!(counts, (2, 2, 2, 2));
    }

    #[test]
    fn affected_buckets_have_all_their_points() {
        let stored = points(&[
            (3, 0.0),
            (12, 1.0),
            (18, 2.0),
            (21, 3.0),
            (35, 4.0),
            (41, 5.0),
        ]);
        let merged = merge(stored, vec![(15, 9.0)]);
        let plain = affected(&policy("'sum'"), &merged, 41);
        assert_eq!(plain.buckets, [vec![1], vec![0]]);
        assert_eq!(plain.points.times, [3, 12, 15, 18, 21, 35]);
    }

    #[test]
    fn a_rate_affects_the_next_point() {
        let stored = points(&[(3, 0.0), (12, 1.0), (35, 4.0), (85, 5.0), (99, 6.0)]);
        let merged = merge(stored, vec![(38, 9.0)]);
        let rates = affected(&policy("'rate:sum'"), &merged, 99);
        // The difference at 85 changes too.
        assert_eq!(rates.buckets, [vec![3, 8], vec![0, 2]]);
        assert_eq!(rates.points.times, [3, 12, 35, 38, 85, 99]);
        let fine = Policy::from_toml(
            "p",
            "p",
            "back_window = 1\naggregates = ['rate:sum']\n[[archive]]\ngranularity = '10ns'\npoints = 100\n",
        );
        let rates = affected(&fine.unwrap(), &merged, 99);
        assert_eq!(rates.buckets, [vec![3, 8]]);
        // 12 and 38 are needed for the differences only.
        assert_eq!(rates.points.times, [12, 35, 38, 85]);
    }

    #[test]
    fn expired_buckets_are_not_computed() {
        let merged = merge(Points::default(), (0..20).map(|i| (i * 20, 1.0)).collect());
        let plain = affected(&policy("'sum'"), &merged, 380);
        assert_eq!(plain.buckets[1], [7, 8, 9]);
        assert_eq!(plain.buckets[0].len(), 20);
    }
}
