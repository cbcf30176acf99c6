//! ISMRMRD: raw MR data (S. J. Inati et al., Magn. Reson. Med. 77 (2017) 411).
//!
//! A group with two datasets: `xml`, the header, and `data`, one record per acquisition. The reader
//! takes what non-Cartesian images need; it counts and reports what it leaves out.
//! `docs/formats.md` has the rules.

mod acquisition;
mod assemble;
mod geometry;
mod header;
mod select;
mod write;

pub use super::left_out::LeftOut;
pub(super) use assemble::unit_note;
pub(super) use select::absent;
pub use select::{Choice, Counter, Selection, SelectionError};
pub use write::{Recording, write};

use super::bart::MatrixSize;
use crate::data::{ImageIndex, KSpace, KUnit, Placement};
use std::path::Path;
use warpstride_core::system::Memory;
use warpstride_files::IoError;
use warpstride_files::records::Records;
use warpstride_files::source::Source;

/// The group name that most files use.
pub const DEFAULT_GROUP: &str = "dataset";

/// Selection of the data to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadOptions {
    /// The group that holds `data` and `xml`.
    pub group: String,
    /// The images to read, if the file holds several.
    pub select: Selection,
    /// The image among them, where each value of a counter is an image of its own; `None`: the one
    /// with the lowest values.
    pub image: Option<ImageIndex>,
    /// Voxels of the image; `None`: those of the header.
    pub matrix: Option<MatrixSize>,
    /// The unit of the trajectory; `None`: cycles/pixel.
    pub k_unit: Option<KUnit>,
    /// Coils to leave out, numbered from 0.
    pub exclude_coils: Vec<usize>,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self {
            group: DEFAULT_GROUP.to_owned(),
            select: Selection::default(),
            image: None,
            matrix: None,
            k_unit: None,
            exclude_coils: Vec::new(),
        }
    }
}

/// Samples of k-space and the decisions made when they were read.
#[derive(Debug, Clone, PartialEq)]
pub struct KSpaceFile {
    /// The data.
    pub kspace: KSpace,
    /// Position and orientation of the image, if the file states them.
    pub placement: Option<Placement>,
    /// Slice of the image, from 0 if the file counts so.
    pub slice: u16,
    /// The trajectory's name in the header; empty if absent.
    pub trajectory: String,
    /// Number of acquisitions in the file.
    pub acquisitions: usize,
    /// Acquisitions that are not part of [`Self::kspace`].
    pub left_out: Vec<LeftOut>,
    /// Decisions of interest to the user, one sentence each.
    pub notes: Vec<String>,
}

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
