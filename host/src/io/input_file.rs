//! The file that is read, for errors about it and for the memory that reading it may take.

use super::IoError;
use crate::system::Memory;
use std::path::Path;

/// Name of a file, and the limit of memory while it is read.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct InputFile {
    name: String,
    memory: Memory,
}

impl InputFile {
    pub(crate) fn new(path: &Path, memory: Memory) -> Self {
        Self {
            name: path.display().to_string(),
            memory,
        }
    }

    /// The file, as given.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Limit of memory.
    pub(crate) fn memory(&self) -> Memory {
        self.memory
    }

    /// Checks that `bytes` for `dataset` are within the limit of memory.
    pub(crate) fn allow(&self, dataset: &str, bytes: u128) -> Result<(), IoError> {
        self.memory.allow(&self.name, dataset, bytes)
    }
}
