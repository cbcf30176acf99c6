//! The picture and the HTML report of a reconstruction.

mod several;

pub use several::mri_images_report;
pub use several::result;

use crate::data::MriImage;
use crate::summary::MriSummary;
use ndarray::{Array2, ArrayView3, Axis};
use num_complex::Complex;
use warpstride_core::text::{count, length, significant};
use warpstride_report::ReportError;
use warpstride_report::curves::of_residuals;
use warpstride_report::page::{self, curve, escaped, figure, table};
use warpstride_report::picture::{Picture, PictureError};
use warpstride_report::png::Grey;

const SAMPLES: [&str; 2] = ["sample", "samples"];
const COILS: [&str; 2] = ["coil", "coils"];

/// The share of voxels that are darker than white, so that single bright voxels do not darken the
/// picture.
const WHITE: f64 = 0.99;
/// Smallest side of a report's picture, in pixels; it is enlarged by an integer factor.
const MIN_REPORT_SIDE: usize = 512;
/// Width in pixels of the black gap between the three planes of a volume.
const GAP: usize = 2;

/// The modulus of `image` (slice, row, column) in grey, one pixel per voxel: of an image with one
/// slice the plane itself, of a volume the three planes through its centre side by side (rows ×
/// columns, slices × columns, slices × rows).
///
/// # Errors
/// [`PictureError`] for an image without voxels.
pub fn modulus_png(image: ArrayView3<'_, Complex<f64>>) -> Result<Vec<u8>, PictureError> {
    encoded(&grey(image)?.0, 1)
}

/// Pixels of the largest picture: 16384².
const MAX_PIXELS: usize = 1 << 28;

/// The picture, and the value that is white in it.
fn grey(image: ArrayView3<'_, Complex<f64>>) -> Result<(Grey, f64), PictureError> {
    let (slices, rows, columns) = image.dim();
    if image.is_empty() {
        return Err(PictureError::Empty {
            what: "image",
            shape: image.shape().to_vec(),
        });
    }
    let middle = |axis: usize| image.index_axis(Axis(axis), image.shape()[axis] / 2);
    let planes: Vec<Array2<f64>> = if slices == 1 {
        vec![middle(0).mapv(|v| v.norm())]
    } else {
        (0..3).map(|axis| middle(axis).mapv(|v| v.norm())).collect()
    };
    let mut values: Vec<f64> = planes.iter().flatten().copied().collect();
    values.retain(|v| v.is_finite());
    let index = ((values.len() as f64 * WHITE) as usize).min(values.len().saturating_sub(1));
    let white = if values.is_empty() {
        0.0
    } else {
        *values.select_nth_unstable_by(index, f64::total_cmp).1
    };
    // In an image of a few points, white is the brightest voxel.
    let white = if white > 0.0 {
        white
    } else {
        values.iter().copied().fold(0.0, f64::max)
    };
    let side = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    let width: usize = if slices == 1 {
        columns
    } else {
        2 * columns + rows + 2 * GAP
    };
    let height = rows.max(slices);
    if width.saturating_mul(height) > MAX_PIXELS {
        return Err(PictureError::TooLarge { width, height });
    }
    let mut picture = Grey::filled(side(width), side(height), [0]);
    let mut left = 0;
    for plane in &planes {
        for ((row, column), value) in plane.indexed_iter() {
            let share = if white > 0.0 { value / white } else { 0.0 };
            let level = (share.clamp(0.0, 1.0) * 255.0).round() as u8;
            if let Some(pixel) = picture.at_mut(left + column, row) {
                *pixel = [level];
            }
        }
        left += plane.ncols() + GAP;
    }
    Ok((picture, white))
}

/// A PNG with every pixel enlarged by `zoom`.
fn encoded(picture: &Grey, zoom: u32) -> Result<Vec<u8>, PictureError> {
    Ok(picture.enlarged(zoom).png()?)
}

/// The picture of the report, enlarged, with its caption.
fn picture(of: &MriImage) -> Result<Picture, PictureError> {
    let (grey, white) = grey(of.image.view())?;
    let smallest = grey.width().min(grey.height()).max(1) as usize;
    let longest = grey.width().max(grey.height()).max(1) as usize;
    let zoom = (MIN_REPORT_SIDE / smallest)
        .min(4 * MIN_REPORT_SIDE / longest)
        .clamp(1, 8) as u32;
    let what = if of.image.dim().0 > 1 {
        "Modulus of the image in the three planes through the centre of the volume (rows and columns, slices and columns, slices and rows)."
    } else {
        "Modulus of the image."
    };
    let extent = of.field_of_view.map_or_else(String::new, |[z, y, x]| {
        format!(
            " The field of view is {} high and {} wide, {} {}.",
            length(y, 3),
            length(x, 3),
            length(z, 3),
            if of.volume { "deep" } else { "thick" }
        )
    });
    Ok(Picture {
        png: encoded(&grey, zoom)?,
        caption: format!(
            "{what} Black is 0, white {} or more (99 % of the voxels are below).{extent}",
            significant(white, 3)
        ),
    })
}

/// The HTML page of `of`. It loads nothing and runs no script.
///
/// # Errors
/// [`ReportError`] if the picture or the curve cannot be drawn.
pub fn mri_report(of: &MriImage, summary: &MriSummary) -> Result<String, ReportError> {
    let failed = |e: &dyn std::fmt::Display| ReportError(e.to_string());
    let mut page = page::head(&format!("Image from {}", of.source), &lead(summary));
    page += &page::problems(&summary.problems);
    page += "<section>\n<h2>Image</h2>\n";
    page += &figure(
        &picture(of).map_err(|e| failed(&e))?,
        "Modulus of the image",
    );
    page += "</section>\n";
    if summary.method != "adjoint" {
        let drawn = of_residuals(&summary.residuals, "iteration").map_err(|e| failed(&e))?;
        page += "<section>\n<h2>Convergence</h2>\n";
        page += &curve(
            "Residual",
            "iteration",
            "Relative residual of the normal equations, |r|²/|b|². Late iterations reduce it by fitting noise.",
            drawn.as_deref(),
        );
        page += "</section>\n";
    }
    page += "<section>\n<h2>Parameters</h2>\n";
    page += &facts(of, summary);
    page += &page::notes(&summary.record.notes);
    page += "</section>\n";
    page += &page::foot(&of.version);
    Ok(page)
}

/// A summary of the run in one or two sentences.
fn lead(of: &MriSummary) -> String {
    let what = match of.iterations {
        0 => "One adjoint transform".to_owned(),
        n => format!("{} ({})", count(n, ["iteration", "iterations"]), of.method),
    };
    let mut text = format!(
        "{what} from {} of {} took {} s on {}",
        count(of.samples, SAMPLES),
        count(of.coils, COILS),
        significant(of.record.seconds, 3),
        of.record.setup
    );
    if let Some(per) = of.ms_per_iteration {
        text += &format!(", {} ms per iteration", significant(per, 3));
    }
    text += ".";
    if let (Some(nrmse), Some(magnitude), Some(psnr)) = (of.nrmse, of.magnitude_nrmse, of.psnr) {
        text += &format!(
            " Against the reference: NRMSE {} ({} of the magnitudes), PSNR {} dB.",
            significant(nrmse, 3),
            significant(magnitude, 3),
            significant(psnr, 4)
        );
    }
    escaped(&text)
}

fn facts(image: &MriImage, of: &MriSummary) -> String {
    let [slices, rows, columns] = of.matrix;
    let matrix = if slices == 1 {
        format!("{rows} × {columns}")
    } else {
        format!("{slices} × {rows} × {columns}")
    };
    let number = |value: Option<f64>, digits| value.map(|v| significant(v, digits));
    let last = of.residuals.last().copied();
    let rows = [
        ("Samples", Some(image.source.clone())),
        ("Matrix", Some(matrix)),
        (
            "Readouts",
            Some(format!(
                "{}, {} in total, {}",
                of.readouts,
                count(of.samples, SAMPLES),
                count(of.coils, COILS)
            )),
        ),
        ("Operator", Some(of.operator.clone())),
        ("Method", Some(of.method.clone())),
        ("Iterations", Some(of.iterations.to_string())),
        ("Last residual", number(last, 4)),
        ("Data residual, |d − Eρ|²/|d|²", number(of.data_residual, 3)),
        ("Coil maps", Some(of.coil_maps.clone())),
        ("Sets of coil maps", of.coil_map_sets.map(|n| n.to_string())),
        ("Density weights", Some(of.density.clone())),
        ("Regularisation", Some(significant(of.lambda, 3))),
        (
            "Tolerance of the NUFFT",
            of.tolerance.map(|tolerance| significant(tolerance, 2)),
        ),
        ("NRMSE", number(of.nrmse, 4)),
        ("NRMSE of the magnitudes", number(of.magnitude_nrmse, 4)),
        ("PSNR", number(of.psnr, 4).map(|v| format!("{v} dB"))),
        ("SSIM", number(of.ssim, 4)),
        ("Back end", Some(of.record.setup.to_string())),
        ("Program", Some(format!("warpstride {}", of.record.version))),
    ];
    let rows: Vec<(&str, String)> = rows
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)))
        .collect();
    table(&rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::Array3;
    use warpstride_core::run::{RunRecord, Setup};

    fn image(slices: usize) -> MriImage {
        MriImage {
            image: Array3::from_shape_fn((slices, 30, 40), |(s, r, c)| {
                Complex::new(0.0, (s + r + c) as f64)
            }),
            volume: slices > 1,
            index: None,
            placement: None,
            field_of_view: Some([0.1, 0.3, 0.4]),
            coil_maps: None,
            residuals: vec![0.5, 0.1, 0.01],
            recipe: String::new(),
            operator: "toeplitz".to_owned(),
            method: "cg".to_owned(),
            backend: "cpu".to_owned(),
            device: "two <cores>".to_owned(),
            precision: "f32".to_owned(),
            version: "0.1.0".to_owned(),
            source: "raw & more.h5".to_owned(),
        }
    }

    fn summary() -> MriSummary {
        let setup = Setup {
            backend: "cpu",
            device: "two <cores>".to_owned(),
            precision: "f32",
        };
        let inputs = vec!["raw & more.h5".to_owned()];
        MriSummary {
            record: RunRecord::new(setup, 0.5).after(inputs, 1.0, vec!["1 < 2".to_owned()]),
            problems: Vec::new(),
            operator: "toeplitz".to_owned(),
            method: "cg".to_owned(),
            iterations: 3,
            residuals: vec![0.5, 0.1, 0.01],
            data_residual: Some(0.02),
            ms_per_iteration: Some(170.0),
            matrix: [1, 30, 40],
            coils: 4,
            readouts: 10,
            samples: 600,
            coil_maps: "espirit".to_owned(),
            coil_map_sets: Some(1),
            density: "none".to_owned(),
            lambda: 0.0,
            min_residual: 0.0,
            tolerance: Some(1e-5),
            trigonometry: "accurate".to_owned(),
            intensity_correction: false,
            nrmse: None,
            magnitude_nrmse: None,
            psnr: None,
            ssim: None,
            images: Vec::new(),
        }
    }

    #[test]
    fn a_plane_has_one_pixel_per_voxel_and_bright_spots_do_not_darken_it() {
        let mut of = image(1);
        of.image[[0, 3, 4]] = Complex::new(1e9, 0.0);
        let png = modulus_png(of.image.view()).unwrap();
        let drawn = Grey::read(&png);
        assert_eq!((drawn.width(), drawn.height()), (40, 30));
        assert_eq!(drawn.at(0, 0), [0]);
        assert!(drawn.at(20, 15)[0] > 100);
        assert_eq!(drawn.at(4, 3), [255]);
    }

    #[test]
    fn a_volume_shows_three_planes() {
        let png = modulus_png(image(20).image.view()).unwrap();
        let drawn = Grey::read(&png);
        assert_eq!((drawn.width(), drawn.height()), (40 + 40 + 30 + 4, 30));
    }

    #[test]
    fn an_image_of_zeros_is_black() {
        let png = modulus_png(Array3::zeros((1, 4, 4)).view()).unwrap();
        let drawn = Grey::read(&png);
        assert!(drawn.all().iter().all(|p| *p == [0]));
        assert!(modulus_png(Array3::zeros((0, 4, 4)).view()).is_err());
    }

    #[test]
    fn the_page_is_complete_self_contained_and_escaped() {
        let page = mri_report(&image(1), &summary()).unwrap();
        assert!(!page.contains("<script") && !page.contains("<cores>"));
        assert!(page.contains("raw &amp; more.h5") && page.contains("1 &lt; 2"));
        assert_eq!(page.matches("src=\"data:image/png;base64,").count(), 1);
        for name in [
            "section", "figure", "table", "tr", "ul", "li", "svg", "main",
        ] {
            let opened = page.matches(&format!("<{name}>")).count()
                + page.matches(&format!("<{name} ")).count();
            assert_eq!(
                opened,
                page.matches(&format!("</{name}>")).count(),
                "{name}"
            );
        }
    }

    #[test]
    fn the_summary_has_the_documented_keys() {
        let json = summary().to_json().unwrap();
        let value: serde_json::Value = serde_json::from_str(&json).unwrap();
        for key in [
            "residuals",
            "operator",
            "method",
            "backend",
            "seconds",
            "ms_per_iteration",
        ] {
            assert!(value.get(key).is_some(), "{key}");
        }
        assert!(value.get("nrmse").is_none());
        assert_eq!(value["residuals"][1], 0.1);
    }
}
