//! What a model has beyond object, probe and frames, in results files.

use super::{IMAGE, complex};
use crate::data::{ModelParts, Reconstruction};
use crate::io::IoError;
use crate::io::output;
use crate::io::source::Source;
use crate::ptycho::io::slices::read_slices;
use hdf5_metno as hdf5;
use ndarray::Array1;

/// Writes `result.parts`.
pub(super) fn write(file: &hdf5::File, result: &Reconstruction) -> hdf5::Result<()> {
    let ModelParts { slices } = &result.parts;
    if let Some(stack) = slices {
        let image = file.group(IMAGE)?;
        complex(&image, "slices", &stack.slices, result.double_precision)?;
        for (name, distances) in [
            ("slice_distances", &stack.distances),
            ("slice_start_distances", &stack.start_distances),
        ] {
            output::array(&image, name, &Array1::from(distances.clone()))?;
        }
    }
    Ok(())
}

/// Reads what [`write`] has written, of an object of `shape` (rows, columns); results of earlier versions have nothing.
pub(super) fn read(source: &Source, shape: [usize; 2]) -> Result<ModelParts, IoError> {
    Ok(ModelParts {
        slices: read_slices(source, IMAGE, shape)?,
    })
}
