//! Fuzzes the reader of `.npy` files: it must return within 1 MiB of memory, with an array that is in
//! the file or an error.

#![no_main]

use libfuzzer_sys::fuzz_target;
use std::path::Path;
use warpstride::io::npy;
use warpstride::system::Memory;

const MEMORY: u64 = 1 << 20;

fuzz_target!(|data: &[u8]| {
    let memory = if Path::new("/dev/shm").is_dir() {
        "/dev/shm"
    } else {
        "."
    };
    let Ok(folder) = tempfile::tempdir_in(memory) else {
        return;
    };
    let path = folder.path().join("array.npy");
    if std::fs::write(&path, data).is_err() {
        return;
    }
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
});
