//! The file of a store: made whole or not at all, opened by one writer and any number of readers, and whatever its
//! engine does with a damaged one, answered with a sentence.

use super::record::checksum_of_policy;
use super::{Policy, StoreError};
use crate::io::atomic::beside;
use crate::io::contained;
use redb::{
    ConcurrencyMode, Database, DatabaseError, ReadOnlyDatabase, StorageError, TableDefinition,
};
use std::path::Path;

/// `format`, `policy` (TOML), `policy name`, `policy checksum`, `totals`.
pub(super) const META: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("meta");
/// Number of each series: [`super::record::seal_id`].
pub(super) const NAMES: TableDefinition<'_, &str, u64> = TableDefinition::new("names");
/// Numbers of each series: [`super::record::State`].
pub(super) const SERIES: TableDefinition<'_, u32, &[u8]> = TableDefinition::new("series");
/// (series, stretch of time): [`super::record::Points`].
pub(super) const RAW: TableDefinition<'_, (u32, u64), &[u8]> = TableDefinition::new("points");
/// (series, archive, block): lanes, [`super::record::Lane`].
pub(super) const BLOCKS: TableDefinition<'_, (u32, u8, u64), &[u8]> =
    TableDefinition::new("buckets");

const FORMAT: &str = "warpstride series store 2";

/// What cannot be read, in a sentence.
pub(super) const A_NAME: &str = "the number of a series";

/// Bytes of the file that the engine keeps in memory, written ones included.
const WRITER_CACHE: usize = 256 << 20;
const READER_CACHE: usize = 64 << 20;

/// Readers that meet a file whose writer was killed repair it; another may be faster.
const ATTEMPTS: usize = 5;

/// What goes wrong inside the engine or with a record.
pub(super) enum Fault {
    Engine(redb::Error),
    /// A record that cannot be read.
    Record(&'static str),
    Store(StoreError),
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

macro_rules! from_engine {
    ($($error:ident),*) => {$(
        impl From<redb::$error> for Fault {
            fn from(error: redb::$error) -> Self {
                Self::Engine(error.into())
            }
        }
    )*};
}
from_engine!(
    CommitError,
    DatabaseError,
    StorageError,
    TableError,
    TransactionError
);

impl Fault {
    fn of(self, file: &str) -> StoreError {
        let file = file.to_owned();
        let damaged = |found: String| StoreError::Damaged {
            file: file.clone(),
            found,
        };
        match self {
            Self::Store(error) => error,
            Self::Record(what) => damaged(format!("{what} cannot be read")),
            Self::Engine(error) => match error {
                redb::Error::DatabaseAlreadyOpen => StoreError::Busy { file },
                redb::Error::Io(e) => match e.kind() {
                    std::io::ErrorKind::InvalidData => StoreError::Foreign {
                        file,
                        found: "it does not begin as one".to_owned(),
                    },
                    std::io::ErrorKind::UnexpectedEof => damaged("it ends too early".to_owned()),
                    _ => StoreError::File {
                        file,
                        what: "cannot be read or written",
                        reason: e.to_string(),
                    },
                },
                redb::Error::TableDoesNotExist(name) => StoreError::Foreign {
                    file,
                    found: format!("it has no table '{name}'"),
                },
                redb::Error::TableTypeMismatch { table, .. } => StoreError::Foreign {
                    file,
                    found: format!("its table '{table}' holds something else"),
                },
                redb::Error::UpgradeRequired(version) => StoreError::Foreign {
                    file,
                    found: format!("its format {version} is too old"),
                },
                other => damaged(other.to_string()),
            },
        }
    }
}

/// Runs `work` on the engine. Where the file contradicts itself the engine may panic; that is an error of the file like
/// others.
pub(super) fn on_engine<T>(
    file: &str,
    work: impl FnOnce() -> Result<T, Fault>,
) -> Result<T, StoreError> {
    match contained(work) {
        Some(done) => done.map_err(|fault| fault.of(file)),
        None => Err(StoreError::Damaged {
            file: file.to_owned(),
            found: "its tables contradict themselves".to_owned(),
        }),
    }
}

fn builder(cache: usize) -> redb::Builder {
    let mut builder = redb::Builder::new();
    builder
        .set_cache_size(cache)
        .set_concurrency_mode(ConcurrencyMode::SingleWriter);
    builder
}

fn refused(file: &str, what: &'static str, reason: &dyn std::fmt::Display) -> StoreError {
    StoreError::File {
        file: file.to_owned(),
        what,
        reason: reason.to_string(),
    }
}

/// Whether there is a file; a folder, a device or a pipe is refused.
pub(super) fn exists(path: &Path) -> Result<bool, StoreError> {
    let file = path.display().to_string();
    match std::fs::metadata(path) {
        Ok(found) if found.is_file() => Ok(true),
        Ok(found) => {
            let what = if found.is_dir() {
                "it is a folder"
            } else {
                "it is a device, pipe or socket"
            };
            Err(refused(&file, "cannot be opened", &what))
        }
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(false),
        Err(e) => Err(refused(&file, "cannot be opened", &e)),
    }
}

/// Makes a store without series, unless somebody else makes one meanwhile. A killed process leaves a
/// `.NAME.….partial` at most.
pub(super) fn create(path: &Path, policy: &Policy, totals: &[u8]) -> Result<(), StoreError> {
    let file = path.display().to_string();
    let cannot = |e: &dyn std::fmt::Display| refused(&file, "cannot be made", e);
    if path.file_name().is_none() {
        return Err(cannot(&"it names no file"));
    }
    let temporary = beside(path).map_err(|e| cannot(&e))?;
    on_engine(&file, || {
        let database = builder(WRITER_CACHE).create(temporary.path())?;
        let transaction = database.begin_write()?;
        {
            let mut meta = transaction.open_table(META)?;
            meta.insert("format", FORMAT.as_bytes())?;
            let toml = policy.to_toml();
            let sum = checksum_of_policy(policy.name(), &toml);
            meta.insert("policy", toml.as_bytes())?;
            meta.insert("policy name", policy.name().as_bytes())?;
            meta.insert("policy checksum", sum.as_slice())?;
            meta.insert("totals", totals)?;
            transaction.open_table(NAMES)?;
            transaction.open_table(SERIES)?;
            transaction.open_table(RAW)?;
            transaction.open_table(BLOCKS)?;
        }
        transaction.commit()?;
        Ok(database.close()?)
    })?;
    match temporary.persist_noclobber(path) {
        Ok(_) => {}
        Err(e) if e.error.kind() == std::io::ErrorKind::AlreadyExists => return Ok(()),
        Err(e) => return Err(cannot(&e.error)),
    }
    // Makes the name durable; not every file system can.
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let folder = std::fs::File::open(folder.unwrap_or(Path::new(".")));
    let _ = folder.and_then(|folder| folder.sync_all());
    Ok(())
}

/// Opens to write; repairs what a killed writer left.
pub(super) fn open_writer(path: &Path) -> Result<Database, StoreError> {
    let file = path.display().to_string();
    on_engine(&file, || Ok(builder(WRITER_CACHE).open(path)?))
}

/// Opens to read, also while another process writes.
pub(super) fn open_reader(path: &Path) -> Result<ReadOnlyDatabase, StoreError> {
    let file = path.display().to_string();
    on_engine(&file, || {
        for _ in 0..ATTEMPTS {
            match builder(READER_CACHE).open_read_only(path) {
                Err(DatabaseError::RepairAborted) => {}
                other => return Ok(other?),
            }
            // The writer was killed. Opening to write repairs the file.
            match builder(READER_CACHE).open(path) {
                // The repair is another's.
                Err(DatabaseError::DatabaseAlreadyOpen) => {
                    std::thread::sleep(std::time::Duration::from_millis(50));
                }
                Err(DatabaseError::Storage(StorageError::Io(e))) if is_denied(&e) => {
                    return Err(Fault::Store(StoreError::File {
                        file: file.clone(),
                        what: "its writer was killed, and who puts it in order must be allowed to write to it",
                        reason: e.to_string(),
                    }));
                }
                opened => opened?.close()?,
            }
        }
        Err(Fault::Engine(redb::Error::DatabaseAlreadyOpen))
    })
}

fn is_denied(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{PermissionDenied, ReadOnlyFilesystem};
    matches!(error.kind(), PermissionDenied | ReadOnlyFilesystem)
}

/// The policy of a store.
pub(super) fn policy_of(
    file: &str,
    meta: &impl redb::ReadableTable<&'static str, &'static [u8]>,
) -> Result<Policy, Fault> {
    let text = |key: &str| -> Result<Option<String>, Fault> {
        let found = meta.get(key)?;
        Ok(found.and_then(|bytes| String::from_utf8(bytes.value().to_vec()).ok()))
    };
    let format = text("format")?;
    if format.as_deref() != Some(FORMAT) {
        let found = match format {
            Some(format) => format!("its format is '{}'", format.escape_debug()),
            None => "it says nothing of its format".to_owned(),
        };
        return Err(Fault::Store(StoreError::Foreign {
            file: file.to_owned(),
            found,
        }));
    }
    let policy = text("policy")?.zip(text("policy name")?);
    let (written, name) = policy.ok_or(Fault::Record("the policy"))?;
    let sum = meta.get("policy checksum")?;
    if sum.is_none_or(|sum| sum.value() != checksum_of_policy(&name, &written)) {
        return Err(Fault::Record("the policy"));
    }
    Policy::from_toml(file, &name, &written).map_err(|_| Fault::Record("the policy"))
}
