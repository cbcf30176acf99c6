//! Files as detectors write them, without any knowledge of a science.
//!
//! * [`chunk_filters`] undoes the filters of HDF5 on the bytes of chunks, so that several threads
//!   can decompress: HDF5 itself applies them one chunk at a time.
//! * [`merlin`], [`empad`], [`tiff_stack`] and [`numpy`] read any range of frames of a file;
//!   [`FrameFile`] is their common interface, and [`open()`] chooses the format by the name of a
//!   file.
//! * [`tiff_image`] writes images of real and complex numbers.
//!
//! Without the feature `files`, which is on by default, there are only headers and elements of
//! NumPy arrays ([`numpy`]).

#[cfg(feature = "files")]
pub mod chunk_filters;
mod element;
#[cfg(feature = "files")]
pub mod empad;
#[cfg(feature = "files")]
mod file_error;
#[cfg(feature = "files")]
mod frame_file;
#[cfg(feature = "files")]
pub mod hdf5_structure;
#[cfg(feature = "files")]
pub mod merlin;
pub mod numpy;
mod pixel;
#[cfg(feature = "files")]
pub mod tiff_image;
#[cfg(feature = "files")]
pub mod tiff_stack;

pub use element::Element;
#[cfg(feature = "files")]
pub use file_error::FileError;
#[cfg(feature = "files")]
pub use frame_file::FrameFile;

#[cfg(feature = "files")]
use std::path::Path;

/// Opens a file of frames, whose format is that of its name: `.mib`, `.raw` and `.xml` of an EMPAD
/// detector, `.tif` and `.tiff`, `.npy` and `.npz`.
///
/// # Errors
/// The name has another ending, or the file cannot be read.
#[cfg(feature = "files")]
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
