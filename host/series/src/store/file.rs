//! The file of a store: created completely or not at all, and opened by one writer and any number
//! of readers. Failures of the database on a damaged file become errors with one sentence.

use super::record::checksum_of_policy;
use super::{Policy, StoreError};
use redb::{
    ConcurrencyMode, Database, DatabaseError, ReadOnlyDatabase, StorageError, TableDefinition,
};
use std::path::Path;
use warpstride_core::system::atomic_file::destination;
use warpstride_core::system::catch_panic;
use warpstride_core::system::temporary_file::{TemporaryFile, remove_leftovers};

/// `format`, `policy` (TOML), `policy name`, `policy checksum`, `totals`.
pub(super) const META: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("meta");
/// Index of each series, by name: [`super::record::seal_id`].
pub(super) const NAMES: TableDefinition<'_, &str, u64> = TableDefinition::new("names");
/// Counts of each series: [`super::record::State`].
pub(super) const SERIES: TableDefinition<'_, u32, &[u8]> = TableDefinition::new("series");
/// (series, time interval): [`super::record::Points`].
pub(super) const RAW: TableDefinition<'_, (u32, u64), &[u8]> = TableDefinition::new("points");
/// (series, archive, block): aggregates, [`super::record::BlockColumn`].
pub(super) const BLOCKS: TableDefinition<'_, (u32, u8, u64), &[u8]> =
    TableDefinition::new("buckets");

const FORMAT: &str = "warpstride series store 2";

/// Name of a record for error messages.
pub(super) const A_NAME: &str = "the number of a series";

/// Bytes of the file that the database caches, including written ones.
const WRITER_CACHE: usize = 256 << 20;
const READER_CACHE: usize = 64 << 20;

/// Number of attempts to open a store. A reader that finds the file of a killed writer repairs it,
/// unless another reader is faster.
const ATTEMPTS: usize = 5;

/// Errors of the database or of a record.
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
                        found: "another kind of file".to_owned(),
                    },
                    std::io::ErrorKind::UnexpectedEof => {
                        damaged("the file ends too early".to_owned())
                    }
                    _ => StoreError::File {
                        file,
                        what: "cannot be read or written",
                        reason: e.to_string(),
                    },
                },
                redb::Error::TableDoesNotExist(name) => StoreError::Foreign {
                    file,
                    found: format!("a database without table '{name}'"),
                },
                redb::Error::TableTypeMismatch { table, .. } => StoreError::Foreign {
                    file,
                    found: format!("a database whose table '{table}' has other types"),
                },
                redb::Error::UpgradeRequired(version) => StoreError::Foreign {
                    file,
                    found: format!("the outdated database format {version}"),
                },
                other => damaged(other.to_string()),
            },
        }
    }
}

/// Runs `work` on the database. The database may panic if the file is inconsistent, which becomes
/// an error as well.
pub(super) fn on_engine<T>(
    file: &str,
    work: impl FnOnce() -> Result<T, Fault>,
) -> Result<T, StoreError> {
    match catch_panic(work) {
        Some(done) => done.map_err(|fault| fault.of(file)),
        None => Err(StoreError::Damaged {
            file: file.to_owned(),
            found: "inconsistent tables".to_owned(),
        }),
    }
}

/// A database open for writing. Its destructor writes to the file, and may panic if that is
/// inconsistent.
pub(super) struct WriterDatabase {
    file: String,
    database: Option<Database>,
}

impl WriterDatabase {
    /// Opens the file for writing, and repairs it after a writer was killed.
    pub(super) fn open(path: &Path) -> Result<Self, StoreError> {
        let file = path.display().to_string();
        // The superuser could write to it nevertheless.
        let found = std::fs::metadata(path);
        if found.is_ok_and(|found| found.permissions().readonly()) {
            return Err(refused(&file, "cannot be written", &"it is read-only"));
        }
        let database = on_engine(&file, || Ok(builder(WRITER_CACHE).open(path)?))?;
        Ok(Self {
            file,
            database: Some(database),
        })
    }

    pub(super) fn get(&self) -> Result<&Database, Fault> {
        let closed = || Fault::Engine(redb::Error::DatabaseClosed);
        self.database.as_ref().ok_or_else(closed)
    }

    /// Closes the file like dropping does, but returns errors.
    pub(super) fn close(mut self) -> Result<(), StoreError> {
        match self.database.take() {
            Some(database) => on_engine(&self.file, || Ok(database.close()?)),
            None => Ok(()),
        }
    }
}

impl Drop for WriterDatabase {
    fn drop(&mut self) {
        if let Some(database) = self.database.take() {
            // Everything acknowledged is already on disk.
            let _ = on_engine(&self.file, || {
                drop(database);
                Ok(())
            });
        }
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

/// Whether the file exists. Folders, devices and pipes are rejected.
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

/// Creates a store without series, unless another process creates it in the meantime. A killed
/// process leaves at most `.NAME.….partial`, which the next one removes.
pub(super) fn create(path: &Path, policy: &Policy, totals: &[u8]) -> Result<(), StoreError> {
    let file = path.display().to_string();
    let cannot = |e: &dyn std::fmt::Display| refused(&file, "cannot be created", e);
    let path = &destination(path).map_err(|e| cannot(&e.reason))?;
    remove_leftovers(path);
    let temporary = TemporaryFile::beside(path).map_err(|e| cannot(&e))?;
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
        Ok(()) => {}
        Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => return Ok(()),
        Err(e) => return Err(cannot(&e)),
    }
    // Makes the name durable, if the file system supports it.
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let folder = std::fs::File::open(folder.unwrap_or(Path::new(".")));
    let _ = folder.and_then(|folder| folder.sync_all());
    Ok(())
}

/// Opens the file for reading, even while another process writes.
pub(super) fn open_reader(path: &Path) -> Result<ReadOnlyDatabase, StoreError> {
    let file = path.display().to_string();
    on_engine(&file, || {
        for _ in 0..ATTEMPTS {
            match builder(READER_CACHE).open_read_only(path) {
                Err(DatabaseError::RepairAborted) => {}
                other => return Ok(other?),
            }
            // The writer was killed. Opening the file for writing repairs it.
            match builder(READER_CACHE).open(path) {
                // Another reader is repairing it.
                Err(DatabaseError::DatabaseAlreadyOpen) => {
                    std::thread::sleep(std::time::Duration::from_millis(50));
                }
                Err(DatabaseError::Storage(StorageError::Io(e))) if is_denied(&e) => {
                    return Err(Fault::Store(StoreError::File {
                        file: file.clone(),
                        what: "cannot be repaired after its writer was killed, which requires write permission",
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

/// Reads the policy of a store.
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
            Some(format) => format!("format '{}'", format.escape_debug()),
            None => "a database without a format".to_owned(),
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
