//! NumPy arrays: headers and elements of `.npy` files, and frames in `.npy` and `.npz` files.
//!
//! A header is a Python literal; only the form that NumPy writes is accepted.

#[cfg(feature = "files")]
mod fortran;
#[cfg(feature = "files")]
mod frames;
mod header;
mod values;

#[cfg(feature = "files")]
pub use frames::{NumpyFile, npz_arrays};
pub use header::{Header, HeaderError, Numbers};
