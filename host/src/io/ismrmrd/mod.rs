//! ISMRMRD: raw data of magnetic resonance (S. J. Inati et al., Magn. Reson. Med. 77 (2017) 411).
//!
//! A group with two datasets: `xml`, the header, and `data`, one record an acquisition. Read is what
//! non-Cartesian images need; what is not taken is counted and said. `docs/formats.md` has the rules.

mod acquisition;
mod assemble;
mod header;
mod select;
mod write;

pub use select::{Choice, Counter, Selection, SelectionError};
pub use write::{Recording, write};

use super::source::Source;
use super::{IoError, Memory};
use crate::data::KSpace;
use std::path::Path;

/// The group that most files have.
pub const DEFAULT_GROUP: &str = "dataset";

/// What to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadOptions {
    /// The group with `data` and `xml`.
    pub group: String,
    /// Which image, where there are several.
    pub select: Selection,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self {
            group: DEFAULT_GROUP.to_owned(),
            select: Selection::default(),
        }
    }
}

/// Acquisitions that are no part of the samples.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct LeftOut {
    /// Why.
    pub what: String,
    /// How many.
    pub acquisitions: usize,
}

/// Samples of k-space and what their reader had to decide.
#[derive(Debug, Clone, PartialEq)]
pub struct KSpaceFile {
    /// The data.
    pub kspace: KSpace,
    /// What the header calls the trajectory; empty where it says nothing.
    pub trajectory: String,
    /// Acquisitions in the file.
    pub acquisitions: usize,
    /// Those that are not in [`Self::kspace`].
    pub left_out: Vec<LeftOut>,
    /// Decisions that a user should know of, one sentence each.
    pub notes: Vec<String>,
}

/// Reads the samples in `path`, which must fit into the memory that is available.
///
/// # Errors
/// [`IoError`], one sentence.
pub fn read(path: &Path, options: &ReadOptions) -> Result<KSpaceFile, IoError> {
    read_within(path, options, Memory::available())
}

/// Like [`read`], with a given limit of memory.
///
/// # Errors
/// [`IoError`], one sentence.
pub fn read_within(
    path: &Path,
    options: &ReadOptions,
    memory: Memory,
) -> Result<KSpaceFile, IoError> {
    let source = Source::open(path, memory)?;
    let group = options.group.trim_matches('/');
    let data = format!("/{group}/data");
    let records = match source.records(&data)? {
        Some(records) => records,
        None => {
            return Err(IoError::Missing {
                file: source.name().to_owned(),
                what: format!("acquisitions{}", others(&source, group)),
                tried: vec![data],
            });
        }
    };
    let header = header::Header::read(&source, &format!("/{group}/xml"))?;
    assemble::assemble(&source, &records, &header, options)
}

/// Names the groups that might be meant.
fn others(source: &Source, group: &str) -> String {
    // A damaged root says so elsewhere.
    let names = source.groups().unwrap_or_default();
    let like: Vec<String> = names
        .into_iter()
        .filter(|name| name != group)
        .filter(|name| {
            ["data", "xml"]
                .iter()
                .all(|part| source.has(&format!("/{name}/{part}")).unwrap_or(false))
        })
        .take(4)
        .collect();
    if like.is_empty() {
        String::new()
    } else {
        format!(
            " in the group {group} (--group {} has some)",
            like.join(" or --group ")
        )
    }
}

#[cfg(test)]
mod tests;
