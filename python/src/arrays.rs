//! NumPy arrays, and arrays of the library.

use crate::errors::Failure;
use ndarray::{Array2, Array3};
use num_complex::Complex;
use numpy::{PyReadonlyArray3, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::prelude::*;

/// Rounds to single precision.
pub(crate) fn single(value: Complex<f64>) -> Complex<f32> {
    #[expect(clippy::cast_possible_truncation, reason = "rounding is meant")]
    Complex::new(value.re as f32, value.im as f32)
}

/// Rows of equal length as an array (row, column).
pub(crate) fn stacked(rows: Vec<Vec<f64>>, columns: usize) -> Result<Array2<f64>, Failure> {
    let count = rows.len();
    Array2::from_shape_vec((count, columns), rows.concat())
        .map_err(|why| Failure::Internal(why.to_string()))
}

/// Counts (frame, row, column) of any type of number, copied once.
pub(crate) fn counts(frames: &Bound<'_, PyAny>) -> PyResult<Array3<f32>> {
    macro_rules! of_types {
        ($($element:ty: $convert:expr),+) => {
            $(if let Ok(array) = frames.extract::<PyReadonlyArray3<'_, $element>>() {
                return Ok(array.as_array().map($convert));
            })+
        };
    }
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        reason = "counts are computed with in single precision"
    )]
    {
        of_types!(
            f32: |v| *v,
            u16: |v| f32::from(*v),
            u32: |v| *v as f32,
            i32: |v| *v as f32,
            f64: |v| *v as f32,
            u8: |v| f32::from(*v),
            i16: |v| f32::from(*v),
            i8: |v| f32::from(*v),
            u64: |v| *v as f32,
            i64: |v| *v as f32
        );
    }
    let found = match frames.cast::<PyUntypedArray>() {
        Ok(array) => format!(
            "an array of shape {:?} and type {}",
            array.shape(),
            array.dtype()
        ),
        Err(_) => frames.get_type().to_string(),
    };
    Err(Failure::Data(format!(
        "frames: expected an array (frame, row, column) of integers, float32 or float64, found {found}"
    ))
    .into())
}
