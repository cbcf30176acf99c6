//! The section of the report on the variations of the first probe mode: pictures, power, and
//! coefficients over the frames.

use super::pictures::Pictures;
use crate::data::{Reconstruction, VariableProbe};
use crate::session::summary::Summary;
use plotters::prelude::*;
use warpstride_core::text::significant;
use warpstride_report::ReportError;
use warpstride_report::curves::{AXES, CURVES, DrawError, LABEL_DISTANCE, LINE, MARGIN, SIZE};
use warpstride_report::page::{curve, figure, table};
use warpstride_report::value_axis::ValueAxis;

/// Steps between labels of frames and of coefficients, at most.
const STEPS: u32 = 6;
/// Most frames drawn.
const MOST: usize = 4000;

/// The section; nothing without variations.
///
/// # Errors
/// The coefficients cannot be drawn.
pub(super) fn variable_probe(
    of: &Reconstruction,
    pictures: &Pictures,
    summary: &Summary,
) -> Result<String, ReportError> {
    let (Some(variable), Some(found)) = (&of.parts.variable_probe, &summary.variable_probe) else {
        return Ok(String::new());
    };
    let mut text = String::from("<section>\n<h2>Variations of the probe</h2>\n");
    if let Some(picture) = &pictures.variations {
        text += &figure(picture, "Variations of the first probe mode");
    }
    let percent = |share: &f64| significant(100.0 * share, 3);
    let shares: Vec<String> = found.power.iter().map(percent).collect();
    text += &table(&[
        ("Power of the variations, %", shares.join(", ")),
        (
            "Of all together, in the mean over the frames, %",
            percent(&found.power.iter().sum()),
        ),
        (
            "Of all together, in the frame with most, %",
            percent(&found.largest),
        ),
    ]);
    let drawn = coefficients(variable, of).map_err(|e| ReportError(e.to_string()))?;
    let meaning = "The coefficients of the strongest (blue), the second (orange) and the third variation (green) in each frame, as shares of the root of the power of the probe. A drift of the beam is a slow change along the frames; values that jump from frame to frame are changes between exposures, or noise.";
    text += &curve("Coefficients", "frame", meaning, drawn.as_deref());
    Ok(text + "</section>\n")
}

/// Draws the coefficients of the first variations against the number of the frame; `None` without
/// values that can be drawn.
fn coefficients(
    variable: &VariableProbe,
    of: &Reconstruction,
) -> Result<Option<String>, DrawError> {
    let power: f64 = of.probe.iter().map(num_complex::Complex::norm_sqr).sum();
    let frames = variable.coefficients.nrows();
    let all = variable.coefficients.iter().map(|c| c / power.sqrt());
    let most = all.clone().fold(0.0, |a: f64, b| a.max(b.abs()));
    if frames < 2 || !(most.is_finite() && most > 0.0) {
        return Ok(None);
    }
    let every = frames.div_ceil(MOST);
    let mut svg = String::new();
    {
        let x = ValueAxis::new(0.0..frames as f64 - 1.0, STEPS);
        let y = ValueAxis::new(-1.05 * most..1.05 * most, STEPS);
        let beside = LABEL_DISTANCE + y.widest_label(LINE as usize) as u32;
        let area = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        let mut chart = ChartBuilder::on(&area)
            .margin(MARGIN)
            .margin_right(2 * MARGIN)
            .x_label_area_size(LABEL_DISTANCE + 2 * LINE)
            .y_label_area_size(beside)
            .build_cartesian_2d(x, y)?;
        chart
            .configure_mesh()
            .axis_style(AXES)
            .bold_line_style(AXES.mix(0.35))
            .light_line_style(AXES.mix(0.12))
            .label_style(("sans-serif", LINE))
            .x_desc("frame")
            .draw()?;
        for (k, colour) in CURVES.iter().enumerate().take(variable.count()) {
            let values = variable.coefficients.column(k);
            let points = values.iter().enumerate().step_by(every);
            let points = points.map(|(frame, c)| (frame as f64, c / power.sqrt()));
            chart.draw_series(points.map(|at| Circle::new(at, 2, colour.filled())))?;
        }
        area.present()?;
    }
    Ok(Some(svg))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample;
    use ndarray::Array2;

    #[test]
    fn the_section_has_pictures_powers_and_coefficients_or_is_absent() {
        let mut of = sample::reconstruction();
        let page = |of: &Reconstruction| {
            let summary = Summary::new(of, sample::record(), None);
            variable_probe(of, &Pictures::new(of).unwrap(), &summary).unwrap()
        };
        assert_eq!(page(&of), "");
        let shapes = of.probe.clone();
        let count = shapes.dim().0;
        of.parts.variable_probe = Some(VariableProbe {
            shapes,
            coefficients: Array2::from_shape_fn((3, count), |(j, k)| 0.1 * (j as f64 - k as f64)),
        });
        let found = page(&of);
        for text in [
            "Variations of the first probe mode",
            "Power of the variations, %",
            "Coefficients against frame",
        ] {
            assert!(found.contains(text), "{text}: {found}");
        }
        let variable = of.parts.variable_probe.as_mut().unwrap();
        variable.coefficients.fill(0.0);
        assert!(!page(&of).contains("<circle"));
    }
}
