//! What the self-tests of the sciences are made of: a case uploads its data, launches a kernel and
//! compares the result with its definition, which is a plain loop in double precision.

pub mod bench;
pub mod copies;
pub mod fft;
pub mod random_data;
mod report;
pub mod transform;

pub use report::report;
