//! Curves of aggregates against time.

#[cfg(test)]
mod tests;
mod time_axis;

use super::bitmap::Bitmap;
use super::canvas::Canvas;
use super::curves::AXES;
use super::html::ReportError;
use super::numbers::significant;
use super::pictures::Picture;
use plotters::prelude::*;
use std::ops::Range;
use time_axis::{Marks, SECOND, TimeAxis};

/// Width and height, pixels.
const SIZE: (u32, u32) = (1400, 700);
/// Most cells of a curve: more than there are columns of pixels.
const CELLS: usize = 1 << 12;
/// Most curves.
const CURVES: usize = 8;
/// Legible on white, and told apart by most who are colour-blind (Okabe and Ito).
const COLOURS: [RGBColor; CURVES] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(90, 90, 90),
    RGBColor(150, 130, 20),
];
/// Height of letters, pixels.
const LETTERS: u32 = 16;

/// Neighbouring rows of a curve.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Cell {
    /// Of the first row, nanoseconds since 1970.
    time: i64,
    least: f64,
    greatest: f64,
}

#[derive(Debug, Clone, PartialEq)]
struct Curve {
    name: String,
    cells: Vec<Cell>,
    /// Rows of a cell.
    stride: usize,
    /// Rows in the last one.
    filled: usize,
}

/// Curves that take rows as they come, and no more memory the more rows there are.
#[derive(Debug, Clone, PartialEq)]
pub struct SeriesCurves {
    title: String,
    curves: Vec<Curve>,
    /// Number of the series that rows came of last.
    last: Option<usize>,
    /// Series that are not drawn.
    others: usize,
}

impl SeriesCurves {
    /// Without rows.
    #[must_use]
    pub fn new(title: String) -> Self {
        Self {
            title,
            curves: Vec::new(),
            last: None,
            others: 0,
        }
    }

    /// More rows of series `number`; those of one series come one after the other. Values that are not finite are left
    /// out.
    pub fn add(&mut self, number: usize, name: &str, starts: &[i64], values: &[f64]) {
        if self.last != Some(number) {
            self.last = Some(number);
            if self.curves.len() == CURVES {
                self.others += 1;
            } else {
                self.curves.push(Curve {
                    name: name.to_owned(),
                    cells: Vec::new(),
                    stride: 1,
                    filled: 0,
                });
            }
        }
        if self.others > 0 {
            return;
        }
        if let Some(curve) = self.curves.last_mut() {
            for (time, value) in starts.iter().zip(values) {
                curve.add(*time, *value);
            }
        }
    }

    /// That not all series are drawn.
    #[must_use]
    pub fn note(&self) -> Option<String> {
        (self.others > 0).then(|| {
            format!(
                "the plot shows the first {CURVES} of {} series",
                CURVES + self.others
            )
        })
    }

    /// The picture.
    ///
    /// # Errors
    /// No value is finite; the encoder's.
    pub fn png(&self) -> Result<Picture, ReportError> {
        let (times, values) = self
            .ranges()
            .ok_or_else(|| ReportError("no value is finite".to_owned()))?;
        let mut canvas = Canvas::new(SIZE.0 as usize, SIZE.1 as usize);
        {
            let area = Bitmap::new(&mut canvas, SIZE).into_drawing_area();
            self.draw(&area, times, values)
                .map_err(|e| ReportError(e.to_string()))?;
        }
        Ok(Picture {
            png: canvas.png().map_err(|e| ReportError(e.to_string()))?,
            caption: self.title.clone(),
        })
    }

    /// Of times and of values, somewhat widened.
    fn ranges(&self) -> Option<(Range<i64>, Range<f64>)> {
        let cells = || self.curves.iter().flat_map(|curve| &curve.cells);
        let first = cells().map(|cell| cell.time).min()?;
        let last = cells().map(|cell| cell.time).max()?;
        let least = cells().map(|cell| cell.least).fold(f64::INFINITY, f64::min);
        let greatest = cells()
            .map(|cell| cell.greatest)
            .fold(f64::NEG_INFINITY, f64::max);
        // Halves: the difference of the greatest and the least double overflows.
        let margin = (greatest / 2.0 - least / 2.0) * 0.1;
        let margin = if margin > 0.0 {
            margin
        } else {
            (greatest.abs() * 0.1).max(1e-300)
        };
        let around = last.saturating_sub(first) / 50 + SECOND;
        Some((
            first.saturating_sub(around)..last.saturating_add(around),
            (least - margin).max(f64::MIN / 4.0)..(greatest + margin).min(f64::MAX / 4.0),
        ))
    }

    fn draw<B: DrawingBackend>(
        &self,
        area: &DrawingArea<B, plotters::coord::Shift>,
        times: Range<i64>,
        values: Range<f64>,
    ) -> Result<(), DrawingAreaErrorKind<B::ErrorType>> {
        let style = ("sans-serif", LETTERS as i32);
        let marks = Marks::of(&times);
        let unit = marks.unit;
        let axis = TimeAxis { times, marks };
        let mut chart = ChartBuilder::on(area)
            .margin(LETTERS)
            .margin_top(3 * LETTERS)
            .margin_right(4 * LETTERS)
            .x_label_area_size(3 * LETTERS)
            .y_label_area_size(7 * LETTERS)
            .build_cartesian_2d(axis, values.clone())?;
        chart
            .configure_mesh()
            .axis_style(AXES)
            .bold_line_style(AXES.mix(0.35))
            .light_line_style(AXES.mix(0.12))
            .label_style(style)
            .x_desc(unit)
            .y_label_formatter(&|y| significant(*y, 3))
            .draw()?;
        let letter = LETTERS as i32;
        area.draw_text(
            &self.title,
            &style.into_text_style(area),
            (letter, letter / 2),
        )?;
        let mut right = letter;
        for (curve, colour) in self.curves.iter().zip(COLOURS) {
            let points = curve
                .cells
                .iter()
                .flat_map(|cell| [(cell.time, cell.least), (cell.time, cell.greatest)]);
            let points: Vec<(i64, f64)> = points.collect();
            if curve.cells.len() == 1 {
                chart.draw_series(points.iter().map(|at| Circle::new(*at, 4, colour.filled())))?;
            }
            chart.draw_series(LineSeries::new(points, colour.stroke_width(2)))?;
            let key = [(right, 2 * letter), (right + letter, 3 * letter - 4)];
            area.draw(&Rectangle::new(key, colour.filled()))?;
            let name: String = curve.name.chars().take(24).collect();
            area.draw_text(
                &name,
                &style.into_text_style(area),
                (right + letter + 6, 2 * letter),
            )?;
            right += (name.chars().count() as i32 + 3) * letter;
        }
        area.present()
    }
}

impl Curve {
    fn add(&mut self, time: i64, value: f64) {
        if !value.is_finite() {
            return;
        }
        match self.cells.last_mut() {
            Some(cell) if self.filled < self.stride => {
                cell.least = cell.least.min(value);
                cell.greatest = cell.greatest.max(value);
                self.filled += 1;
                return;
            }
            _ => {}
        }
        if self.cells.len() == CELLS {
            let pairs = self.cells.chunks(2).map(|pair| Cell {
                time: pair[0].time,
                least: pair.iter().map(|c| c.least).fold(f64::INFINITY, f64::min),
                greatest: pair
                    .iter()
                    .map(|c| c.greatest)
                    .fold(f64::NEG_INFINITY, f64::max),
            });
            self.cells = pairs.collect();
            self.stride *= 2;
        }
        self.cells.push(Cell {
            time,
            least: value,
            greatest: value,
        });
        self.filled = 1;
    }
}
