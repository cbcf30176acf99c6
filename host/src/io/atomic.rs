//! Files that are either absent or whole.
//!
//! Data go to a temporary file in the output's own folder, are forced to the storage and then take
//! the output's name in one step. On an error the temporary is removed and an older output stays as
//! it was. A killed process leaves at most a `.NAME.….partial` beside it.

use super::IoError;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// Lets `fill` write the temporary file of the given path, then gives it the name `path`.
///
/// # Errors
/// [`IoError::Write`]; whatever `fill` returns.
pub fn write(path: &Path, fill: impl FnOnce(&Path) -> Result<(), IoError>) -> Result<(), IoError> {
    let partial = Partial::begin(path)?;
    fill(partial.temporary.path())?;
    partial.finish()
}

/// An output that is being written, under another name; dropped before it is finished, it is removed.
#[derive(Debug)]
pub(crate) struct Partial {
    path: PathBuf,
    target: PathBuf,
    temporary: NamedTempFile,
}

impl Partial {
    /// An empty temporary file beside `path`.
    pub(crate) fn begin(path: &Path) -> Result<Self, IoError> {
        let target = destination(path)?;
        let temporary = beside(&target).map_err(|e| refusal(path, &e))?;
        Ok(Self {
            path: path.to_owned(),
            target,
            temporary,
        })
    }

    /// Another handle of the temporary file.
    pub(crate) fn file(&self) -> Result<File, IoError> {
        let file = self.temporary.as_file().try_clone();
        file.map_err(|e| refusal(&self.path, &e))
    }

    /// The name that it will have.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Forces it to the storage and gives it its name.
    pub(crate) fn finish(self) -> Result<(), IoError> {
        let failed = |e: &dyn std::fmt::Display| refusal(&self.path, e);
        // A file of its own: it may have been written through another handle.
        let written = File::open(self.temporary.path()).map_err(|e| failed(&e))?;
        written.sync_all().map_err(|e| failed(&e))?;
        self.temporary
            .persist(&self.target)
            .map_err(|e| refusal(&self.path, &e.error))?;
        if let Some(folder) = self.target.parent() {
            // Makes the new name durable; not every file system can, and the data are safe already.
            let _ = File::open(folder).and_then(|f| f.sync_all());
        }
        Ok(())
    }
}

/// Checks that `path` could be written, without changing anything there.
///
/// # Errors
/// [`IoError::Write`].
pub fn check(path: &Path) -> Result<(), IoError> {
    let target = destination(path)?;
    beside(&target).map(drop).map_err(|e| refusal(path, &e))
}

/// The error of `path` not being written.
pub(crate) fn refusal(path: &Path, reason: &dyn std::fmt::Display) -> IoError {
    IoError::Write {
        file: path.display().to_string(),
        reason: reason.to_string(),
    }
}

/// Where `path` really leads, after links; it must be a regular file or not exist.
fn destination(path: &Path) -> Result<PathBuf, IoError> {
    let Ok(found) = fs::metadata(path) else {
        if path.file_name().is_none() {
            return Err(refusal(path, &"it names no file"));
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
pub(crate) fn beside(target: &Path) -> io::Result<NamedTempFile> {
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
        // What the user's umask leaves of it, as for any other file.
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    builder.tempfile_in(folder).map_err(|e| {
        let reason = e.kind();
        let folder = folder.display();
        match reason {
            io::ErrorKind::NotFound => {
                io::Error::new(reason, format!("there is no folder {folder}"))
            }
            io::ErrorKind::PermissionDenied => {
                io::Error::new(reason, format!("the folder {folder} is not writable"))
            }
            _ => io::Error::new(reason, format!("in the folder {folder}: {e}")),
        }
    })
}

#[cfg(test)]
mod tests;
