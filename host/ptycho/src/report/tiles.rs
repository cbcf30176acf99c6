//! Pictures of several modes side by side, and what is below a picture: scale bar and colours.

use ndarray::ArrayView2;
use num_complex::Complex;
use warpstride_core::text::{length, round_below, significant};
use warpstride_report::canvas::{Canvas, INK, TEXT, width_of};
use warpstride_report::colours::{Map, hue};
use warpstride_report::picture::{
    BAR, FOOTER, GAP, LEAST_WIDTH, PictureError, colour_bar, map_ends,
};
use warpstride_report::raster::Raster;

/// Approximate length of the longer side of a mode, pixels: smaller ones are enlarged to the first
/// value, larger ones averaged down to the second.
pub(super) const MODE_SIDE: [usize; 2] = [288, 400];
/// Modes per row.
const TILES: usize = 4;

/// Draws modes (row, column) of one shape, with pixels of `pixel` (row, column), m, and their
/// shares of the power: brightness is the modulus, each relative to its own maximum, hue the phase.
/// Returns the canvas, with scale bar and phase colours, and a sentence on the extent of a mode.
///
/// # Errors
/// There is no mode, or they have no pixels.
pub(super) fn tiled(
    title: &str,
    modes: Vec<ArrayView2<'_, Complex<f64>>>,
    shares: &[f64],
    pixel: [f64; 2],
) -> Result<(Canvas, String), PictureError> {
    let shape = modes.first().map_or([0; 2], |mode| mode.dim().into());
    if shape.contains(&0) {
        return Err(PictureError::Empty {
            what: "modes",
            shape: [&[modes.len()], &shape[..]].concat(),
        });
    }
    let modes: Vec<(Raster, f64)> = modes
        .into_iter()
        .map(|mode| {
            let raster = Raster::new(mode, pixel, MODE_SIDE);
            let brightest = raster.values.iter().map(|v| v.norm());
            let brightest = brightest.filter(|v| v.is_finite()).fold(0.0, f64::max);
            (raster, brightest)
        })
        .collect();
    let [height, width] = modes[0].0.size;
    let across = modes.len().min(TILES);
    let down = modes.len().div_ceil(across);
    let tile = [width + GAP, height + TEXT + 2 * GAP];
    let below = [GAP, GAP + TEXT + down * tile[1]];
    let mut canvas = Canvas::new((GAP + across * tile[0]).max(LEAST_WIDTH), below[1] + FOOTER);
    canvas.text([GAP, GAP], title);
    for (i, (raster, brightest)) in modes.iter().enumerate() {
        let corner = [
            GAP + i % across * tile[0],
            2 * GAP + TEXT + i / across * tile[1],
        ];
        raster.draw_framed(&mut canvas, corner, |v| {
            hue(
                v.arg(),
                if *brightest > 0.0 {
                    v.norm() / brightest
                } else {
                    0.0
                },
            )
        });
        let power = shares.get(i).map_or(String::new(), |p| {
            format!("{}: {} %", i + 1, significant(100.0 * p, 3))
        });
        canvas.text([corner[0], corner[1] + height + GAP / 2], &power);
    }
    footer(&mut canvas, below, &modes[0].0, Map::Cyclic);
    let extent = modes[0].0.extent();
    Ok((canvas, extent))
}

/// Draws the scale bar on the left and the colour bar with its labels beside it.
pub(super) fn footer(canvas: &mut Canvas, at: [usize; 2], raster: &Raster, map: Map) {
    let (row, text_row) = (at[1] + GAP, at[1] + GAP + BAR[1] + GAP / 2);
    let display_pixel = raster.metres[1] / raster.size[1] as f64;
    let reach = (raster.size[1] as f64 * 0.3).clamp(16.0, BAR[0] as f64);
    let bar = round_below(reach * display_pixel);
    let bar_pixels = ((bar / display_pixel).round() as usize).max(1);
    canvas.fill([at[0], row + BAR[1] / 2 - 2], [bar_pixels, 5], INK);
    for end in [at[0], (at[0] + bar_pixels).saturating_sub(2)] {
        canvas.fill([end, row], [2, BAR[1]], INK);
    }
    canvas.text([at[0], text_row], &length(bar, 1));

    let ends = map_ends(map);
    let start = at[0] + BAR[0] + 3 * GAP + width_of(&ends[0]) / 2;
    colour_bar(canvas, [start, row], map, &ends);
}
