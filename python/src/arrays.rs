//! NumPy arrays, and arrays of the library.

use crate::errors::Failure;
use ndarray::{Array, Array2, Array3, ArrayView, ArrayView1, Dimension};
use num_complex::Complex;
use numpy::{PyReadonlyArray3, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::prelude::*;
use warpstride::system::{Bytes, Memory};

/// Checks that the host has so many bytes for `what`.
pub(crate) fn check_memory(what: &str, bytes: u128) -> Result<(), Failure> {
    let available = u128::from(Memory::available().limit());
    if bytes <= available {
        return Ok(());
    }
    let needed = Bytes(bytes).beside(Bytes(available));
    Err(Failure::Memory(format!(
        "{what} needs {needed} of memory, but {} is available",
        Bytes(available)
    )))
}

/// Checks that the host has memory for a copy of `count` elements. NumPy has large arrays that take
/// no memory themselves.
fn check_copy<U>(what: &str, count: usize) -> Result<(), Failure> {
    let bytes = count as u128 * size_of::<U>() as u128;
    check_memory(&format!("{what}: a copy"), bytes)
}

/// A copy of an array that Python keeps.
pub(crate) fn copied<T: Clone, D: Dimension>(
    what: &str,
    array: &ArrayView<'_, T, D>,
) -> Result<Array<T, D>, Failure> {
    check_copy::<T>(what, array.len())?;
    Ok(array.to_owned())
}

/// The elements of a vector that Python keeps, in their order.
pub(crate) fn elements<T: Clone>(what: &str, array: &ArrayView1<'_, T>) -> Result<Vec<T>, Failure> {
    check_copy::<T>(what, array.len())?;
    Ok(array.to_vec())
}

/// A copy with the elements that `convert` makes.
pub(crate) fn converted<T, U, D: Dimension>(
    what: &str,
    array: &ArrayView<'_, T, D>,
    convert: impl FnMut(&T) -> U,
) -> Result<Array<U, D>, Failure> {
    check_copy::<U>(what, array.len())?;
    Ok(array.map(convert))
}

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
                return Ok(converted("frames", &array.as_array(), $convert)?);
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
