//! The bytes of an input.

use super::{IoError, damaged};
use std::io::{self, Read};

/// Decompressed bytes, from the first on.
pub(super) struct Stream {
    pub(super) bytes: Box<dyn Read + Send>,
    pub(super) compression: Option<&'static str>,
    /// Whether it is a pipe, whose next bytes may take long to arrive.
    pub(super) live: bool,
}

impl Stream {
    /// The bytes of a pipe.
    #[cfg(test)]
    pub(super) fn of_pipe(bytes: Box<dyn Read + Send>) -> Self {
        Self {
            live: true,
            ..Self::of(bytes)
        }
    }

    /// Uncompressed bytes.
    pub(super) fn of(bytes: Box<dyn Read + Send>) -> Self {
        Self {
            bytes,
            compression: None,
            live: false,
        }
    }

    /// The error of a failed read.
    pub(super) fn failed(&self, file: &str, error: &io::Error) -> IoError {
        failed(file, self.compression, error)
    }

    /// The compression for [`failed`], for use in another thread.
    pub(super) fn compression(&self) -> Option<&'static str> {
        self.compression
    }

    /// Whether reads must not wait for more than what is available. Compressed bytes arrive in
    /// blocks anyway.
    pub(super) fn live(&self) -> bool {
        self.live && self.compression.is_none()
    }

    /// Fills `buffer`: from a pipe with the available bytes, at least one; otherwise completely or
    /// to the end.
    pub(super) fn next(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if !self.live() {
            return self.fill(buffer);
        }
        loop {
            match self.bytes.read(buffer) {
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                read => return read,
            }
        }
    }

    /// Fills `buffer` completely or to the end.
    pub(super) fn fill(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        while filled < buffer.len() {
            match self.bytes.read(&mut buffer[filled..]) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(filled)
    }
}

/// The error of a failed read of a file with this compression.
pub(super) fn failed(file: &str, compression: Option<&str>, error: &io::Error) -> IoError {
    match compression {
        None => IoError::Open {
            file: file.to_owned(),
            reason: error.to_string(),
        },
        Some(name) => {
            let truncated = error.kind() == io::ErrorKind::UnexpectedEof
                || error.to_string().contains("incomplete frame");
            let what = format!("{name} stream");
            if truncated {
                let why = match name {
                    "gzip" => "it ends too early or is followed by other data",
                    _ => "it ends too early",
                };
                return damaged(file, &what, format!("{why}; copy the file again"));
            }
            damaged(file, &what, error)
        }
    }
}
