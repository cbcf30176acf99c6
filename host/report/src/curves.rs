//! Curves against iterations as SVG, for HTML pages.

use super::font::width_of;
use super::log_ticks::{label, log_ticks};
use super::value_axis::ValueAxis;
use plotters::prelude::*;
use std::ops::Range;

/// Width and height of a drawing, SVG units; pages scale it.
pub const SIZE: (u32, u32) = (440, 260);
/// Height of a line of text, SVG units.
pub const LINE: u32 = 16;
/// Space around a drawing, SVG units.
pub const MARGIN: u32 = 10;
/// Distance of a label from its axis: twice the length of a tick, as plotters has it.
pub const LABEL_DISTANCE: u32 = 10;
/// Largest number of steps between labels of iterations, so that numbers of six digits fit.
const ITERATIONS: u32 = 5;
/// Colour of axes, legible on white and on black.
pub const AXES: RGBColor = RGBColor(128, 128, 128);
/// Colours of the first, second and third curve, legible on white and on black.
pub const CURVES: [RGBColor; 3] = [
    RGBColor(46, 125, 215),
    RGBColor(214, 120, 30),
    RGBColor(60, 155, 80),
];

/// The reason why a curve could not be drawn.
pub type DrawError = DrawingAreaErrorKind<std::io::Error>;

/// Draws `residuals` after steps 1, 2, …, which are called `step`, on a logarithmic axis; `None` if
/// there is nothing to draw.
pub fn of_residuals(residuals: &[f64], step: &str) -> Result<Option<String>, DrawError> {
    let values: Vec<(usize, Option<f64>)> = residuals
        .iter()
        .enumerate()
        .map(|(index, residual)| (index + 1, Some(*residual)))
        .collect();
    logarithmic(&values, step, &[])
}

/// Draws values against steps, which are called `step`, on a logarithmic axis, with the names of
/// `spans` above their first steps; `None` if there is nothing to draw. Missing values are gaps,
/// and one or two values between gaps are dots.
pub fn logarithmic(
    values: &[(usize, Option<f64>)],
    step: &str,
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
    let below = 2 * LINE + LABEL_DISTANCE;
    let height = SIZE.1 - 2 * MARGIN - below;
    let ticks = log_ticks(&range, height, |_| LINE + LINE / 2);
    let widest = ticks.iter().map(|v| width_of(&label(*v), LINE as usize));
    let beside = widest.max().unwrap_or(0) as u32 + LABEL_DISTANCE;
    let iterations = first - 0.5..last + 0.5;
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        let mut chart = ChartBuilder::on(&area)
            .margin(MARGIN)
            .margin_right(2 * MARGIN)
            .x_label_area_size(below)
            .y_label_area_size(beside)
            .build_cartesian_2d(
                ValueAxis::of_integers(iterations, ITERATIONS),
                range.clone().log_scale().with_key_points(ticks),
            )?;
        chart
            .configure_mesh()
            .axis_style(AXES)
            .bold_line_style(AXES.mix(0.35))
            .light_line_style(AXES.mix(0.12))
            .label_style(("sans-serif", LINE))
            .x_desc(step)
            .y_label_formatter(&|y| label(*y))
            .draw()?;
        // Names that would overlap the one before or the edge are left out.
        let mut free = 0;
        for (i, (engine, [begin, _])) in spans.iter().enumerate() {
            let x = *begin as f64 - 0.5;
            if i > 0 {
                let line = [(x, range.start), (x, range.end)];
                chart.draw_series(DashedLineSeries::new(line, 5, 4, AXES.stroke_width(1)))?;
            }
            let top = chart.backend_coord(&(x, range.end));
            let left = top.0 + 5;
            let right = left + width_of(engine, LINE as usize) as i32;
            if left >= free && right <= SIZE.0 as i32 {
                let style = ("sans-serif", LINE).into_text_style(&area);
                area.draw_text(engine, &style, (left, top.1 + 4))?;
                free = right;
            }
        }
        let has_gaps = points.contains(&None);
        for run in points.split(Option::is_none) {
            let run: Vec<(f64, f64)> = run.iter().copied().flatten().collect();
            // A line of two neighbouring steps between gaps would be too short to be seen.
            if run.len() == 1 || (run.len() == 2 && has_gaps) {
                let dot = |at: &(f64, f64)| Circle::new(*at, 3, CURVES[0].filled());
                chart.draw_series(run.iter().map(dot))?;
            }
            if run.len() > 1 {
                chart.draw_series(LineSeries::new(run, CURVES[0].stroke_width(2)))?;
            }
        }
        area.present()?;
    }
    Ok(Some(svg))
}

/// A range slightly wider than that of the values; `None` without positive values.
fn logarithmic_range(values: impl Iterator<Item = f64>) -> Option<Range<f64>> {
    let (low, high) = values.fold((f64::INFINITY, 0.0_f64), |(low, high), v| {
        (low.min(v), high.max(v))
    });
    // The engines' names are above the curve.
    (high > 0.0).then(|| (low / 1.3).max(f64::MIN_POSITIVE)..(high * 1.8).min(f64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Texts of an SVG.
    fn texts(svg: &str) -> Vec<&str> {
        let parts = svg.split("<text").skip(1);
        let inner = parts.filter_map(|part| part.split('>').nth(1)?.split('<').next());
        inner.map(str::trim).collect()
    }

    #[test]
    fn steps_are_whole_numbers_and_labels_are_distinct() {
        let svg = of_residuals(&[0.9, 0.8999, 0.8998], "round")
            .unwrap()
            .unwrap();
        let texts = texts(&svg);
        assert!(
            texts.ends_with(&["round"]) || texts.contains(&"round"),
            "{texts:?}"
        );
        for step in ["1", "2", "3"] {
            assert!(
                texts.iter().filter(|text| **text == step).count() <= 2,
                "{texts:?}"
            );
        }
        assert!(!texts.iter().any(|text| text.len() > 5), "{texts:?}");
    }

    #[test]
    fn values_between_gaps_are_dots() {
        let drawn = |known: &[usize]| {
            let value = |n: usize| (n, known.contains(&n).then_some(1.0 / n as f64));
            let values: Vec<(usize, Option<f64>)> = (1..=12).map(value).collect();
            let svg = logarithmic(&values, "iteration", &[]).unwrap().unwrap();
            svg.matches("<circle").count()
        };
        assert_eq!(drawn(&[1, 4, 5, 8, 9, 10, 12]), 4);
        assert_eq!(drawn(&(1..=12).collect::<Vec<_>>()), 0);
    }

    #[test]
    fn names_of_many_engines_do_not_overlap() {
        let values: Vec<(usize, Option<f64>)> = (1..=200).map(|n| (n, Some(1.0))).collect();
        let spans: Vec<(&str, [usize; 2])> = (1..=200).map(|n| ("raar", [n, n])).collect();
        let svg = logarithmic(&values, "iteration", &spans).unwrap().unwrap();
        let names = texts(&svg)
            .into_iter()
            .filter(|text| *text == "raar")
            .count();
        assert!((3..15).contains(&names), "{names}");
    }
}
