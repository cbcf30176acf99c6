//! The superblock of an HDF5 file: checks the signature, whether the file is complete, and whether
//! a program has it open for writing.
//!
//! HDF5 file format specification 3.0, section II.A (superblock versions 0 to 3).

use super::IoError;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use warpstride_core::text::shell_quoted;

const SIGNATURE: [u8; 8] = *b"\x89HDF\r\n\x1a\n";

/// How MATLAB files of versions 5 to 7 begin (MathWorks, MAT-File Format, section on Level 5);
/// those of version 7.3 are HDF5.
const MATLAB_5: &[u8] = b"MATLAB 5.0 MAT-file";

/// Bytes of the longest superblock of any version with 8-byte addresses.
const LONGEST: usize = 96;

/// Bits of the file consistency flags: a program writes the file, and lets others read it
/// meanwhile.
const WRITE: u8 = 1;
const SWMR: u8 = 4;

/// The program that has a file open for writing, or has ended without closing it. The HDF5 library
/// (from 1.10 on) marks the superblock of every version when it opens a file for writing, and
/// clears the mark when it closes the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Writer {
    /// None: the file is closed.
    None,
    /// It has written out all that the file holds, and HDF5 reads files of this version in spite of
    /// the mark.
    Flushed,
    /// It writes in such a way that others can read meanwhile (single writer, multiple readers).
    Swmr,
    /// It has not written out everything, or HDF5 refuses to read a marked file of this version.
    Writing,
}

/// What the superblock of a file says, and the length of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Superblock {
    /// Length of the file, bytes.
    pub length: u64,
    /// The program that has the file open for writing.
    pub writer: Writer,
}

/// Checks that `path` is a regular file with the signature of HDF5 and is as long as its superblock
/// announces, unless a program writes it.
///
/// # Errors
/// [`IoError::Open`], [`IoError::Format`], [`IoError::Truncated`].
pub(crate) fn check(path: &Path) -> Result<Superblock, IoError> {
    let name = path.display().to_string();
    let refused = |e: std::io::Error| IoError::Open {
        file: name.clone(),
        reason: e.to_string(),
    };
    let not = |found: &str| IoError::Format {
        file: name.clone(),
        expected: "an HDF5 file",
        found: found.to_owned(),
    };
    // Checked before opening: opening a pipe would wait for its writer.
    let metadata = std::fs::metadata(path).map_err(refused)?;
    if metadata.is_dir() {
        return Err(not("a folder"));
    }
    if !metadata.is_file() {
        return Err(not("a device, pipe or socket"));
    }
    let mut file = File::open(path).map_err(refused)?;
    let length = file.metadata().map_err(refused)?.len();
    if length == 0 {
        return Err(not("an empty file"));
    }
    let mut start = 0_u64;
    let mut is_matlab = false;
    while start < length {
        let mut bytes = Vec::with_capacity(LONGEST);
        file.seek(SeekFrom::Start(start)).map_err(refused)?;
        (&mut file)
            .take(LONGEST as u64)
            .read_to_end(&mut bytes)
            .map_err(refused)?;
        if bytes.starts_with(&SIGNATURE) {
            let Some(end) = announced(&bytes) else {
                return Err(not("one with a damaged superblock"));
            };
            let writer = writer(&bytes, end, length);
            // Counted from the first byte of the file, including a user block.
            if end > length && writer == Writer::None {
                return Err(IoError::Truncated {
                    file: name,
                    expected: end,
                    found: length,
                });
            }
            return Ok(Superblock { length, writer });
        }
        is_matlab |= start == 0 && bytes.starts_with(MATLAB_5);
        start = if start == 0 { 512 } else { start * 2 };
    }
    Err(not(match is_matlab {
        true => {
            "a MATLAB file of versions 5 to 7, which is none; load it in MATLAB and write it with save -v7.3"
        }
        false => "a file without the signature of HDF5",
    }))
}

/// Sizes in bytes of the addresses and of the lengths in the file `path`, which must have passed
/// [`check`].
///
/// # Errors
/// [`IoError::Open`], [`IoError::Format`].
pub(super) fn field_sizes(path: &Path) -> Result<[u8; 2], IoError> {
    let refused = |reason: String| IoError::Open {
        file: path.display().to_string(),
        reason,
    };
    let mut file = File::open(path).map_err(|e| refused(e.to_string()))?;
    let length = file.metadata().map_err(|e| refused(e.to_string()))?.len();
    let mut start = 0_u64;
    while start < length {
        let mut bytes = [0; 16];
        file.seek(SeekFrom::Start(start))
            .and_then(|_| file.read_exact(&mut bytes))
            .map_err(|e| refused(e.to_string()))?;
        if bytes.starts_with(&SIGNATURE) {
            return Ok(match bytes[8] {
                0 | 1 => [bytes[13], bytes[14]],
                _ => [bytes[9], bytes[10]],
            });
        }
        start = if start == 0 { 512 } else { start * 2 };
    }
    Err(refused("it has no HDF5 signature".to_owned()))
}

/// The end-of-file address that a superblock announces; `None` if it is invalid.
fn announced(bytes: &[u8]) -> Option<u64> {
    let version = *bytes.get(8)?;
    let (address_size, end_at) = match version {
        // Signature 8, versions and sizes 8, tree orders 4, flags 4, (version 1: 4 more), then
        // base address, free-space address, end address.
        0 | 1 => {
            let size = usize::from(*bytes.get(13)?);
            let base = if version == 0 { 24 } else { 28 };
            (size, base + 2 * size)
        }
        // Signature 8, version 1, sizes 2, flags 1, then base, extension, end address.
        2 | 3 => {
            let size = usize::from(*bytes.get(9)?);
            (size, 12 + 2 * size)
        }
        _ => return None,
    };
    if !matches!(address_size, 2 | 4 | 8) {
        return None;
    }
    let raw = bytes.get(end_at..end_at + address_size)?;
    Some(raw.iter().rev().fold(0, |v, b| (v << 8) | u64::from(*b)))
}

/// The program that has a file of `length` bytes open for writing, whose superblock announces
/// `end`.
fn writer(superblock: &[u8], end: u64, length: u64) -> Writer {
    let version = superblock.get(8).copied().unwrap_or_default();
    // The flags of versions 0 and 1 have four bytes, of which the first one is in use.
    let at = if version < 2 { 20 } else { 11 };
    let flags = superblock.get(at).copied().unwrap_or_default() & (WRITE | SWMR);
    match flags {
        0 => Writer::None,
        WRITE if version < 3 && end == length => Writer::Flushed,
        // What has been added since is behind the end that the superblock announces.
        flags if version == 3 && flags == WRITE | SWMR && end <= length => Writer::Swmr,
        _ => Writer::Writing,
    }
}

/// What to do about a file that is marked as being written.
pub(super) fn when_it_is_closed(name: &str) -> String {
    format!(
        "wait until the program that writes it has closed it; if that program has ended, remove the mark with `h5clear -s {}`",
        shell_quoted(name)
    )
}

/// The error for a file that a program has open for writing.
pub(super) fn still_written(name: &str) -> IoError {
    IoError::Format {
        file: name.to_owned(),
        expected: "an HDF5 file that has been closed",
        found: format!(
            "one that is still open for writing, or whose program has ended without closing it (as its superblock says); {}",
            when_it_is_closed(name)
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(bytes: &[u8]) -> String {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.cxi");
        std::fs::write(&path, bytes).unwrap();
        check(&path).unwrap_err().to_string()
    }

    #[test]
    fn version_0_and_2_announce_their_end() {
        let mut v0 = SIGNATURE.to_vec();
        v0.extend([0, 0, 0, 0, 0, 8, 8, 0]);
        v0.resize(24 + 16, 0);
        v0.extend(1234_u64.to_le_bytes());
        v0.extend([0; 8]);
        assert_eq!(announced(&v0), Some(1234));
        let mut v2 = SIGNATURE.to_vec();
        v2.extend([2, 8, 8, 0]);
        v2.resize(12 + 16, 0);
        v2.extend(99_u64.to_le_bytes());
        assert_eq!(announced(&v2), Some(99));
        assert!(refusal(&v0).contains("expected 1234 bytes, as its header says, found 56"));
    }

    #[test]
    fn a_prefix_of_a_signature_is_not_taken_for_a_file() {
        assert!(refusal(b"").contains("empty"));
        assert!(refusal(&SIGNATURE).contains("superblock"));
        assert!(refusal(b"P5 128 128").contains("signature"));
        let matlab = refusal(b"MATLAB 5.0 MAT-file, Platform: GLNXA64, Created on: ");
        assert!(matlab.contains("save -v7.3"), "{matlab}");
        let mut strange = SIGNATURE.to_vec();
        strange.extend([0, 0, 0, 0, 0, 255, 255, 0]);
        assert!(refusal(&strange).contains("superblock"));
    }

    #[test]
    fn folders_and_missing_files_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let e = check(folder.path()).unwrap_err();
        assert!(e.to_string().contains("folder"), "{e}");
        let e = check(&folder.path().join("none")).unwrap_err();
        assert!(matches!(e, IoError::Open { .. }), "{e}");
    }
}
