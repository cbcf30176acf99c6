//! Plots of detector images: data, model and residuals, side by side.

use crate::Points;
use crate::fit::Comparison;
use ndarray::Array2;
use num_complex::Complex;
use warpstride_core::text::significant;
use warpstride_report::canvas::{Canvas, TEXT, width_of};
use warpstride_report::colours::Map;
use warpstride_report::font;
use warpstride_report::picture::{BAR, GAP, LEAST_WIDTH, Picture, PictureError};
use warpstride_report::raster::Raster;

/// Limits of the longer side of an image, pixels: smaller images are enlarged to the first, larger
/// ones averaged to the second.
const SIDE: [usize; 2] = [360, 720];
/// The same for a single image.
const SINGLE_SIDE: [usize; 2] = [600, 1024];
/// Maximum number of rows or columns; finer detectors are binned.
const MAX_BINS: usize = 1024;
/// Quantiles of the values at the ends of the colour scale.
const LIMITS: [f64; 2] = [0.005, 0.995];
/// Maximum number of decades of intensity on the colour scale.
const DECADES: f64 = 6.0;

/// Cells of points in an image: rows of qy from the top, columns of qx from the left.
struct Grid {
    shape: (usize, usize),
    /// (row, column) of each point.
    cells: Vec<(usize, usize)>,
    /// Least and greatest qx, least and greatest qy, 1/Å.
    extent: [f64; 4],
}

/// Number of cells along an axis, and the cell of each value: cells are steps between the distinct
/// values if these are few, otherwise `bins` equal bins.
fn along(values: &[f64], bins: usize) -> (usize, Vec<usize>) {
    let (low, high) = ends(values);
    let span = high - low;
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let mut distinct: Vec<f64> = Vec::new();
    for value in sorted {
        if distinct
            .last()
            .is_none_or(|last| value - last > 1e-4 * span)
        {
            distinct.push(value);
        }
    }
    // The median distance is the step, so that rows that are masked completely keep their position.
    let mut steps: Vec<f64> = distinct.windows(2).map(|pair| pair[1] - pair[0]).collect();
    steps.sort_unstable_by(f64::total_cmp);
    let step = steps.get(steps.len() / 2).copied().unwrap_or(1.0);
    let count = (span / step).round() + 1.0;
    if distinct.len() <= 2 * bins && count <= MAX_BINS.min(4 * bins) as f64 {
        let count = count as usize;
        let cell = |value: &f64| (((value - low) / step).round() as usize).min(count - 1);
        return (count, values.iter().map(cell).collect());
    }
    let share = |value: &f64| {
        if span > 0.0 {
            (value - low) / span
        } else {
            0.0
        }
    };
    let cell = |value: &f64| ((share(value) * bins as f64) as usize).min(bins - 1);
    (bins, values.iter().map(cell).collect())
}

fn ends(values: &[f64]) -> (f64, f64) {
    values
        .iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| {
            (low.min(*v), high.max(*v))
        })
}

impl Grid {
    fn new(qx: &[f64], qy: &[f64]) -> Self {
        let bins = ((qx.len() as f64).sqrt().ceil() as usize).clamp(1, MAX_BINS);
        let (columns, of_x) = along(qx, bins);
        let (rows, of_y) = along(qy, bins);
        let (x, y) = (ends(qx), ends(qy));
        Self {
            shape: (rows, columns),
            cells: of_x
                .into_iter()
                .zip(of_y)
                .map(|(column, row)| (rows - 1 - row, column))
                .collect(),
            extent: [x.0, x.1, y.0, y.1],
        }
    }

    /// Mean of the values in each cell; NaN for an empty cell.
    fn image(&self, values: &[f64]) -> Array2<Complex<f64>> {
        let mut sums = Array2::<Complex<f64>>::zeros(self.shape);
        for (cell, value) in self.cells.iter().zip(values) {
            sums[*cell] += Complex::new(*value, 1.0);
        }
        sums.mapv(|v| Complex::new(v.re / v.im, 0.0))
    }
}

/// Quantiles [`LIMITS`] of the finite values.
fn limits(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    let mut values: Vec<f64> = values.filter(|v| v.is_finite()).collect();
    values.sort_unstable_by(f64::total_cmp);
    let last = values.len().checked_sub(1)?;
    let [low, high] = LIMITS.map(|share| values[(share * last as f64).round() as usize]);
    Some((low, high))
}

/// An image with its colour scale.
struct Panel<'a> {
    title: &'a str,
    image: Array2<Complex<f64>>,
    map: Map,
    /// Labels at the ends of the colour scale.
    ends: [String; 2],
}

/// Panels for all `images` with the same logarithmic colour scale.
fn logarithmic<'a>(images: Vec<(&'a str, Array2<Complex<f64>>)>) -> Vec<Panel<'a>> {
    let logarithm = |v: f64| if v > 0.0 { v.log10() } else { f64::NAN };
    let all = images
        .iter()
        .flat_map(|(_, image)| image.iter().map(|v| logarithm(v.re)));
    let (low, high) = limits(all).unwrap_or((0.0, 1.0));
    let low = low.max(high - DECADES);
    let (low, high) = if high - low > 1e-3 {
        (low, high)
    } else {
        (low - 0.5, high + 0.5)
    };
    images
        .into_iter()
        .map(|(title, image)| Panel {
            title,
            // Values that are not positive get the lowest colour.
            image: image.mapv(|v| {
                let shown = if v.re <= 0.0 { low } else { logarithm(v.re) };
                Complex::new(shown, 0.0)
            }),
            map: Map::Sequential { low, high },
            ends: [low, high].map(|v| significant(10_f64.powf(v), 2)),
        })
        .collect()
}

fn framed(grid: &Grid, panels: &[Panel<'_>]) -> Result<Vec<u8>, PictureError> {
    let pixel = [
        (grid.extent[3] - grid.extent[2]) / grid.shape.0.max(2).saturating_sub(1) as f64,
        (grid.extent[1] - grid.extent[0]) / grid.shape.1.max(2).saturating_sub(1) as f64,
    ];
    let side = if panels.len() == 1 { SINGLE_SIDE } else { SIDE };
    let rasters: Vec<Raster> = panels
        .iter()
        .map(|panel| Raster::new(panel.image.view(), pixel, side))
        .collect();
    let [height, width] = rasters.first().map_or([0, 0], |raster| raster.size);
    let labels = |panel: &Panel<'_>| panel.ends.each_ref().map(|end| width_of(end));
    let of_bars = panels.iter().map(|panel| {
        let [low, high] = labels(panel);
        BAR[0].max(low + GAP + high)
    });
    let column = of_bars.max().unwrap_or(0).max(width);
    let step = column + 2 * GAP;
    let top = 2 * GAP + TEXT;
    let mut canvas = Canvas::new(
        (GAP + panels.len() * step).max(LEAST_WIDTH),
        top + height + GAP + BAR[1] + GAP + 2 * TEXT + GAP,
    );
    let [left, right, below, above] = grid.extent.map(|v| significant(v, 2));
    canvas.text(
        [GAP, top + height + GAP + BAR[1] + GAP + TEXT],
        &format!("qx {left} to {right}, qy {below} to {above} 1/Å"),
    );
    for (i, (panel, raster)) in panels.iter().zip(&rasters).enumerate() {
        let left = GAP + i * step;
        canvas.text([left, GAP], &font::shortened(panel.title, TEXT, column));
        raster.draw_framed(&mut canvas, [left, top], |v| {
            if v.re.is_nan() {
                [128; 3]
            } else {
                panel.map.colour(v.re)
            }
        });
        let row = top + height + GAP;
        let [low, high] = panel.map.limits();
        let [of_low, of_high] = labels(panel);
        let bar = BAR[0].max(of_low + GAP + of_high);
        for x in 0..bar {
            let value = low + (high - low) * (x as f64 + 0.5) / bar as f64;
            canvas.fill([left + x, row], [1, BAR[1]], panel.map.colour(value));
        }
        let below = row + BAR[1] + GAP / 2;
        canvas.text([left, below], &panel.ends[0]);
        canvas.text([left + bar - of_high, below], &panel.ends[1]);
    }
    Ok(canvas.png()?)
}

fn extent(grid: &Grid) -> String {
    let [left, right, below, above] = grid.extent.map(|v| significant(v, 3));
    format!(
        "qx ranges from {left} to {right} 1/Å to the right, qy from {below} to {above} 1/Å upwards; cells without a point are grey."
    )
}

fn checked(qx: &[f64], qy: &[f64], values: &[f64]) -> Result<(), PictureError> {
    if qx.is_empty() || qx.len() != qy.len() || qx.len() != values.len() {
        return Err(PictureError::Empty {
            what: "image",
            shape: vec![qx.len(), qy.len(), values.len()],
        });
    }
    Ok(())
}

/// Plot of intensities at pixels (qx, qy), 1/Å, in logarithmic colours.
///
/// # Errors
/// [`PictureError`] if there are no pixels.
pub fn intensity_picture(
    title: &str,
    qx: &[f64],
    qy: &[f64],
    intensity: &[f64],
) -> Result<Picture, PictureError> {
    checked(qx, qy, intensity)?;
    let grid = Grid::new(qx, qy);
    let panels = logarithmic(vec![(title, grid.image(intensity))]);
    Ok(Picture {
        png: framed(&grid, &panels)?,
        caption: format!(
            "{title}: intensity from {} to {} 1/cm, logarithmic colours. {}",
            panels[0].ends[0],
            panels[0].ends[1],
            extent(&grid)
        ),
    })
}

/// Data, model and residuals of the fit of an image.
struct FittedImage {
    grid: Grid,
    /// Data, model, residuals.
    panels: Vec<Panel<'static>>,
}

impl FittedImage {
    fn new(fit: &Comparison) -> Result<Self, PictureError> {
        let Points::Pixels { qx, qy } = &fit.measured.points else {
            return Err(PictureError::Empty {
                what: "image",
                shape: vec![0],
            });
        };
        checked(qx, qy, &fit.model)?;
        let grid = Grid::new(qx, qy);
        let mut panels = logarithmic(vec![
            ("data", grid.image(&fit.measured.intensity)),
            ("model", grid.image(&fit.model)),
        ]);
        let residuals = fit.residuals();
        let limit = limits(residuals.iter().map(|r| r.abs())).map_or(1.0, |(_, high)| high);
        let limit = if limit > 0.0 { limit } else { 1.0 };
        panels.push(Panel {
            title: "residuals, σ",
            image: grid.image(&residuals),
            map: Map::Diverging { limit },
            ends: [-limit, limit].map(|v| significant(v, 2)),
        });
        Ok(Self { grid, panels })
    }
}

/// Plot of data, model and residuals of the fit of an image, side by side.
///
/// # Errors
/// [`PictureError`] if there are no pixels.
pub(super) fn comparison_picture(fit: &Comparison) -> Result<Picture, PictureError> {
    let FittedImage { grid, panels } = FittedImage::new(fit)?;
    Ok(Picture {
        png: framed(&grid, &panels)?,
        caption: format!(
            "Data and model from {0} to {1} 1/cm in the same logarithmic colours, and residuals in units of the standard deviation, from −{2} to {2}. {3}",
            panels[0].ends[0],
            panels[0].ends[1],
            panels[2].ends[1],
            extent(&grid)
        ),
    })
}

/// The same as three plots, which fit a narrow page.
///
/// # Errors
/// [`PictureError`] if there are no pixels.
pub(super) fn comparison_pictures(fit: &Comparison) -> Result<[Picture; 3], PictureError> {
    let FittedImage { grid, panels } = FittedImage::new(fit)?;
    let picture = |index: usize, meaning: &str| -> Result<Picture, PictureError> {
        let panel = &panels[index..=index];
        let [low, high] = &panel[0].ends;
        Ok(Picture {
            png: framed(&grid, panel)?,
            caption: format!(
                "{meaning}, from {low} to {high}{}",
                match index {
                    0 => format!(" 1/cm. {}", extent(&grid)),
                    1 => " 1/cm.".to_owned(),
                    _ => ".".to_owned(),
                }
            ),
        })
    };
    Ok([
        picture(0, "Intensities of the data in logarithmic colours")?,
        picture(1, "Intensities of the model in the same colours")?,
        picture(2, "Residuals in units of the standard deviation")?,
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pixels of a detector, row by row from the bottom.
    fn detector(columns: usize, rows: usize) -> (Vec<f64>, Vec<f64>) {
        let at = |i: usize, n: usize| i as f64 / (n - 1) as f64 * 0.2 - 0.1;
        (0..rows * columns)
            .map(|i| (at(i % columns, columns), at(i / columns, rows)))
            .unzip()
    }

    #[test]
    fn pixels_are_placed_by_their_q() {
        let (qx, qy) = detector(5, 3);
        let grid = Grid::new(&qx, &qy);
        assert_eq!(grid.shape, (3, 5));
        // The first pixel is at the lower left, the last at the upper right.
        assert_eq!((grid.cells[0], grid.cells[14]), ((2, 0), (0, 4)));
        let values: Vec<f64> = (0..15).map(f64::from).collect();
        assert_eq!(grid.image(&values)[[0, 4]].re, 14.0);
    }

    #[test]
    fn masked_and_jittered_pixels_keep_their_grid() {
        let (mut qx, mut qy) = detector(20, 20);
        for (i, q) in qx.iter_mut().enumerate() {
            *q += 1e-7 * (i % 7) as f64;
        }
        qx.drain(100..130);
        qy.drain(100..130);
        let grid = Grid::new(&qx, &qy);
        assert_eq!(grid.shape, (20, 20));
        let image = grid.image(&vec![1.0; qx.len()]);
        assert_eq!(image.iter().filter(|v| v.re.is_nan()).count(), 30);
    }

    #[test]
    fn points_without_a_grid_are_binned() {
        let golden = |i: usize| (i as f64 * 0.618_033_988_7).fract();
        let qx: Vec<f64> = (0..900).map(|i| i as f64).collect();
        let qy: Vec<f64> = (0..900).map(golden).collect();
        let grid = Grid::new(&qx, &qy);
        assert_eq!(grid.shape, (30, 30));
        assert!(intensity_picture("points", &qx, &qy, &qy).is_ok());
    }

    #[test]
    fn unusual_images_are_drawn_and_empty_ones_refused() {
        for values in [
            vec![0.0; 4],
            vec![-1.0; 4],
            vec![f64::NAN; 4],
            vec![1e-300, 1e300, 0.0, 1.0],
        ] {
            let (qx, qy) = detector(2, 2);
            assert!(intensity_picture("odd", &qx, &qy, &values).is_ok());
        }
        assert!(intensity_picture("one", &[0.1], &[0.1], &[1.0]).is_ok());
        assert!(intensity_picture("none", &[], &[], &[]).is_err());
        assert!(intensity_picture("short", &[0.1], &[0.1], &[]).is_err());
    }
}
