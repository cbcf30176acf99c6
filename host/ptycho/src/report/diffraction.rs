//! The picture of a scan's mean diffraction pattern with its mask.

use crate::data::{Mask, Scan};
use ndarray::{Array2, Axis};
use num_complex::Complex;
use warpstride_core::text::{count, significant};
use warpstride_report::canvas::{Canvas, Colour, TEXT, WHITE, width_of};
use warpstride_report::colours::Map;
use warpstride_report::picture::{
    BAR, FOOTER, GAP, LEAST_WIDTH, Picture, PictureError, colour_bar,
};
use warpstride_report::raster::Raster;

/// Approximate length of the longer side, pixels: smaller frames are enlarged to the first value,
/// larger ones averaged down to the second.
const SIDE: [usize; 2] = [596, 1024];
/// Decades below the brightest pixel to which the colours extend at most.
const DECADES: f64 = 7.0;
/// Distances from the middle at which the lines of a cross begin and end, pixels.
const CROSS: [usize; 2] = [6, 22];
/// Colour of a cross.
const CROSS_COLOUR: Colour = [220, 40, 40];
/// Colour of pixels that are masked in every frame.
const MASKED: Colour = [128; 3];

/// Frames in which each pixel (row, column) is valid.
fn valid_frames(scan: &Scan) -> Array2<usize> {
    let frames = scan.shape()[0];
    match scan.mask() {
        Mask::Shared(mask) => mask.mapv(|valid| if valid { frames } else { 0 }),
        Mask::PerFrame(masks) => masks.mapv(usize::from).sum_axis(Axis(0)),
    }
}

/// Mean counts of each pixel over the frames in which it is valid (row, column); NaN for pixels
/// that are masked in every frame.
fn mean_of_valid(scan: &Scan) -> Array2<f64> {
    let mut mean = scan.mean_frame();
    let frames = scan.shape()[0] as f64;
    // Masked pixels count 0 in the mean over all frames.
    mean.zip_mut_with(&valid_frames(scan), |mean, valid| {
        *mean *= frames / *valid as f64;
        if *valid == 0 {
            *mean = f64::NAN;
        }
    });
    mean
}

/// Draws the mean of all frames in logarithmic colours; masked pixels are grey.
///
/// # Errors
/// The PNG encoder fails.
pub(super) fn mean_pattern(scan: &Scan) -> Result<Picture, PictureError> {
    drawn(scan, false)
}

/// The same with a cross at the pixel of the zero frequency, if frames are far fields.
///
/// # Errors
/// The PNG encoder fails.
pub(super) fn mean_pattern_with_centre(scan: &Scan) -> Result<Picture, PictureError> {
    drawn(scan, !scan.geometry().is_near_field())
}

fn drawn(scan: &Scan, marks_centre: bool) -> Result<Picture, PictureError> {
    let mean = mean_of_valid(scan);
    let positive = mean.iter().copied().filter(|v| *v > 0.0);
    let (least, greatest) = positive.fold((f64::INFINITY, 0.0_f64), |(low, high), v| {
        (low.min(v), high.max(v))
    });
    let high = greatest.max(f64::MIN_POSITIVE).log10();
    let low = least.min(greatest).max(f64::MIN_POSITIVE).log10();
    // A pattern of equal values has some range too.
    let low = low.max(high - DECADES).min(high - 0.5);
    let map = Map::Sequential { low, high };
    // The average of a block that is partly masked is not finite, and grey.
    let values = mean.mapv(Complex::from);
    let raster = Raster::new(values.view(), scan.geometry().pixel_size, SIDE);
    let [height, width] = raster.size;
    let top = 2 * GAP + TEXT;
    let mut canvas = Canvas::new((width + 2 * GAP).max(LEAST_WIDTH), top + height + FOOTER);
    canvas.text([GAP, GAP], "Mean diffraction pattern");
    raster.draw_framed(&mut canvas, [GAP, top], |v| match v.re {
        v if v.is_nan() => MASKED,
        v if v > 0.0 => map.colour(v.log10()),
        _ => map.colour(low),
    });
    let [_, rows, columns] = scan.shape();
    let mut marked = String::new();
    if marks_centre {
        let place = |at: usize, side: usize, drawn: usize| (2 * at + 1) * drawn / (2 * side);
        let row = top + place(rows / 2, rows, height);
        cross(&mut canvas, [GAP + place(columns / 2, columns, width), row]);
        marked = format!(
            " The cross is at the zero frequency, pixel ({}, {}) (row, column).",
            rows / 2,
            columns / 2
        );
    }
    let ends = [low, high].map(|v| significant(10_f64.powf(v), 2));
    let labels = [ends[0].clone(), format!("{} counts", ends[1])];
    let bar = [GAP + width_of(&labels[0]) / 2, top + height + GAP];
    colour_bar(&mut canvas, bar, map, &labels);
    let legend = bar[0] + BAR[0] + width_of(&labels[1]);
    let masked = mean.iter().filter(|v| v.is_nan()).count();
    if masked > 0 {
        canvas.fill([legend + 2 * GAP, bar[1]], [BAR[1]; 2], MASKED);
        let text_row = (bar[1] + BAR[1] / 2).saturating_sub(TEXT / 2);
        canvas.text([legend + 3 * GAP + BAR[1], text_row], "masked");
    }
    Ok(Picture {
        png: canvas.png()?,
        caption: format!(
            "Mean of {} in logarithmic colours from {} to {} counts. {}{marked}",
            count(scan.shape()[0], ["frame", "frames"]),
            ends[0],
            ends[1],
            masks(scan, masked)
        ),
    })
}

/// Draws a cross around a place (column, row) of the canvas, which itself is left free.
fn cross(canvas: &mut Canvas, [column, row]: [usize; 2]) {
    let [near, far] = CROSS;
    let length = far - near;
    // A light edge, so that it is seen on all colours.
    for (edge, colour) in [(1, WHITE), (0, CROSS_COLOUR)] {
        let thick = 1 + 2 * edge;
        let long = length + 2 * edge;
        for start in [-(far as i64), near as i64] {
            let at = |middle: usize| {
                let place = middle as i64 + start + i64::from(start < 0) - edge as i64;
                usize::try_from(place).unwrap_or(0)
            };
            let beside = |middle: usize| middle.saturating_sub(edge);
            canvas.fill([at(column), beside(row)], [long, thick], colour);
            canvas.fill([beside(column), at(row)], [thick, long], colour);
        }
    }
}

/// A sentence on the mask; `masked` pixels are masked in every frame.
fn masks(scan: &Scan, masked: usize) -> String {
    let [_, rows, columns] = scan.shape();
    let share = 100.0 * masked as f64 / (rows * columns) as f64;
    match (masked, scan.mask()) {
        (0, Mask::Shared(_)) => "No pixel is masked.".to_owned(),
        (0, Mask::PerFrame(_)) => "No pixel is masked in every frame.".to_owned(),
        (masked, Mask::Shared(_)) => format!(
            "Grey pixels are masked: {masked} of {}, {} %.",
            rows * columns,
            significant(share, 2)
        ),
        (masked, Mask::PerFrame(_)) => format!(
            "Grey pixels are masked in every frame: {masked} of {}, {} %.",
            rows * columns,
            significant(share, 2)
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Geometry, Propagation};
    use ndarray::Array3;
    use warpstride_report::png::Rgb;

    fn scan(mask: Mask) -> Scan {
        let frames = Array3::from_shape_fn((4, 16, 16), |(frame, row, column)| {
            let peak = if (row, column) == (8, 8) { 1e5 } else { 1.0 };
            peak * (1 + frame) as f32
        });
        let geometry = Geometry {
            wavelength: 1e-10,
            distance: 1.0,
            pixel_size: [1e-4; 2],
            propagation: Propagation::FarField,
        };
        Scan::new(frames, Some(mask), Array2::zeros((4, 2)), geometry, None).unwrap()
    }

    #[test]
    fn the_brightest_pixel_is_yellow_and_masked_ones_are_grey() {
        let mask = Array2::from_shape_fn((16, 16), |(row, _)| row != 3);
        let picture = mean_pattern(&scan(Mask::Shared(mask))).unwrap();
        let image = Rgb::read(&picture.png);
        let at = |row: u32, column: u32| {
            let zoom = SIDE[0] as u32 / 16;
            let [left, top] = [GAP as u32, (2 * GAP + TEXT) as u32];
            image.at(left + column * zoom + zoom / 2, top + row * zoom + zoom / 2)
        };
        let map = Map::Sequential {
            low: 0.0,
            high: 1.0,
        };
        assert_eq!(at(8, 8), map.colour(1.0));
        assert_eq!(at(5, 5), map.colour(0.0));
        assert_eq!(at(3, 8), MASKED);
        assert!(
            picture.caption.contains("masked: 16 of 256, 6.2 %"),
            "{}",
            picture.caption
        );
        assert!(
            picture.caption.contains("2.5 to 2.5e5 counts"),
            "{}",
            picture.caption
        );
    }

    /// The mean is over the frames in which a pixel is valid: a pixel that is valid only in the
    /// last frame has the counts of that frame.
    #[test]
    fn frames_in_which_a_pixel_is_masked_do_not_count() {
        let mask = Array3::from_shape_fn((4, 16, 16), |(frame, row, column)| {
            (row, column) != (0, 0) && ((row, column) != (0, 1) || frame == 3)
        });
        let mean = mean_of_valid(&scan(Mask::PerFrame(mask)));
        assert!(mean[[0, 0]].is_nan());
        assert_eq!((mean[[0, 1]], mean[[0, 2]]), (4.0, 2.5));
    }
}
