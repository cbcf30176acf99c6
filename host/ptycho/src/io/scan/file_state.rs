//! What tells that a file has changed while it was read.

use std::path::{Path, PathBuf};
use std::time::SystemTime;
use warpstride_files::IoError;

/// Length and time of a file when it was opened first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FileState {
    path: PathBuf,
    name: String,
    length: u64,
    /// When the file was last written to, if the file system knows.
    modified: Option<SystemTime>,
}

impl FileState {
    /// The state of a file.
    ///
    /// # Errors
    /// The file does not exist, or cannot be accessed.
    pub(super) fn of(path: &Path) -> Result<Self, IoError> {
        let name = path.display().to_string();
        let found = std::fs::metadata(path).map_err(|e| IoError::Open {
            file: name.clone(),
            reason: e.to_string(),
        })?;
        Ok(Self {
            path: path.to_owned(),
            name,
            length: found.len(),
            modified: found.modified().ok(),
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The file, as given.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Checks that the file is as it was.
    ///
    /// # Errors
    /// It has another length, or was written to.
    pub(super) fn unchanged(&self) -> Result<(), IoError> {
        let now = Self::of(&self.path)?;
        if now.length != self.length {
            return Err(IoError::Resized {
                file: self.name.clone(),
                expected: self.length,
                found: now.length,
            });
        }
        if now.modified != self.modified {
            return Err(IoError::Changed {
                file: self.name.clone(),
            });
        }
        Ok(())
    }
}
