//! The section of the report on the modes of the object.

use super::tiles::tiled;
use crate::data::{ObjectModes, Reconstruction};
use crate::quality::{LitRegion, bounding_box};
use ndarray::{ArrayView2, s};
use num_complex::Complex;
use warpstride_report::ReportError;
use warpstride_report::page::figure;
use warpstride_report::picture::{Picture, PictureError};

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

fn picture(of: &Reconstruction, modes: &ObjectModes) -> Result<Picture, PictureError> {
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
    let shown = std::iter::once(first).chain(further).collect();
    let (canvas, extent) = tiled("Object modes", shown, &modes.power, of.pixel)?;
    Ok(Picture {
        png: canvas.png()?,
        caption: format!(
            "Mutually incoherent modes of the object in the lit region, strongest first, with their fraction of the power behind the probe. Brightness is the modulus (each mode relative to its own maximum), hue the phase. {extent}"
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample;
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
