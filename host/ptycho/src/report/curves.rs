//! Error curves as SVG for an HTML page.

use crate::data::HistoryEntry;
use crate::session::summary::engine_spans;
use warpstride_report::curves::{DrawError, logarithmic};

/// Draws `value` of every iteration on a logarithmic axis, with labelled vertical lines between
/// engines. Iterations whose value is missing or not positive and finite are gaps. `None` if there
/// is nothing to draw.
pub(super) fn against_iteration(
    history: &[HistoryEntry],
    value: impl Fn(&HistoryEntry) -> Option<f64>,
) -> Result<Option<String>, DrawError> {
    let values: Vec<(usize, Option<f64>)> =
        history.iter().map(|h| (h.iteration, value(h))).collect();
    logarithmic(&values, "iteration", &engine_spans(history))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample;

    #[test]
    fn missing_values_are_gaps() {
        let history = sample::reconstruction().history;
        let all = against_iteration(&history, |h| Some(h.err_fourier))
            .unwrap()
            .unwrap();
        assert!(!all.contains("<circle"));
        let thinned = against_iteration(&history, |h| h.r_factor)
            .unwrap()
            .unwrap();
        // R is known for iterations 3 and 6 only.
        assert_eq!(thinned.matches("<circle").count(), 2);
        assert!(thinned.contains("raar"));
    }

    #[test]
    fn values_without_a_logarithm_are_omitted() {
        let history = sample::reconstruction().history;
        let bad = [f64::NAN, 0.0, -1.0, f64::INFINITY];
        let nothing = against_iteration(&history, |h| Some(bad[h.iteration % 4])).unwrap();
        assert_eq!(nothing, None);
        for extreme in [f64::MIN_POSITIVE, f64::MAX] {
            assert!(
                against_iteration(&history, |_| Some(extreme))
                    .unwrap()
                    .is_some()
            );
        }
        assert_eq!(against_iteration(&[], |_| Some(1.0)).unwrap(), None);
    }
}
