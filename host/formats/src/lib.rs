//! Files as detectors write them, without any knowledge of a science.
//!
//! * [`chunk_filters`] undoes the filters of HDF5 on the bytes of chunks, so that several threads can
//!   decompress: HDF5 itself applies them one chunk at a time.
//! * [`merlin`], [`empad`], [`tiff_stack`] and [`numpy`] read any range of frames of a file; [`FrameFile`] is
//!   their common interface, and [`open()`] chooses the format by the name of a file.
//! * [`tiff_image`] writes images of real and complex numbers.

pub mod chunk_filters;
pub mod empad;
mod file_error;
mod frame_file;
pub mod hdf5_structure;
pub mod merlin;
pub mod numpy;
pub mod tiff_image;
pub mod tiff_stack;

pub use file_error::FileError;
pub use frame_file::{Element, FrameFile};

use std::path::Path;

/// Opens a file of frames, whose format is that of its name: `.mib`, `.raw` and `.xml` of an EMPAD
/// detector, `.tif` and `.tiff`, `.npy` and `.npz`.
///
/// # Errors
/// The name has another ending, or the file cannot be read.
pub fn open(path: &Path) -> Result<Box<dyn FrameFile>, FileError> {
    let end = path
        .extension()
        .map(|end| end.to_string_lossy().to_ascii_lowercase());
    match end.as_deref() {
        Some("mib") => Ok(Box::new(merlin::MibFile::open(path)?)),
        Some("raw" | "xml") => Ok(Box::new(empad::EmpadFile::open(path)?)),
        Some("tif" | "tiff") => Ok(Box::new(tiff_stack::TiffStack::open(path)?)),
        Some("npy" | "npz") => Ok(Box::new(numpy::NumpyFile::open(path)?)),
        _ => Err(FileError::format(
            &file_error::name_of(path),
            "a name that ends in .mib, .raw, .xml, .tif, .tiff, .npy or .npz",
            "another ending",
        )),
    }
}
