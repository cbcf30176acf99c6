//! The Fourier ring correlation with its thresholds, as SVG.

use crate::quality::Ring;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use warpstride_report::curves::{AXES, CURVES, DrawError, LABEL_DISTANCE, LINE, MARGIN, SIZE};
use warpstride_report::font::width_of;
use warpstride_report::value_axis::ValueAxis;

/// Largest number of steps between labels of frequencies and of correlations.
const FREQUENCY_STEPS: u32 = 5;
const CORRELATION_STEPS: u32 = 7;
/// Height of the legend, SVG units.
const LEGEND: u32 = 13;
/// Length of the lines in it, SVG units.
const SAMPLE: i32 = 18;
/// The curves, in the order of [`CURVES`].
const NAMES: [&str; 3] = [
    "ring correlation",
    "half-bit threshold",
    "one-bit threshold",
];

/// Draws the correlation and the half-bit and one-bit thresholds over the spatial frequency, that
/// of pixels of `pixel` (row, column), m, below a title if there is one; `None` without rings.
pub(super) fn ring_correlation(
    rings: &[Ring],
    pixel: [f64; 2],
    title: Option<&str>,
) -> Result<Option<String>, DrawError> {
    if rings.is_empty() {
        return Ok(None);
    }
    let (per_pixel, unit) = frequency_unit(pixel);
    let above = LEGEND + MARGIN + title.map_or(0, |_| LINE + MARGIN);
    let size = (SIZE.0, SIZE.1 + above);
    let mut svg = String::new();
    {
        let frequencies = ValueAxis::new(0.0..0.5 * per_pixel, FREQUENCY_STEPS);
        let correlations = ValueAxis::new(-0.1..1.05, CORRELATION_STEPS);
        let beside = LABEL_DISTANCE + LINE + correlations.widest_label(LINE as usize) as u32;
        let area = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        let mut chart = ChartBuilder::on(&area)
            .margin(MARGIN)
            .margin_top(MARGIN + above)
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
            .x_desc(format!("spatial frequency, {unit}"))
            .y_desc("correlation")
            .draw()?;
        let curves: [fn(&Ring) -> f64; 3] = [|r| r.correlation, |r| r.half_bit, |r| r.one_bit];
        for (i, (curve, colour)) in curves.into_iter().zip(CURVES).enumerate() {
            let points = rings
                .iter()
                .map(|r| (r.frequency * per_pixel, curve(r)))
                .filter(|p| p.1.is_finite() && p.1 <= 1.05);
            let style = colour.stroke_width(if i == 0 { 2 } else { 1 });
            chart.draw_series(LineSeries::new(points, style))?;
        }
        let text = |height: u32, across: HPos| {
            let style = ("sans-serif", height).into_text_style(&area);
            style.pos(Pos::new(across, VPos::Top))
        };
        if let Some(title) = title {
            let middle = (size.0 / 2) as i32;
            let style = text(LINE, HPos::Center);
            area.draw_text(title, &style, (middle, MARGIN as i32))?;
        }
        let top = (above - LEGEND) as i32;
        let widths = NAMES.map(|name| width_of(name, LEGEND as usize) as i32 + SAMPLE + 4);
        // The space that the names leave is between them.
        let between = (size.0 as i32 - 2 * MARGIN as i32 - widths.iter().sum::<i32>()) / 2;
        let mut left = MARGIN as i32;
        for ((name, colour), width) in NAMES.into_iter().zip(CURVES).zip(widths) {
            let row = top + LEGEND as i32 / 2;
            let line = vec![(left, row), (left + SAMPLE, row)];
            area.draw(&PathElement::new(line, colour.stroke_width(2)))?;
            area.draw_text(name, &text(LEGEND, HPos::Left), (left + SAMPLE + 4, top))?;
            left += width + between.clamp(0, 3 * MARGIN as i32);
        }
        area.present()?;
    }
    Ok(Some(svg))
}

/// The frequency of one cycle per pixel, of the coarser axis, in a unit in which the highest one is
/// at least 1, and the unit; cycles per pixel where the size of a pixel (m) is not known.
fn frequency_unit(pixel: [f64; 2]) -> (f64, &'static str) {
    let coarser = pixel[0].max(pixel[1]);
    let unit = match 0.5 / coarser {
        f if !f.is_finite() || f < 1.0 => return (1.0, "cycles per pixel"),
        f if f >= 1e9 => (1e9, "1/nm"),
        f if f >= 1e6 => (1e6, "1/µm"),
        f if f >= 1e3 => (1e3, "1/mm"),
        _ => (1.0, "1/m"),
    };
    (1.0 / (coarser * unit.0), unit.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rings() -> Vec<Ring> {
        let ring = |n: usize| Ring {
            frequency: 0.05 * n as f64,
            correlation: 1.0 - 0.1 * n as f64,
            half_bit: 0.4,
            one_bit: 0.6,
            independent: 10.0,
        };
        (1..=10).map(ring).collect()
    }

    #[test]
    fn the_drawing_names_its_axes_and_curves() {
        let with = ring_correlation(&rings(), [20e-9; 2], Some("Two halves"));
        let svg = with.unwrap().unwrap();
        for text in [
            "Two halves",
            "spatial frequency, 1/µm",
            "correlation",
            "half-bit threshold",
            "one-bit threshold",
        ] {
            assert!(svg.contains(text), "{text}");
        }
        // Half a cycle in a pixel of 20 nm is 25/µm.
        assert!(svg.contains("\n25\n"), "{svg}");
        let without = ring_correlation(&rings(), [20e-9; 2], None)
            .unwrap()
            .unwrap();
        assert!(!without.contains("Two halves"));
        assert_eq!(ring_correlation(&[], [20e-9; 2], None).unwrap(), None);
    }

    #[test]
    fn units_make_the_highest_frequency_readable() {
        for (pixel, factor, unit) in [
            ([2e-8, 1e-8], 50.0, "1/µm"),
            ([2e-11, 4e-11], 25.0, "1/nm"),
            ([4e-6, 4e-6], 250.0, "1/mm"),
            ([0.0, 0.0], 1.0, "cycles per pixel"),
            ([f64::NAN, f64::NAN], 1.0, "cycles per pixel"),
        ] {
            let (found, of) = frequency_unit(pixel);
            assert!(
                (found / factor - 1.0).abs() < 1e-12 && of == unit,
                "{found} {of}"
            );
        }
    }
}
