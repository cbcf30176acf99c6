//! File formats, nothing else. Everything about HDF5 sits here, NumPy's arrays, and tables of time series.
//!
//! A file may be malformed or hostile: sizes are held against the file and against memory before
//! anything is allocated, and every refusal is one sentence that names the file, the dataset, what
//! was found and what was expected. HDF5's own error printing is off.

pub mod atomic;
mod attributes;
pub mod checkpoint;
mod contain;
mod error;
mod global_heap;
pub mod images;
pub mod ismrmrd;
mod memory;
pub mod npy;
mod output;
mod records;
pub mod results;
pub mod sas;
pub mod scan;
pub mod series;
mod source;
mod superblock;

pub(crate) use contain::contained;
pub use error::IoError;
pub use memory::{Bytes, Memory};

#[cfg(test)]
mod hostile;
