//! What a model has beyond object, probe and frames, in results files.

use super::values::{DETECTOR, IMAGE, SOURCE, TRANSLATION, at, complex, finite, shaped};
use crate::data::{
    DetectorModel, Exposures, ModelParts, ObjectModes, Reconstruction, VariableProbe,
};
use crate::io::slices::read_slices;
use crate::model::variable_probe::MOST;
use hdf5_metno as hdf5;
use ndarray::{Array1, Array2, Ix1, Ix2, Ix3, arr1};
use warpstride_files::IoError;
use warpstride_files::output;
use warpstride_files::source::Source;

/// Longest path of an exposure, pixels.
const LONGEST: f64 = 1e6;
/// Most points of an exposure.
const POINTS: f64 = 64.0;
/// Datasets of a variable probe.
const BASIS: &str = "probe_basis";
const COEFFICIENTS: &str = "probe_coefficients";
const POWER: &str = "probe_basis_power";

/// Writes `result.parts`.
pub(super) fn write(file: &hdf5::File, result: &Reconstruction) -> hdf5::Result<()> {
    let ModelParts {
        object_modes,
        exposures,
        slices,
        variable_probe: variable,
        detector,
    } = &result.parts;
    let image = file.group(IMAGE)?;
    if let Some(ObjectModes { further, power }) = object_modes {
        complex(
            &image,
            "further_object_modes",
            further,
            result.double_precision,
        )?;
        output::array(
            &image,
            "object_mode_power",
            &Array1::from_vec(power.clone()),
        )?;
    }
    if let Some(Exposures { points, paths }) = exposures {
        output::number(&image, "exposure_points", *points as u64)?;
        let paths = Array2::from_shape_fn((paths.len(), 2), |(j, axis)| paths[j][axis]);
        output::array(&image, "exposure_paths", &paths)?;
    }
    if let Some(stack) = slices {
        complex(&image, "slices", &stack.slices, result.double_precision)?;
        for (name, distances) in [
            ("slice_distances", &stack.distances),
            ("slice_start_distances", &stack.start_distances),
        ] {
            output::array(&image, name, &Array1::from(distances.clone()))?;
        }
    }
    if let Some(variable) = variable {
        let group = file.group(SOURCE)?;
        complex(&group, BASIS, &variable.shapes, result.double_precision)?;
        output::array(&group, COEFFICIENTS, &variable.coefficients)?;
        output::array(&group, POWER, &variable.power())?;
    }
    if let Some(detector) = detector {
        let group = file.group(DETECTOR)?;
        output::array(&group, "blur", &arr1(&detector.blur))?;
        if let Some(background) = &detector.background {
            output::array(&group, "background", background)?;
        }
    }
    Ok(())
}

/// Reads what [`write`] has written for a result of `frames` frames with an object of this shape
/// (row, column); results of earlier versions have nothing.
pub(super) fn read(
    source: &Source,
    frames: usize,
    [rows, columns]: [usize; 2],
) -> Result<ModelParts, IoError> {
    Ok(ModelParts {
        object_modes: read_object_modes(source, [rows, columns])?,
        exposures: read_exposures(source, frames)?,
        variable_probe: read_variable_probe(source)?,
        detector: read_detector(source)?,
        slices: read_slices(source, IMAGE, [rows, columns])?,
    })
}

fn read_object_modes(
    source: &Source,
    [rows, columns]: [usize; 2],
) -> Result<Option<ObjectModes>, IoError> {
    let Some(further) = source.first(&[&format!("{IMAGE}/further_object_modes")])? else {
        return Ok(None);
    };
    let expected = format!("shape (mode, {rows}, {columns}), as for the object");
    if !matches!(further.shape(), [modes, r, c] if *modes > 0 && [*r, *c] == [rows, columns]) {
        return Err(further.bad_shape(&expected));
    }
    let modes = 1 + further.shape()[0];
    let power = source.require(
        "power of the object's modes",
        &[&format!("{IMAGE}/object_mode_power")],
    )?;
    let expected_power = format!("shape ({modes}), one share per mode");
    if power.shape() != [modes] {
        return Err(power.bad_shape(&expected_power));
    }
    let shares = shaped::<Ix1>(&power, &expected_power)?;
    if let Some(wrong) = shares.iter().find(|v| !(0.0..=1.0 + 1e-6).contains(*v)) {
        return Err(power.bad_value(wrong, "shares from 0 to 1"));
    }
    Ok(Some(ObjectModes {
        further: finite(&further)?
            .into_dimensionality::<Ix3>()
            .map_err(|_| further.bad_shape(&expected))?,
        power: shares.to_vec(),
    }))
}

fn read_exposures(source: &Source, frames: usize) -> Result<Option<Exposures>, IoError> {
    let Some(numbers) = source.first(&[&format!("{IMAGE}/exposure_points")])? else {
        return Ok(None);
    };
    let points = numbers.common_value()?;
    if !((2.0..=POINTS).contains(&points) && points.fract() == 0.0) {
        return Err(numbers.bad_value(points, "a whole number from 2 to 64"));
    }
    let paths = source.require(
        "paths of the exposures",
        &[&format!("{IMAGE}/exposure_paths")],
    )?;
    let expected = format!("shape ({frames}, 2), one path per position");
    if paths.shape() != [frames, 2] {
        return Err(paths.bad_shape(&expected));
    }
    let values = shaped::<Ix2>(&paths, &expected)?;
    if let Some(wrong) = values.iter().find(|v| v.is_nan() || v.abs() > LONGEST) {
        return Err(paths.bad_value(wrong, "paths of at most 1e6 pixels"));
    }
    Ok(Some(Exposures {
        points: points as usize,
        paths: values.rows().into_iter().map(|p| [p[0], p[1]]).collect(),
    }))
}

fn read_variable_probe(source: &Source) -> Result<Option<VariableProbe>, IoError> {
    let path = |name: &str| format!("{SOURCE}/{name}");
    let Some(shapes) = source.first(&[&path(BASIS)])? else {
        return Ok(None);
    };
    let frames = at(source, "positions", TRANSLATION)?
        .shape()
        .first()
        .copied();
    let frames = frames.unwrap_or(0);
    let probe = at(source, "probe", &format!("{SOURCE}/illumination"))?;
    let count = match (shapes.shape(), probe.shape()) {
        ([count, r, c], [_, rows, columns])
            if (1..=MOST).contains(count) && (r, c) == (rows, columns) =>
        {
            *count
        }
        _ => {
            let expected =
                format!("shape (variation, row, column) as of the probe, 1 to {MOST} variations");
            return Err(shapes.bad_shape(&expected));
        }
    };
    let coefficients = at(source, "coefficients of the probe", &path(COEFFICIENTS))?;
    let expected = format!("shape ({frames}, {count}), one coefficient per frame and variation");
    if coefficients.shape() != [frames, count] {
        return Err(coefficients.bad_shape(&expected));
    }
    let values = shaped::<Ix2>(&coefficients, &expected)?;
    if let Some(wrong) = values.iter().find(|c| !c.is_finite()) {
        return Err(coefficients.bad_value(wrong, "finite coefficients"));
    }
    Ok(Some(VariableProbe {
        shapes: finite(&shapes)?
            .into_dimensionality::<Ix3>()
            .map_err(|_| shapes.bad_shape("shape (variation, row, column)"))?,
        coefficients: values,
    }))
}

fn read_detector(source: &Source) -> Result<Option<DetectorModel>, IoError> {
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

#[cfg(test)]
mod tests {
    use super::super::tests::large;
    use super::*;
    use crate::io::results;
    use ndarray::{Array2, Array3};
    use num_complex::Complex;

    fn varied() -> Reconstruction {
        let mut result = large();
        let (_, rows, columns) = result.probe.dim();
        let frames = result.corners.len();
        result.parts.variable_probe = Some(VariableProbe {
            shapes: Array3::from_shape_fn((2, rows, columns), |(k, r, c)| {
                Complex::new(k as f64 - 0.1 * r as f64, c as f64 / 3.0)
            }),
            coefficients: Array2::from_shape_fn((frames, 2), |(j, k)| j as f64 - 0.3 * k as f64),
        });
        result
    }

    #[test]
    fn a_variable_probe_is_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("r.h5");
        let given = varied();
        results::write(&path, &given).unwrap();
        assert_eq!(results::read(&path).unwrap(), given);
    }

    #[test]
    fn variable_probes_of_other_shapes_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        for (which, expected) in [
            (0, "as of the probe"),
            (1, "one coefficient per frame"),
            (2, "finite"),
        ] {
            let path = folder.path().join("r.h5");
            let mut given = varied();
            let variable = given.parts.variable_probe.as_mut().unwrap();
            match which {
                0 => variable.shapes = Array3::zeros((2, 1, 1)),
                1 => variable.coefficients = Array2::zeros((1, 2)),
                _ => variable.coefficients[(0, 1)] = f64::NAN,
            }
            results::write(&path, &given).unwrap();
            let error = results::read(&path).unwrap_err().to_string();
            assert!(
                error.contains(expected) && error.contains("probe_"),
                "{error}"
            );
        }
    }
}
