//! Draws the plot: axes, legend, curves.

use super::legend;
use super::time_axis::{SECOND, TimeAxis};
use super::{CURVES, Cell, SeriesCurves};
use plotters::prelude::*;
use std::ops::Range;
use warpstride_report::ReportError;
use warpstride_report::bitmap::Bitmap;
use warpstride_report::canvas::{Canvas, TEXT};
use warpstride_report::curves::{AXES, LABEL_DISTANCE};
use warpstride_report::font;
use warpstride_report::picture::Picture;
use warpstride_report::value_axis::ValueAxis;

/// Width and height in pixels.
pub(super) const SIZE: (u32, u32) = (1400, 700);
/// Colours that are legible on white and distinguishable with most forms of colour blindness (Okabe
/// and Ito).
pub(super) const COLOURS: [RGBColor; CURVES] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(90, 90, 90),
    RGBColor(150, 130, 20),
];
/// Height and width of letters in pixels.
const LETTER: usize = TEXT;
/// Margin around the contents in pixels.
const MARGIN: usize = LETTER;
/// Largest number of steps between labels of values.
const VALUE_STEPS: u32 = 10;
/// Side of the coloured square before a name in the legend.
const SQUARE: usize = LETTER * 2 / 3;
/// Distance between lines of the legend.
const LINE: usize = LETTER + LETTER / 3;

/// The ranges of times and values.
struct Extent {
    times: (i64, i64),
    values: (f64, f64),
}

impl Extent {
    /// Range of the time axis, slightly wider.
    fn time_axis(&self) -> Range<i64> {
        let (first, last) = self.times;
        let span = last.saturating_sub(first);
        let around = if span == 0 { SECOND } else { span / 50 + 1 };
        first.saturating_sub(around)..last.saturating_add(around)
    }

    /// Range of the value axis, slightly wider.
    fn value_axis(&self) -> Range<f64> {
        let (least, greatest) = self.values;
        // Halved first, because the difference between the largest and the smallest double
        // overflows.
        let margin = (greatest / 2.0 - least / 2.0) * 0.1;
        let margin = if margin > 0.0 {
            margin
        } else {
            (greatest.abs() * 0.1).max(1e-300)
        };
        (least - margin).max(f64::MIN)..(greatest + margin).min(f64::MAX)
    }
}

impl SeriesCurves {
    /// Draws the plot.
    ///
    /// # Errors
    /// If there is no value, or no finite one; errors of the encoder.
    pub fn png(&self) -> Result<Picture, ReportError> {
        let extent = self.extent().ok_or_else(|| {
            let why = if self.any {
                "no value is finite"
            } else {
                "there is no value"
            };
            ReportError(why.to_owned())
        })?;
        let mut canvas = Canvas::new(SIZE.0 as usize, SIZE.1 as usize);
        {
            let area = Bitmap::new(&mut canvas, SIZE).into_drawing_area();
            self.draw(&area, &extent)
                .map_err(|e| ReportError(e.to_string()))?;
        }
        Ok(Picture {
            png: canvas.png().map_err(|e| ReportError(e.to_string()))?,
            caption: self.title.clone(),
        })
    }

    fn extent(&self) -> Option<Extent> {
        let cells = || self.curves.iter().flat_map(|curve| &curve.cells);
        let least = cells().map(|cell| cell.least).fold(f64::INFINITY, f64::min);
        let greatest = cells()
            .map(|cell| cell.greatest)
            .fold(f64::NEG_INFINITY, f64::max);
        Some(Extent {
            times: (
                cells().map(|cell| cell.time).min()?,
                cells().map(|cell| cell.time).max()?,
            ),
            values: (least, greatest),
        })
    }

    fn draw<B: DrawingBackend>(
        &self,
        area: &DrawingArea<B, plotters::coord::Shift>,
        extent: &Extent,
    ) -> Result<(), DrawingAreaErrorKind<B::ErrorType>> {
        let style = ("sans-serif", LETTER as i32);
        let lines = self.draw_legend(area)?;
        let values = ValueAxis::new(extent.value_axis(), VALUE_STEPS);
        let left = values.widest_label(LETTER) + LABEL_DISTANCE as usize;
        let right = 2 * LETTER;
        let width = SIZE.0 as usize - 2 * MARGIN - left - right;
        let times = TimeAxis::new(extent.time_axis(), extent.times, width, self.zone);
        let time_title = times.title.clone();
        let mut chart = ChartBuilder::on(area)
            .margin(MARGIN as u32)
            .margin_top((2 * MARGIN + lines * LINE) as u32)
            .margin_right((MARGIN + right) as u32)
            .x_label_area_size(LABEL_DISTANCE + 2 * LETTER as u32)
            .y_label_area_size(left as u32)
            .build_cartesian_2d(times, values)?;
        chart
            .configure_mesh()
            .axis_style(AXES)
            .bold_line_style(AXES.mix(0.35))
            .light_line_style(AXES.mix(0.12))
            .label_style(style)
            .x_desc(time_title)
            .draw()?;
        for (curve, colour) in self.curves.iter().zip(COLOURS) {
            for run in curve.cells.chunk_by(|_, later| later.joined) {
                if let [alone] = run
                    && alone.rows == 1
                {
                    let at = (alone.time, alone.least);
                    chart.draw_series([Circle::new(at, 2, colour.filled())])?;
                }
                let ends = |cell: &Cell| [(cell.time, cell.least), (cell.time, cell.greatest)];
                let points = run.iter().flat_map(ends);
                chart.draw_series(LineSeries::new(points, colour.stroke_width(2)))?;
            }
        }
        area.present()
    }

    /// Draws the title and the names above the curves. Returns the number of lines of names.
    fn draw_legend<B: DrawingBackend>(
        &self,
        area: &DrawingArea<B, plotters::coord::Shift>,
    ) -> Result<usize, DrawingAreaErrorKind<B::ErrorType>> {
        let style = ("sans-serif", LETTER as i32).into_text_style(area);
        let corner = (MARGIN as i32, LETTER as i32 / 2);
        let title = font::shortened(&self.title, LETTER, SIZE.0 as usize - 2 * MARGIN);
        area.draw_text(&title, &style, corner)?;
        let names: Vec<&str> = self.curves.iter().map(|c| c.name.as_str()).collect();
        let mut names = legend::shortened(&names);
        if self.others > 0 {
            names.push(format!("and {} more", self.others));
        }
        let key = SQUARE + LETTER / 3;
        let entries = legend::entries(&names, SIZE.0 as usize - 2 * MARGIN, key, 2 * LETTER);
        for (index, entry) in entries.iter().enumerate() {
            let (left, top) = (MARGIN + entry.left, 2 * LETTER + entry.line * LINE);
            let (left, top) = (left as i32, top as i32);
            if let Some(colour) = COLOURS.get(index).filter(|_| index < self.curves.len()) {
                let (above, side) = ((LETTER - SQUARE) as i32 / 2, SQUARE as i32);
                let square = [(left, top + above), (left + side, top + above + side)];
                area.draw(&Rectangle::new(square, colour.filled()))?;
            }
            area.draw_text(&entry.name, &style, (left + key as i32, top))?;
        }
        Ok(entries.last().map_or(0, |entry| entry.line + 1))
    }
}
