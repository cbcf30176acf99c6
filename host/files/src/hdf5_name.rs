//! File names for the HDF5 library.

use std::borrow::Cow;
use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;

/// A name of an existing file that the interface of the HDF5 library takes, which is UTF-8.
pub(crate) struct Hdf5Name<'p> {
    path: Cow<'p, Path>,
    /// The open file that the name refers to.
    _open: Option<File>,
}

impl<'p> Hdf5Name<'p> {
    /// The path itself, or, if it is not UTF-8, a name of the open file, which is valid as long as
    /// this value lives.
    pub(crate) fn new(path: &'p Path, options: &OpenOptions) -> io::Result<Self> {
        if path.to_str().is_some() {
            return Ok(Self {
                path: Cow::Borrowed(path),
                _open: None,
            });
        }
        Self::of_open(options.open(path)?)
    }

    #[cfg(unix)]
    fn of_open(open: File) -> io::Result<Self> {
        use std::os::fd::AsRawFd;
        let path = format!("/dev/fd/{}", open.as_raw_fd());
        Ok(Self {
            path: Cow::Owned(path.into()),
            _open: Some(open),
        })
    }

    #[cfg(not(unix))]
    fn of_open(_: File) -> io::Result<Self> {
        Err(io::Error::new(
            io::ErrorKind::InvalidFilename,
            "its name is not Unicode text",
        ))
    }

    /// The name.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}
