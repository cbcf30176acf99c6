//! Atomic writing of HDF5 files.

use super::hdf5_name::Hdf5Name;
use super::{IoError, superblock, unlocked};
use hdf5_metno as hdf5;
use ndarray::Data;
use std::fs::OpenOptions;
use std::path::Path;
use warpstride_core::system::atomic_file;

/// Bytes by which the image in memory grows. At most as many zeros are written after the data and
/// then truncated.
const GROWTH: usize = 1 << 16;

/// Writes the file `path` with the contents that `fill` creates. The file gets its name only once
/// it is complete on the storage.
///
/// HDF5 builds the file in memory and writes it at once: when the storage is full, HDF5's default
/// driver corrupts the state of the HDF5 library, up to a segmentation fault.
pub fn write(
    path: &Path,
    fill: impl FnOnce(&hdf5::File) -> hdf5::Result<()>,
) -> Result<(), IoError> {
    atomic_file::write(path, |temporary| {
        let written = write_through_memory(temporary, fill);
        if written.is_err() {
            // HDF5 keeps open a file that it failed to close: at least free its space.
            let _ = std::fs::File::create(temporary);
        }
        written.map_err(|e| atomic_file::refusal::<IoError>(path, &reason(&e)))?;
        superblock::check(temporary)
            .map(drop)
            .map_err(|e| atomic_file::refusal(path, &e))
    })
}

fn write_through_memory(
    temporary: &Path,
    fill: impl FnOnce(&hdf5::File) -> hdf5::Result<()>,
) -> hdf5::Result<()> {
    let named = Hdf5Name::new(temporary, OpenOptions::new().read(true).write(true));
    let named = named.map_err(|e| hdf5::Error::from(e.to_string()))?;
    let file = unlocked::options()
        .with_fapl(|p| p.core_options(GROWTH, true))
        .create(named.path())?;
    // The flush reports errors of the operating system; closing alone may not.
    let filled = fill(&file).and_then(|()| file.flush());
    let closed = file.close();
    filled.and(closed)?;
    unlocked::options().open(named.path()).map(drop)
}

/// The operating system's message in an HDF5 error, or else HDF5's.
fn reason(error: &hdf5::Error) -> String {
    const PREFIX: &str = "error message = '";
    let stack = error.stack();
    let message = stack
        .iter()
        .flat_map(|frames| frames.iter())
        .find_map(|frame| {
            let (_, rest) = frame.desc().split_once(PREFIX)?;
            Some(rest.split_once('\'')?.0.to_owned())
        });
    message.unwrap_or_else(|| error.to_string())
}

/// Writes a UTF-8 string of variable length.
pub fn text(group: &hdf5::Group, path: &str, value: &str) -> hdf5::Result<()> {
    group
        .new_dataset::<hdf5::types::VarLenUnicode>()
        .create(path)?
        .write_scalar(&unicode(path, value)?)
}

/// Writes an attribute of a group or dataset: a UTF-8 string of variable length.
pub fn attribute(of: &hdf5::Location, name: &str, value: &str) -> hdf5::Result<()> {
    of.new_attr::<hdf5::types::VarLenUnicode>()
        .create(name)?
        .write_scalar(&unicode(name, value)?)
}

/// Writes an attribute of several strings.
pub fn attribute_list(of: &hdf5::Location, name: &str, values: &[&str]) -> hdf5::Result<()> {
    let texts = values.iter().map(|value| unicode(name, value));
    let texts = texts.collect::<hdf5::Result<Vec<_>>>()?;
    of.new_attr_builder()
        .with_data(&ndarray::Array1::from(texts))
        .create(name)
        .map(drop)
}

/// Gives a dataset of `group` its unit, as NeXus does.
pub fn unit(group: &hdf5::Group, path: &str, unit: &str) -> hdf5::Result<()> {
    let dataset = group.dataset(path)?;
    attribute(&dataset, "units", unit)
}

/// Gives a group its class of NeXus: `NXentry`.
pub fn class(group: &hdf5::Group, path: &str, class: &str) -> hdf5::Result<()> {
    let inner = group.group(path)?;
    attribute(&inner, "NX_class", class)
}

fn unicode(path: &str, value: &str) -> hdf5::Result<hdf5::types::VarLenUnicode> {
    use std::str::FromStr;
    hdf5::types::VarLenUnicode::from_str(value)
        .map_err(|e| hdf5::Error::from(format!("{path} cannot be stored as text: {e:?}")))
}

/// Writes a number.
pub fn number<T: hdf5::H5Type>(group: &hdf5::Group, path: &str, value: T) -> hdf5::Result<()> {
    group.new_dataset::<T>().create(path)?.write_scalar(&value)
}

/// Writes an array.
pub fn array<T: hdf5::H5Type + Clone, S: Data<Elem = T>, D: ndarray::Dimension>(
    group: &hdf5::Group,
    path: &str,
    values: &ndarray::ArrayBase<S, D>,
) -> hdf5::Result<()> {
    let values = values.as_standard_layout();
    group
        .new_dataset_builder()
        .with_data(values.view())
        .create(path)
        .map(drop)
}
