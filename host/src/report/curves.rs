//! Curves against iterations as SVG, for HTML pages.

use crate::text::significant;
use plotters::prelude::*;
use std::ops::Range;

/// Width and height of a drawing, SVG units; pages scale it.
pub(crate) const SIZE: (u32, u32) = (440, 240);
/// Colour of axes, legible on white and on black.
pub(crate) const AXES: RGBColor = RGBColor(128, 128, 128);
/// Colours of the first, second and third curve, legible on white and on black.
pub(crate) const CURVES: [RGBColor; 3] = [
    RGBColor(46, 125, 215),
    RGBColor(214, 120, 30),
    RGBColor(60, 155, 80),
];

pub(crate) type DrawError = DrawingAreaErrorKind<std::io::Error>;

/// Draws `residuals` after iterations 1, 2, … on a logarithmic axis; `None` if there is nothing to
/// draw.
pub(crate) fn of_residuals(residuals: &[f64]) -> Result<Option<String>, DrawError> {
    let values: Vec<(usize, Option<f64>)> = residuals
        .iter()
        .enumerate()
        .map(|(index, residual)| (index + 1, Some(*residual)))
        .collect();
    logarithmic(&values, &[])
}

/// Draws values against iterations on a logarithmic axis, with the names of `spans` above their
/// first iterations; `None` if there is nothing to draw.
pub(crate) fn logarithmic(
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
            let top = chart.backend_coord(&(x, range.end));
            area.draw_text(
                engine,
                &("sans-serif", 13).into_text_style(&area),
                (top.0 + 5, top.1 + 4),
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

/// A range slightly wider than that of the values; `None` without positive values.
fn logarithmic_range(values: impl Iterator<Item = f64>) -> Option<Range<f64>> {
    let (low, high) = values.fold((f64::INFINITY, 0.0_f64), |(low, high), v| {
        (low.min(v), high.max(v))
    });
    // The engines' names are above the curve.
    (high > 0.0).then(|| (low / 1.3).max(f64::MIN_POSITIVE)..(high * 1.8).min(f64::MAX))
}

/// Round numbers in `range`: as many powers of ten as are legible, and 2 and 5 times these if there
/// are few.
pub(crate) fn ticks(range: &Range<f64>) -> Vec<f64> {
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
    use super::*;

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
}
