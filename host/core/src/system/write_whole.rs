//! Atomic writing of files that are in memory.

use super::atomic_file::{self, WriteError};
use std::fs;
use std::path::Path;

/// Writes `bytes` to `path` atomically; an existing file is unchanged if anything fails.
///
/// # Errors
/// [`WriteError`]: the folder does not exist, permission is denied, the disk is full.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), WriteError> {
    atomic_file::write(path, |temporary| {
        fs::write(temporary, bytes).map_err(|e| atomic_file::refusal(path, &e))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_and_no_temporary_file_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.bin");
        write_whole(&path, b"first").unwrap();
        write_whole(&path, b"second").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"second");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn the_error_names_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("none/a.bin");
        let refused = write_whole(&path, b"bytes").unwrap_err();
        assert!(refused.to_string().contains("a.bin"), "{refused}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
