//! Complex images: results of reconstructions, references, coil maps and fields.
//!
//! Datasets, shapes and units are listed in `docs/formats.md`.

use crate::data::FieldPhases;
use crate::io::bart::SLICE;
use ndarray::{Array2, Array3, Array4, Array5, ArrayD, Axis, Ix2, Ix3, Ix4, Ix5};
use num_complex::Complex;
use std::path::{Path, PathBuf};
use warpstride_core::system::Memory;
use warpstride_files::IoError;
use warpstride_files::cfl::{CflFile, is_cfl};
use warpstride_files::npy;
use warpstride_files::source::{Numbers, Source};

mod nifti;
mod write;

pub use nifti::NiftiValues;
pub use nifti::is_nifti;
pub use write::{check_images, write, write_images};

/// Datasets that may hold an image, in the order of precedence.
const IMAGES: [&str; 2] = ["/image/data", "/truth/image"];
/// Datasets that may hold coil maps, in the order of precedence.
const COIL_MAPS: [&str; 2] = ["/coil_maps/data", "/truth/coil_maps"];

/// What was written.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Written {
    /// The files.
    pub files: Vec<PathBuf>,
    /// Notes for the user.
    pub notes: Vec<String>,
}

/// Whether `path` names a NumPy array.
#[must_use]
pub fn is_npy(path: &Path) -> bool {
    path.extension()
        .is_some_and(|e| e.eq_ignore_ascii_case("npy"))
}

/// Reads an image (slice, row, column) from a result, from simulated samples, from `.npy` or from
/// `.cfl`.
///
/// # Errors
/// An [`IoError`] of one sentence.
pub fn read(path: &Path) -> Result<Array3<Complex<f64>>, IoError> {
    read_within(path, Memory::available())
}

/// Like [`read`], with a given memory limit.
///
/// # Errors
/// An [`IoError`] of one sentence.
pub fn read_within(path: &Path, memory: Memory) -> Result<Array3<Complex<f64>>, IoError> {
    const EXPECTED: &str = "(row, column) or (slice, row, column)";
    volume(path, memory, "image", &IMAGES, EXPECTED)
}

/// Reads one or several images, as their file has them, from a result, from simulated samples, from
/// `.npy` or from `.cfl`, whose axes are its dimensions in reverse.
///
/// # Errors
/// An [`IoError`] of one sentence.
pub fn read_images_within(path: &Path, memory: Memory) -> Result<ArrayD<Complex<f64>>, IoError> {
    let (values, _) = values(path, memory, "image", &IMAGES, 3)?;
    finite(path, "image", values.iter())?;
    Ok(values)
}

/// Reads coil maps (set, coil, slice, row, column) from a result, from simulated samples, from
/// `.npy` or from `.cfl`.
///
/// # Errors
/// An [`IoError`] of one sentence.
pub fn read_coil_maps(path: &Path, memory: Memory) -> Result<Array5<Complex<f64>>, IoError> {
    read_coil_maps_of_slice(path, 0, memory)
}

/// Like [`read_coil_maps`]; from a `.cfl` array with the maps of several slices (dimension 13)
/// those of `slice`.
///
/// # Errors
/// An [`IoError`] of one sentence.
pub fn read_coil_maps_of_slice(
    path: &Path,
    slice: u16,
    memory: Memory,
) -> Result<Array5<Complex<f64>>, IoError> {
    const EXPECTED: &str =
        "(coil, row, column), (coil, slice, row, column) or (set, coil, slice, row, column)";
    let (values, wrong) = values(path, memory, "coil maps", &COIL_MAPS, 4)?;
    let values = if is_cfl(path) {
        maps_of_slice(values, slice).ok_or_else(|| {
            wrong(&format!(
                "{EXPECTED}, or such maps of at least {} slices (SLICE, dimension 13)",
                u32::from(slice) + 1
            ))
        })?
    } else {
        values
    };
    let values = match values.ndim() {
        3 => values.insert_axis(Axis(1)).insert_axis(Axis(0)),
        4 => values.insert_axis(Axis(0)),
        _ => values,
    };
    let values = values.into_dimensionality::<Ix5>();
    let values = values.map_err(|_| wrong(EXPECTED))?;
    finite(path, "coil maps", values.iter())?;
    Ok(values)
}

/// Whether `path` is a BART array with coil maps of several slices.
pub fn has_maps_of_slices(path: &Path) -> bool {
    is_cfl(path) && CflFile::open(path).is_ok_and(|file| file.dimensions()[SLICE] > 1)
}

/// The maps of one slice in an array whose axes are BART's dimensions in reverse, up to the last
/// one above 1; `None` if it has not as many slices, or further dimensions.
fn maps_of_slice(maps: ArrayD<Complex<f64>>, slice: u16) -> Option<ArrayD<Complex<f64>>> {
    /// Columns, rows, slices of a volume, coils and sets.
    const OF_MAPS: usize = 5;
    if maps.ndim() <= OF_MAPS {
        return Some(maps);
    }
    let between = SLICE - OF_MAPS;
    let is_slices = maps.ndim() == SLICE + 1;
    let fits = is_slices && maps.shape()[1..=between].iter().all(|side| *side == 1);
    if !fits || usize::from(slice) >= maps.shape()[0] {
        return None;
    }
    let mut of_slice = maps.index_axis_move(Axis(0), slice.into());
    for _ in 0..between {
        of_slice = of_slice.index_axis_move(Axis(0), 0);
    }
    Some(of_slice)
}

/// Reads an off-resonance map (slice, row, column), Hz, from `.npy`, from `.cfl` (the real parts)
/// or `/field/hertz`.
///
/// # Errors
/// An [`IoError`] of one sentence.
pub fn read_off_resonance(path: &Path, memory: Memory) -> Result<Array3<f64>, IoError> {
    const EXPECTED: &str = "(row, column) or (slice, row, column), Hz";
    let map = volume(
        path,
        memory,
        "off-resonance map",
        &["/field/hertz"],
        EXPECTED,
    )?;
    Ok(map.mapv(|v| v.re))
}

fn volume(
    path: &Path,
    memory: Memory,
    what: &str,
    candidates: &[&str],
    expected: &str,
) -> Result<Array3<Complex<f64>>, IoError> {
    let (values, wrong) = values(path, memory, what, candidates, 3)?;
    let values = if values.ndim() == 2 {
        values.insert_axis(Axis(0))
    } else {
        values
    };
    let values = values.into_dimensionality::<Ix3>();
    let values = values.map_err(|_| wrong(expected))?;
    if values.is_empty() {
        return Err(wrong(expected));
    }
    finite(path, what, values.iter())?;
    Ok(values)
}

/// The values in a file, and a function that makes the error of their shape. Arrays of `.cfl` files
/// have at least `least` axes.
#[expect(clippy::type_complexity, reason = "a pair of one use")]
fn values(
    path: &Path,
    memory: Memory,
    what: &str,
    candidates: &[&str],
    least: usize,
) -> Result<(ArrayD<Complex<f64>>, impl Fn(&str) -> IoError + use<>), IoError> {
    let (values, dataset) = if is_npy(path) {
        let array = npy::complex::read_within(path, memory)?;
        (array, "the array".to_owned())
    } else if is_cfl(path) {
        let array = CflFile::open(path)?.read_reversed(least, memory)?;
        (array, "the array, dimensions in reverse".to_owned())
    } else {
        let source = Source::open(path, memory)?;
        let numbers = source.require(what, candidates)?;
        (numbers.complex()?, numbers.path().to_owned())
    };
    let (file, found) = (path.display().to_string(), values.shape().to_vec());
    let wrong = move |expected: &str| IoError::Shape {
        file: file.clone(),
        dataset: dataset.clone(),
        found: found.clone(),
        expected: expected.to_owned(),
    };
    Ok((values, wrong))
}

fn finite<'v>(
    path: &Path,
    what: &str,
    mut values: impl Iterator<Item = &'v Complex<f64>>,
) -> Result<(), IoError> {
    match values.find(|v| !(v.re.is_finite() && v.im.is_finite())) {
        None => Ok(()),
        Some(value) => Err(IoError::Value {
            file: path.display().to_string(),
            dataset: what.to_owned(),
            found: value.to_string(),
            expected: "finite values".to_owned(),
        }),
    }
}

/// Reads phases of samples: `/field/coefficients` (sample, function) and `/field/maps` (function,
/// \[slice,\] row, column).
///
/// # Errors
/// An [`IoError`] of one sentence.
pub fn read_field(path: &Path, memory: Memory) -> Result<FieldPhases, IoError> {
    let source = Source::open(path, memory)?;
    let at = |what: &str, path: &str| source.require(what, &[path]);
    let coefficients = at("coefficients of the field", "/field/coefficients")?;
    let maps = at("maps of the field", "/field/maps")?;
    let functions = match (coefficients.shape(), maps.shape()) {
        ([_, functions], [count, ..]) if functions == count => *functions,
        ([_, _], [count, ..]) => {
            return Err(coefficients.bad_shape(&format!("(sample, {count}), one column per map")));
        }
        _ => return Err(coefficients.bad_shape("(sample, function)")),
    };
    if functions == 0 {
        return Err(maps.bad_shape("at least one function"));
    }
    let shaped = |numbers: &Numbers<'_>| -> Result<ArrayD<f64>, IoError> {
        let values = numbers.reals()?;
        match values.iter().find(|v| !v.is_finite()) {
            None => Ok(values),
            Some(value) => Err(numbers.bad_value(value, "finite values")),
        }
    };
    let c: Array2<f64> = shaped(&coefficients)?
        .into_dimensionality::<Ix2>()
        .map_err(|_| coefficients.bad_shape("(sample, function)"))?;
    let read = shaped(&maps)?;
    let read = if read.ndim() == 3 {
        read.insert_axis(Axis(1))
    } else {
        read
    };
    let maps: Array4<f64> = read
        .into_dimensionality::<Ix4>()
        .map_err(|_| maps.bad_shape("(function, [slice,] row, column)"))?;
    Ok(FieldPhases {
        coefficients: c,
        maps,
    })
}

#[cfg(test)]
mod tests;
