//! The probe's size along the beam as SVG.

use crate::FocusSearch;
use plotters::prelude::*;
use warpstride_report::curves::{AXES, CURVES, DrawError, LABEL_DISTANCE, LINE, MARGIN, SIZE};
use warpstride_report::value_axis::ValueAxis;

/// Largest number of steps between labels of planes and of diameters.
const STEPS: [u32; 2] = [6, 6];
/// Part of the largest diameter above the curve.
const ABOVE: f64 = 0.08;

/// A unit of length for an axis: its symbol, and how many of them are 1 m.
fn unit(largest: f64) -> (&'static str, f64) {
    match largest {
        m if m < 1e-6 => ("nm", 1e9),
        m if m < 1e-3 => ("µm", 1e6),
        m if m < 1.0 => ("mm", 1e3),
        _ => ("m", 1.0),
    }
}

/// Draws the effective diameter against the plane along the beam; the specimen and, if it was
/// found, the focus (orange) are vertical lines. `None` without two different planes.
pub(super) fn size_along_beam(search: &FocusSearch) -> Result<Option<String>, DrawError> {
    let planes = search.curve.iter().map(|at| at[0]);
    let ends = planes.fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], plane| {
        [low.min(plane), high.max(plane)]
    });
    let largest = search.curve.iter().map(|at| at[1]).fold(0.0, f64::max);
    if !(ends[0] < ends[1] && largest > 0.0 && largest.is_finite()) {
        return Ok(None);
    }
    let (plane_unit, per_plane) = unit(ends[0].abs().max(ends[1].abs()));
    let (size_unit, per_size) = unit(largest);
    let top = largest * per_size * (1.0 + ABOVE);
    let mut svg = String::new();
    {
        let planes = ValueAxis::new(ends[0] * per_plane..ends[1] * per_plane, STEPS[0]);
        let sizes = ValueAxis::new(0.0..top, STEPS[1]);
        let beside = 2 * LINE + LABEL_DISTANCE + sizes.widest_label(LINE as usize) as u32;
        let area = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        let mut chart = ChartBuilder::on(&area)
            .margin(MARGIN)
            .margin_right(2 * MARGIN)
            .x_label_area_size(LABEL_DISTANCE + 2 * LINE)
            .y_label_area_size(beside)
            .build_cartesian_2d(planes, sizes)?;
        chart
            .configure_mesh()
            .axis_style(AXES)
            .bold_line_style(AXES.mix(0.35))
            .light_line_style(AXES.mix(0.12))
            .label_style(("sans-serif", LINE))
            .x_desc(format!("plane along the beam, {plane_unit}"))
            .y_desc(format!("effective diameter, {size_unit}"))
            .draw()?;
        let focus = search.focus.map(|focus| -focus.distance * per_plane);
        for (plane, colour) in [(Some(0.0), AXES), (focus, CURVES[1])] {
            let Some(plane) = plane else { continue };
            let line = [(plane, 0.0), (plane, top)];
            chart.draw_series(DashedLineSeries::new(line, 5, 4, colour.stroke_width(1)))?;
        }
        let points = search
            .curve
            .iter()
            .map(|at| (at[0] * per_plane, at[1] * per_size));
        chart.draw_series(LineSeries::new(points, CURVES[0].stroke_width(2)))?;
        area.present()?;
    }
    Ok(Some(svg))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample;

    #[test]
    fn the_specimen_and_the_focus_are_lines() {
        let found = FocusSearch::of_result(&sample::reconstruction()).unwrap();
        assert!(found.focus.is_some(), "{found:?}");
        let with = size_along_beam(&found).unwrap().unwrap();
        let without = FocusSearch {
            focus: None,
            ..found.clone()
        };
        let without = size_along_beam(&without).unwrap().unwrap();
        let orange = |svg: &str| svg.to_uppercase().matches("#D6781E").count();
        assert!(orange(&with) > 3 && orange(&without) == 0, "{with}");
        assert!(with.contains("plane along the beam, µm"), "{with}");
        assert!(!with.contains("NaN") && !with.contains("inf"));
        let nothing = FocusSearch {
            curve: vec![[0.0, 1.0]],
            ..found
        };
        assert_eq!(size_along_beam(&nothing).unwrap(), None);
    }
}
