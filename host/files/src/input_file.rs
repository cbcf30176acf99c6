//! The file that is read, for errors about it and for the memory that reading it may take.

use super::{IoError, check_memory};
use std::path::Path;
use warpstride_core::system::Memory;

/// Name of a file, and the limit of memory while it is read.
#[derive(Debug, Clone, PartialEq)]
pub struct InputFile {
    name: String,
    memory: Memory,
}

impl InputFile {
    /// The file `name`, which is read with this limit of memory.
    pub fn new(path: &Path, memory: Memory) -> Self {
        Self {
            name: path.display().to_string(),
            memory,
        }
    }

    /// The file, as given.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Limit of memory.
    pub fn memory(&self) -> Memory {
        self.memory
    }

    /// Checks that `bytes` for `dataset` are within the limit of memory.
    pub fn allow(&self, dataset: &str, bytes: u128) -> Result<(), IoError> {
        check_memory(self.memory, &self.name, dataset, bytes)
    }
}
