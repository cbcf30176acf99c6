//! Pictures and HTML report of a reconstruction.

mod curves;
mod diffraction;
mod html;
mod pictures;
mod positions;
#[cfg(test)]
pub(crate) mod sample;

pub use html::report;
pub use pictures::Pictures;
