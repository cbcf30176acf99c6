//! Files with a start object: NumPy arrays and HDF5 datasets of complex numbers.

use crate::StartObject;
use crate::io::scan::is_matlab;
use ndarray::{Array2, Ix2};
use num_complex::Complex;
use std::path::Path;
use warpstride_core::system::Memory;
use warpstride_files::source::{Numbers, Source};
use warpstride_files::{IoError, npy};

/// Where results and other CXI files have their image.
const DATASET: &str = "/entry_1/image_1/data";
/// The option, in errors.
const OPTION: &str = "start.object";
const SHAPE: &str = "shape (row, column)";

/// Reads a complex image (row, column) from a `.npy` array, or from the dataset of an HDF5 file, by
/// default that of a result. Beside the dataset, `y_pixel_size` and `x_pixel_size` (m) are its
/// pixel, and `origin` (row, column; m) is its place, if there are any.
///
/// # Errors
/// Returns [`IoError`], displayed as one sentence: the file cannot be read, has another shape, real
/// numbers or values that are not finite, or does not fit into the available memory.
pub fn read(path: &Path, dataset: Option<&str>) -> Result<StartObject, IoError> {
    read_within(path, dataset, Memory::available())
}

/// Like [`read`], with a given memory limit.
///
/// # Errors
/// As [`read`].
pub fn read_within(
    path: &Path,
    dataset: Option<&str>,
    memory: Memory,
) -> Result<StartObject, IoError> {
    let is_npy = path
        .extension()
        .is_some_and(|ending| ending.eq_ignore_ascii_case("npy"));
    if is_npy {
        return from_npy(path, dataset, memory);
    }
    let source = Source::open(path, memory)?;
    let dataset = dataset.unwrap_or(DATASET);
    let image = source.require("a complex image", &[dataset])?;
    if !image.is_complex() {
        return Err(image.bad_value(
            "real ones",
            "complex numbers (r, i), the modulus and phase of the transmission",
        ));
    }
    if image.shape().len() != 2 || image.shape().contains(&0) {
        return Err(image.bad_shape(SHAPE));
    }
    // MATLAB stores columns before rows.
    let wrong = image.bad_shape(SHAPE);
    let image = match is_matlab(&source) {
        true => image.reordered(&[1, 0]).ok_or(wrong)?,
        false => image,
    };
    let values = (image.complex()?)
        .into_dimensionality::<Ix2>()
        .map_err(|_| image.bad_shape(SHAPE))?;
    finite(&values).map_err(|wrong| image.bad_value(wrong, "finite numbers"))?;
    let group = dataset.rsplit_once('/').map_or("", |(group, _)| group);
    let beside = |name: &str| source.first(&[&format!("{group}/{name}")]);
    let (rows, columns) = (beside("y_pixel_size")?, beside("x_pixel_size")?);
    let pixel = match (rows, columns) {
        (Some(rows), Some(columns)) => Some([side(&rows)?, side(&columns)?]),
        (Some(lone), None) => return Err(without(&lone, "x_pixel_size")),
        (None, Some(lone)) => return Err(without(&lone, "y_pixel_size")),
        (None, None) => None,
    };
    let origin = beside("origin")?
        .map(|numbers| place(&numbers))
        .transpose()?;
    Ok(StartObject {
        values,
        pixel,
        origin,
    })
}

fn from_npy(path: &Path, dataset: Option<&str>, memory: Memory) -> Result<StartObject, IoError> {
    let file = path.display().to_string();
    if let Some(dataset) = dataset {
        return Err(IoError::Option {
            file,
            option: OPTION,
            reason: format!("expected no dataset, as it is a NumPy array, found {dataset}"),
        });
    }
    let the_array = || "the array".to_owned();
    if !npy::is_complex(path)? {
        return Err(IoError::Value {
            file,
            dataset: the_array(),
            found: "real ones".to_owned(),
            expected: "complex numbers (complex64 or complex128), the modulus and phase of the transmission"
                .to_owned(),
        });
    }
    let array = npy::complex::read_within(path, memory)?;
    let found = array.shape().to_vec();
    let wrong = || IoError::Shape {
        file: file.clone(),
        dataset: the_array(),
        found: found.clone(),
        expected: SHAPE.to_owned(),
    };
    let values = array.into_dimensionality::<Ix2>().map_err(|_| wrong())?;
    if values.is_empty() {
        return Err(wrong());
    }
    finite(&values).map_err(|value| IoError::Value {
        file: file.clone(),
        dataset: the_array(),
        found: value.to_string(),
        expected: "finite numbers".to_owned(),
    })?;
    Ok(StartObject {
        values,
        pixel: None,
        origin: None,
    })
}

/// A value that is not finite is the error.
fn finite(values: &Array2<Complex<f64>>) -> Result<(), Complex<f64>> {
    let wrong = values
        .iter()
        .find(|v| !(v.re.is_finite() && v.im.is_finite()));
    wrong.map_or(Ok(()), |value| Err(*value))
}

/// The error of one side of a pixel without the other.
fn without(numbers: &Numbers<'_>, other: &str) -> IoError {
    numbers.bad_value("it alone", &format!("{other} beside it"))
}

fn side(numbers: &Numbers<'_>) -> Result<f64, IoError> {
    match numbers.common_value()? {
        value if value.is_finite() && value > 0.0 => Ok(value),
        wrong => Err(numbers.bad_value(wrong, "a finite size above 0, in metres")),
    }
}

fn place(numbers: &Numbers<'_>) -> Result<[f64; 2], IoError> {
    let place = numbers.one_or_two()?;
    match place.iter().find(|value| !value.is_finite()) {
        Some(wrong) => Err(numbers.bad_value(wrong, "a finite position, in metres")),
        None => Ok(place),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hdf5_metno as hdf5;
    use ndarray::{ArrayD, IxDyn, arr1, array};

    fn image() -> Array2<Complex<f64>> {
        Array2::from_shape_fn((3, 4), |(r, c)| Complex::new(r as f64 + 1.0, c as f64))
    }

    fn text(result: Result<StartObject, IoError>) -> String {
        let text = result.unwrap_err().to_string();
        assert_eq!(text.lines().count(), 1, "{text}");
        text
    }

    #[test]
    fn arrays_and_datasets_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let npy = folder.path().join("a.npy");
        npy::complex::write(&npy, image().into_dyn().view(), true).unwrap();
        let expected = StartObject {
            values: image(),
            pixel: None,
            origin: None,
        };
        assert_eq!(read(&npy, None).unwrap(), expected);
        let path = folder.path().join("a.h5");
        let file = hdf5::File::create(&path).unwrap();
        let group = file.create_group("/entry_1/image_1").unwrap();
        let put = |name: &str, values: &ArrayD<f64>| {
            let dataset = group.new_dataset::<f64>().shape(values.shape());
            dataset.create(name).unwrap().write(values.view()).unwrap();
        };
        let dataset = group.new_dataset::<Complex<f64>>().shape((3, 4));
        dataset.create("data").unwrap().write(&image()).unwrap();
        put("y_pixel_size", &arr1(&[2e-8]).into_dyn());
        put("x_pixel_size", &arr1(&[3e-8]).into_dyn());
        put("origin", &arr1(&[1e-6, -2e-6]).into_dyn());
        put("real", &array![[1.0, 2.0]].into_dyn());
        let other = file.new_dataset::<Complex<f32>>();
        let other = other.shape((1, 2)).create("other").unwrap();
        other
            .write(&array![[
                Complex::new(1.0_f32, 2.0),
                Complex::new(0.5, 0.0)
            ]])
            .unwrap();
        // HDF5 writes a file when nothing of it is open any more.
        drop((dataset, other, group));
        file.close().unwrap();
        let found = read(&path, None).unwrap();
        assert_eq!(found.pixel, Some([2e-8, 3e-8]));
        assert_eq!(found.origin, Some([1e-6, -2e-6]));
        assert_eq!(found.values, image());
        let other = read(&path, Some("/other")).unwrap();
        assert_eq!((other.pixel, other.origin), (None, None));
        assert_eq!(other.values[[0, 0]], Complex::new(1.0, 2.0));
        // A copy: a process that another test has started meanwhile may still have the file, with
        // its lock.
        let copy = folder.path().join("b.h5");
        std::fs::copy(&path, &copy).unwrap();
        let path = copy;
        let file = hdf5::File::open_rw(&path).unwrap();
        let lone = file.new_dataset::<f64>().shape([1]);
        (lone.create("y_pixel_size").unwrap().write(&arr1(&[2e-8]))).unwrap();
        drop(lone);
        file.close().unwrap();
        let text_of_lone = text(read(&path, Some("/other")));
        let expected = "y_pixel_size: expected x_pixel_size beside it";
        assert!(text_of_lone.contains(expected), "{text_of_lone}");
        let real = text(read(&path, Some("/entry_1/image_1/real")));
        assert!(
            real.contains("real: expected complex numbers (r, i)"),
            "{real}"
        );
        let none = text(read(&path, Some("/none")));
        assert!(none.contains("expected a complex image at /none"), "{none}");
    }

    #[test]
    fn other_arrays_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.npy");
        npy::write(&path, array![[1.0_f64, 2.0]].view()).unwrap();
        assert!(text(read(&path, None)).contains("the array: expected complex numbers (complex64"));
        let write = |array: ArrayD<Complex<f64>>| {
            npy::complex::write(&path, array.view(), true).unwrap();
        };
        write(ArrayD::zeros(IxDyn(&[4])));
        assert!(text(read(&path, None)).contains("expected shape (row, column), found shape 4"));
        write(ArrayD::zeros(IxDyn(&[0, 4])));
        assert!(text(read(&path, None)).contains("found shape 0 x 4"));
        let mut values = image();
        values[[1, 2]].im = f64::NAN;
        write(values.into_dyn());
        assert!(text(read(&path, None)).contains("expected finite numbers"));
        assert!(text(read(&path, Some("/data"))).contains("start.object: expected no dataset"));
        let small = read_within(&path, None, Memory::limited(100));
        assert!(text(small).contains("needs 192 bytes"));
        assert!(text(read(&folder.path().join("none.npy"), None)).contains("none.npy"));
    }
}
