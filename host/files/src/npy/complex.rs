//! `.npy` arrays of complex numbers, and of real numbers of any type, of rank 1 to 8.

use super::super::{IoError, reserved};
use super::header;
use super::{CHUNK, Opened, unreadable};
use ndarray::{ArrayD, ArrayViewD, IxDyn, ShapeBuilder};
use num_complex::Complex;
use std::fs::File;
use std::io::{BufWriter, Read, Write};
use std::path::Path;
use warpstride_core::system::{Bytes, Memory, atomic_file};

/// Highest rank of an array that is read.
const HIGHEST_RANK: usize = 8;

/// Reads an array of complex or real numbers in single or double precision.
///
/// # Errors
/// As [`super::read`].
pub fn read(path: &Path) -> Result<ArrayD<Complex<f64>>, IoError> {
    read_within(path, Memory::available())
}

/// [`read`] with the given limit of memory.
///
/// # Errors
/// As [`super::read`].
pub fn read_within(path: &Path, memory: Memory) -> Result<ArrayD<Complex<f64>>, IoError> {
    let opened = Opened::new(path)?.floating()?.check_length()?;
    if opened.is_complex() {
        whole(opened, memory, |numbers, to| {
            let pairs = numbers.as_chunks::<2>().0.iter();
            to.extend(pairs.map(|[re, im]| Complex::new(*re, *im)));
        })
    } else {
        whole(opened, memory, |numbers, to| {
            to.extend(numbers.iter().map(|re| Complex::new(*re, 0.0)));
        })
    }
}

/// Reads an array of real numbers of any type: integers, truth values (0 and 1) or floating-point
/// numbers. Integers of 64 bits are rounded to nearest.
///
/// # Errors
/// The file does not exist, is not `.npy`, has complex numbers or another length, or its array does
/// not fit into the memory.
pub fn reals_within(path: &Path, memory: Memory) -> Result<ArrayD<f64>, IoError> {
    let opened = Opened::new(path)?.check_length()?;
    if opened.is_complex() {
        return Err(IoError::Value {
            file: opened.name,
            dataset: "the element type".to_owned(),
            found: opened.header.description,
            expected: "real numbers".to_owned(),
        });
    }
    whole(opened, memory, |numbers, to| to.extend_from_slice(numbers))
}

/// Reads the elements of a file whose length has been checked; `append` makes them of their
/// numbers.
fn whole<T: Clone>(
    opened: Opened,
    memory: Memory,
    append: impl Fn(&[f64], &mut Vec<T>),
) -> Result<ArrayD<T>, IoError> {
    let Opened {
        mut file,
        header,
        name,
        ..
    } = opened;
    if !(1..=HIGHEST_RANK).contains(&header.shape.len()) {
        return Err(IoError::Shape {
            file: name,
            dataset: "the array".to_owned(),
            found: header.shape,
            expected: format!("rank 1 to {HIGHEST_RANK}"),
        });
    }
    // The file has been found to hold as many elements.
    let count = header.count().unwrap_or(usize::MAX);
    let needed = (count as u128).saturating_mul(size_of::<T>() as u128);
    let refused = |available: u64| IoError::ArrayTooLarge {
        file: name.clone(),
        needed: Bytes(needed),
        available: Bytes(u128::from(available)),
    };
    if needed > u128::from(memory.limit()) {
        return Err(refused(memory.limit()));
    }
    let mut values: Vec<T> = reserved(count).ok_or_else(|| refused(0))?;
    let width = header.numbers.bytes();
    let parts = width / header.numbers.part().bytes();
    let mut buffer = vec![0; CHUNK.min(count) * width];
    let mut numbers = vec![0.0; CHUNK.min(count) * parts];
    while values.len() < count {
        let some = CHUNK.min(count - values.len());
        let bytes = &mut buffer[..some * width];
        file.read_exact(bytes).map_err(|e| unreadable(&name, &e))?;
        let numbers = &mut numbers[..some * parts];
        header.doubles(bytes, numbers);
        append(numbers, &mut values);
    }
    let shape = IxDyn(&header.shape).set_f(header.fortran);
    let array = ArrayD::from_shape_vec(shape, values).map_err(|e| unreadable(&name, &e))?;
    Ok(if array.is_standard_layout() {
        array
    } else {
        array.as_standard_layout().into_owned()
    })
}

/// Writes an array in double or single precision, atomically.
///
/// # Errors
/// [`IoError::Write`].
pub fn write(
    path: &Path,
    array: ArrayViewD<'_, Complex<f64>>,
    double: bool,
) -> Result<(), IoError> {
    atomic_file::write(path, |temporary| {
        fill(temporary, array, double).map_err(|e| atomic_file::refusal(path, &e))
    })
}

fn fill(
    temporary: &Path,
    array: ArrayViewD<'_, Complex<f64>>,
    double: bool,
) -> std::io::Result<()> {
    let mut file = BufWriter::new(File::create(temporary)?);
    let description = if double { "<c16" } else { "<c8" };
    file.write_all(&header::text(description, array.shape()))?;
    for value in array.iter() {
        for part in [value.re, value.im] {
            if double {
                file.write_all(&part.to_le_bytes())?;
            } else {
                file.write_all(&(part as f32).to_le_bytes())?;
            }
        }
    }
    file.into_inner()?.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_survive_a_round_trip_in_both_precisions_and_orders() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.npy");
        let array = ArrayD::from_shape_fn(IxDyn(&[2, 3, 4]), |at| {
            Complex::new(at[0] as f64 - 0.1, at[1] as f64 * 0.3 + at[2] as f64)
        });
        write(&path, array.view(), true).unwrap();
        assert_eq!(read(&path).unwrap(), array);
        write(&path, array.view(), false).unwrap();
        let single = array.mapv(|v| Complex::new(f64::from(v.re as f32), f64::from(v.im as f32)));
        assert_eq!(read(&path).unwrap(), single);
        // The header of the transposed array in Fortran order.
        write(&path, array.view(), true).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        let at = bytes.windows(5).position(|w| w == b"False").unwrap();
        let mut transposed = bytes.clone();
        transposed[at..at + 5].copy_from_slice(b"True ");
        let shape = transposed
            .windows(9)
            .position(|w| w == b"(2, 3, 4)")
            .unwrap();
        transposed[shape..shape + 9].copy_from_slice(b"(4, 3, 2)");
        std::fs::write(&path, transposed).unwrap();
        assert_eq!(read(&path).unwrap(), array.reversed_axes());
    }

    #[test]
    fn real_arrays_have_no_imaginary_part() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.npy");
        let array = ndarray::arr2(&[[1.5_f32, -2.0], [0.0, 3.0]]);
        super::super::write(&path, array.view()).unwrap();
        let found = read(&path).unwrap();
        assert_eq!(found[[0, 1]], Complex::new(-2.0, 0.0));
        assert_eq!(found.shape(), [2, 2]);
    }

    #[test]
    fn integers_and_truth_values_are_real_numbers() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.npy");
        for (description, data) in [
            ("|b1", [1, 0, 1, 1].as_slice()),
            ("<u2", &[1, 0, 0, 0, 1, 0, 1, 0]),
            (">i2", &[0, 1, 0, 0, 0, 1, 0, 1]),
        ] {
            let bytes = [&header::text(description, &[2, 2]), data].concat();
            std::fs::write(&path, bytes).unwrap();
            let found = reals_within(&path, Memory::limited(32)).unwrap();
            assert_eq!(found, ndarray::arr2(&[[1.0, 0.0], [1.0, 1.0]]).into_dyn());
            assert!(reals_within(&path, Memory::limited(31)).is_err());
            // Images are floating-point numbers.
            assert!(read(&path).is_err());
        }
        let array = ArrayD::from_elem(IxDyn(&[2]), Complex::new(1.0, 0.0));
        write(&path, array.view(), false).unwrap();
        let refused = reals_within(&path, Memory::available()).unwrap_err();
        assert!(
            refused
                .to_string()
                .contains("expected real numbers, found <c8"),
            "{refused}"
        );
    }

    #[test]
    fn the_memory_limit_is_checked_before_allocating() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.npy");
        let array = ArrayD::from_elem(IxDyn(&[10]), Complex::new(0.0, 0.0));
        write(&path, array.view(), true).unwrap();
        let refused = read_within(&path, Memory::limited(159)).unwrap_err();
        assert!(matches!(refused, IoError::ArrayTooLarge { .. }));
        assert!(read_within(&path, Memory::limited(160)).is_ok());
    }
}
