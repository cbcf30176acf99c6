//! What a model has beyond object, probe and frames, in results files.

use crate::data::{ModelParts, Reconstruction};
use crate::io::IoError;
use crate::io::source::Source;
use hdf5_metno as hdf5;

/// Writes `result.parts`.
pub(super) fn write(_file: &hdf5::File, result: &Reconstruction) -> hdf5::Result<()> {
    let ModelParts {} = &result.parts;
    Ok(())
}

/// Reads what [`write`] has written; results of earlier versions have nothing.
pub(super) fn read(_source: &Source) -> Result<ModelParts, IoError> {
    Ok(ModelParts {})
}
