//! Atomic writing: a file is either complete or does not exist.
//!
//! Data are written to a temporary file in the folder of the output, flushed to the storage and
//! then renamed to the output in one step. On an error, the temporary file is removed and an older
//! output is unchanged. A killed process leaves at most `.NAME.….partial` in the folder, which the
//! next [`check`] of the same output removes.

use super::temporary_file::{TemporaryFile, remove_leftovers};
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// Writes the file `path` atomically: calls `fill` with the path of a temporary file, and renames
/// it to `path`.
///
/// # Errors
/// [`WriteError`], and errors of `fill`.
pub fn write<E: From<WriteError>>(
    path: &Path,
    fill: impl FnOnce(&Path) -> Result<(), E>,
) -> Result<(), E> {
    let partial = Partial::begin(path)?;
    fill(partial.temporary.path())?;
    Ok(partial.finish()?)
}

/// A file cannot be written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}: cannot be written: {reason}")]
pub struct WriteError {
    /// The file, as given.
    pub file: String,
    /// The reason, often the operating system's message.
    pub reason: String,
}

/// An output that is being written under a temporary name. Dropping it before
/// [`finish`](Self::finish) removes the temporary file.
#[derive(Debug)]
pub struct Partial {
    path: PathBuf,
    target: PathBuf,
    temporary: TemporaryFile,
}

impl Partial {
    /// Creates an empty temporary file in the folder of `path`.
    pub fn begin(path: &Path) -> Result<Self, WriteError> {
        let target = destination(path)?;
        let temporary = TemporaryFile::beside(&target).map_err(|e| refusal(path, &e))?;
        Ok(Self {
            path: path.to_owned(),
            target,
            temporary,
        })
    }

    /// Returns another handle of the temporary file.
    pub fn file(&self) -> Result<File, WriteError> {
        let file = self.temporary.as_file().try_clone();
        file.map_err(|e| refusal(&self.path, &e))
    }

    /// Path of the output.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Flushes the temporary file to the storage and renames it to the output.
    pub fn finish(self) -> Result<(), WriteError> {
        let failed = |e: &dyn std::fmt::Display| refusal(&self.path, e);
        // Reopened, as the file may have been written through another handle.
        let written = File::open(self.temporary.path()).map_err(|e| failed(&e))?;
        written.sync_all().map_err(|e| failed(&e))?;
        self.temporary
            .persist(&self.target)
            .map_err(|e| refusal(&self.path, &e))?;
        if let Some(folder) = self.target.parent() {
            // Makes the rename durable. Not every file system supports this, and the data are safe.
            let _ = File::open(folder).and_then(|f| f.sync_all());
        }
        Ok(())
    }
}

/// Checks that `path` can be written, without changing it. Removes what a killed process has left
/// of it.
///
/// # Errors
/// [`WriteError`].
pub fn check(path: &Path) -> Result<(), WriteError> {
    let target = destination(path)?;
    remove_leftovers(&target);
    TemporaryFile::beside(&target)
        .map(drop)
        .map_err(|e| refusal(path, &e))
}

/// The error for `path`, with its reason.
pub fn refusal<E: From<WriteError>>(path: &Path, reason: &dyn std::fmt::Display) -> E {
    E::from(WriteError {
        file: path.display().to_string(),
        reason: reason.to_string(),
    })
}

/// Most links that are followed one after the other, as in Linux.
const MAX_LINKS: usize = 40;

/// Resolves links of `path`, which must be a regular file or not exist.
pub fn destination(path: &Path) -> Result<PathBuf, WriteError> {
    let found = match fs::metadata(path) {
        Ok(found) => found,
        // The name of the temporary file is short enough.
        Err(e) if e.kind() == std::io::ErrorKind::InvalidFilename => {
            return Err(refusal(path, &e));
        }
        Err(_) => return absent_destination(path),
    };
    if found.is_dir() {
        return Err(refusal(path, &"it is a folder"));
    }
    if !found.is_file() {
        return Err(refusal(path, &"it is a device, pipe or socket"));
    }
    if found.permissions().readonly() {
        return Err(refusal(path, &"it exists and is read-only"));
    }
    fs::canonicalize(path).map_err(|e| refusal(path, &e))
}

/// The file that writing to `path` creates: its own, or that of a link to a file that does not
/// exist.
fn absent_destination(path: &Path) -> Result<PathBuf, WriteError> {
    let mut target = path.to_owned();
    for _ in 0..MAX_LINKS {
        if target.file_name().is_none() || is_folder_name(&target) {
            return Err(refusal(path, &"it is not the name of a file"));
        }
        match fs::read_link(&target) {
            // A relative link begins in its own folder.
            Ok(next) => target = target.parent().unwrap_or(Path::new("")).join(next),
            Err(_) => return Ok(target),
        }
    }
    Err(refusal(path, &"it is a link to itself"))
}

/// Whether only a folder can have this name: `x.h5/`, `x.h5/.`. ([`Path`] ignores both endings.)
fn is_folder_name(path: &Path) -> bool {
    let name = path.as_os_str().as_encoded_bytes();
    let name = name.strip_suffix(b".").unwrap_or(name);
    let last = name.last().copied().map(char::from);
    last.is_some_and(std::path::is_separator)
}

#[cfg(test)]
mod tests;
