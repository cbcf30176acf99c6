//! Values in results files, and where they are.

use hdf5_metno as hdf5;
use ndarray::{Array, ArrayD, Dimension};
use num_complex::Complex;
use warpstride_files::IoError;
use warpstride_files::output;
use warpstride_files::source::{Numbers, Source};

pub(super) const IMAGE: &str = "/entry_1/image_1";
pub(super) const SOURCE: &str = "/entry_1/instrument_1/source_1";
pub(super) const DETECTOR: &str = "/entry_1/instrument_1/detector_1";
pub(super) const TRANSLATION: &str = "/entry_1/sample_1/geometry_1/translation";

/// Writes complex values as (r, i) pairs of f64 or f32.
pub(super) fn complex<D: Dimension>(
    group: &hdf5::Group,
    name: &str,
    values: &Array<Complex<f64>, D>,
    double: bool,
) -> hdf5::Result<()> {
    if double {
        return output::array(group, name, values);
    }
    let single = values.mapv(|v| Complex::new(v.re as f32, v.im as f32));
    output::array(group, name, &single)
}

pub(super) fn at<'s>(source: &'s Source, what: &str, path: &str) -> Result<Numbers<'s>, IoError> {
    source.require(what, &[path])
}

pub(super) fn shaped<D: Dimension>(
    numbers: &Numbers<'_>,
    expected: &str,
) -> Result<Array<f64, D>, IoError> {
    numbers
        .reals()?
        .into_dimensionality::<D>()
        .map_err(|_| numbers.bad_shape(expected))
}

/// Complex values, all of them finite.
pub(super) fn finite(numbers: &Numbers<'_>) -> Result<ArrayD<Complex<f64>>, IoError> {
    let values = numbers.complex()?;
    match values
        .iter()
        .find(|v| !(v.re.is_finite() && v.im.is_finite()))
    {
        Some(wrong) => Err(numbers.bad_value(wrong, "finite numbers")),
        None => Ok(values),
    }
}
