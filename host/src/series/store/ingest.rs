//! Points into a store: a batch, a transaction.

mod batch;
mod tables;

use super::super::{Batch, Engine, Resample};
use super::file::{self, META, on_engine};
use super::read::Totals;
use super::{Policy, StoreError};
use batch::Ingest;
use redb::{Database, ReadableDatabase};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Longest name of a series, bytes.
pub const LONGEST_NAME: usize = 4096;

/// What became of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Ingested {
    /// Points of the batch.
    pub points: u64,
    /// Points of new timestamps.
    pub added: u64,
    /// Points that took the place of stored ones of the same time.
    pub replaced: u64,
    /// Points left out because the batch had one of the same series and time before them.
    pub duplicates: u64,
    /// Points left out because they came after their back window.
    pub refused: u64,
    /// Series that had none before.
    pub new_series: u64,
    /// Buckets that were computed, of all archives.
    pub buckets: u64,
}

impl std::ops::AddAssign for Ingested {
    fn add_assign(&mut self, other: Self) {
        self.points += other.points;
        self.added += other.added;
        self.replaced += other.replaced;
        self.duplicates += other.duplicates;
        self.refused += other.refused;
        self.new_series += other.new_series;
        self.buckets += other.buckets;
    }
}

/// A store that this process alone writes to.
pub struct StoreWriter {
    file: String,
    database: Option<Database>,
    path: PathBuf,
    policy: Policy,
    plan: Resample,
    totals: Totals,
    /// It was not there before.
    made: bool,
}

impl StoreWriter {
    /// Opens a store, or makes it with `policy`. Without a policy, and with its own, an existing one is taken.
    ///
    /// # Errors
    /// Another writer, another policy, no store and no policy, a file that is no store, the system's refusals.
    pub fn open(path: &Path, policy: Option<&Policy>) -> Result<Self, StoreError> {
        let file = path.display().to_string();
        let made = !file::exists(path)?;
        if made {
            let Some(policy) = policy else {
                return Err(StoreError::NoPolicy { file });
            };
            file::create(path, policy, &Totals::default().write())?;
        }
        let database = file::open_writer(path)?;
        let (stored, totals) = on_engine(&file, || {
            let transaction = database.begin_read()?;
            let meta = transaction.open_table(META)?;
            let policy = file::policy_of(&file, &meta)?;
            Ok((policy, Totals::of(&meta)?))
        })?;
        if let Some(asked) = policy
            && !asked.keeps_the_same(&stored)
        {
            return Err(StoreError::OtherPolicy {
                file,
                stored: stored.to_string(),
                asked: asked.to_string(),
            });
        }
        Ok(Self {
            file,
            path: path.to_owned(),
            made,
            database: Some(database),
            plan: stored.plan()?,
            policy: stored,
            totals,
        })
    }

    /// What it keeps.
    #[must_use]
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// What an engine must compute for [`StoreWriter::ingest`].
    #[must_use]
    pub fn plan(&self) -> &Resample {
        &self.plan
    }

    /// Of all batches so far.
    #[must_use]
    pub fn totals(&self) -> Totals {
        self.totals
    }

    /// Takes a batch whose series have these names. When this returns, all of it is on the storage; on an error
    /// nothing of it is. Series without points are left out.
    ///
    /// # Errors
    /// Names that are not those of the batch, one that occurs twice, is empty or longer than [`LONGEST_NAME`]; an
    /// engine of another plan; the engine's errors, no memory, the system's refusals.
    pub fn ingest(
        &mut self,
        engine: &mut dyn Engine,
        names: &[String],
        batch: &Batch,
    ) -> Result<Ingested, StoreError> {
        check(names, batch)?;
        if engine.plan() != &self.plan {
            return Err(StoreError::Series(
                "the engine's plan is not that of the store's policy".to_owned(),
            ));
        }
        let file = self.file.clone();
        let database = self.database.as_ref().ok_or_else(|| StoreError::File {
            file: file.clone(),
            what: "cannot be written",
            reason: "it was closed".to_owned(),
        })?;
        let transaction = on_engine(&file, || {
            let mut transaction = database.begin_write()?;
            // A killed writer's file is opened again without reading all of it.
            transaction.set_quick_repair(true);
            Ok(transaction)
        })?;
        let work = Ingest {
            file: &file,
            policy: &self.policy,
            names,
            batch,
            engine,
            totals: self.totals,
            done: Ingested {
                points: batch.len() as u64,
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
                // What went wrong counts, not that taking it back does too.
                let _ = on_engine(&file, || Ok(transaction.abort()?));
                Err(error)
            }
        }
    }

    /// Takes the file away if it was made here and no batch came into it; whether that is so.
    ///
    /// # Errors
    /// The system's.
    pub fn discard_if_empty(self) -> Result<bool, StoreError> {
        if !self.made || self.totals.batches > 0 {
            return Ok(false);
        }
        // While it is open nobody else can write to it.
        std::fs::remove_file(&self.path).map_err(|e| StoreError::File {
            file: self.file.clone(),
            what: "is empty and cannot be removed",
            reason: e.to_string(),
        })?;
        Ok(true)
    }

    /// Closes the file; as dropping does, with the error.
    ///
    /// # Errors
    /// The system's.
    pub fn close(mut self) -> Result<(), StoreError> {
        match self.database.take() {
            Some(database) => on_engine(&self.file, || Ok(database.close()?)),
            None => Ok(()),
        }
    }
}

impl Drop for StoreWriter {
    fn drop(&mut self) {
        if let Some(database) = self.database.take() {
            // Everything acknowledged is on the storage already.
            let _ = on_engine(&self.file, || {
                drop(database);
                Ok(())
            });
        }
    }
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
        if name.is_empty() || name.len() > LONGEST_NAME {
            return refuse(format!(
                "a series whose name has {} bytes: 1 to {LONGEST_NAME} are expected",
                name.len()
            ));
        }
        if !seen.insert(name.as_str()) {
            return refuse(format!("series '{name}' occurs twice in a batch"));
        }
    }
    Ok(())
}
