//! File access that several sciences share: reading and writing HDF5, NumPy's `.npy` arrays, and
//! BART's `.cfl` arrays.
//!
//! A file may be malformed or hostile: sizes are checked against the file and the available memory
//! before anything is allocated. Every error is one sentence that names the file, the dataset, what
//! was found and what was expected. HDF5's own error printing is switched off.

#![cfg_attr(
    not(all(feature = "hdf5", feature = "xml")),
    allow(
        dead_code,
        unused_imports,
        reason = "a build without some features leaves out who uses these parts"
    )
)]

#[cfg(feature = "hdf5")]
mod attributes;
pub mod cfl;
mod error;
#[cfg(feature = "hdf5")]
mod global_heap;
#[cfg(feature = "hdf5")]
mod hdf5_name;
#[cfg(feature = "hdf5")]
mod input_file;
#[cfg(all(test, feature = "static"))]
mod lock_tests;
mod memory_limit;
pub mod npy;
#[cfg(feature = "hdf5")]
pub mod output;
#[cfg(feature = "hdf5")]
pub mod records;
#[cfg(feature = "hdf5")]
pub mod source;
#[cfg(feature = "hdf5")]
mod superblock;
#[cfg(feature = "hdf5")]
mod unlocked;
#[cfg(feature = "xml")]
pub mod xml;

pub use error::{IoError, Remedy};
#[cfg(feature = "hdf5")]
pub use input_file::InputFile;
pub use memory_limit::{check_memory, reserved};
