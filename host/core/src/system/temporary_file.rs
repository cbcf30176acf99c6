//! Temporary files of outputs that are being written.
//!
//! The temporary file of `NAME` is the only one in a folder `.NAME.RANDOM.partial` beside it (of a
//! long name, its start and a hash of the whole). Its
//! process holds a lock on that folder, which the operating system releases when the process ends,
//! in whatever way. A folder that can be locked was therefore left by a killed process. (The file
//! itself is not locked, because the database locks it itself.)

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, TryLockError};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io;
use std::path::Path;
use tempfile::{NamedTempFile, PersistError, TempDir};

/// Name of the file in its folder.
const FILE: &str = "file";
/// What follows the random part of the folder's name.
const SUFFIX: &str = ".partial";
/// Random characters in the name of the folder.
const RANDOM: usize = 6;
/// Attempts to make a folder that no other process takes for one that was left.
const ATTEMPTS: usize = 100;

/// A temporary file, which is removed with its folder when dropped.
#[derive(Debug)]
pub struct TemporaryFile {
    // Dropped in this order: the lock is released last.
    file: NamedTempFile,
    folder: TempDir,
    lock: Option<Lock>,
}

/// A lock on a folder. It ends when this value is dropped, also if a process that was started
/// meanwhile has inherited the descriptor.
#[derive(Debug)]
struct Lock(File);

impl Lock {
    /// Locks `open`, unless another process has locked it.
    fn try_of(open: File) -> Result<Self, TryLockError> {
        open.try_lock()?;
        Ok(Self(open))
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        let _ = self.0.unlock();
    }
}

impl TemporaryFile {
    /// Makes an empty file in the file system of `target`, the path that it is to get.
    pub fn beside(target: &Path) -> io::Result<Self> {
        let beside = folder_of(target);
        for _ in 0..ATTEMPTS {
            let folder = tempfile::Builder::new()
                .prefix(&prefix(target.file_name().unwrap_or_default()))
                .rand_bytes(RANDOM)
                .suffix(SUFFIX)
                .tempdir_in(beside)
                .map_err(|e| explained(beside, e))?;
            // File systems without locks have no processes that remove what they could lock.
            let lock = match File::open(folder.path()) {
                Ok(open) => match Lock::try_of(open) {
                    Err(TryLockError::WouldBlock) => continue, // Another process is removing it.
                    lock => lock.ok(),
                },
                Err(_) => None,
            };
            match file_in(folder.path()) {
                Ok(file) => return Ok(Self { file, folder, lock }),
                // Another process locked the folder first, and removed it.
                Err(e) if e.kind() == io::ErrorKind::NotFound => {}
                Err(e) => return Err(explained(beside, e)),
            }
        }
        Err(io::Error::other(format!(
            "in the folder {}: temporary files disappear",
            beside.display()
        )))
    }

    /// Path of the file.
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// The open file.
    pub fn as_file(&self) -> &File {
        self.file.as_file()
    }

    /// Renames the file to `target`, which is replaced if it exists.
    pub fn persist(self, target: &Path) -> io::Result<()> {
        self.rename(|file| file.persist(target))
    }

    /// Renames the file to `target`, which must not exist.
    pub fn persist_noclobber(self, target: &Path) -> io::Result<()> {
        self.rename(|file| file.persist_noclobber(target))
    }

    fn rename(
        self,
        rename: impl FnOnce(NamedTempFile) -> Result<File, PersistError>,
    ) -> io::Result<()> {
        let Self { file, folder, lock } = self;
        let renamed = rename(file).map(drop).map_err(|e| e.error);
        drop(folder);
        drop(lock);
        renamed
    }
}

/// Removes the temporary files of `target` that killed processes have left. Those of running
/// processes stay.
pub fn remove_leftovers(target: &Path) {
    let Some(name) = target.file_name() else {
        return;
    };
    let prefix = prefix(name);
    // What cannot be read or removed does not disturb the output.
    let Ok(entries) = fs::read_dir(folder_of(target)) else {
        return;
    };
    for entry in entries.flatten() {
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if !is_folder || !is_temporary(&entry.file_name(), &prefix) {
            continue;
        }
        let path = entry.path();
        if let Ok(open) = File::open(&path)
            && let Ok(_lock) = Lock::try_of(open)
        {
            let _ = fs::remove_file(path.join(FILE));
            let _ = fs::remove_dir(&path);
        }
    }
}

/// Longest name of a file in bytes, on almost all file systems.
const LONGEST_NAME: usize = 255;
/// Characters of a shortened name. One has at most four bytes.
const KEPT: usize = 40;

/// `.NAME.`, or `.START~HASH.` if the folder's name were too long.
fn prefix(name: &OsStr) -> OsString {
    let mut prefix = OsString::from(".");
    if name.len() + RANDOM + SUFFIX.len() + ".".len() * 2 <= LONGEST_NAME {
        prefix.push(name);
    } else {
        let start: String = name.to_string_lossy().chars().take(KEPT).collect();
        let mut hasher = DefaultHasher::new();
        name.hash(&mut hasher);
        prefix.push(format!("{start}~{:016x}", hasher.finish()));
    }
    prefix.push(".");
    prefix
}

/// Whether `name` is `prefix`, random characters, and [`SUFFIX`].
fn is_temporary(name: &OsStr, prefix: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    let random = name
        .strip_prefix(prefix.as_encoded_bytes())
        .and_then(|rest| rest.strip_suffix(SUFFIX.as_bytes()));
    random.is_some_and(|random| {
        random.len() == RANDOM && random.iter().all(u8::is_ascii_alphanumeric)
    })
}

fn folder_of(target: &Path) -> &Path {
    match target.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

fn file_in(folder: &Path) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(FILE).rand_bytes(0).suffix("");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // Restricted by the user's umask, as for any other file.
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    builder.tempfile_in(folder)
}

/// The reason why nothing can be made in `folder`.
fn explained(folder: &Path, error: io::Error) -> io::Error {
    let (kind, is_folder) = (error.kind(), folder.is_dir());
    let folder = folder.display();
    let reason = match kind {
        // Some file systems, such as /proc, report this for every new file.
        io::ErrorKind::NotFound if is_folder => {
            format!("no file can be created in the folder {folder}")
        }
        io::ErrorKind::NotFound => format!("there is no folder {folder}"),
        io::ErrorKind::NotADirectory => format!("{folder} is not a folder"),
        io::ErrorKind::PermissionDenied => format!("the folder {folder} is not writable"),
        _ => format!("in the folder {folder}: {error}"),
    };
    io::Error::new(kind, reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<OsString> {
        let mut names: Vec<_> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        names.sort();
        names
    }

    /// Files of a killed process: nothing removes them, and no lock is held.
    fn leave(target: &Path) {
        let TemporaryFile { file, folder, lock } = TemporaryFile::beside(target).unwrap();
        let _kept = (file.keep().unwrap(), folder.keep());
        drop(lock);
    }

    #[test]
    fn a_file_gets_its_name_and_its_folder_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("a.bin");
        let temporary = TemporaryFile::beside(&target).unwrap();
        fs::write(temporary.path(), b"new").unwrap();
        let found = names(folder.path());
        assert!(
            is_temporary(&found[0], &prefix(OsStr::new("a.bin"))),
            "{found:?}"
        );
        temporary.persist(&target).unwrap();
        assert_eq!(fs::read(&target).unwrap(), b"new");
        let second = TemporaryFile::beside(&target).unwrap();
        assert!(second.persist_noclobber(&target).is_err());
        drop(TemporaryFile::beside(&target).unwrap());
        assert_eq!(names(folder.path()), ["a.bin"]);
    }

    #[test]
    fn leftovers_are_removed_and_files_in_use_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("a.bin");
        for _ in 0..3 {
            leave(&target);
        }
        leave(&folder.path().join("b.bin"));
        // A folder that looks like it, but holds something else.
        let other = folder.path().join(".a.bin.abcdef.partial");
        fs::create_dir(&other).unwrap();
        fs::write(other.join("mine"), "kept").unwrap();
        let live = TemporaryFile::beside(&target).unwrap();
        assert_eq!(names(folder.path()).len(), 6);
        remove_leftovers(&target);
        assert!(live.path().exists());
        assert_eq!(names(folder.path()).len(), 3, "{:?}", names(folder.path()));
        assert_eq!(fs::read_to_string(other.join("mine")).unwrap(), "kept");
        drop(live);
        remove_leftovers(&folder.path().join("b.bin"));
        assert_eq!(names(folder.path()), [".a.bin.abcdef.partial"]);
    }

    /// A process that has made its folder and not yet locked it may lose it, and makes another one.
    #[test]
    fn files_are_made_while_another_process_removes_leftovers() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("a.bin");
        let done = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(std::sync::atomic::Ordering::Relaxed) {
                    remove_leftovers(&target);
                }
            });
            for number in 0..300_u32 {
                let temporary = TemporaryFile::beside(&target).unwrap();
                fs::write(temporary.path(), number.to_le_bytes()).unwrap();
                temporary.persist(&target).unwrap();
                assert_eq!(fs::read(&target).unwrap(), number.to_le_bytes());
            }
            done.store(true, std::sync::atomic::Ordering::Relaxed);
        });
        assert_eq!(names(folder.path()), ["a.bin"]);
    }
}
