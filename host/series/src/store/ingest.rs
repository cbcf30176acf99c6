//! Adds points to a store: each batch is one transaction.

mod batch;
mod ingested;
mod tables;

pub use ingested::Ingested;

use super::super::{Batch, Engine, Resample};
use super::file::{self, META, WriterDatabase, on_engine};
use super::read::Totals;
use super::{Policy, StoreError};
use batch::BatchIngest;
use redb::ReadableDatabase;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// Longest name of a series in bytes.
pub const MAX_NAME_BYTES: usize = 4096;

/// A store opened for writing, exclusively by this process.
pub struct StoreWriter {
    file: String,
    database: WriterDatabase,
    path: PathBuf,
    policy: Policy,
    plan: Resample,
    totals: Totals,
    /// How far after this computer's clock points may be, nanoseconds; `None`: any time.
    max_future: Option<i64>,
    /// The series and the time of the first point that was too far in the future.
    first_future: Option<(String, i64)>,
    /// Whether this writer created the file.
    made: bool,
}

impl StoreWriter {
    /// Opens a store, or creates it with `policy`. An existing store is opened if `policy` is
    /// `None` or its own.
    ///
    /// # Errors
    /// If there is another writer, another policy, neither a store nor a policy, or the file is not
    /// a store; errors of the file system.
    pub fn open(path: &Path, policy: Option<&Policy>) -> Result<Self, StoreError> {
        let file = path.display().to_string();
        let made = !file::exists(path)?;
        if made {
            let Some(policy) = policy else {
                return Err(StoreError::NoPolicy { file });
            };
            file::create(path, policy, &Totals::default().write())?;
        }
        let database = WriterDatabase::open(path)?;
        let (stored, totals) = on_engine(&file, || {
            let transaction = database.get()?.begin_read()?;
            let meta = transaction.open_table(META)?;
            let policy = file::policy_of(&file, &meta)?;
            Ok((policy, Totals::of(&meta)?))
        })?;
        if let Some(requested) = policy
            && !requested.same_contents(&stored)
        {
            return Err(StoreError::OtherPolicy {
                file,
                stored: stored.to_string(),
                requested: requested.to_string(),
            });
        }
        Ok(Self {
            file,
            path: path.to_owned(),
            made,
            database,
            plan: stored.plan()?,
            policy: stored,
            totals,
            max_future: None,
            first_future: None,
        })
    }

    /// Leaves out points that are later than this computer's clock by more than `max_future`
    /// nanoseconds. A single one would move the window of its series for good, and drop the buckets
    /// that are then too old.
    #[must_use]
    pub fn with_max_future(self, max_future: Option<i64>) -> Self {
        Self { max_future, ..self }
    }

    /// The series and the time of the first point that was too far in the future.
    #[must_use]
    pub fn first_future(&self) -> Option<&(String, i64)> {
        self.first_future.as_ref()
    }

    /// The policy of the store.
    #[must_use]
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// The plan of the engine for [`StoreWriter::ingest`].
    #[must_use]
    pub fn plan(&self) -> &Resample {
        &self.plan
    }

    /// Counts of all batches so far.
    #[must_use]
    pub fn totals(&self) -> Totals {
        self.totals
    }

    /// Adds a batch whose series have these names. On success, the whole batch is on disk; on an
    /// error, none of it is. Series without points are ignored.
    ///
    /// # Errors
    /// If the number of names differs, or a name is repeated, empty or longer than
    /// [`MAX_NAME_BYTES`]; if the engine has another plan; if memory is insufficient; errors of the
    /// engine and of the file system.
    pub fn ingest(
        &mut self,
        engine: &mut dyn Engine,
        names: &[String],
        batch: &Batch,
    ) -> Result<Ingested, StoreError> {
        check(names, batch)?;
        if engine.plan() != &self.plan {
            return Err(StoreError::Series(
                "the engine's plan differs from the plan of the store's policy".to_owned(),
            ));
        }
        let kept = self.without_future(names, batch)?;
        let points = batch.len() as u64;
        let batch = kept.as_ref().unwrap_or(batch);
        let future = points - batch.len() as u64;
        if batch.is_empty() && future > 0 {
            return Ok(Ingested {
                points,
                future,
                ..Ingested::default()
            });
        }
        let file = self.file.clone();
        let transaction = on_engine(&file, || {
            let mut transaction = self.database.get()?.begin_write()?;
            // Quick repair: the file of a killed writer can be opened without reading all of it.
            transaction.set_quick_repair(true);
            Ok(transaction)
        })?;
        let work = BatchIngest {
            file: &file,
            policy: &self.policy,
            names,
            batch,
            engine,
            totals: self.totals,
            done: Ingested {
                points,
                future,
                ..Ingested::default()
            },
        };
        match work.run(&transaction) {
            Ok((done, totals)) => {
                on_engine(&file, || Ok(transaction.commit()?))?;
                self.totals = totals;
                Ok(done)
            }
            Err(error) => {
                // The original error is reported, not a failure to abort.
                let _ = on_engine(&file, || Ok(transaction.abort()?));
                Err(error)
            }
        }
    }

    /// The batch without points that are too far in the future; `None` if there are none.
    fn without_future(
        &mut self,
        names: &[String],
        batch: &Batch,
    ) -> Result<Option<Batch>, StoreError> {
        let latest = self.max_future.and_then(latest);
        let is_future = |time: i64| latest.is_some_and(|latest| time > latest);
        let Some(first) = batch.times().iter().position(|time| is_future(*time)) else {
            return Ok(None);
        };
        if self.first_future.is_none() {
            let series = batch.offsets().partition_point(|offset| *offset <= first) - 1;
            self.first_future = Some((names[series].clone(), batch.times()[first]));
        }
        let (mut times, mut values, mut offsets) = (Vec::new(), Vec::new(), vec![0]);
        for pair in batch.offsets().windows(2) {
            for point in pair[0]..pair[1] {
                if !is_future(batch.times()[point]) {
                    times.push(batch.times()[point]);
                    values.push(batch.values()[point]);
                }
            }
            offsets.push(times.len());
        }
        let kept = Batch::new(times, values, offsets);
        kept.map(Some)
            .map_err(|e| StoreError::Series(e.to_string()))
    }

    /// Removes the file if this writer created it and no batch was stored. Returns whether it did.
    ///
    /// # Errors
    /// Errors of the file system.
    pub fn discard_if_empty(self) -> Result<bool, StoreError> {
        if !self.made || self.totals.batches > 0 {
            return Ok(false);
        }
        // No other process can write to it while it is open.
        std::fs::remove_file(&self.path).map_err(|e| StoreError::File {
            file: self.file.clone(),
            what: "is empty and cannot be removed",
            reason: e.to_string(),
        })?;
        Ok(true)
    }

    /// Closes the file like dropping does, but returns errors.
    ///
    /// # Errors
    /// Errors of the file system.
    pub fn close(self) -> Result<(), StoreError> {
        self.database.close()
    }
}

/// This computer's clock, later by `margin`, in nanoseconds since 1970; `None` beyond 2262.
fn latest(margin: i64) -> Option<i64> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).ok();
    let now = now.map_or(Some(0), |now| i64::try_from(now.as_nanos()).ok())?;
    now.checked_add(margin)
}

fn check(names: &[String], batch: &Batch) -> Result<(), StoreError> {
    let refuse = |why: String| Err(StoreError::Series(why));
    if names.len() != batch.series() {
        return refuse(format!(
            "{} names, but {} series",
            names.len(),
            batch.series()
        ));
    }
    let mut seen = std::collections::HashSet::with_capacity(names.len());
    for name in names {
        if name.is_empty() || name.len() > MAX_NAME_BYTES {
            return refuse(format!(
                "series name of {} bytes: expected 1 to {MAX_NAME_BYTES}",
                name.len()
            ));
        }
        if !seen.insert(name.as_str()) {
            return refuse(format!("series '{name}' occurs twice in a batch"));
        }
    }
    Ok(())
}
