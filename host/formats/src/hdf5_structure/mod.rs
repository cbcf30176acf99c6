//! Structure of HDF5 files that the HDF5 library shows only after it has opened other files: where
//! links lead, and of which datasets a virtual dataset is made.
//!
//! HDF5 file format specification 3.0
//! (<https://support.hdfgroup.org/documentation/hdf5/latest/_f_m_t3.html>): groups of every kind
//! (link messages, fractal heaps, symbol tables), virtual layouts, and the lengths of strings in
//! attributes. Nothing else of a file is read, and no other file is opened. What one call reads is
//! limited, so that damaged or hostile files are refused quickly.

mod attributes;
mod blocks;
mod dense;
mod error;
mod fields;
mod groups;
mod headers;
mod selection;
mod virtual_layout;

pub use error::StructureError;
pub use groups::LinkTarget;
pub use selection::{Axis, Selection};
pub use virtual_layout::{Mapping, NumberType, VirtualDataset};

use blocks::Blocks;
use fields::Fields;
use std::collections::BTreeMap;
use std::path::Path;

/// An open file.
#[derive(Debug)]
pub struct Structure {
    blocks: Blocks,
    root: u64,
}

impl Structure {
    /// Opens the HDF5 file `path`.
    ///
    /// # Errors
    /// The file cannot be read, or its superblock is damaged.
    pub fn open(path: &Path) -> Result<Self, StructureError> {
        let (blocks, root) = headers::superblock(path)?;
        Ok(Self { blocks, root })
    }

    /// Address of the root group.
    #[must_use]
    pub fn root(&self) -> u64 {
        self.root
    }

    /// The links of the group whose header is at `address`, by name.
    ///
    /// # Errors
    /// The group cannot be read, is damaged, or has more links than is sensible.
    pub fn links(&mut self, address: u64) -> Result<BTreeMap<String, LinkTarget>, StructureError> {
        self.blocks.begin();
        groups::links(&mut self.blocks, address)
    }

    /// The virtual dataset whose header is at `address`; `None` if that is another object, or a
    /// dataset of another layout.
    ///
    /// # Errors
    /// The dataset cannot be read, is damaged, is not of real numbers, or has more parts than is
    /// sensible.
    pub fn virtual_dataset(
        &mut self,
        address: u64,
    ) -> Result<Option<VirtualDataset>, StructureError> {
        self.blocks.begin();
        virtual_layout::read(&mut self.blocks, address)
    }

    /// The largest length that an element of the attribute `name` claims, bytes, for an attribute
    /// whose elements are strings of variable length; `None` if the object whose header is at
    /// `address` has no attribute of this name.
    ///
    /// # Errors
    /// The header or the attribute cannot be read, or is damaged.
    pub fn longest_text(
        &mut self,
        address: u64,
        name: &str,
    ) -> Result<Option<u32>, StructureError> {
        self.blocks.begin();
        attributes::longest(&mut self.blocks, address, name)
    }

    /// Whether the object whose header is at `address` may be a virtual dataset: all that are, and
    /// those whose header cannot be read here, though HDF5 may.
    pub fn may_be_virtual(&mut self, address: u64) -> bool {
        self.blocks.begin();
        virtual_layout::is_possible(&mut self.blocks, address)
    }
}

#[cfg(test)]
mod tests;
