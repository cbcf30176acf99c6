//! Splits a batch into chunks of whole buckets: between series, and within a long series at points
//! where buckets of all granularities begin. Plain data.

use super::prepare::Prepared;
use std::ops::Range;
use warpstride_kernels::series::bucket::Bucketing;

/// Number of candidate positions examined before the search for a common bucket start gives up.
const STEPS: usize = 4096;

/// Points that are transferred and computed together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Chunk {
    /// Series with points in this chunk; the first and the last may be incomplete.
    pub(super) series: Range<usize>,
    /// Range of points of the batch.
    pub(super) points: Range<usize>,
    /// Whether the first series begins in an earlier chunk.
    pub(super) continued: bool,
    /// The point of the first series before `points`, which is transferred in front of them because
    /// the first difference needs it.
    pub(super) lead: Option<usize>,
    /// Whether all series of the chunk are sorted.
    pub(super) sorted: bool,
    /// Whether a timestamp may occur more than once in a series.
    pub(super) repeats: bool,
    /// Whether points of the same time are kept.
    pub(super) keeps_duplicates: bool,
    /// Number of series with points.
    pub(super) nonempty: usize,
    /// (granularity): most buckets there can be, including the lead's.
    pub(super) capacities: Vec<usize>,
}

/// Limits on the size of a chunk in points; each series counts as one more point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sizes {
    /// Approximate size.
    pub(super) usual: usize,
    /// Largest size.
    pub(super) most: usize,
}

/// The error for a series that cannot be split into chunks that fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TooLong {
    /// Index of the series.
    pub(super) series: usize,
    /// Number of points that must stay together.
    pub(super) points: usize,
    /// Whether they must stay together because they are unsorted.
    pub(super) unsorted: bool,
}

impl Chunk {
    /// Number of points transferred, including the lead.
    pub(super) fn len(&self) -> usize {
        self.points.len() + usize::from(self.lead.is_some())
    }

    /// (series + 1), offsets among the transferred points. A lead belongs to the first series.
    pub(super) fn offsets<'a>(
        &self,
        prepared: &'a Prepared<'_>,
    ) -> impl Iterator<Item = u32> + use<'a> {
        let lead = u32::from(self.lead.is_some());
        let Range { start, end } = self.points;
        let inner = &prepared.offsets[self.series.start + 1..self.series.end];
        [0].into_iter()
            .chain(
                inner
                    .iter()
                    .map(move |offset| (offset - start) as u32 + lead),
            )
            .chain([(end - start) as u32 + lead])
    }
}

/// Splits a batch into chunks for granularities with these rules, and for rates if requested.
pub(super) fn split_batch(
    prepared: &Prepared<'_>,
    rules: &[Bucketing],
    rates: bool,
    sizes: Sizes,
) -> Result<Vec<Chunk>, TooLong> {
    let offsets = &prepared.offsets;
    let mut chunks = Vec::new();
    let (mut series, mut point) = (0, 0);
    while series < prepared.series() {
        let (first, start) = (series, point);
        // Adds the rest of this series and further series as long as they fit.
        let mut taken = 0;
        while series < prepared.series() {
            let rest = offsets[series + 1] - point + 1;
            if taken + rest > sizes.usual {
                break;
            }
            taken += rest;
            point = offsets[series + 1];
            series += 1;
        }
        let end = series.max(first + 1);
        if taken == 0 {
            point = end_of_part(prepared, series, start, rules, sizes)?;
            series += usize::from(point == offsets[series + 1]);
        }
        chunks.push(chunk(prepared, first..end, start..point, rules, rates));
    }
    Ok(chunks)
}

/// The end of the part of a series that begins at `start`.
fn end_of_part(
    prepared: &Prepared<'_>,
    series: usize,
    start: usize,
    rules: &[Bucketing],
    sizes: Sizes,
) -> Result<usize, TooLong> {
    let end = prepared.offsets[series + 1];
    let rest = end - start;
    let stats = prepared.stats[series];
    if stats.sorted {
        // Parts of equal length.
        let part = rest.div_ceil(rest.div_ceil(sizes.usual.max(1)).max(1));
        let mut target = part;
        while target < rest {
            let within = target.min(sizes.most);
            if let Some(point) = common_start(&prepared.times[start..end], within, rules) {
                return Ok(start + point);
            }
            if target >= sizes.most {
                break;
            }
            target += part;
        }
    }
    if rest > sizes.most {
        return Err(TooLong {
            series,
            points: rest,
            unsorted: !stats.sorted,
        });
    }
    Ok(end)
}

/// The last point at or before `limit`, except point 0, where a bucket of every rule begins.
fn common_start(times: &[u64], limit: usize, rules: &[Bucketing]) -> Option<usize> {
    let mut point = limit;
    for _ in 0..STEPS {
        let earliest = rules.iter().map(|rule| {
            let index = rule.index(times[point]);
            times[..point].partition_point(|time| rule.index(*time) < index)
        });
        match earliest.min() {
            Some(same) if same == point => return Some(point),
            None | Some(0) => return None,
            Some(before) => point = before,
        }
    }
    None
}

fn chunk(
    prepared: &Prepared<'_>,
    series: Range<usize>,
    points: Range<usize>,
    rules: &[Bucketing],
    rates: bool,
) -> Chunk {
    let offsets = &prepared.offsets;
    let times = &prepared.times;
    let continued = points.start > offsets[series.start];
    let mut lead = None;
    if rates && continued {
        let before = &times[offsets[series.start]..points.start];
        let time = times[points.start - 1];
        // If several points share the preceding time, the first is used, unless all are kept.
        let earlier = match prepared.keeps_duplicates {
            true => before.len() - 1,
            false => before.partition_point(|earlier| *earlier < time),
        };
        lead = Some(offsets[series.start] + earlier);
    }
    let stats = &prepared.stats[series.clone()];
    let capacities = rules.iter().map(|rule| {
        let of_series = series.clone().zip(stats).map(|(series, stats)| {
            let first = offsets[series].max(points.start);
            let end = offsets[series + 1].min(points.end);
            if first == end {
                return 0;
            }
            let (least, greatest) = if stats.sorted {
                (times[first], times[end - 1])
            } else {
                (stats.least, stats.greatest)
            };
            let span = rule.index(greatest) - rule.index(least);
            usize::try_from(span).map_or(end - first, |span| {
                (end - first).min(span.saturating_add(1))
            })
        });
        of_series.sum::<usize>() + usize::from(lead.is_some())
    });
    let has_points =
        |series: &usize| offsets[*series].max(points.start) < offsets[series + 1].min(points.end);
    Chunk {
        capacities: capacities.collect(),
        nonempty: series.clone().filter(has_points).count(),
        sorted: stats.iter().all(|stats| stats.sorted),
        repeats: stats
            .iter()
            .any(|stats| stats.repeated > 0 || !stats.sorted),
        keeps_duplicates: prepared.keeps_duplicates,
        continued,
        series,
        points,
        lead,
    }
}

#[cfg(test)]
mod tests;
