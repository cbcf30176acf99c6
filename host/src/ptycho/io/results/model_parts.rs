//! What a model has beyond object, probe and frames, in results files.

use super::{DETECTOR, at, shaped};
use crate::data::{DetectorModel, ModelParts, Reconstruction};
use crate::io::source::Source;
use crate::io::{IoError, output};
use hdf5_metno as hdf5;
use ndarray::{Ix1, Ix2, arr1};

/// Writes `result.parts`.
pub(super) fn write(file: &hdf5::File, result: &Reconstruction) -> hdf5::Result<()> {
    let ModelParts { detector } = &result.parts;
    if let Some(detector) = detector {
        let group = file.group(DETECTOR)?;
        output::array(&group, "blur", &arr1(&detector.blur))?;
        if let Some(background) = &detector.background {
            output::array(&group, "background", background)?;
        }
    }
    Ok(())
}

/// Reads what [`write`] has written; results of earlier versions have nothing.
pub(super) fn read(source: &Source) -> Result<ModelParts, IoError> {
    Ok(ModelParts {
        detector: detector(source)?,
    })
}

fn detector(source: &Source) -> Result<Option<DetectorModel>, IoError> {
    let blur = format!("{DETECTOR}/blur");
    if !source.has(&blur)? {
        return Ok(None);
    }
    let numbers = at(source, "blur", &blur)?;
    let expected = "two standard deviations (row direction, column direction) in pixels";
    let sigmas = shaped::<Ix1>(&numbers, expected)?;
    let [along_rows, along_columns] = sigmas.to_vec()[..] else {
        return Err(numbers.bad_shape(expected));
    };
    let blur = [along_rows, along_columns];
    if let Some(wrong) = blur.iter().find(|sigma| !(0.0..=100.0).contains(*sigma)) {
        return Err(numbers.bad_value(wrong, "0 to 100 pixels"));
    }
    let background = source.first(&[&format!("{DETECTOR}/background")])?;
    let background = background.map(|numbers| {
        let values = shaped::<Ix2>(&numbers, "shape (row, column)")?;
        match values.iter().find(|b| !(b.is_finite() && **b >= 0.0)) {
            Some(wrong) => Err(numbers.bad_value(wrong, "photons, finite and at least 0")),
            None => Ok(values),
        }
    });
    Ok(Some(DetectorModel {
        blur,
        background: background.transpose()?,
    }))
}
