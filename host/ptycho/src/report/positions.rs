//! The positions of a scan as SVG for an HTML page.

use ndarray::{Array2, ArrayView1};
use plotters::prelude::*;
use std::ops::Range;
use warpstride_core::text::round_below;
use warpstride_report::curves::{AXES, CURVES, DrawError, LABEL_DISTANCE, LINE, MARGIN};
use warpstride_report::value_axis::ValueAxis;

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
/// Length of the median arrow in units of the mean distance of the positions.
const ARROW: f64 = 0.7;
/// Its least and greatest length, SVG units.
const ARROW_LENGTHS: [f64; 2] = [8.0, 30.0];
/// Greatest length of any arrow, SVG units.
const LONGEST: f64 = 90.0;
/// Length of the two lines of an arrowhead, SVG units, and their angle to the shaft, rad.
const HEAD: (f64, f64) = (5.0, 0.45);

/// A drawing of positions.
pub(super) struct Drawing {
    pub(super) svg: String,
    /// Every how many-th position is drawn.
    pub(super) every: usize,
    /// Arrows are this many times the displacements; `None` without arrows.
    pub(super) factor: Option<f64>,
}

/// Draws `positions` (frame, (row, column)), m, rows downwards and columns to the right as in the
/// pictures of the object, with the same scale on both axes, and `displacements` from them as
/// arrows, magnified by a round number.
pub(super) fn positions(
    positions: &Array2<f64>,
    displacements: Option<&Array2<f64>>,
) -> Result<Drawing, DrawError> {
    let every = positions.nrows().div_ceil(MOST).max(1);
    let arrows = displacements.and_then(|displacements| {
        let factor = magnification(positions, displacements)?;
        Some((factor, positions + &(displacements * factor)))
    });
    let tips = arrows.as_ref().map(|(_, tips)| tips);
    let [rows, columns] = [0, 1].map(|axis| range(positions, tips, axis));
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
        let at = |position: ArrayView1<'_, f64>| (factor * position[1], -factor * position[0]);
        let drawn = || positions.rows().into_iter().step_by(every);
        chart.draw_series(drawn().map(|p| Circle::new(at(p), 2, CURVES[0].filled())))?;
        if let Some(tips) = tips {
            let arrows = || drawn().zip(tips.rows().into_iter().step_by(every));
            let style = CURVES[1].stroke_width(1);
            chart.draw_series(
                arrows().map(|(from, tip)| PathElement::new([at(from), at(tip)], style)),
            )?;
            chart.draw_series(arrows().map(|(from, tip)| {
                let [down, right] = [0, 1].map(|axis| per_metre * (tip[axis] - from[axis]));
                EmptyElement::at(at(tip)) + PathElement::new(head(right, down), style)
            }))?;
        }
        area.present()?;
    }
    let factor = arrows.map(|(factor, _)| factor);
    Ok(Drawing { svg, every, factor })
}

/// Factor on `displacements`, 1, 2 or 5 times a power of ten, with which the median arrow is
/// legible; `None` if there are no displacements.
fn magnification(positions: &Array2<f64>, displacements: &Array2<f64>) -> Option<f64> {
    let sizes = displacements.rows().into_iter().map(|d| d[0].hypot(d[1]));
    let mut sizes: Vec<f64> = sizes.filter(|s| *s > 0.0 && s.is_finite()).collect();
    sizes.sort_by(f64::total_cmp);
    let (median, largest) = (*sizes.get(sizes.len() / 2)?, *sizes.last()?);
    let [rows, columns] = [0, 1].map(|axis| range(positions, None, axis));
    let [wide, high] = [&columns, &rows].map(|r| r.end - r.start);
    let per_metre = (WIDTH / wide).min(HEIGHTS[1] / high);
    let drawn = positions.nrows().clamp(1, MOST) as f64;
    let distance = per_metre * (wide * high / drawn).sqrt();
    let length = (ARROW * distance).clamp(ARROW_LENGTHS[0], ARROW_LENGTHS[1]);
    Some(round_below(
        (length / median).min(LONGEST / largest) / per_metre,
    ))
}

/// The two lines at the tip of an arrow of this extent, relative to the tip, SVG units.
fn head(right: f64, down: f64) -> [(i32, i32); 3] {
    let (size, angle) = HEAD;
    let size = size.min(right.hypot(down) / 2.0);
    let direction = down.atan2(right);
    let end = |turn: f64| {
        let (sin, cos) = (direction + turn).sin_cos();
        (-(size * cos).round() as i32, -(size * sin).round() as i32)
    };
    [end(angle), (0, 0), end(-angle)]
}

/// Range of the coordinates along `axis`, of the tips of arrows too, with space around them, m.
fn range(positions: &Array2<f64>, tips: Option<&Array2<f64>>, axis: usize) -> Range<f64> {
    let tips = tips.map(|tips| tips.column(axis));
    let ends = positions
        .column(axis)
        .iter()
        .chain(tips.iter().flatten())
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
        let drawing = positions(&array![[0.0, 0.0], [1e-6, 0.0], [1e-6, 3e-6]], None).unwrap();
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

    /// Coordinates of the lines of a drawing that have `points` points, SVG units.
    fn lines(svg: &str, points: usize) -> Vec<Vec<[f64; 2]>> {
        let orange = "#D6781E";
        let lines = svg.split("<polyline").skip(1);
        let lines = lines.filter(|line| line.split("/>").next().unwrap().contains(orange));
        let point = |pair: &str| {
            let (x, y) = pair.split_once(',').unwrap();
            [x.parse().unwrap(), y.parse().unwrap()]
        };
        lines
            .map(|line| {
                let list = line.split("points=\"").nth(1).unwrap();
                let list = list.split('"').next().unwrap();
                list.split_whitespace().map(point).collect::<Vec<_>>()
            })
            .filter(|line| line.len() == points)
            .collect()
    }

    #[test]
    fn arrows_lead_from_the_positions_along_the_displacements() {
        let grid = Array2::from_shape_fn((25, 2), |(frame, axis)| {
            1e-6 * if axis == 0 { frame / 5 } else { frame % 5 } as f64
        });
        // Down by 3 nm and to the right by 4 nm; one position stays, one moves ten times as far.
        let mut moved = Array2::from_shape_fn((25, 2), |(_, axis)| [3e-9, 4e-9][axis]);
        moved.row_mut(7).fill(0.0);
        moved.row_mut(12).mapv_inplace(|v| -10.0 * v);
        let drawing = positions(&grid, Some(&moved)).unwrap();
        let factor = drawing.factor.unwrap();
        assert!([10.0, 20.0, 50.0, 100.0].contains(&factor), "{factor}");
        let dots = circles(&drawing.svg);
        let per_metre = (dots[1][0] - dots[0][0]) / 1e-6;
        let shafts = lines(&drawing.svg, 2);
        assert_eq!((dots.len(), shafts.len()), (25, 25));
        for (frame, (dot, shaft)) in dots.iter().zip(&shafts).enumerate() {
            for (axis, d) in [(0, moved[[frame, 1]]), (1, moved[[frame, 0]])] {
                assert!((shaft[0][axis] - dot[axis]).abs() <= 1.0, "{frame}");
                let length = shaft[1][axis] - shaft[0][axis];
                assert!((length - factor * per_metre * d).abs() <= 3.0, "{frame}");
            }
        }
        let heads = lines(&drawing.svg, 3);
        assert_eq!(heads.len(), 25);
        for (shaft, head) in shafts.iter().zip(&heads) {
            assert!((head[1][0] - shaft[1][0]).abs() <= 1.0);
        }
        assert!(!drawing.svg.contains("NaN") && !drawing.svg.contains("inf"));
        let still = positions(&grid, Some(&Array2::zeros((25, 2)))).unwrap();
        assert_eq!((still.factor, lines(&still.svg, 2).len()), (None, 0));
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
            let drawing = positions(&unusual, None).unwrap();
            assert_eq!(circles(&drawing.svg).len(), unusual.nrows());
            assert!(!drawing.svg.contains("NaN") && !drawing.svg.contains("inf"));
        }
        let many = Array2::from_shape_fn((2 * MOST + 1, 2), |(frame, axis)| {
            1e-8 * if axis == 0 { frame % 100 } else { frame / 100 } as f64
        });
        let drawing = positions(&many, None).unwrap();
        assert_eq!((drawing.every, circles(&drawing.svg).len()), (3, 2667));
    }
}
