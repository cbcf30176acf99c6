//! Error curves as SVG, to stand inside an HTML page.

use super::numbers::significant;
use super::summary::engine_spans;
use crate::data::HistoryEntry;
use crate::ptycho::quality::Ring;
use plotters::prelude::*;
use std::ops::Range;

/// Width and height of the drawing, SVG units; pages scale it.
const SIZE: (u32, u32) = (440, 240);
/// Legible on white and on black.
pub(super) const AXES: RGBColor = RGBColor(128, 128, 128);
/// First, second and third curve of a drawing, legible on white and on black.
pub(super) const CURVES: [RGBColor; 3] = [
    RGBColor(46, 125, 215),
    RGBColor(214, 120, 30),
    RGBColor(60, 155, 80),
];

type DrawError = DrawingAreaErrorKind<std::io::Error>;

/// `value` of every iteration on a logarithmic axis, engines parted by upright lines with their
/// names. Iterations without a value, or with one that is not positive and finite, are gaps.
/// `None` where there is nothing to draw.
pub(super) fn against_iteration(
    history: &[HistoryEntry],
    value: impl Fn(&HistoryEntry) -> Option<f64>,
) -> Result<Option<String>, DrawError> {
    let values: Vec<(usize, Option<f64>)> =
        history.iter().map(|h| (h.iteration, value(h))).collect();
    logarithmic(&values, &engine_spans(history))
}

/// `residuals` after iterations 1, 2, … on a logarithmic axis; `None` where there is nothing to draw.
pub(super) fn of_residuals(residuals: &[f64]) -> Result<Option<String>, DrawError> {
    let values: Vec<(usize, Option<f64>)> = residuals
        .iter()
        .enumerate()
        .map(|(at, residual)| (at + 1, Some(*residual)))
        .collect();
    logarithmic(&values, &[])
}

/// Values of iterations, with the names of `spans` over their first iterations.
fn logarithmic(
    values: &[(usize, Option<f64>)],
    spans: &[(&str, [usize; 2])],
) -> Result<Option<String>, DrawError> {
    let points: Vec<Option<(f64, f64)>> = values
        .iter()
        .map(|(iteration, value)| {
            let v = value.filter(|v| v.is_finite() && *v > 0.0)?;
            Some((*iteration as f64, v))
        })
        .collect();
    let Some(range) = logarithmic_range(points.iter().flatten().map(|p| p.1)) else {
        return Ok(None);
    };
    let first = values.first().map_or(0.0, |v| v.0 as f64);
    let last = values.last().map_or(1.0, |v| v.0 as f64);
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        let mut chart = ChartBuilder::on(&area)
            .margin(10)
            .x_label_area_size(38)
            .y_label_area_size(58)
            .build_cartesian_2d(
                first - 0.5..last + 0.5,
                range.clone().log_scale().with_key_points(ticks(&range)),
            )?;
        chart
            .configure_mesh()
            .axis_style(AXES)
            .bold_line_style(AXES.mix(0.35))
            .light_line_style(AXES.mix(0.12))
            .label_style(("sans-serif", 13))
            .x_desc("iteration")
            .x_label_formatter(&|x| format!("{x:.0}"))
            .y_label_formatter(&|y| significant(*y, 1))
            .draw()?;
        for (i, (engine, [begin, _])) in spans.iter().enumerate() {
            let x = *begin as f64 - 0.5;
            if i > 0 {
                let line = [(x, range.start), (x, range.end)];
                chart.draw_series(DashedLineSeries::new(line, 5, 4, AXES.stroke_width(1)))?;
            }
            let place = chart.backend_coord(&(x, range.end));
            area.draw_text(
                engine,
                &("sans-serif", 13).into_text_style(&area),
                (place.0 + 5, place.1 + 4),
            )?;
        }
        for run in points.split(Option::is_none) {
            let run: Vec<(f64, f64)> = run.iter().copied().flatten().collect();
            if let [alone] = run[..] {
                chart.draw_series([Circle::new(alone, 3, CURVES[0].filled())])?;
            } else {
                chart.draw_series(LineSeries::new(run, CURVES[0].stroke_width(2)))?;
            }
        }
        area.present()?;
    }
    Ok(Some(svg))
}

/// Correlation (blue), half-bit (orange) and one-bit (green) thresholds over frequency; `None`
/// without rings.
pub(super) fn ring_correlation(rings: &[Ring]) -> Result<Option<String>, DrawError> {
    if rings.is_empty() {
        return Ok(None);
    }
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        let mut chart = ChartBuilder::on(&area)
            .margin(10)
            .x_label_area_size(38)
            .y_label_area_size(58)
            .build_cartesian_2d(0.0..0.5, -0.1..1.05)?;
        chart
            .configure_mesh()
            .axis_style(AXES)
            .bold_line_style(AXES.mix(0.35))
            .light_line_style(AXES.mix(0.12))
            .label_style(("sans-serif", 13))
            .x_desc("spatial frequency, cycles per pixel")
            .x_label_formatter(&|x| format!("{x:.2}"))
            .y_label_formatter(&|y| format!("{y:.1}"))
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

/// A little more than the values span; `None` without values.
fn logarithmic_range(values: impl Iterator<Item = f64>) -> Option<Range<f64>> {
    let (low, high) = values.fold((f64::INFINITY, 0.0_f64), |(low, high), v| {
        (low.min(v), high.max(v))
    });
    // The engines' names stand above the curve.
    (high > 0.0).then(|| (low / 1.3).max(f64::MIN_POSITIVE)..(high * 1.8).min(f64::MAX))
}

/// Round numbers in `range`: powers of ten, as many of them as can be read, and 2 and 5 times these
/// where there are few.
pub(super) fn ticks(range: &Range<f64>) -> Vec<f64> {
    let (first, last) = (range.start.log10().floor(), range.end.log10().ceil());
    let decades = last - first;
    let stride = (decades / 6.0).ceil().max(1.0);
    let steps: &[f64] = if decades <= 3.0 {
        &[1.0, 2.0, 5.0]
    } else {
        &[1.0]
    };
    (0..=(decades / stride) as i32)
        .map(|i| first + stride * f64::from(i))
        .flat_map(|power| steps.iter().map(move |s| s * 10_f64.powf(power)))
        .filter(|v| range.contains(v))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::*;

    #[test]
    fn absent_values_are_gaps() {
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
    fn ticks_are_round_and_few() {
        let near = |found: Vec<f64>, expected: &[f64]| {
            assert_eq!(found.len(), expected.len(), "{found:?}");
            for (a, b) in found.iter().zip(expected) {
                assert!((a / b - 1.0).abs() < 1e-9, "{found:?}");
            }
        };
        near(ticks(&(0.011..0.54)), &[0.02, 0.05, 0.1, 0.2, 0.5]);
        near(ticks(&(0.3..5e4)), &[1.0, 10.0, 100.0, 1e3, 1e4]);
        assert!(ticks(&(1e-300..1e300)).len() < 8);
    }

    #[test]
    fn what_a_logarithm_cannot_show_is_left_out() {
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
