//! How a batch is cut into chunks, each of which gives whole buckets by itself: between series, and within a long one
//! where buckets of all granularities begin. Plain data.

use super::prepare::Prepared;
use std::ops::Range;
use warpstride_kernels::series::bucket::Bucketing;

/// Steps back from a place before no common beginning of buckets is looked for any more.
const STEPS: usize = 4096;

/// Points that travel and are computed together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Chunk {
    /// Series of which it has points; of the first and the last maybe not all.
    pub(super) series: Range<usize>,
    /// Points of the batch.
    pub(super) points: Range<usize>,
    /// Whether the first series begins in a chunk before.
    pub(super) continued: bool,
    /// The point of the first series that stands before `points` and goes along before them, because the first
    /// difference is from it.
    pub(super) lead: Option<usize>,
    /// Whether all of its series are sorted.
    pub(super) sorted: bool,
    /// Whether a timestamp may occur twice in a series.
    pub(super) repeats: bool,
    /// Series with points.
    pub(super) nonempty: usize,
    /// (granularity): buckets there can be, that of the lead included.
    pub(super) capacities: Vec<usize>,
}

/// Points of a chunk; a series counts as one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sizes {
    /// About so many.
    pub(super) usual: usize,
    /// Not more.
    pub(super) most: usize,
}

/// A series that cannot be cut as it would have to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TooLong {
    /// Its number.
    pub(super) series: usize,
    /// Points that belong together.
    pub(super) points: usize,
    /// Whether they do because they are in no order.
    pub(super) unsorted: bool,
}

impl Chunk {
    /// Points that travel.
    pub(super) fn len(&self) -> usize {
        self.points.len() + usize::from(self.lead.is_some())
    }

    /// (series + 1), among the points that travel. A lead belongs to the first series.
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

/// The chunks of a batch whose buckets have these rules, for differences of points too.
pub(super) fn cut(
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
        // What is left of series, as long as it fits.
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

/// Where the part of a series ends that begins at `start`.
fn end_of_part(
    prepared: &Prepared<'_>,
    series: usize,
    start: usize,
    rules: &[Bucketing],
    sizes: Sizes,
) -> Result<usize, TooLong> {
    let end = prepared.offsets[series + 1];
    let rest = end - start;
    let look = prepared.looks[series];
    if look.sorted {
        // Parts of one length.
        let part = rest.div_ceil(rest.div_ceil(sizes.usual.max(1)).max(1));
        let mut wanted = part;
        while wanted < rest {
            let within = wanted.min(sizes.most);
            if let Some(place) = beginning(&prepared.times[start..end], within, rules) {
                return Ok(start + place);
            }
            if wanted >= sizes.most {
                break;
            }
            wanted += part;
        }
    }
    if rest > sizes.most {
        return Err(TooLong {
            series,
            points: rest,
            unsorted: !look.sorted,
        });
    }
    Ok(end)
}

/// The last place not behind `wanted` and not the first where a bucket of every rule begins.
fn beginning(times: &[u64], wanted: usize, rules: &[Bucketing]) -> Option<usize> {
    let mut place = wanted;
    for _ in 0..STEPS {
        let earliest = rules.iter().map(|rule| {
            let index = rule.index(times[place]);
            times[..place].partition_point(|time| rule.index(*time) < index)
        });
        match earliest.min() {
            Some(same) if same == place => return Some(place),
            None | Some(0) => return None,
            Some(before) => place = before,
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
        // Of several at the time before the first counts.
        let before = &times[offsets[series.start]..points.start];
        let time = times[points.start - 1];
        let earlier = before.partition_point(|earlier| *earlier < time);
        lead = Some(offsets[series.start] + earlier);
    }
    let looks = &prepared.looks[series.clone()];
    let capacities = rules.iter().map(|rule| {
        let of_series = series.clone().zip(looks).map(|(series, look)| {
            let first = offsets[series].max(points.start);
            let end = offsets[series + 1].min(points.end);
            if first == end {
                return 0;
            }
            let (least, greatest) = if look.sorted {
                (times[first], times[end - 1])
            } else {
                (look.least, look.greatest)
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
        sorted: looks.iter().all(|look| look.sorted),
        repeats: looks.iter().any(|look| look.repeated > 0 || !look.sorted),
        continued,
        series,
        points,
        lead,
    }
}

#[cfg(test)]
mod tests;
