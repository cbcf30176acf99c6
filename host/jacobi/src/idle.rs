//! Idle time of a device's compute stream between sweeps.

use super::Span;
use serde::Serialize;
use std::collections::BTreeMap;

/// Idle time in microseconds between successive sweeps or passes of a device.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct IdleGap {
    /// Index of the device, from 0.
    pub device: usize,
    /// The evaluated stream: the one that computes longest.
    pub stream: &'static str,
    /// Mean over all pairs of successive sweeps of a batch. Gaps between batches are excluded,
    /// because there the host reads the norms and, when profiling, the times.
    pub mean: f64,
    /// The median.
    pub median: f64,
    /// The maximum.
    pub max: f64,
}

/// Idle gaps of all devices that did at least two sweeps.
///
/// The evaluated stream is the one with the longest total time, and its sweep is the kernel with
/// the longest total time, both among the operations that occur at least twice in a batch. Other
/// work of the stream between two sweeps (sums of norms) does not count as idle time.
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
    // A delay for other reasons (a busy host) can make an operation that occurs once look long.
    let mut times: BTreeMap<_, usize> = BTreeMap::new();
    for span in spans {
        *times
            .entry((span.batch, span.stream, span.name))
            .or_default() += 1;
    }
    let repeated: Vec<&Span> = spans
        .iter()
        .copied()
        .filter(|span| times[&(span.batch, span.stream, span.name)] > 1)
        .collect();
    let stream = longest(&repeated, |span| span.stream)?;
    let mut stream_spans: Vec<&Span> = spans
        .iter()
        .copied()
        .filter(|s| s.stream == stream)
        .collect();
    stream_spans.sort_by(|a, b| a.start_us.total_cmp(&b.start_us));
    let repeated_in_stream: Vec<&Span> = repeated
        .into_iter()
        .filter(|s| s.stream == stream)
        .collect();
    let sweep = longest(&repeated_in_stream, |span| span.name)?;
    let mut gaps = Vec::new();
    let mut last_end: Option<f64> = None;
    let mut idle = 0.0;
    let mut batch = 0;
    for span in stream_spans {
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
            // Time before the first sweep does not count.
            idle = 0.0;
            last_end = Some(span.end_us);
        } else {
            last_end = last_end.map(|end| end.max(span.end_us));
        }
    }
    gaps.sort_by(f64::total_cmp);
    Some(IdleGap {
        device,
        stream,
        mean: gaps.iter().sum::<f64>() / gaps.len() as f64,
        median: *gaps.get(gaps.len() / 2)?,
        max: *gaps.last()?,
    })
}

/// The name whose spans have the longest total time; the first one if several are equal.
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

    fn span(stream: &'static str, name: &'static str, start_us: f64, end_us: f64) -> Span {
        Span {
            device: 1,
            batch: 0,
            stream,
            name,
            start_us,
            end_us,
        }
    }

    #[test]
    fn an_operation_that_occurs_once_is_not_a_sweep() {
        let spans = [
            span("bulk", "sweep", 0.0, 1.0),
            span("bulk", "norm", 1.0, 500.0),
            span("bulk", "sweep", 503.0, 504.0),
            span("top", "send", 0.0, 900.0),
        ];
        let gaps = idle_gaps(&spans);
        assert_eq!((gaps[0].stream, gaps[0].median), ("bulk", 3.0));
    }

    #[test]
    fn gaps_between_sweeps_count_and_other_work_does_not() {
        let spans = [
            // Queued in another order than executed.
            span("bulk", "sweep", 130.0, 230.0),
            span("bulk", "sweep", 0.0, 100.0),
            span("bulk", "norm", 103.0, 120.0),
            span("top", "send", 0.0, 90.0),
            span("bulk", "norm", 230.0, 250.0),
            span("bulk", "sweep", 251.0, 351.0),
            span("bulk", "sweep", 355.0, 455.0),
            span("bulk", "norm", 500.0, 510.0),
        ];
        let gaps = idle_gaps(&spans);
        assert_eq!(gaps.len(), 1, "device 0 did nothing");
        // 3 + 10, 1 and 4; time after the last sweep is not a gap.
        let expected = IdleGap {
            device: 1,
            stream: "bulk",
            mean: 6.0,
            median: 4.0,
            max: 13.0,
        };
        assert_eq!(gaps[0], expected);
    }

    #[test]
    fn gaps_between_batches_do_not_count() {
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
