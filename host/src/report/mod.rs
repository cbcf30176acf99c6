//! Results for people and other programs: pictures, tables, the HTML report, the summary.

mod bitmap;
mod canvas;
mod colours;
mod curves;
mod field;
mod html;
mod mri;
mod numbers;
mod page;
mod pictures;
mod raster;
#[cfg(test)]
mod sample;
mod scattering_curve;
mod scattering_fit;
mod scattering_image;
mod series_curves;
mod summary;
mod table;
mod timeline;
mod write;

pub use field::field_picture;
pub use html::{ReportError, report};
pub use mri::{MriSummary, modulus_png, mri_report};
pub use numbers::{length, significant};
pub use pictures::{Picture, PictureError, Pictures};
pub use scattering_curve::ScatteringCurve;
pub use scattering_fit::{fit_picture, fit_report};
pub use scattering_image::intensity_picture;
pub use series_curves::SeriesCurves;
pub use summary::Summary;
pub use table::Table;
pub use timeline::timeline;
pub use write::write_whole;
