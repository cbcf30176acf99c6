//! PtyPy's `.ptyr` files: `/content/obj/<storage>/data`, `/content/probe/<storage>/data` and what
//! is beside them. Coordinates are those of the documented classes `Storage` and `View`.

use super::result::{ELECTRONVOLT, OtherResult, above_zero, only_layer};
use crate::data::{Geometry, Propagation};
use crate::io::results::values::{at, finite, shaped};
use ndarray::{Array2, Ix2, Ix3};
use warpstride_files::IoError;
use warpstride_files::source::{Numbers, Source};

pub(super) const OBJECTS: &str = "/content/obj";
const PROBES: &str = "/content/probe";
pub(super) const POSITIONS: &str = "/content/positions";
const SCANS: &str = "/content/pars/scans";

pub(super) fn read(source: &Source) -> Result<OtherResult, IoError> {
    let storage = only_storage(source, OBJECTS, "object")?;
    let of_object = format!("{OBJECTS}/{storage}");
    let object = at(source, "object", &format!("{of_object}/data"))?;
    let values = only_layer(&object)?;
    let sizes = at(source, "pixel size", &format!("{of_object}/_psize"))?;
    let pixel = sizes.one_or_two()?;
    if let Some(wrong) = pixel.iter().find(|v| above_zero(**v).is_err()) {
        return Err(sizes.bad_value(wrong, "finite sizes above 0, m"));
    }
    let of_probe = format!("{PROBES}/{}", only_storage(source, PROBES, "probe")?);
    let probe_numbers = at(source, "probe", &format!("{of_probe}/data"))?;
    let expected = "shape (mode, row, column), not empty";
    if probe_numbers.shape().len() != 3 || probe_numbers.shape().contains(&0) {
        return Err(probe_numbers.bad_shape(expected));
    }
    let probe = finite(&probe_numbers)?.into_dimensionality::<Ix3>();
    let probe = probe.map_err(|_| probe_numbers.bad_shape(expected))?;
    let scans = source.members(SCANS)?.unwrap_or_default();
    let parameter = |name: &str| -> Vec<String> {
        let parts = ["data", "geometry"];
        (scans.iter())
            .flat_map(|scan| parts.map(|part| format!("{SCANS}/{scan}/{part}/{name}")))
            .collect()
    };
    let mut energies = vec![
        format!("{of_object}/_energy"),
        format!("{of_probe}/_energy"),
    ];
    energies.extend(parameter("energy"));
    let Some(energy) = first_number(source, &energies)? else {
        return Err(source.missing("energy", &energies[0]));
    };
    let distance = first_number(source, &parameter("distance"))?;
    // The middle of a window of n pixels is its pixel n/2, rounded down.
    let (_, rows, columns) = probe.dim();
    let half = [rows / 2, columns / 2].map(|v| v as f64);
    let (centre, positions) = match centre(source, &of_object, pixel)? {
        Some(centre) => (
            centre,
            positions(source, &format!("{POSITIONS}/{storage}"))?,
        ),
        None => (half, Array2::zeros((0, 2))),
    };
    // Views are at whole pixels.
    let windows = Array2::from_shape_fn(positions.dim(), |(frame, axis)| {
        (positions[[frame, axis]] / pixel[axis] + centre[axis]).round() - half[axis]
    });
    Ok(OtherResult {
        program: "PtyPy",
        source: source.name().to_owned(),
        double_precision: object.is_double(),
        object: values,
        probe,
        pixel,
        positions,
        windows,
        origin: [0, 1].map(|axis| (half[axis] - centre[axis]) * pixel[axis]),
        wavelength: Geometry::wavelength_of_energy(energy * 1e3 * ELECTRONVOLT),
        distance: distance.unwrap_or(f64::NAN),
        propagation: Propagation::FarField,
    })
}

/// The first of `paths` that is a dataset of a number above 0; parameters without a value are not
/// numbers.
fn first_number(source: &Source, paths: &[String]) -> Result<Option<f64>, IoError> {
    for path in paths {
        let Some(numbers) = source.numbers(path).unwrap_or(None) else {
            continue;
        };
        let value = numbers.common_value()?;
        return above_zero(value)
            .map(Some)
            .map_err(|wrong| numbers.bad_value(wrong, "a finite number above 0"));
    }
    Ok(None)
}

/// The only storage in a group.
fn only_storage(source: &Source, group: &str, what: &str) -> Result<String, IoError> {
    let members = source.members(group)?.unwrap_or_default();
    match &members[..] {
        [] => Err(source.missing(what, &format!("{group}/*/data"))),
        [only] => Ok(only.clone()),
        several => Err(IoError::Value {
            file: source.name().to_owned(),
            dataset: group.to_owned(),
            found: several.join(", "),
            expected: format!("one {what}"),
        }),
    }
}

/// The object pixel (row, column) of position 0, if the file says where that is.
fn centre(source: &Source, object: &str, pixel: [f64; 2]) -> Result<Option<[f64; 2]>, IoError> {
    let finite = |numbers: &Numbers<'_>| -> Result<[f64; 2], IoError> {
        let place = numbers.one_or_two()?;
        match place.iter().find(|v| !v.is_finite()) {
            Some(wrong) => Err(numbers.bad_value(wrong, "a finite place")),
            None => Ok(place),
        }
    };
    if let Some(found) = source.first(&[&format!("{object}/_center")])? {
        return finite(&found).map(Some);
    }
    let Some(found) = source.first(&[&format!("{object}/_origin")])? else {
        return Ok(None);
    };
    let origin = finite(&found)?;
    Ok(Some([0, 1].map(|axis| -origin[axis] / pixel[axis])))
}

/// Positions (frame, (row, column)), m; none if there are none in the file.
fn positions(source: &Source, path: &str) -> Result<Array2<f64>, IoError> {
    let Some(numbers) = source.first(&[path])? else {
        return Ok(Array2::zeros((0, 2)));
    };
    let expected = "shape (frame, 2) with rows and columns in metres";
    if numbers.shape().len() != 2 || numbers.shape()[1] != 2 {
        return Err(numbers.bad_shape(expected));
    }
    let values = shaped::<Ix2>(&numbers, expected)?;
    match values.iter().find(|v| !v.is_finite()) {
        Some(wrong) => Err(numbers.bad_value(wrong, "finite positions in metres")),
        None => Ok(values),
    }
}
