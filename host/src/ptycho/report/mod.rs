//! Pictures and HTML report of a reconstruction.

mod curves;
mod html;
mod pictures;
#[cfg(test)]
pub(crate) mod sample;

pub use html::report;
pub use pictures::Pictures;
