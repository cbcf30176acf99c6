//! Drawing shared by the reports of all sciences: canvas, colours, curves, pictures and HTML pages.

pub(crate) mod bitmap;
pub(crate) mod canvas;
pub(crate) mod colours;
pub(crate) mod curves;
mod error;
pub(crate) mod font;
pub(crate) mod log_ticks;
pub(crate) mod page;
pub(crate) mod picture;
pub(crate) mod png;
pub(crate) mod raster;
pub(crate) mod value_axis;

pub use error::ReportError;
pub use picture::{Picture, PictureError};
