//! The check of global heaps, in which HDF5 stores data of variable length (file format
//! specification 3.0, section III.E), for damage that makes the HDF5 library loop for ever.
//!
//! HDF5 2.1 walks a collection from object to object, and does not advance past an object of length
//! 0 (in `H5HG__cache_heap_deserialize`). It detects all other damage itself.

use super::IoError;
use super::superblock;
use memchr::memmem;
use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::Path;

/// Signature and version at the start of a collection.
const START: [u8; 5] = *b"GCOL\x01";
/// Bytes before the first object of a collection: signature, version, reserved, size.
const HEADER: u64 = 16;
/// Bytes of an object's header, before its data: index, references, reserved, length.
const OBJECT: u64 = 16;
/// Bytes searched at a time.
const WINDOW: usize = 1 << 20;

/// Checks all collections of the file `path`.
///
/// # Errors
/// [`IoError::Damaged`] if an object has no length, [`IoError::Unsupported`] if addresses or
/// lengths do not have 8 bytes, [`IoError::Open`].
pub(super) fn check(path: &Path) -> Result<(), IoError> {
    let name = path.display().to_string();
    let refused = |e: std::io::Error| IoError::Open {
        file: name.clone(),
        reason: e.to_string(),
    };
    if superblock::field_sizes(path)? != [8, 8] {
        return Err(IoError::Unsupported {
            file: name,
            dataset: "the superblock".to_owned(),
            expected: "addresses and lengths of 8 bytes",
            found: "another size".to_owned(),
            advice: "copy the data into a new file, for example with h5repack",
        });
    }
    let mut file = File::open(path).map_err(refused)?;
    // Collections do not overlap, and an object has at least 16 bytes: no more fit into the file.
    let mut left = file.metadata().map_err(refused)?.len() / OBJECT;
    let refused = |e: std::io::Error| IoError::Open {
        file: name.clone(),
        reason: e.to_string(),
    };
    for start in collections(&file).map_err(refused)? {
        let walk = walk(&mut file, start, &mut left).map_err(|e| IoError::Open {
            file: name.clone(),
            reason: e.to_string(),
        })?;
        let wrong = match walk {
            Walk::Complete => continue,
            Walk::Stuck => "has an object without length",
            Walk::TooLong => "overlaps others: they have more objects than the file can hold",
        };
        return Err(IoError::Damaged {
            file: name,
            dataset: "the global heap".to_owned(),
            reason: format!("the collection at byte {start} {wrong}"),
        });
    }
    Ok(())
}

/// Offsets at which collections may begin.
fn collections(file: &File) -> std::io::Result<Vec<u64>> {
    let mut reader = BufReader::with_capacity(WINDOW, file);
    let mut found = Vec::new();
    // The last bytes of a window are searched again with the next one.
    let mut window = Vec::with_capacity(WINDOW + START.len());
    let mut begins = 0_u64;
    loop {
        let overlap = window.len().min(START.len() - 1);
        begins += (window.len() - overlap) as u64;
        window.drain(..window.len() - overlap);
        let read = (&mut reader).take(WINDOW as u64).read_to_end(&mut window)?;
        if read == 0 {
            return Ok(found);
        }
        // The mark does not overlap itself.
        found.extend(memmem::find_iter(&window, &START).map(|at| begins + at as u64));
    }
}

/// How the walk over the objects of a collection ends.
enum Walk {
    Complete,
    /// An object has no length.
    Stuck,
    /// There are more objects than the file can hold.
    TooLong,
}

/// Walks over the collection at `start`, of at most `left` objects, and subtracts them from `left`.
fn walk(file: &mut File, start: u64, left: &mut u64) -> std::io::Result<Walk> {
    let mut bytes = [0; 16];
    let mut numbers = |file: &mut File, at: u64| -> std::io::Result<Option<[u64; 2]>> {
        file.seek(SeekFrom::Start(at))?;
        match file.read_exact(&mut bytes) {
            Ok(()) => {
                let both = u128::from_le_bytes(bytes);
                Ok(Some([both as u64, (both >> 64) as u64]))
            }
            Err(e) if e.kind() == std::io::ErrorKind::UnexpectedEof => Ok(None),
            Err(e) => Err(e),
        }
    };
    let Some([_, size]) = numbers(file, start)? else {
        return Ok(Walk::Complete);
    };
    let Some(end) = start.checked_add(size) else {
        return Ok(Walk::Complete);
    };
    let mut at = start + HEADER;
    while at.saturating_add(OBJECT) <= end {
        let Some([head, length]) = numbers(file, at)? else {
            return Ok(Walk::Complete);
        };
        match left.checked_sub(1) {
            Some(fewer) => *left = fewer,
            None => return Ok(Walk::TooLong),
        }
        // The arithmetic of the HDF5 library, overflow included; the length of free space (index 0)
        // includes its header.
        let step = if head & 0xffff == 0 {
            length
        } else {
            (length.wrapping_add(7) / 8)
                .wrapping_mul(8)
                .wrapping_add(OBJECT)
        };
        if step == 0 {
            return Ok(Walk::Stuck);
        }
        match at.checked_add(step) {
            Some(next) => at = next,
            None => return Ok(Walk::Complete),
        }
    }
    Ok(Walk::Complete)
}

#[cfg(test)]
mod tests {
    use super::super::output;
    use super::*;

    /// A valid file with two strings, and the offset of its collection.
    fn valid_file(folder: &Path) -> (std::path::PathBuf, usize) {
        let path = folder.join("a.h5");
        output::write(&path, |file| {
            output::text(file, "a", "one text")?;
            output::text(file, "b", "another text")
        })
        .unwrap();
        let bytes = std::fs::read(&path).unwrap();
        let at = bytes.windows(5).position(|w| w == START).unwrap();
        (path, at)
    }

    #[test]
    fn a_file_written_by_hdf5_passes() {
        let folder = tempfile::tempdir().unwrap();
        let (path, _) = valid_file(folder.path());
        check(&path).unwrap();
    }

    #[test]
    fn an_object_without_length_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let (path, at) = valid_file(folder.path());
        let whole = std::fs::read(&path).unwrap();
        let first = at + HEADER as usize;
        for (index, length) in [(0_u16, 0_u64), (1, u64::MAX - 15)] {
            let mut bytes = whole.clone();
            bytes[first..first + 2].copy_from_slice(&index.to_le_bytes());
            bytes[first + 8..first + 16].copy_from_slice(&length.to_le_bytes());
            std::fs::write(&path, bytes).unwrap();
            let text = check(&path).unwrap_err().to_string();
            assert!(text.contains("object without length"), "{text}");
        }
    }

    #[test]
    fn a_collection_across_two_windows_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let mut bytes = vec![0; WINDOW + 50];
        let at = WINDOW - 2;
        bytes[at..at + 5].copy_from_slice(&START);
        std::fs::write(&path, bytes).unwrap();
        let found = collections(&File::open(&path).unwrap()).unwrap();
        assert_eq!(found, [at as u64]);
    }
}
