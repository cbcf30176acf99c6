//! Pictures and HTML report of a reconstruction.

mod background;
mod curves;
mod diffraction;
mod exposures;
mod focus;
mod halves;
mod html;
mod object_modes;
mod pictures;
mod positions;
mod probe;
mod ring_correlation;
#[cfg(test)]
pub(crate) mod sample;
mod scan;
mod tiles;
mod variable_probe;

pub use halves::{report_of_halves, ring_correlation_svg};
pub use html::report;
pub use pictures::Pictures;
pub use scan::report_of_scan;
