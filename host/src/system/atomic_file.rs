//! Atomic writing: a file is either complete or does not exist.
//!
//! Data are written to a temporary file in the folder of the output, flushed to the storage and
//! then renamed to the output in one step. On an error, the temporary file is removed and an older
//! output is unchanged. A killed process leaves at most a file `.NAME.….partial` in the folder.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

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
pub(crate) struct Partial {
    path: PathBuf,
    target: PathBuf,
    temporary: NamedTempFile,
}

impl Partial {
    /// Creates an empty temporary file in the folder of `path`.
    pub(crate) fn begin(path: &Path) -> Result<Self, WriteError> {
        let target = destination(path)?;
        let temporary = temporary_file_for(&target).map_err(|e| refusal(path, &e))?;
        Ok(Self {
            path: path.to_owned(),
            target,
            temporary,
        })
    }

    /// Returns another handle of the temporary file.
    pub(crate) fn file(&self) -> Result<File, WriteError> {
        let file = self.temporary.as_file().try_clone();
        file.map_err(|e| refusal(&self.path, &e))
    }

    /// Path of the output.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Flushes the temporary file to the storage and renames it to the output.
    pub(crate) fn finish(self) -> Result<(), WriteError> {
        let failed = |e: &dyn std::fmt::Display| refusal(&self.path, e);
        // Reopened, as the file may have been written through another handle.
        let written = File::open(self.temporary.path()).map_err(|e| failed(&e))?;
        written.sync_all().map_err(|e| failed(&e))?;
        self.temporary
            .persist(&self.target)
            .map_err(|e| refusal(&self.path, &e.error))?;
        if let Some(folder) = self.target.parent() {
            // Makes the rename durable. Not every file system supports this, and the data are safe.
            let _ = File::open(folder).and_then(|f| f.sync_all());
        }
        Ok(())
    }
}

/// Checks that `path` can be written, without changing anything.
///
/// # Errors
/// [`WriteError`].
pub fn check(path: &Path) -> Result<(), WriteError> {
    let target = destination(path)?;
    temporary_file_for(&target)
        .map(drop)
        .map_err(|e| refusal(path, &e))
}

/// The error for `path`, with its reason.
pub(crate) fn refusal<E: From<WriteError>>(path: &Path, reason: &dyn std::fmt::Display) -> E {
    E::from(WriteError {
        file: path.display().to_string(),
        reason: reason.to_string(),
    })
}

/// Resolves links of `path`, which must be a regular file or not exist.
fn destination(path: &Path) -> Result<PathBuf, WriteError> {
    let Ok(found) = fs::metadata(path) else {
        if path.file_name().is_none() {
            return Err(refusal(path, &"it is not the name of a file"));
        }
        return Ok(path.to_owned());
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

/// An empty temporary file in the folder of `target`.
pub(crate) fn temporary_file_for(target: &Path) -> io::Result<NamedTempFile> {
    let folder = match target.parent() {
        Some(p) if !p.as_os_str().is_empty() => p,
        _ => Path::new("."),
    };
    let mut prefix = std::ffi::OsString::from(".");
    prefix.push(target.file_name().unwrap_or_default());
    prefix.push(".");
    let mut builder = tempfile::Builder::new();
    builder.prefix(&prefix).suffix(".partial");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // Restricted by the user's umask, as for any other file.
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    builder.tempfile_in(folder).map_err(|e| {
        let (kind, is_folder) = (e.kind(), folder.is_dir());
        let folder = folder.display();
        match kind {
            // Some file systems, such as /proc, report this for every new file.
            io::ErrorKind::NotFound if is_folder => io::Error::new(
                kind,
                format!("no file can be created in the folder {folder}"),
            ),
            io::ErrorKind::NotFound => io::Error::new(kind, format!("there is no folder {folder}")),
            io::ErrorKind::NotADirectory => {
                io::Error::new(kind, format!("{folder} is not a folder"))
            }
            io::ErrorKind::PermissionDenied => {
                io::Error::new(kind, format!("the folder {folder} is not writable"))
            }
            _ => io::Error::new(kind, format!("in the folder {folder}: {e}")),
        }
    })
}

// They write a scan, a checkpoint and a result.
#[cfg(all(test, feature = "ptycho", feature = "hdf5"))]
mod tests;
