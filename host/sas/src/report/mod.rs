//! Plots of curves and images, and the HTML report of a fit.

mod curve;
mod fit;
mod image;

pub use curve::ScatteringCurve;
pub use fit::{fit_picture, fit_report};
pub use image::intensity_picture;
