//! Texts and pictures as files that are either whole or absent.

use crate::io::{IoError, atomic};
use std::fs;
use std::path::Path;

/// Writes `bytes` to `path`; an earlier file there stays as it was if anything fails.
///
/// # Errors
/// [`IoError::Write`]: no such folder, no permission, disk full.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), IoError> {
    atomic::write(path, |temporary| {
        fs::write(temporary, bytes).map_err(|e| atomic::refusal(path, &e))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_whole_and_nothing_is_left_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.bin");
        write_whole(&path, b"first").unwrap();
        write_whole(&path, b"second").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"second");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn what_cannot_be_written_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("none/a.bin");
        let refused = write_whole(&path, b"bytes").unwrap_err();
        assert!(refused.to_string().contains("a.bin"), "{refused}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
