//! ISMRMRD: raw MR data (S. J. Inati et al., Magn. Reson. Med. 77 (2017) 411).
//!
//! A group with two datasets: `xml`, the header, and `data`, one record per acquisition. The reader
//! takes what non-Cartesian images need; it counts and reports what it leaves out.
//! `docs/formats.md` has the rules.

mod acquisition;
mod assemble;
mod geometry;
mod header;
mod kspace_file;
mod options;
mod select;
mod write;

pub use super::left_out::LeftOut;
pub(super) use assemble::unit_note;
pub use kspace_file::KSpaceFile;
pub use options::{DEFAULT_GROUP, ReadOptions};
pub(super) use select::absent;
pub use select::{Choice, Counter, Selection, SelectionError};
pub use write::{Recording, write};

use crate::data::ImageIndex;
use std::path::Path;
use warpstride_core::system::Memory;
use warpstride_files::IoError;
use warpstride_files::records::Records;
use warpstride_files::source::Source;

/// Reads the samples in `path`, which must fit into the available memory.
///
/// # Errors
/// An [`IoError`] of one sentence.
pub fn read(path: &Path, options: &ReadOptions) -> Result<KSpaceFile, IoError> {
    read_within(path, options, Memory::available())
}

/// Like [`read`], with a given memory limit.
///
/// # Errors
/// An [`IoError`] of one sentence.
pub fn read_within(
    path: &Path,
    options: &ReadOptions,
    memory: Memory,
) -> Result<KSpaceFile, IoError> {
    let source = Source::open_unclosed(path, memory)?;
    let records = records(&source, options)?;
    let group = options.group.trim_matches('/');
    let header = header::Header::read(&source, &format!("/{group}/xml"))?;
    let mut read = assemble::assemble(&source, &records, &header, options)?;
    read.notes.extend(source.unclosed());
    Ok(read)
}

/// The images that `options` select, sorted, each with at least one acquisition.
///
/// # Errors
/// An [`IoError`] of one sentence.
pub fn images_within(
    path: &Path,
    options: &ReadOptions,
    memory: Memory,
) -> Result<Vec<ImageIndex>, IoError> {
    let source = Source::open_unclosed(path, memory)?;
    let records = records(&source, options)?;
    assemble::images(&source, &records, options)
}

/// The acquisitions of the group.
fn records<'s>(source: &'s Source, options: &ReadOptions) -> Result<Records<'s>, IoError> {
    let group = options.group.trim_matches('/');
    let data = format!("/{group}/data");
    source.records(&data)?.ok_or_else(|| IoError::Missing {
        file: source.name().to_owned(),
        what: format!("acquisitions{}", other_groups(source, group)),
        tried: vec![data.clone()],
    })
}

/// Most groups that are searched for acquisitions: each search looks through all names.
const MAX_GROUPS: usize = 256;

/// Names other groups that hold acquisitions.
fn other_groups(source: &Source, group: &str) -> String {
    // A damaged root group is reported elsewhere.
    let names = source.groups().unwrap_or_default();
    let candidates: Vec<String> = names
        .into_iter()
        .filter(|name| name != group)
        .take(MAX_GROUPS)
        .filter(|name| {
            ["data", "xml"]
                .iter()
                .all(|part| source.has(&format!("/{name}/{part}")).unwrap_or(false))
        })
        .take(4)
        .collect();
    if candidates.is_empty() {
        String::new()
    } else {
        format!(
            " in the group {group} (--group {} has some)",
            candidates.join(" or --group ")
        )
    }
}

#[cfg(test)]
mod tests;
