//! Plots of curves: data with their uncertainties, a model, residuals.

use crate::Points;
use crate::data::Curve;
use crate::fit::Comparison;
use plotters::coord::Shift;
use plotters::coord::combinators::WithKeyPoints;
use plotters::prelude::*;
use std::ops::Range;
use warpstride_core::text::count;
use warpstride_report::ReportError;
use warpstride_report::bitmap::Bitmap;
use warpstride_report::canvas::Canvas;
use warpstride_report::curves::{AXES, CURVES, LABEL_DISTANCE};
use warpstride_report::font::{shortened, width_of};
use warpstride_report::log_ticks::{label, log_ticks};
use warpstride_report::picture::Picture;
use warpstride_report::value_axis::ValueAxis;

/// Width and height of an SVG, units.
const SVG_SIZE: (u32, u32) = (520, 520);
/// Width and height of a PNG, pixels.
const PNG_SIZE: (u32, u32) = (1200, 900);
/// Share of the height for residuals.
const RESIDUALS: f64 = 0.34;
/// Decades below the largest intensity that are drawn.
const DECADES: i32 = 12;
/// Largest number of steps between labels of residuals; from 5 on, a symmetrical axis has labels
/// beside 0.
const RESIDUAL_STEPS: u32 = 5;
/// Heights of a line in an SVG and in a PNG.
const LETTERS: [u32; 2] = [16, 28];

/// Contents of a plot.
#[derive(Debug, Clone, Copy)]
pub struct ScatteringCurve<'a> {
    /// |q|, 1/Å.
    pub q: &'a [f64],
    /// Intensities of the data, 1/cm.
    pub data: Option<&'a [f64]>,
    /// Standard deviations of the data, or estimates of them.
    pub sigma: Option<&'a [f64]>,
    /// Whether standard deviations are drawn as error bars.
    pub bars: bool,
    /// Intensities of the model.
    pub model: Option<&'a [f64]>,
}

impl<'a> ScatteringCurve<'a> {
    /// A plot of a model.
    #[must_use]
    pub fn of_model(q: &'a [f64], model: &'a [f64]) -> Self {
        Self {
            q,
            data: None,
            sigma: None,
            bars: false,
            model: Some(model),
        }
    }

    /// A plot of data.
    #[must_use]
    pub fn of_data(curve: &'a Curve) -> Self {
        Self {
            q: &curve.q,
            data: Some(&curve.intensity),
            sigma: curve.sigma.as_deref(),
            bars: true,
            model: None,
        }
    }

    /// A plot of a fit; `None` if the data are an image.
    #[must_use]
    pub fn of_fit(fit: &'a Comparison) -> Option<Self> {
        let Points::Curve(q) = &fit.measured.points else {
            return None;
        };
        Some(Self {
            q,
            data: Some(&fit.measured.intensity),
            sigma: Some(&fit.measured.sigma),
            bars: fit.measured.known_sigma,
            model: Some(&fit.model),
        })
    }

    /// The plot as an SVG element.
    ///
    /// # Errors
    /// No intensity is positive, or drawing failed.
    pub fn svg(&self) -> Result<String, ReportError> {
        let mut svg = String::new();
        {
            let area = SVGBackend::with_string(&mut svg, SVG_SIZE).into_drawing_area();
            self.draw(&area, LETTERS[0], 1, None)?;
        }
        Ok(svg)
    }

    /// The plot as a PNG.
    ///
    /// # Errors
    /// No intensity is positive, or drawing or encoding failed.
    pub fn png(&self) -> Result<Picture, ReportError> {
        self.png_titled("")
    }

    /// The plot as a PNG with a title and, if it has data and a model, a legend.
    ///
    /// # Errors
    /// As [`Self::png`].
    pub fn png_titled(&self, title: &str) -> Result<Picture, ReportError> {
        let mut canvas = Canvas::new(PNG_SIZE.0 as usize, PNG_SIZE.1 as usize);
        {
            let area = Bitmap::new(&mut canvas, PNG_SIZE).into_drawing_area();
            self.draw(&area, LETTERS[1], 2, Some(title))?;
        }
        Ok(Picture {
            png: canvas.png().map_err(|e| ReportError(e.to_string()))?,
            caption: self.caption(),
        })
    }

    /// A description of the plot.
    pub(super) fn caption(&self) -> String {
        let mut text = String::from("Intensity in 1/cm against q in 1/Å, both logarithmic");
        text += match (self.data, self.model) {
            (Some(_), Some(_)) => {
                ": data blue, model orange. Below: residuals in units of the standard deviation."
            }
            _ => ".",
        };
        let hidden = self
            .data
            .map_or(0, |data| data.iter().filter(|v| **v <= 0.0).count());
        if hidden > 0 {
            let hidden = count(
                hidden,
                [
                    "intensity that is not positive is",
                    "intensities that are not positive are",
                ],
            );
            text += &format!(" {hidden} not shown.");
        }
        text
    }

    fn residuals(&self) -> Option<Vec<(f64, f64)>> {
        let (data, model) = (self.data?, self.model?);
        let weight = |i: usize| self.sigma.map_or(1.0, |sigma| sigma[i]);
        let all = (0..self.q.len()).map(|i| (self.q[i], (data[i] - model[i]) / weight(i)));
        Some(all.filter(|(q, r)| *q > 0.0 && r.is_finite()).collect())
    }

    /// Ranges of q and of the intensities; `None` if no value is positive.
    fn ranges(&self) -> Option<(Range<f64>, Range<f64>)> {
        let positive = |v: &&f64| **v > 0.0 && v.is_finite();
        let ends = |values: &mut dyn Iterator<Item = f64>| {
            values.fold((f64::INFINITY, 0.0_f64), |(low, high), v| {
                (low.min(v), high.max(v))
            })
        };
        let q = ends(&mut self.q.iter().filter(positive).copied());
        let data = self.data.into_iter().flatten().filter(positive).copied();
        let model = self.model.into_iter().flatten().filter(positive).copied();
        let of_data = ends(&mut data.clone());
        let all = ends(&mut data.chain(model));
        if !(q.1 > 0.0 && all.1 > 0.0) {
            return None;
        }
        let floor = if of_data.1 > 0.0 {
            of_data.0 / 10.0
        } else {
            all.1 * 10_f64.powi(-DECADES)
        };
        let low = all.0.max(floor).max(f64::MIN_POSITIVE);
        let q = (q.0 / 1.1).max(f64::MIN_POSITIVE)..(q.1 * 1.1).min(f64::MAX);
        Some((
            q,
            (low / 1.6).max(f64::MIN_POSITIVE)..(all.1 * 1.8).min(f64::MAX),
        ))
    }

    fn draw<B: DrawingBackend>(
        &self,
        area: &DrawingArea<B, Shift>,
        letters: u32,
        stroke: u32,
        title: Option<&str>,
    ) -> Result<(), ReportError> {
        let (q, intensities) = self
            .ranges()
            .ok_or_else(|| ReportError("no intensity is positive".to_owned()))?;
        let residuals = self
            .residuals()
            .map(|points| (residual_axis(&points), points));
        let failed = |e: DrawingAreaErrorKind<B::ErrorType>| ReportError(e.to_string());
        let height = f64::from(area.dim_in_pixel().1);
        let upper = if residuals.is_some() {
            height * (1.0 - RESIDUALS)
        } else {
            height
        };
        let (above, below) = area.split_vertically(upper as u32);
        let width = area.dim_in_pixel().0;
        let labels = Labels::new(letters, stroke, q, width, &intensities, upper as u32)
            .with_residuals(residuals.as_ref().map(|(axis, _)| axis));
        self.draw_intensities(&above, &labels, intensities, residuals.is_none())
            .map_err(failed)?;
        if let Some(title) = title {
            self.draw_title(&above, &labels, title).map_err(failed)?;
        }
        if let Some((axis, points)) = residuals {
            draw_residuals(&below, &labels, axis, &points).map_err(failed)?;
        }
        area.present().map_err(failed)
    }

    /// Writes the title above the intensities, and the legend beside it. A page has both in its
    /// heading and caption.
    fn draw_title<B: DrawingBackend>(
        &self,
        area: &DrawingArea<B, Shift>,
        labels: &Labels,
        title: &str,
    ) -> Result<(), DrawingAreaErrorKind<B::ErrorType>> {
        let letters = labels.letters;
        let line = letters as usize;
        let style = ("sans-serif", letters).into_text_style(area);
        let top = letters as i32 / 2;
        let mut right = area.dim_in_pixel().0 as i32 - letters as i32;
        if self.data.is_some() && self.model.is_some() {
            for (name, colour) in [("model", CURVES[1]), ("data", CURVES[0])] {
                right -= width_of(name, line) as i32;
                area.draw_text(name, &style, (right, top))?;
                right -= letters as i32 / 2;
                let centre = (right, top + letters as i32 / 2);
                area.draw(&Circle::new(centre, letters / 4, colour.filled()))?;
                right -= letters as i32;
            }
        }
        let left = width_of("I, 1/cm", line) as i32 + 3 * letters as i32;
        let title = shortened(title, line, (right - left).max(0) as usize);
        area.draw_text(&title, &style, (left, top))
    }

    fn draw_intensities<B: DrawingBackend>(
        &self,
        area: &DrawingArea<B, Shift>,
        labels: &Labels,
        range: Range<f64>,
        last: bool,
    ) -> Result<(), DrawingAreaErrorKind<B::ErrorType>> {
        let style = ("sans-serif", labels.letters);
        let stroke = labels.stroke;
        let q_axis = labels.q_axis();
        let axis = range
            .clone()
            .log_scale()
            .with_key_points(labels.intensity_ticks.clone());
        let mut chart = ChartBuilder::on(area)
            .margin(labels.letters)
            .margin_top(labels.above())
            .x_label_area_size(if last { labels.below() } else { 0 })
            .y_label_area_size(labels.beside)
            .build_cartesian_2d(q_axis, axis)?;
        let hidden = |_: &f64| String::new();
        let shown = |q: &f64| label(*q);
        let formatter: &dyn Fn(&f64) -> String = if last { &shown } else { &hidden };
        chart
            .configure_mesh()
            .axis_style(AXES)
            .bold_line_style(AXES.mix(0.35))
            .light_line_style(AXES.mix(0.12))
            .label_style(style)
            .x_desc(if last { "q, 1/Å" } else { "" })
            .x_label_formatter(formatter)
            .y_label_formatter(&|y| label(*y))
            .draw()?;
        area.draw_text(
            "I, 1/cm",
            &style.into_text_style(area),
            (labels.letters as i32, labels.letters as i32 / 2),
        )?;
        let visible = |v: f64| v.is_finite() && v >= range.start && v <= range.end;
        let on_axis = |q: f64| labels.q.contains(&q);
        if let Some(data) = self.data {
            let bars = self
                .sigma
                .filter(|_| self.bars)
                .into_iter()
                .flat_map(|sigma| {
                    (0..self.q.len())
                        .filter(|i| on_axis(self.q[*i]))
                        .filter_map(|i| {
                            let (low, high) = (data[i] - sigma[i], data[i] + sigma[i]);
                            let ends = (low.max(range.start), high.min(range.end));
                            (ends.0 < ends.1).then(|| {
                                let ends = vec![(self.q[i], ends.0), (self.q[i], ends.1)];
                                PathElement::new(ends, CURVES[0].mix(0.5).stroke_width(stroke))
                            })
                        })
                });
            chart.draw_series(bars)?;
            let points = self.q.iter().zip(data);
            let points = points.filter(|(q, v)| on_axis(**q) && visible(**v));
            chart.draw_series(
                points.map(|(q, v)| Circle::new((*q, *v), stroke + 1, CURVES[0].filled())),
            )?;
        }
        if let Some(model) = self.model {
            let points: Vec<Option<(f64, f64)>> = self
                .q
                .iter()
                .zip(model)
                .map(|(q, v)| (on_axis(*q) && visible(*v)).then_some((*q, *v)))
                .collect();
            for run in points.split(Option::is_none) {
                if let [Some(lone)] = run {
                    let dot = Circle::new(*lone, 2 * stroke + 1, CURVES[1].filled());
                    chart.draw_series([dot])?;
                    continue;
                }
                let run = run.iter().copied().flatten();
                chart.draw_series(LineSeries::new(run, CURVES[1].stroke_width(2 * stroke)))?;
            }
        }
        Ok(())
    }
}

/// Settings common to both panels.
struct Labels {
    /// Height of a line.
    letters: u32,
    stroke: u32,
    q: Range<f64>,
    q_ticks: Vec<f64>,
    intensity_ticks: Vec<f64>,
    /// Width of the labels of the vertical axes.
    beside: u32,
}

impl Labels {
    /// Settings of a drawing of `width`, whose panel of intensities has `height`.
    fn new(
        letters: u32,
        stroke: u32,
        q: Range<f64>,
        width: u32,
        intensities: &Range<f64>,
        height: u32,
    ) -> Self {
        let line = letters as usize;
        let inner = height.saturating_sub(6 * letters);
        let intensity_ticks = log_ticks(intensities, inner, |_| letters + letters / 2);
        let of_intensities = intensity_ticks.iter().map(|v| width_of(&label(*v), line));
        let beside = LABEL_DISTANCE + of_intensities.max().unwrap_or(0) as u32;
        // Labels of residuals may be wider, so that the axis of q is a little shorter.
        let inner = width.saturating_sub(beside + 4 * letters);
        let q_ticks = log_ticks(&q, inner, |text| width_of(text, line) as u32 + letters);
        Self {
            letters,
            stroke,
            q,
            q_ticks,
            intensity_ticks,
            beside,
        }
    }

    /// With space for the labels of residuals.
    fn with_residuals(self, axis: Option<&ValueAxis>) -> Self {
        let widest = axis.map_or(0, |axis| axis.widest_label(self.letters as usize));
        let beside = self.beside.max(LABEL_DISTANCE + widest as u32);
        Self { beside, ..self }
    }

    fn q_axis(&self) -> WithKeyPoints<LogCoord<f64>> {
        let range = self.q.clone().log_scale();
        range.with_key_points(self.q_ticks.clone())
    }

    /// Space for a title above a panel, which keeps the first label of its axis below the title.
    fn above(&self) -> u32 {
        2 * self.letters
    }

    /// Space for the labels and the title of the axis of q.
    fn below(&self) -> u32 {
        LABEL_DISTANCE + 2 * self.letters
    }
}

/// The axis of residuals, symmetrical about 0.
fn residual_axis(residuals: &[(f64, f64)]) -> ValueAxis {
    let largest = residuals.iter().map(|(_, r)| r.abs()).fold(0.0, f64::max);
    let limit = match (1.1 * largest).clamp(0.0, f64::MAX / 4.0) {
        0.0 => 1.0,
        limit if largest > 0.3 => limit.max(3.0),
        limit => limit.max(f64::MIN_POSITIVE),
    };
    ValueAxis::new(-limit..limit, RESIDUAL_STEPS)
}

fn draw_residuals<B: DrawingBackend>(
    area: &DrawingArea<B, Shift>,
    labels: &Labels,
    axis: ValueAxis,
    residuals: &[(f64, f64)],
) -> Result<(), DrawingAreaErrorKind<B::ErrorType>> {
    let style = ("sans-serif", labels.letters);
    let mut chart = ChartBuilder::on(area)
        .margin(labels.letters)
        .margin_top(labels.above())
        .x_label_area_size(labels.below())
        .y_label_area_size(labels.beside)
        .build_cartesian_2d(labels.q_axis(), axis)?;
    chart
        .configure_mesh()
        .axis_style(AXES)
        .bold_line_style(AXES.mix(0.35))
        .light_line_style(AXES.mix(0.12))
        .label_style(style)
        .x_desc("q, 1/Å")
        .x_label_formatter(&|q| label(*q))
        .draw()?;
    area.draw_text(
        "residuals, σ",
        &style.into_text_style(area),
        (labels.letters as i32, labels.letters as i32 / 2),
    )?;
    let zero = [(labels.q.start, 0.0), (labels.q.end, 0.0)];
    chart.draw_series(LineSeries::new(zero, CURVES[1].stroke_width(labels.stroke)))?;
    let points = residuals.iter().filter(|(q, _)| labels.q.contains(q));
    chart.draw_series(points.map(|at| Circle::new(*at, labels.stroke + 1, CURVES[0].filled())))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpstride_report::png::Rgb;

    fn curve() -> (Vec<f64>, Vec<f64>, Vec<f64>, Vec<f64>) {
        let q: Vec<f64> = (1..50).map(|i| 0.01 * f64::from(i)).collect();
        let model: Vec<f64> = q.iter().map(|q| 1e-3 + (-q * q * 400.0).exp()).collect();
        let data = model.iter().map(|v| v * 1.05).collect();
        let sigma = model.iter().map(|v| v * 0.1).collect();
        (q, data, sigma, model)
    }

    #[test]
    fn every_point_of_a_fit_is_drawn_twice_and_has_an_error_bar() {
        let (q, data, sigma, model) = curve();
        let of = ScatteringCurve {
            q: &q,
            data: Some(&data),
            sigma: Some(&sigma),
            bars: true,
            model: Some(&model),
        };
        let svg = of.svg().unwrap();
        assert_eq!(svg.matches("<circle").count(), 2 * q.len());
        assert!(svg.matches("<polyline").count() >= q.len() + 2);
        assert!(svg.contains("residuals") && svg.contains("1/cm"));
        let png = of.png().unwrap();
        let image = Rgb::read(&png.png);
        assert_eq!((image.width(), image.height()), PNG_SIZE);
        let blue = image.all().iter().filter(|p| **p == [46, 125, 215]).count();
        let orange = image.all().iter().filter(|p| **p == [214, 120, 30]).count();
        assert!(blue > 1000 && orange > 1000, "{blue} {orange}");
    }

    #[test]
    fn residuals_of_any_size_have_three_to_five_labels() {
        for i in 0..400 {
            let largest = 10_f64.powf(f64::from(i) / 20.0 - 15.0);
            let axis = residual_axis(&[(1.0, largest)]);
            let ticks = axis.ticks();
            assert!((3..=5).contains(&ticks.len()), "{largest}: {ticks:?}");
        }
    }

    #[test]
    fn intensities_that_are_not_positive_are_left_out_and_noted() {
        let (q, mut data, sigma, model) = curve();
        data[3] = 0.0;
        data[7] = -2.0;
        data[9] = f64::NAN;
        let of = ScatteringCurve {
            q: &q,
            data: Some(&data),
            sigma: Some(&sigma),
            bars: true,
            model: Some(&model),
        };
        // Three points are missing above, and one of them below.
        assert_eq!(
            of.svg().unwrap().matches("<circle").count(),
            2 * q.len() - 4
        );
        assert!(of.caption().contains("2 intensities that are not positive"));
    }

    #[test]
    fn empty_plots_are_errors_and_extreme_values_are_drawn() {
        assert!(ScatteringCurve::of_model(&[], &[]).svg().is_err());
        assert!(ScatteringCurve::of_model(&[0.1], &[-1.0]).png().is_err());
        assert!(ScatteringCurve::of_model(&[0.1], &[1.0]).svg().is_ok());
        let extreme = [f64::MIN_POSITIVE, f64::MAX];
        assert!(
            ScatteringCurve::of_model(&[1e-9, 1e9], &extreme)
                .svg()
                .is_ok()
        );
        let data = Some(&extreme[..]);
        let all = ScatteringCurve {
            q: &[1e-9, 1e9],
            data,
            sigma: Some(&[1e-300, 1e-300]),
            bars: true,
            model: Some(&[1.0, 1.0]),
        };
        assert!(all.svg().is_ok() && all.png().is_ok());
    }
}
