//! Mirrors `nxcansas.rs` in a build without the feature `hdf5`: NXcanSAS files are refused.

use super::{ReadOptions, not_scattering};
use crate::data::Scattering;
use std::path::Path;
use warpstride_core::system::Memory;
use warpstride_files::IoError;

/// Refuses the file.
///
/// # Errors
/// Always.
pub(super) fn read(
    path: &Path,
    _options: &ReadOptions,
    _memory: Memory,
) -> Result<Scattering, IoError> {
    Err(not_scattering(
        &path.display().to_string(),
        "HDF5, which this program was built without (cargo feature hdf5)",
    ))
}
