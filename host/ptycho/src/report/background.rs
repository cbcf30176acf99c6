//! The picture of the detector's background.

use ndarray::Array2;
use num_complex::Complex;
use warpstride_core::text::significant;
use warpstride_report::canvas::{Canvas, TEXT, width_of};
use warpstride_report::colours::Map;
use warpstride_report::picture::{FOOTER, GAP, LEAST_WIDTH, Picture, PictureError, colour_bar};
use warpstride_report::raster::Raster;

/// Approximate length of the longer side, pixels: smaller frames are enlarged to the first value,
/// larger ones averaged down to the second.
const SIDE: [usize; 2] = [596, 1024];

/// Draws a background (row, column), photons, in linear colours from 0 on; `pixel` is that of the
/// detector, m.
///
/// # Errors
/// The PNG encoder fails.
pub(super) fn background(of: &Array2<f64>, pixel: [f64; 2]) -> Result<Picture, PictureError> {
    let high = of.iter().copied().fold(0.0, f64::max);
    let high = if high > 0.0 { high } else { 1.0 };
    let map = Map::Sequential { low: 0.0, high };
    let values = of.mapv(Complex::from);
    let raster = Raster::new(values.view(), pixel, SIDE);
    let [height, width] = raster.size;
    let top = 2 * GAP + TEXT;
    let mut canvas = Canvas::new((width + 2 * GAP).max(LEAST_WIDTH), top + height + FOOTER);
    canvas.text([GAP, GAP], "Background of the detector");
    raster.draw_framed(&mut canvas, [GAP, top], |v| map.colour(v.re));
    let labels = ["0".to_owned(), format!("{} photons", significant(high, 3))];
    let bar = [GAP + width_of(&labels[0]) / 2, top + height + GAP];
    colour_bar(&mut canvas, bar, map, &labels);
    let mean = of.mean().unwrap_or_default();
    Ok(Picture {
        png: canvas.png()?,
        caption: format!(
            "Photons that the model has in every frame besides the light: {} in the mean of all pixels, at most {}.",
            significant(mean, 4),
            significant(high, 3)
        ),
    })
}
