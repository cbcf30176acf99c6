//! The section of the report on the modes of the object.

use crate::data::{ObjectModes, Reconstruction};
use crate::ptycho::quality::{LitRegion, bounding_box};
use crate::report::ReportError;
use crate::report::canvas::{Canvas, TEXT};
use crate::report::colours::hue;
use crate::report::page::figure;
use crate::report::picture::{GAP, LEAST_WIDTH, Picture};
use crate::report::raster::Raster;
use crate::text::significant;
use ndarray::{ArrayView2, s};
use num_complex::Complex;

/// Approximate length of the longer side of one mode, pixels.
const SIDE: [usize; 2] = [288, 400];
/// Modes per row.
const TILES: usize = 3;

/// The section with the modes and their power; empty for an object of one mode.
///
/// # Errors
/// The picture cannot be encoded.
pub(super) fn object_modes(of: &Reconstruction) -> Result<String, ReportError> {
    let Some(modes) = &of.parts.object_modes else {
        return Ok(String::new());
    };
    let picture = picture(of, modes).map_err(|e| ReportError(e.to_string()))?;
    let drawn = figure(&picture, "Modes of the object");
    Ok(format!(
        "<section>\n<h2>Object modes</h2>\n{drawn}</section>\n"
    ))
}

fn picture(
    of: &Reconstruction,
    modes: &ObjectModes,
) -> Result<Picture, crate::report::picture::PictureError> {
    let weight = LitRegion::default().weight(&of.fluence);
    let [rows, columns] = match bounding_box(&weight) {
        Some(lit) if weight.dim() == of.object.dim() => lit,
        _ => [0..of.object.nrows(), 0..of.object.ncols()],
    };
    let shown = s![rows, columns];
    let first = of.object.slice(shown);
    let further = modes.further.outer_iter();
    let further: Vec<ArrayView2<'_, Complex<f64>>> =
        further.map(|mode| mode.slice_move(shown)).collect();
    let rasters: Vec<Raster> = (std::iter::once(first).chain(further))
        .map(|mode| Raster::new(mode, of.pixel, SIDE))
        .collect();
    let [height, width] = rasters[0].size;
    let across = rasters.len().min(TILES);
    let down = rasters.len().div_ceil(across);
    let tile = [width + GAP, height + TEXT + 2 * GAP];
    let size = [
        (GAP + across * tile[0]).max(LEAST_WIDTH),
        GAP + TEXT + down * tile[1],
    ];
    let mut canvas = Canvas::new(size[0], size[1]);
    canvas.text([GAP, GAP], "Object modes");
    for (i, raster) in rasters.iter().enumerate() {
        let corner = [
            GAP + i % across * tile[0],
            2 * GAP + TEXT + i / across * tile[1],
        ];
        let moduli = raster.values.iter().map(|v| v.norm());
        let brightest = moduli.filter(|v| v.is_finite()).fold(0.0, f64::max);
        raster.draw_framed(&mut canvas, corner, |v| {
            let share = if brightest > 0.0 {
                v.norm() / brightest
            } else {
                0.0
            };
            hue(v.arg(), share)
        });
        let power = modes.power.get(i).map_or(String::new(), |p| {
            format!("{}: {} %", i + 1, significant(100.0 * p, 3))
        });
        canvas.text([corner[0], corner[1] + height + GAP / 2], &power);
    }
    Ok(Picture {
        png: canvas.png()?,
        caption: format!(
            "Mutually incoherent modes of the object in the lit region, strongest first, with their fraction of the power behind the probe. Brightness is the modulus (each mode relative to its own maximum), hue the phase. {}",
            rasters[0].extent()
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ptycho::report::sample;
    use ndarray::Axis;

    #[test]
    fn modes_are_drawn_with_their_power() {
        let mut of = sample::reconstruction();
        assert_eq!(object_modes(&of).unwrap(), "");
        let further = of.object.mapv(|v| v * 0.1).insert_axis(Axis(0));
        of.parts.object_modes = Some(ObjectModes {
            further,
            power: vec![0.99, 0.01],
        });
        let page = object_modes(&of).unwrap();
        assert!(page.contains("Object modes") && page.contains("base64"));
    }
}
