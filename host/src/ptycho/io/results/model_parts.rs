//! What a model has beyond object, probe and frames, in results files.

use super::{SOURCE, TRANSLATION, at, complex, finite, shaped};
use crate::data::{ModelParts, Reconstruction, VariableProbe};
use crate::io::IoError;
use crate::io::output;
use crate::io::source::Source;
use crate::ptycho::variable_probe::MOST;
use hdf5_metno as hdf5;
use ndarray::{Ix2, Ix3};

/// Datasets of a variable probe.
const BASIS: &str = "probe_basis";
const COEFFICIENTS: &str = "probe_coefficients";
const POWER: &str = "probe_basis_power";

/// Writes `result.parts`.
pub(super) fn write(file: &hdf5::File, result: &Reconstruction) -> hdf5::Result<()> {
    let ModelParts {
        variable_probe: variable,
    } = &result.parts;
    if let Some(variable) = variable {
        let group = file.group(SOURCE)?;
        complex(&group, BASIS, &variable.shapes, result.double_precision)?;
        output::array(&group, COEFFICIENTS, &variable.coefficients)?;
        output::array(&group, POWER, &variable.power())?;
    }
    Ok(())
}

/// Reads what [`write`] has written; results of earlier versions have nothing.
pub(super) fn read(source: &Source) -> Result<ModelParts, IoError> {
    Ok(ModelParts {
        variable_probe: read_variable_probe(source)?,
    })
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

#[cfg(test)]
mod tests {
    use super::super::tests::large;
    use super::*;
    use crate::ptycho::io::results;
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
