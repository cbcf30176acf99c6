//! Error curves and ring correlation as SVG for an HTML page.

use crate::data::HistoryEntry;
use crate::ptycho::quality::Ring;
use crate::ptycho::summary::engine_spans;
use crate::report::curves::{
    AXES, CURVES, DrawError, LABEL_DISTANCE, LINE, MARGIN, SIZE, logarithmic,
};
use crate::report::value_axis::ValueAxis;
use plotters::prelude::*;

/// Largest number of steps between labels of frequencies and of correlations.
const FREQUENCY_STEPS: u32 = 5;
const CORRELATION_STEPS: u32 = 7;

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

/// Draws the correlation (blue) and the half-bit (orange) and one-bit (green) thresholds over
/// frequency; `None` without rings.
pub(super) fn ring_correlation(rings: &[Ring]) -> Result<Option<String>, DrawError> {
    if rings.is_empty() {
        return Ok(None);
    }
    let mut svg = String::new();
    {
        let frequencies = ValueAxis::new(0.0..0.5, FREQUENCY_STEPS);
        let correlations = ValueAxis::new(-0.1..1.05, CORRELATION_STEPS);
        let beside = LABEL_DISTANCE + correlations.widest_label(LINE as usize) as u32;
        let area = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        let mut chart = ChartBuilder::on(&area)
            .margin(MARGIN)
            .margin_right(2 * MARGIN)
            .x_label_area_size(LABEL_DISTANCE + 2 * LINE)
            .y_label_area_size(beside)
            .build_cartesian_2d(frequencies, correlations)?;
        chart
            .configure_mesh()
            .axis_style(AXES)
            .bold_line_style(AXES.mix(0.35))
            .light_line_style(AXES.mix(0.12))
            .label_style(("sans-serif", LINE))
            .x_desc("spatial frequency, cycles per pixel")
            .draw()?;
        let curves: [fn(&Ring) -> f64; 3] = [|r| r.correlation, |r| r.half_bit, |r| r.one_bit];
        for (i, (curve, colour)) in curves.into_iter().zip(CURVES).enumerate() {
            let points = rings
                .iter()
                .map(|r| (r.frequency, curve(r)))
                .filter(|p| p.1.is_finite() && p.1 <= 1.05);
            let style = colour.stroke_width(if i == 0 { 2 } else { 1 });
            chart.draw_series(LineSeries::new(points, style))?;
        }
        area.present()?;
    }
    Ok(Some(svg))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ptycho::report::sample;

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
        assert_eq!(ring_correlation(&[]).unwrap(), None);
    }
}
