//! Drawing shared by the reports of all sciences: canvas, colours, curves, pictures and HTML pages.

pub mod bitmap;
pub mod canvas;
pub mod colours;
pub mod curves;
mod error;
pub mod font;
pub mod log_ticks;
pub mod page;
pub mod picture;
pub mod png;
pub mod raster;
pub mod value_axis;

pub use error::ReportError;
pub use picture::{Picture, PictureError};
