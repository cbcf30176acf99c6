//! The HTML report of several images.

use super::{facts, lead, picture};
use crate::data::{ImageIndex, MriImage};
use crate::summary::{ImageSummary, MriSummary};
use warpstride_core::text::{count, significant};
use warpstride_report::ReportError;
use warpstride_report::page::{self, escaped, figure, table};

/// The HTML page of several images with their summary: a picture of each and what was computed. It
/// loads nothing and runs no script.
///
/// # Errors
/// [`ReportError`] if there is no image, or a picture cannot be drawn.
pub fn mri_images_report(images: &[MriImage], summary: &MriSummary) -> Result<String, ReportError> {
    let Some(first) = images.first() else {
        return Err(ReportError("expected at least one image".to_owned()));
    };
    let all: Vec<ImageIndex> = summary.images.iter().map(|image| image.index).collect();
    let title = format!(
        "{} from {}",
        count(images.len(), ["image", "images"]),
        first.source
    );
    let mut page = page::head(&title, &lead(summary));
    page += &page::problems(&summary.problems);
    page += "<section>\n<h2>Images</h2>\n";
    for (image, part) in images.iter().zip(&summary.images) {
        let name = part.index.name(&all);
        page += &format!("<h3>{}</h3>\n", escaped(&name));
        let drawn = picture(image).map_err(|e| ReportError(e.to_string()))?;
        page += &figure(&drawn, &format!("Modulus, {name}"));
        page += &table(&[("Result", result(part))]);
    }
    page += "</section>\n<section>\n<h2>Parameters</h2>\n";
    page += &facts(first, summary);
    page += &page::notes(&summary.record.notes);
    page += "</section>\n";
    page += &page::foot(&first.version);
    Ok(page)
}

/// What was computed of an image, in a line.
pub fn result(of: &ImageSummary) -> String {
    let mut parts = vec![
        count(of.samples, super::SAMPLES),
        count(of.iterations, ["iteration", "iterations"]),
    ];
    if let Some(last) = of.residuals.last() {
        parts.push(format!("residual {}", significant(*last, 4)));
    }
    if let Some(share) = of.data_residual {
        parts.push(format!("data residual {}", significant(share, 3)));
    }
    if let (Some(nrmse), Some(magnitude)) = (of.nrmse, of.magnitude_nrmse) {
        parts.push(format!(
            "NRMSE {}, magnitude NRMSE {}",
            significant(nrmse, 4),
            significant(magnitude, 4)
        ));
    }
    parts.join(", ")
}
