//! The reader of `.npy` files: it must return within 1 MiB of memory, with an array that is in the
//! file or an error.

use std::path::Path;
use warpstride::io::npy;
use warpstride::system::Memory;

const MEMORY: u64 = 1 << 20;

/// Reads a file as an array of two axes, in double and single precision.
pub fn exercise(data: &[u8], folder: &Path) -> Option<()> {
    let path = folder.join("array.npy");
    std::fs::write(&path, data).ok()?;
    let limit = Memory::limited(MEMORY);
    let shape = npy::shape(&path);
    match npy::read_within::<f64>(&path, limit) {
        Ok(array) => {
            assert_eq!(shape, Ok([array.nrows(), array.ncols()]));
            assert!(4 * array.len() <= data.len());
            assert!(npy::write(&path, array.view()).is_ok());
            let again = npy::read_within::<f64>(&path, limit);
            let bits = |a: &ndarray::Array2<f64>| a.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
            assert!(again.is_ok_and(|again| bits(&again) == bits(&array)));
        }
        Err(e) => assert!(!e.to_string().is_empty()),
    }
    if let Ok(array) = npy::read_within::<f32>(&path, limit) {
        assert_eq!(Ok([array.nrows(), array.ncols()]), npy::shape(&path));
    }
    Some(())
}
