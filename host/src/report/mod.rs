//! Results for people and other programs: pictures, tables, the HTML report, the summary.

mod canvas;
mod colours;
mod numbers;
mod pictures;
mod raster;
mod write;

pub use numbers::{length, significant};
pub use pictures::{Picture, PictureError, Pictures};
pub use write::write_whole;
