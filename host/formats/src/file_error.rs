//! Errors of files, each displayed as one sentence.

use std::fs::File;
use std::io;
use std::path::Path;

/// The reason why a file of frames cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FileError {
    /// The operating system refuses to open or read the file.
    #[error("{file}: cannot be read: {reason}")]
    Open {
        /// The file, as given.
        file: String,
        /// The operating system's message.
        reason: String,
    },
    /// The file has another format or another content.
    #[error("{file}: expected {expected}, found {found}")]
    Format {
        /// The file, as given.
        file: String,
        /// What was expected.
        expected: String,
        /// What was found.
        found: String,
    },
    /// Frames were asked for that the file does not have.
    #[error("{file}: expected frames from 0 to {frames}, found {start} to {end}")]
    Frames {
        /// The file, as given.
        file: String,
        /// Number of frames in the file.
        frames: usize,
        /// First frame that was asked for.
        start: usize,
        /// The frame behind the last one that was asked for.
        end: usize,
    },
    /// The given memory has another size than the frames.
    #[error("{file}: expected memory for {expected} pixels, found {found}")]
    Output {
        /// The file, as given.
        file: String,
        /// Pixels of all frames that were asked for.
        expected: usize,
        /// Length of the memory.
        found: usize,
    },
    /// An integer that is not represented exactly in the precision that was asked for.
    #[error(
        "{file}: frame {frame}, row {row}, column {column}: expected an integer that the chosen precision represents \
         exactly (single: up to 16777216, double: up to 9007199254740992), found {found}"
    )]
    Inexact {
        /// The file, as given.
        file: String,
        /// Frame, from 0.
        frame: usize,
        /// Row, from 0.
        row: usize,
        /// Column, from 0.
        column: usize,
        /// The value.
        found: String,
    },
}

/// The file as its errors name it.
pub(crate) fn name_of(path: &Path) -> String {
    path.display().to_string()
}

impl FileError {
    /// The file, as given.
    #[must_use]
    pub fn file(&self) -> &str {
        match self {
            Self::Open { file, .. }
            | Self::Format { file, .. }
            | Self::Frames { file, .. }
            | Self::Output { file, .. }
            | Self::Inexact { file, .. } => file,
        }
    }

    pub(crate) fn format(
        file: &str,
        expected: impl Into<String>,
        found: impl Into<String>,
    ) -> Self {
        Self::Format {
            file: file.to_owned(),
            expected: expected.into(),
            found: found.into(),
        }
    }

    pub(crate) fn open(file: &str, reason: &std::io::Error) -> Self {
        Self::Open {
            file: file.to_owned(),
            reason: reason.to_string(),
        }
    }
}

/// Opens a regular file. Opening a pipe would wait for its writer, and a device may have no end.
///
/// # Errors
/// The operating system's, or that it is no regular file.
pub(crate) fn open_regular(path: &Path) -> io::Result<File> {
    if std::fs::metadata(path)?.is_file() {
        File::open(path)
    } else {
        Err(io::Error::other("it is not a regular file"))
    }
}
