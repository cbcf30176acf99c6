//! Results for people and other programs: pictures, tables, the HTML report, the summary.

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
mod summary;
mod table;
mod timeline;
mod write;

pub use field::field_picture;
pub use html::{ReportError, report};
pub use mri::{MriSummary, modulus_png, mri_report};
pub use numbers::{length, significant};
pub use pictures::{Picture, PictureError, Pictures};
pub use summary::Summary;
pub use table::Table;
pub use timeline::timeline;
pub use write::write_whole;
