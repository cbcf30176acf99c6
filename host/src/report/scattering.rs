//! Small-angle scattering as pictures: curves on logarithmic axes, images in logarithmic colours, fits with their
//! residuals.

use super::canvas::{Canvas, Colour, INK, TEXT};
use super::colours::Map;
use super::curves::{AXES, CURVES, logarithmic_range, ticks};
use super::numbers::significant;
use super::paper::Paper;
use super::pictures::{Picture, PictureError};
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use std::ops::Range;

/// A picture of a curve or a fit, pixels.
const SIZE: [usize; 2] = [1000, 760];
/// A drawing of a fit on a page, SVG units; the page scales it.
const SVG_SIZE: (u32, u32) = (640, 520);
/// Side of an image's pixels, pixels.
const IMAGE_SIDE: i32 = 640;
/// Letters of a picture's title, at most.
const TITLE: usize = 58;
/// Share of the greatest intensity of an image below which all is one colour.
const DARKEST: f64 = 1e-8;

/// Curves of a fit; all of one length.
#[derive(Debug, Clone, Copy)]
pub struct FitCurves<'a> {
    /// |q|, 1/Å.
    pub q: &'a [f64],
    /// Measured intensities, 1/cm.
    pub data: &'a [f64],
    /// Their standard deviations.
    pub sigma: Option<&'a [f64]>,
    /// Of the model.
    pub fit: &'a [f64],
    /// Weighted residuals, (data − fit)/σ.
    pub residuals: &'a [f64],
}

/// Sizes that letters take on what is drawn on.
#[derive(Debug, Clone, Copy)]
struct Letters {
    /// Below the axes and beside them.
    below: i32,
    beside: i32,
    size: i32,
    ink: RGBColor,
}

/// On a [`Canvas`], whose letters have one size.
const ON_CANVAS: Letters = Letters {
    below: 52,
    beside: 136,
    size: TEXT as i32,
    ink: RGBColor(INK[0], INK[1], INK[2]),
};

/// In SVG; the page colours the text.
const ON_PAGE: Letters = Letters {
    below: 40,
    beside: 66,
    size: 14,
    ink: BLACK,
};

fn failed(error: impl std::fmt::Display) -> PictureError {
    PictureError::Draw(error.to_string())
}

/// A curve I(q) on logarithmic axes. Points that logarithms cannot show are left out.
///
/// # Errors
/// [`PictureError`] where no point is left.
pub fn curve_picture(
    title: &str,
    q: &[f64],
    intensity: &[f64],
) -> Result<Picture, PictureError> {
    let shown = positive(q, intensity);
    let mut canvas = Canvas::new(SIZE[0], SIZE[1]);
    {
        let area = titled(&mut canvas, title)?;
        let ranges = ranges(&shown, q.len())?;
        intensities(&area, &ON_CANVAS, &ranges, None, &shown, true)?;
    }
    Ok(Picture {
        png: canvas.png()?,
        caption: format!(
            "{title}: {} points, logarithmic axes, q in 1/Å, intensity in 1/cm.",
            shown.len()
        ),
    })
}

/// Data, fit and residuals.
///
/// # Errors
/// [`PictureError`] where logarithms can show no point.
pub fn fit_picture(title: &str, of: &FitCurves<'_>) -> Result<Picture, PictureError> {
    let mut canvas = Canvas::new(SIZE[0], SIZE[1]);
    {
        let area = titled(&mut canvas, title)?;
        fit_drawing(&area, &ON_CANVAS, of)?;
    }
    Ok(Picture {
        png: canvas.png()?,
        caption: format!(
            "{title}: data with their uncertainties, the fit, and the residuals in units of the uncertainty."
        ),
    })
}

/// The same as SVG.
///
/// # Errors
/// [`PictureError`] where logarithms can show no point.
pub(super) fn fit_svg(of: &FitCurves<'_>) -> Result<String, PictureError> {
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, SVG_SIZE).into_drawing_area();
        fit_drawing(&area, &ON_PAGE, of)?;
        area.present().map_err(failed)?;
    }
    Ok(svg)
}

/// The canvas below a title.
fn titled<'c>(
    canvas: &'c mut Canvas,
    title: &str,
) -> Result<DrawingArea<Paper<'c>, Shift>, PictureError> {
    let mut words: String = title.chars().take(TITLE).collect();
    if title.chars().count() > TITLE {
        words += "...";
    }
    canvas.text([16, 12], &words);
    let (width, height) = canvas.size();
    let top = 2 * TEXT as i32 + 4;
    let area = Paper::new(canvas).into_drawing_area();
    Ok(area.shrink((0, top), (width, height - top as u32)))
}

/// Points that logarithms can show.
fn positive(x: &[f64], y: &[f64]) -> Vec<(f64, f64)> {
    let usable = |v: &f64| v.is_finite() && *v > 0.0;
    x.iter()
        .zip(y)
        .filter(|(x, y)| usable(x) && usable(y))
        .map(|(x, y)| (*x, *y))
        .collect()
}

/// A little more than the points span.
fn ranges(points: &[(f64, f64)], count: usize) -> Result<[Range<f64>; 2], PictureError> {
    let x = logarithmic_range(points.iter().map(|p| p.0));
    let y = logarithmic_range(points.iter().map(|p| p.1));
    match (x, y) {
        (Some(x), Some(y)) => Ok([x.start * 1.1..x.end / 1.5, y]),
        _ => Err(PictureError::Empty {
            what: "curve on logarithmic axes",
            shape: vec![count],
        }),
    }
}

fn fit_drawing<DB: DrawingBackend>(
    area: &DrawingArea<DB, Shift>,
    letters: &Letters,
    of: &FitCurves<'_>,
) -> Result<(), PictureError> {
    let data = positive(of.q, of.data);
    let fit = positive(of.q, of.fit);
    let both: Vec<(f64, f64)> = data.iter().chain(&fit).copied().collect();
    let ranges = ranges(&both, of.q.len())?;
    let bars: Option<Vec<(f64, f64, f64)>> = of.sigma.map(|sigma| {
        of.q.iter()
            .zip(of.data)
            .zip(sigma)
            .filter(|((q, data), sigma)| **q > 0.0 && **data + **sigma > ranges[1].start)
            .map(|((q, data), sigma)| {
                let low = (data - sigma).max(ranges[1].start);
                (*q, low, (data + sigma).min(ranges[1].end))
            })
            .collect()
    });
    let height = area.dim_in_pixel().1;
    let (above, below) = area.split_vertically(height * 7 / 10);
    let marks = Marks {
        points: &data,
        bars: bars.as_deref().unwrap_or_default(),
    };
    intensities(&above, letters, &ranges, Some(&marks), &fit, false)?;
    residuals(&below, letters, &ranges[0], of)
}

/// Measured points and their error bars (q, low, high).
struct Marks<'a> {
    points: &'a [(f64, f64)],
    bars: &'a [(f64, f64, f64)],
}

/// Axes, marks and a curve.
fn intensities<DB: DrawingBackend>(
    area: &DrawingArea<DB, Shift>,
    letters: &Letters,
    ranges: &[Range<f64>; 2],
    marks: Option<&Marks<'_>>,
    curve: &[(f64, f64)],
    named: bool,
) -> Result<(), PictureError> {
    let [x, y] = ranges;
    let mut chart = ChartBuilder::on(area)
        .margin(8)
        .margin_right(28)
        .x_label_area_size(letters.below)
        .y_label_area_size(letters.beside)
        .build_cartesian_2d(
            x.clone().log_scale().with_key_points(ticks(x)),
            y.clone().log_scale().with_key_points(ticks(y)),
        )
        .map_err(failed)?;
    let mut mesh = chart.configure_mesh();
    if named {
        mesh.x_desc("q, 1/Å");
    }
    mesh.axis_style(AXES)
        .bold_line_style(AXES.mix(0.35))
        .light_line_style(AXES.mix(0.12))
        .label_style(("sans-serif", letters.size).into_font().color(&letters.ink))
        .y_desc("intensity, 1/cm")
        .x_label_formatter(&|x| short(*x))
        .y_label_formatter(&|y| short(*y))
        .draw()
        .map_err(failed)?;
    if let Some(marks) = marks {
        let bars = marks.bars.iter().map(|(q, low, high)| {
            PathElement::new(vec![(*q, *low), (*q, *high)], CURVES[0].mix(0.6))
        });
        chart.draw_series(bars).map_err(failed)?;
        let points = marks
            .points
            .iter()
            .map(|point| Circle::new(*point, 3, CURVES[0].filled()));
        chart.draw_series(points).map_err(failed)?;
        let (x0, y0) = chart.backend_coord(&(x.end, y.end));
        for (line, (name, colour)) in [("data", CURVES[0]), ("fit", CURVES[1])]
            .into_iter()
            .enumerate()
        {
            let style = ("sans-serif", letters.size)
                .into_font()
                .color(&colour)
                .pos(Pos::new(HPos::Right, VPos::Top));
            let at = (x0 - 12, y0 + 10 + line as i32 * (letters.size + 8));
            let corner = area.get_pixel_range();
            area.draw_text(
                name,
                &style,
                (at.0 - corner.0.start, at.1 - corner.1.start),
            )
            .map_err(failed)?;
        }
    }
    let colour = CURVES[usize::from(marks.is_some())];
    if let [alone] = curve {
        chart
            .draw_series([Circle::new(*alone, 4, colour.filled())])
            .map_err(failed)?;
    } else {
        chart
            .draw_series(LineSeries::new(curve.iter().copied(), colour.stroke_width(2)))
            .map_err(failed)?;
    }
    Ok(())
}

fn residuals<DB: DrawingBackend>(
    area: &DrawingArea<DB, Shift>,
    letters: &Letters,
    x: &Range<f64>,
    of: &FitCurves<'_>,
) -> Result<(), PictureError> {
    let points: Vec<(f64, f64)> = of
        .q
        .iter()
        .zip(of.residuals)
        .filter(|(q, r)| **q > 0.0 && r.is_finite())
        .map(|(q, r)| (*q, *r))
        .collect();
    let greatest = points.iter().map(|p| p.1.abs()).fold(0.0, f64::max);
    let reach = if greatest > 0.0 { 1.1 * greatest } else { 1.0 };
    let mut chart = ChartBuilder::on(area)
        .margin(8)
        .margin_right(28)
        .x_label_area_size(letters.below)
        .y_label_area_size(letters.beside)
        .build_cartesian_2d(
            x.clone().log_scale().with_key_points(ticks(x)),
            -reach..reach,
        )
        .map_err(failed)?;
    chart
        .configure_mesh()
        .axis_style(AXES)
        .bold_line_style(AXES.mix(0.35))
        .light_line_style(TRANSPARENT)
        .label_style(("sans-serif", letters.size).into_font().color(&letters.ink))
        .x_desc("q, 1/Å")
        .y_desc("residual/σ")
        .y_labels(5)
        .x_label_formatter(&|x| short(*x))
        .y_label_formatter(&|y| short(*y))
        .draw()
        .map_err(failed)?;
    let zero = [(x.start, 0.0), (x.end, 0.0)];
    chart
        .draw_series(LineSeries::new(zero, CURVES[1].stroke_width(1)))
        .map_err(failed)?;
    let points = points
        .into_iter()
        .map(|point| Circle::new(point, 2, CURVES[0].filled()));
    chart.draw_series(points).map_err(failed)?;
    Ok(())
}

/// A tick's number: round numbers need few digits.
fn short(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let exponent = value.abs().log10().floor();
    if (-3.0..4.0).contains(&exponent) {
        let plain = format!("{value:.4}");
        return plain.trim_end_matches('0').trim_end_matches('.').to_owned();
    }
    significant(value, 1)
}

/// A square image of intensities in logarithmic colours. `intensity` has `side` rows of `side` pixels, the first
/// row the lowest; `reach` is the greatest qx and qy.
///
/// # Errors
/// [`PictureError`] where no intensity is positive.
pub fn image_picture(
    title: &str,
    side: usize,
    reach: f64,
    intensity: &[f64],
) -> Result<Picture, PictureError> {
    let greatest = intensity
        .iter()
        .copied()
        .filter(|v| v.is_finite())
        .fold(0.0, f64::max);
    if greatest <= 0.0 || side == 0 || intensity.len() != side * side {
        return Err(PictureError::Empty {
            what: "image in logarithmic colours",
            shape: vec![side, side],
        });
    }
    let least = intensity
        .iter()
        .copied()
        .filter(|v| *v > 0.0)
        .fold(greatest, f64::min)
        .max(greatest * DARKEST);
    // One intensity everywhere is one colour, of a scale about it.
    let (low, high) = if least < greatest {
        (least, greatest)
    } else {
        (greatest / 2.0, greatest * 2.0)
    };
    let map = Map::Sequential {
        low: low.log10(),
        high: high.log10(),
    };
    let colour = |value: f64| {
        let value = if value.is_nan() { value } else { value.max(low) };
        let [r, g, b]: Colour = map.colour(value.log10());
        RGBColor(r, g, b)
    };
    let width = IMAGE_SIDE + ON_CANVAS.beside + 220;
    let height = IMAGE_SIDE + ON_CANVAS.below + 2 * TEXT as i32 + 24;
    let mut canvas = Canvas::new(width as usize, height as usize);
    {
        let area = titled(&mut canvas, title)?;
        let (left, right) = area.split_horizontally(IMAGE_SIDE + ON_CANVAS.beside + 16);
        pixels(&left, side, reach, intensity, &colour)?;
        bar(&right, low..high, &colour)?;
    }
    Ok(Picture {
        png: canvas.png()?,
        caption: format!(
            "{title}: {side} x {side} pixels, colours logarithmic from {} to {} 1/cm.",
            significant(low, 3),
            significant(high, 3)
        ),
    })
}

fn pixels<DB: DrawingBackend>(
    area: &DrawingArea<DB, Shift>,
    side: usize,
    reach: f64,
    intensity: &[f64],
    colour: &dyn Fn(f64) -> RGBColor,
) -> Result<(), PictureError> {
    // Pixels have their centres at ±reach.
    let edge = reach * side as f64 / (side.max(2) - 1) as f64;
    let mut chart = ChartBuilder::on(area)
        .margin(8)
        .x_label_area_size(ON_CANVAS.below)
        .y_label_area_size(ON_CANVAS.beside)
        .build_cartesian_2d(-edge..edge, -edge..edge)
        .map_err(failed)?;
    let place = chart.plotting_area().get_pixel_range();
    let [across, down] = [&place.0, &place.1].map(|range| range.end - range.start);
    let corner = area.get_pixel_range();
    let number = |i: i32, of: i32| (i as usize * side / of.max(1) as usize).min(side - 1);
    for y in 0..down {
        let row = number(down - 1 - y, down);
        for x in 0..across {
            let value = intensity[row * side + number(x, across)];
            let at = (
                place.0.start - corner.0.start + x,
                place.1.start - corner.1.start + y,
            );
            area.draw_pixel(at, &colour(value)).map_err(failed)?;
        }
    }
    chart
        .configure_mesh()
        .disable_mesh()
        .axis_style(ON_CANVAS.ink)
        .label_style(("sans-serif", ON_CANVAS.size).into_font().color(&ON_CANVAS.ink))
        .x_labels(5)
        .y_labels(7)
        .x_desc("qx, 1/Å")
        .y_desc("qy, 1/Å")
        .x_label_formatter(&|x| short(*x))
        .y_label_formatter(&|y| short(*y))
        .draw()
        .map_err(failed)?;
    Ok(())
}

/// The scale of the colours.
fn bar<DB: DrawingBackend>(
    area: &DrawingArea<DB, Shift>,
    range: Range<f64>,
    colour: &dyn Fn(f64) -> RGBColor,
) -> Result<(), PictureError> {
    let mut chart = ChartBuilder::on(area)
        .margin(8)
        .margin_right(32)
        .margin_bottom(ON_CANVAS.below + 8)
        .y_label_area_size(ON_CANVAS.beside)
        .build_cartesian_2d(
            0.0..1.0,
            range
                .clone()
                .log_scale()
                .with_key_points(ticks(&(range.start..range.end * 1.0001))),
        )
        .map_err(failed)?;
    let place = chart.plotting_area().get_pixel_range();
    let corner = area.get_pixel_range();
    let down = place.1.end - place.1.start;
    let (low, high) = (range.start.ln(), range.end.ln());
    for y in 0..down {
        let share = 1.0 - (f64::from(y) + 0.5) / f64::from(down.max(1));
        let colour = colour((low + (high - low) * share).exp());
        for x in place.0.clone() {
            let at = (x - corner.0.start, place.1.start - corner.1.start + y);
            area.draw_pixel(at, &colour).map_err(failed)?;
        }
    }
    chart
        .configure_mesh()
        .disable_mesh()
        .disable_x_axis()
        .axis_style(ON_CANVAS.ink)
        .label_style(("sans-serif", ON_CANVAS.size).into_font().color(&ON_CANVAS.ink))
        .y_desc("intensity, 1/cm")
        .y_label_formatter(&|y| short(*y))
        .draw()
        .map_err(failed)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(picture: &Picture) -> image::RgbImage {
        image::load_from_memory(&picture.png).unwrap().to_rgb8()
    }

    fn count(image: &image::RgbImage, colour: RGBColor) -> usize {
        let wanted = [colour.0, colour.1, colour.2];
        image.pixels().filter(|pixel| pixel.0 == wanted).count()
    }

    #[test]
    fn a_curve_is_drawn_and_what_logarithms_cannot_show_is_left_out() {
        let q: Vec<f64> = (0..50).map(|i| 0.001 * f64::from(i)).collect();
        let mut intensity: Vec<f64> = q.iter().map(|q| 1.0 / (1e-6 + q.powi(4))).collect();
        intensity[7] = f64::NAN;
        intensity[8] = -1.0;
        let picture = curve_picture("Curve", &q, &intensity).unwrap();
        assert!(picture.caption.contains("47 points"), "{}", picture.caption);
        assert!(count(&decoded(&picture), CURVES[0]) > 500);
        assert!(curve_picture("One", &[0.1], &[2.0]).is_ok());
        for nothing in [&[][..], &[0.0, -1.0], &[f64::NAN, f64::INFINITY]] {
            let q = vec![0.1; nothing.len()];
            assert!(curve_picture("Nothing", &q, nothing).is_err());
        }
    }

    #[test]
    fn rows_of_an_image_go_upwards() {
        // The brightest pixel is at the right of the lowest row.
        let mut intensity = vec![1.0; 16];
        intensity[3] = 100.0;
        let image = decoded(&image_picture("Image", 4, 0.3, &intensity).unwrap());
        let bright = Map::Sequential { low: 0.0, high: 2.0 }.colour(2.0);
        let rows: Vec<(u32, u32)> = image
            .enumerate_pixels()
            .filter(|(x, _, pixel)| pixel.0 == bright && *x < 790)
            .map(|(x, y, _)| (x, y))
            .collect();
        assert!(rows.len() > 10_000, "{}", rows.len());
        assert!(rows.iter().all(|(x, y)| *x > 450 && *y > 400));
        assert!(image_picture("Dark", 2, 0.3, &[0.0; 4]).is_err());
        assert!(image_picture("Even", 2, 0.3, &[2.0; 4]).is_ok());
    }

    #[test]
    fn a_fit_shows_data_fit_and_residuals() {
        let q = [0.01, 0.02, 0.04, 0.08];
        let curves = FitCurves {
            q: &q,
            data: &[100.0, 50.0, 12.0, -1.0],
            sigma: Some(&[5.0, 3.0, 20.0, 2.0]),
            fit: &[98.0, 51.0, 11.0, 2.0],
            residuals: &[0.4, -0.33, 0.05, -1.5],
        };
        let image = decoded(&fit_picture("Fit", &curves).unwrap());
        assert!(count(&image, CURVES[0]) > 100 && count(&image, CURVES[1]) > 100);
        let svg = fit_svg(&curves).unwrap();
        // Three data that a logarithm can show, four residuals.
        assert_eq!(svg.matches("<circle").count(), 7);
        assert!(svg.contains("residual"));
    }
}
