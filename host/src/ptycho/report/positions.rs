//! The positions of a scan as SVG for an HTML page.

use crate::report::curves::{AXES, CURVES, DrawError, LABEL_DISTANCE, LINE, MARGIN};
use crate::report::value_axis::ValueAxis;
use ndarray::Array2;
use plotters::prelude::*;
use std::ops::Range;

/// Width of the plot without its labels, SVG units.
const WIDTH: f64 = 340.0;
/// Greatest and least height, SVG units.
const HEIGHTS: [f64; 2] = [120.0, 380.0];
/// Space around the positions, as a share of their extent.
const AROUND: f64 = 0.05;
/// Least range of an axis, m, for scans of one position.
const LEAST: f64 = 1e-9;
/// Largest number of positions drawn.
const MOST: usize = 4000;
/// SVG units per step between labels.
const STEP: f64 = 60.0;
/// Least number of steps between labels of rows, so that there are at least two labels.
const LEAST_STEPS: u32 = 5;

/// A drawing of positions.
pub(super) struct Drawing {
    pub(super) svg: String,
    /// Every how many-th position is drawn.
    pub(super) every: usize,
}

/// Draws `positions` (frame, (row, column)), m, rows downwards and columns to the right as in the
/// pictures of the object, with the same scale on both axes.
pub(super) fn positions(positions: &Array2<f64>) -> Result<Drawing, DrawError> {
    let every = positions.nrows().div_ceil(MOST).max(1);
    let [rows, columns] = [0, 1].map(|axis| range(positions, axis));
    let [wide, high] = [&columns, &rows].map(|r| r.end - r.start);
    let (factor, unit) = match wide.max(high) {
        side if side < 2e-7 => (1e9, "nm"),
        side if side < 1e-2 => (1e6, "µm"),
        _ => (1e3, "mm"),
    };
    // The same scale on both axes; the plot is neither too flat nor too high.
    let per_metre = (WIDTH / wide).min(HEIGHTS[1] / high);
    let height = (high * per_metre).clamp(HEIGHTS[0], HEIGHTS[1]);
    let around = |range: &Range<f64>, length: f64| {
        let (middle, half) = (f64::midpoint(range.start, range.end), length / 2.0);
        factor * (middle - half)..factor * (middle + half)
    };
    let columns = around(&columns, WIDTH / per_metre);
    let rows = around(&rows, height / per_metre);
    let x = ValueAxis::new(columns, (WIDTH / STEP) as u32);
    let row_steps = ((height / STEP) as u32).max(LEAST_STEPS);
    // Rows count downwards.
    let y = ValueAxis::new(-rows.end..-rows.start, row_steps);
    let of_rows = ValueAxis::new(rows, row_steps);
    let beside = LABEL_DISTANCE + of_rows.widest_label(LINE as usize) as u32;
    let below = LABEL_DISTANCE + 2 * LINE;
    let size = (
        WIDTH as u32 + beside + 4 * MARGIN,
        height as u32 + below + 2 * MARGIN + 2 * LINE,
    );
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        let style = ("sans-serif", LINE);
        let mut chart = ChartBuilder::on(&area)
            .margin(MARGIN)
            .margin_top(MARGIN + 2 * LINE)
            .margin_right(3 * MARGIN)
            .x_label_area_size(below)
            .y_label_area_size(beside)
            .build_cartesian_2d(x, y)?;
        chart
            .configure_mesh()
            .axis_style(AXES)
            .bold_line_style(AXES.mix(0.35))
            .light_line_style(AXES.mix(0.0))
            .label_style(style)
            .x_desc(format!("column, {unit}"))
            .y_label_formatter(&|y| of_rows.label(-y))
            .draw()?;
        area.draw_text(
            &format!("row, {unit}"),
            &style.into_text_style(&area),
            (MARGIN as i32, MARGIN as i32),
        )?;
        let drawn = positions.rows().into_iter().step_by(every);
        chart.draw_series(drawn.map(|position| {
            let at = (factor * position[1], -factor * position[0]);
            Circle::new(at, 2, CURVES[0].filled())
        }))?;
        area.present()?;
    }
    Ok(Drawing { svg, every })
}

/// Range of the coordinates along `axis` with space around them, m.
fn range(positions: &Array2<f64>, axis: usize) -> Range<f64> {
    let ends = positions
        .column(axis)
        .iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
            (low.min(*value), high.max(*value))
        });
    let (low, high) = if ends.0 <= ends.1 { ends } else { (0.0, 0.0) };
    // A step that the magnitude of the coordinates can resolve.
    let least = LEAST.max(1e-9 * low.abs().max(high.abs()));
    let around = (AROUND * (high - low)).max(least / 2.0);
    low - around..high + around
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    /// Coordinates of the circles, SVG units.
    fn circles(svg: &str) -> Vec<[f64; 2]> {
        let number = |circle: &str, name: &str| -> f64 {
            let rest = circle.split(&format!("{name}=\"")).nth(1).unwrap();
            rest.split('"').next().unwrap().parse().unwrap()
        };
        let circles = svg.split("<circle").skip(1);
        circles
            .map(|c| ["cx", "cy"].map(|name| number(c, name)))
            .collect()
    }

    #[test]
    fn rows_point_downwards_and_both_axes_have_one_scale() {
        let drawing = positions(&array![[0.0, 0.0], [1e-6, 0.0], [1e-6, 3e-6]]).unwrap();
        assert_eq!(drawing.every, 1);
        let [a, b, c] = circles(&drawing.svg)[..] else {
            panic!("three circles")
        };
        assert!(b[1] > a[1] + 50.0 && (a[0] - b[0]).abs() <= 1.0);
        assert!(
            (c[0] - b[0] - 3.0 * (b[1] - a[1])).abs() <= 4.0,
            "{a:?} {b:?} {c:?}"
        );
        assert!(drawing.svg.contains("column, µm") && drawing.svg.contains("row, µm"));
    }

    #[test]
    fn unusual_scans_are_drawn() {
        for unusual in [
            array![[0.0, 0.0]],
            array![[5.0, -3.0]],
            array![[0.0, 0.0], [0.0, 1e-3]],
            array![[0.0, 0.0], [1e-3, 0.0]],
            array![[1e3, 0.0], [-1e3, 1e-9]],
            Array2::zeros((0, 2)),
        ] {
            let drawing = positions(&unusual).unwrap();
            assert_eq!(circles(&drawing.svg).len(), unusual.nrows());
            assert!(!drawing.svg.contains("NaN") && !drawing.svg.contains("inf"));
        }
        let many = Array2::from_shape_fn((2 * MOST + 1, 2), |(frame, axis)| {
            1e-8 * if axis == 0 { frame % 100 } else { frame / 100 } as f64
        });
        let drawing = positions(&many).unwrap();
        assert_eq!((drawing.every, circles(&drawing.svg).len()), (3, 2667));
    }
}
