//! A new HDF5 file, absent or whole.

use super::{IoError, atomic, superblock};
use hdf5_metno as hdf5;
use std::path::Path;

/// Bytes by which the image in memory grows; up to so many zeros are written after the data and
/// cut off again.
const GROWTH: usize = 1 << 16;

/// Writes `path` through `fill`; the file takes its name only when all of it is on the storage.
///
/// HDF5 builds the file in memory and writes it in one go: its ordinary driver corrupts the
/// library's own state (measured: a segmentation fault) when the storage is full.
pub(crate) fn write(
    path: &Path,
    fill: impl FnOnce(&hdf5::File) -> hdf5::Result<()>,
) -> Result<(), IoError> {
    atomic::write(path, |temporary| {
        let written = through_memory(temporary, fill);
        if written.is_err() {
            // HDF5 keeps a file open that it could not close; its space is given back at least.
            let _ = std::fs::File::create(temporary);
        }
        written.map_err(|e| atomic::refusal(path, &reason(&e)))?;
        superblock::check(temporary)
            .map(drop)
            .map_err(|e| atomic::refusal(path, &e))
    })
}

fn through_memory(
    temporary: &Path,
    fill: impl FnOnce(&hdf5::File) -> hdf5::Result<()>,
) -> hdf5::Result<()> {
    let file = hdf5::File::with_options()
        .with_fapl(|p| p.core_options(GROWTH, true))
        .create(temporary)?;
    // The flush reports what the system refused; closing alone may not.
    let filled = fill(&file).and_then(|()| file.flush());
    let closed = file.close();
    filled.and(closed)?;
    hdf5::File::open(temporary).map(drop)
}

/// The system's own words in an HDF5 error, or HDF5's.
fn reason(error: &hdf5::Error) -> String {
    const MARK: &str = "error message = '";
    let stack = error.stack();
    let words = stack
        .iter()
        .flat_map(|frames| frames.iter())
        .find_map(|frame| {
            let (_, rest) = frame.desc().split_once(MARK)?;
            Some(rest.split_once('\'')?.0.to_owned())
        });
    words.unwrap_or_else(|| error.to_string())
}

/// One UTF-8 text of variable length.
pub(crate) fn text(group: &hdf5::Group, path: &str, value: &str) -> hdf5::Result<()> {
    use std::str::FromStr;
    let text = hdf5::types::VarLenUnicode::from_str(value)
        .map_err(|e| hdf5::Error::from(format!("{path} cannot be stored as text: {e:?}")))?;
    group
        .new_dataset::<hdf5::types::VarLenUnicode>()
        .create(path)?
        .write_scalar(&text)
}

/// One number.
pub(crate) fn number<T: hdf5::H5Type>(
    group: &hdf5::Group,
    path: &str,
    value: T,
) -> hdf5::Result<()> {
    group.new_dataset::<T>().create(path)?.write_scalar(&value)
}

/// An array.
pub(crate) fn array<T: hdf5::H5Type + Clone, D: ndarray::Dimension>(
    group: &hdf5::Group,
    path: &str,
    values: &ndarray::Array<T, D>,
) -> hdf5::Result<()> {
    let values = values.as_standard_layout();
    group
        .new_dataset_builder()
        .with_data(values.view())
        .create(path)
        .map(drop)
}
