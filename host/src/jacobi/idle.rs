//! How long a device's compute lane stands still between sweeps.

use super::Span;
use serde::Serialize;
use std::collections::BTreeMap;

/// Idle microseconds between a device's successive sweeps or passes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct IdleGap {
    /// Place of the device, from 0.
    pub device: usize,
    /// The lane looked at: the one that computes longest.
    pub lane: &'static str,
    /// Over all pairs of successive sweeps of a batch. (Between batches the host reads norms and, where
    /// it is asked for, times, which would count the measuring.)
    pub mean: f64,
    /// The middle one.
    pub median: f64,
    /// The longest.
    pub max: f64,
}

/// Idle gaps of all devices that did at least two sweeps.
///
/// The lane is the one that computes longest, the sweep its kernel of the longest total time, of what was done at
/// least twice in a batch; what else the lane does between two of
/// them (sums of norms) is work, not idling.
#[must_use]
pub fn idle_gaps(spans: &[Span]) -> Vec<IdleGap> {
    let devices = spans.iter().map(|span| span.device + 1).max().unwrap_or(0);
    (0..devices)
        .filter_map(|device| {
            let own: Vec<&Span> = spans.iter().filter(|span| span.device == device).collect();
            gap_of(device, &own)
        })
        .collect()
}

fn gap_of(device: usize, spans: &[&Span]) -> Option<IdleGap> {
    // A clock that stood still for other reasons (a busy host) makes something that was done once look long.
    let mut times: BTreeMap<_, usize> = BTreeMap::new();
    for span in spans {
        *times.entry((span.batch, span.lane, span.name)).or_default() += 1;
    }
    let repeated: Vec<&Span> = spans
        .iter()
        .copied()
        .filter(|span| times[&(span.batch, span.lane, span.name)] > 1)
        .collect();
    let lane = longest(&repeated, |span| span.lane)?;
    let mut lane_spans: Vec<&Span> = spans.iter().copied().filter(|s| s.lane == lane).collect();
    lane_spans.sort_by(|a, b| a.start_us.total_cmp(&b.start_us));
    let of_lane: Vec<&Span> = repeated.into_iter().filter(|s| s.lane == lane).collect();
    let sweep = longest(&of_lane, |span| span.name)?;
    let mut gaps = Vec::new();
    let mut last_end: Option<f64> = None;
    let mut idle = 0.0;
    let mut batch = 0;
    for span in lane_spans {
        if span.batch != batch {
            (batch, last_end) = (span.batch, None);
        }
        if let Some(end) = last_end {
            idle += (span.start_us - end).max(0.0);
            if span.name == sweep {
                gaps.push(idle);
            }
        }
        if span.name == sweep {
            // Before the first sweep nothing is between two.
            idle = 0.0;
            last_end = Some(span.end_us);
        } else {
            last_end = last_end.map(|end| end.max(span.end_us));
        }
    }
    gaps.sort_by(f64::total_cmp);
    Some(IdleGap {
        device,
        lane,
        mean: gaps.iter().sum::<f64>() / gaps.len() as f64,
        median: *gaps.get(gaps.len() / 2)?,
        max: *gaps.last()?,
    })
}

/// The name whose spans take longest together; the first of equals.
fn longest<'s>(
    spans: &[&'s Span],
    name: impl Fn(&'s Span) -> &'static str,
) -> Option<&'static str> {
    let mut totals: Vec<(&'static str, f64)> = Vec::new();
    for span in spans {
        let (key, time) = (name(span), span.end_us - span.start_us);
        match totals.iter_mut().find(|(other, _)| *other == key) {
            Some((_, total)) => *total += time,
            None => totals.push((key, time)),
        }
    }
    totals.reverse();
    totals
        .into_iter()
        .max_by(|a, b| a.1.total_cmp(&b.1))
        .map(|(key, _)| key)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(lane: &'static str, name: &'static str, start_us: f64, end_us: f64) -> Span {
        Span {
            device: 1,
            batch: 0,
            lane,
            name,
            start_us,
            end_us,
        }
    }

    #[test]
    fn what_was_done_once_is_no_sweep() {
        let spans = [
            span("bulk", "sweep", 0.0, 1.0),
            span("bulk", "norm", 1.0, 500.0),
            span("bulk", "sweep", 503.0, 504.0),
            span("top", "push", 0.0, 900.0),
        ];
        let gaps = idle_gaps(&spans);
        assert_eq!((gaps[0].lane, gaps[0].median), ("bulk", 3.0));
    }

    #[test]
    fn what_lies_between_sweeps_counts_and_work_does_not() {
        let spans = [
            // Queued in another order than done.
            span("bulk", "sweep", 130.0, 230.0),
            span("bulk", "sweep", 0.0, 100.0),
            span("bulk", "norm", 103.0, 120.0),
            span("top", "push", 0.0, 90.0),
            span("bulk", "norm", 230.0, 250.0),
            span("bulk", "sweep", 251.0, 351.0),
            span("bulk", "sweep", 355.0, 455.0),
            span("bulk", "norm", 500.0, 510.0),
        ];
        let gaps = idle_gaps(&spans);
        assert_eq!(gaps.len(), 1, "device 0 did nothing");
        // 3 + 10, 1, 4; what follows the last sweep is no gap.
        let expected = IdleGap {
            device: 1,
            lane: "bulk",
            mean: 6.0,
            median: 4.0,
            max: 13.0,
        };
        assert_eq!(gaps[0], expected);
    }

    #[test]
    fn what_lies_between_batches_does_not_count() {
        let mut spans: Vec<Span> = [0.0, 11.0, 500.0, 513.0]
            .map(|start| span("bulk", "sweep", start, start + 10.0))
            .into();
        spans[2].batch = 1;
        spans[3].batch = 1;
        let gaps = idle_gaps(&spans);
        assert_eq!((gaps[0].median, gaps[0].mean, gaps[0].max), (3.0, 2.0, 3.0));
    }

    #[test]
    fn one_sweep_has_no_gap() {
        assert_eq!(idle_gaps(&[span("default", "sweep", 0.0, 1.0)]), []);
        assert_eq!(idle_gaps(&[]), []);
    }
}
