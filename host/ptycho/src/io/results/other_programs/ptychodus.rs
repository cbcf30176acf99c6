//! Products of Ptychodus (`product.h5`), in which pty-chi's results are saved. Names and meaning
//! are those of its documented `ptychodus.api.io.ProductFileKeys` and
//! `ptychodus.api.object.ObjectGeometry`.

use super::result::{ELECTRONVOLT, OtherResult, above_zero, only_layer};
use crate::data::{Geometry, Propagation};
use crate::io::results::values::{at, finite, shaped};
use ndarray::{Array2, Array3, Axis, Ix1, Ix4, stack};
use num_complex::Complex;
use warpstride_files::IoError;
use warpstride_files::source::{Numbers, Source};

/// Rows and columns of the positions, m.
pub(super) const POSITIONS: [&str; 2] = ["/probe_position_y_m", "/probe_position_x_m"];
const OBJECT: &str = "/object";
const PROBE: &str = "/probe";
const ENERGY: &str = "photon_energy_eV";
const DISTANCE: &str = "detector_object_distance_m";
const FOCUS: &str = "focus_object_distance_m";
const FAR_FIELD: &str = "far_field";
const PHOTONS: &str = "probe_photon_count";

pub(super) fn read(source: &Source) -> Result<OtherResult, IoError> {
    let object = at(source, "object", OBJECT)?;
    let values = only_layer(&object)?;
    let of_object = |name: &str| source.attribute_number(OBJECT, name);
    let pixel = [
        side(&object, "pixel_height_m", of_object("pixel_height_m")?)?,
        side(&object, "pixel_width_m", of_object("pixel_width_m")?)?,
    ];
    let centre = [
        place(&object, "center_y_m", of_object("center_y_m")?)?,
        place(&object, "center_x_m", of_object("center_x_m")?)?,
    ];
    let of_file = |name: &str| -> Result<Option<f64>, IoError> {
        let numbers = source.attribute_numbers("/", name)?;
        Ok(numbers.and_then(|all| all.first().copied()))
    };
    let required = |name: &str| {
        let found = of_file(name)?.unwrap_or(f64::NAN);
        above_zero(found.abs()).map_err(|_| wrong_attribute(source, name, found))
    };
    let energy = required(ENERGY)?;
    let distance = required(DISTANCE)?;
    // HDF5's booleans are enumerations, which not every version converts to numbers; the far field
    // is the rule.
    let near = of_file(FAR_FIELD)? == Some(0.0);
    let focus = of_file(FOCUS)?.filter(|z| z.is_finite() && *z > 0.0);
    let mut probe = modes(&at(source, "probe", PROBE)?)?;
    let (_, rows, columns) = probe.dim();
    let transform = (rows * columns) as f64;
    if !near && is_unnormalised(&probe, transform, of_file(PHOTONS)?) {
        probe.mapv_inplace(|v| v * transform.sqrt());
    }
    let positions = positions(source)?;
    // The middle of an array of n pixels is at (n − 1)/2, of the object as of a window.
    let (size, window) = (<[usize; 2]>::from(values.dim()), [rows, columns]);
    let begin = [0, 1].map(|axis| (size[axis] as f64 - window[axis] as f64) / 2.0);
    let windows = Array2::from_shape_fn(positions.dim(), |(frame, axis)| {
        (positions[[frame, axis]] - centre[axis]) / pixel[axis] + begin[axis]
    });
    Ok(OtherResult {
        program: "Ptychodus",
        source: source.name().to_owned(),
        double_precision: object.is_double(),
        object: values,
        probe,
        pixel,
        positions,
        windows,
        origin: [0, 1].map(|axis| centre[axis] - begin[axis] * pixel[axis]),
        wavelength: Geometry::wavelength_of_energy(energy * ELECTRONVOLT),
        distance,
        propagation: match near {
            true => Propagation::NearField {
                focus_to_sample: focus,
            },
            false => Propagation::FarField,
        },
    })
}

/// Positions (frame, (row, column)), m.
fn positions(source: &Source) -> Result<Array2<f64>, IoError> {
    let column = |path: &str| {
        let numbers = at(source, "positions", path)?;
        let values = shaped::<Ix1>(&numbers, "shape (frame)")?;
        match values.iter().find(|v| !v.is_finite()) {
            Some(wrong) => Err(numbers.bad_value(wrong, "finite positions in metres")),
            None => Ok((values, numbers)),
        }
    };
    let [(y, _), (x, x_numbers)] = [column(POSITIONS[0])?, column(POSITIONS[1])?];
    stack(Axis(1), &[y.view(), x.view()])
        .map_err(|_| x_numbers.bad_shape(&format!("shape ({}), as of {}", y.len(), POSITIONS[0])))
}

/// The incoherent modes of the first coherent mode of a probe (coherent mode, incoherent mode, row,
/// column).
fn modes(numbers: &Numbers<'_>) -> Result<Array3<Complex<f64>>, IoError> {
    let expected = "shape (coherent mode, incoherent mode, row, column), not empty";
    if numbers.shape().len() != 4 || numbers.shape().contains(&0) {
        return Err(numbers.bad_shape(expected));
    }
    let all = finite(numbers)?.into_dimensionality::<Ix4>();
    let all = all.map_err(|_| numbers.bad_shape(expected))?;
    Ok(all.index_axis_move(Axis(0), 0))
}

/// Whether the probe belongs to a transform without a factor, as pty-chi's, rather than to a
/// unitary one: which of both has the stated number of photons, if it is stated.
fn is_unnormalised(probe: &Array3<Complex<f64>>, transform: f64, photons: Option<f64>) -> bool {
    let power: f64 = probe.iter().map(Complex::norm_sqr).sum();
    match photons.filter(|photons| photons.is_finite() && *photons > 0.0) {
        // Nearer on a logarithmic scale.
        Some(photons) => photons / power > transform.sqrt(),
        None => true,
    }
}

fn side(object: &Numbers<'_>, name: &str, found: Option<f64>) -> Result<f64, IoError> {
    let found = found.unwrap_or(f64::NAN);
    let expected = format!("an attribute {name}, a finite size above 0, m");
    above_zero(found).map_err(|wrong| object.bad_value(shown(wrong), &expected))
}

fn place(object: &Numbers<'_>, name: &str, found: Option<f64>) -> Result<f64, IoError> {
    let expected = format!("an attribute {name}, a finite position, m");
    let found = found.unwrap_or(f64::NAN);
    match found.is_finite() {
        true => Ok(found),
        false => Err(object.bad_value(shown(found), &expected)),
    }
}

fn shown(wrong: f64) -> String {
    match wrong.is_nan() {
        true => "none".to_owned(),
        false => wrong.to_string(),
    }
}

fn wrong_attribute(source: &Source, name: &str, wrong: f64) -> IoError {
    IoError::Value {
        file: source.name().to_owned(),
        dataset: "/".to_owned(),
        found: shown(wrong),
        expected: format!("an attribute {name}, a finite number above 0"),
    }
}
