//! Points into a store: a batch, a transaction.

use super::super::{Batch, Engine, Resample};
use super::file::{self, BLOCKS, Fault, META, NAMES, RAW, SERIES, contained};
use super::merge::{Merged, Touched, merge, touched};
use super::read::Totals;
use super::record::{BUCKETS, Points, State};
use super::replace::{Replacement, replacements};
use super::{Policy, StoreError};
use crate::io::{Bytes, Memory};
use rayon::prelude::*;
use redb::{Database, ReadableDatabase, ReadableTable, Table, WriteTransaction};
use serde::Serialize;
use std::path::Path;

/// Points that are computed from at a time, stored ones included; a series alone may have more.
const POINTS_AT_A_TIME: usize = 4 << 20;

/// Bytes that a point takes while it is merged and aggregated.
const BYTES_OF_A_POINT: usize = 120;

/// Longest name of a series, bytes.
pub const LONGEST_NAME: usize = 4096;

/// The file's bytes of a stored point, at least.
const LEAST_BYTES_STORED: usize = 9;

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
    policy: Policy,
    plan: Resample,
    totals: Totals,
}

/// A series of a batch.
struct Incoming {
    id: u32,
    /// Its number in the batch.
    place: usize,
    state: Option<State>,
    /// The batch's points that are not too late.
    batch: Vec<(i64, f64)>,
    refused: u64,
    /// Records of its stored points, as far back as they are needed, in the order of time.
    stored: Vec<Vec<u8>>,
}

impl Incoming {
    /// Points, the stored ones estimated.
    fn size(&self) -> usize {
        let bytes: usize = self.stored.iter().map(Vec::len).sum();
        self.batch.len() + bytes / LEAST_BYTES_STORED
    }
}

/// A series after its points were merged.
struct Changed {
    id: u32,
    before: Option<State>,
    after: State,
    merged: Merged,
    touched: Touched,
}

/// The tables that a batch changes.
struct Tables<'t> {
    series: Table<'t, u32, &'static [u8]>,
    raw: Table<'t, (u32, u64), &'static [u8]>,
    blocks: Table<'t, (u32, u8, u64), &'static [u8]>,
}

impl StoreWriter {
    /// Opens a store, or makes it with `policy`. Without a policy, and with its own, an existing one is taken.
    ///
    /// # Errors
    /// Another writer, another policy, no store and no policy, a file that is no store, the system's refusals.
    pub fn open(path: &Path, policy: Option<&Policy>) -> Result<Self, StoreError> {
        let file = path.display().to_string();
        if !file::exists(path)? {
            let Some(policy) = policy else {
                return Err(StoreError::NoPolicy { file });
            };
            file::create(path, policy, &Totals::default().write())?;
        }
        let database = file::open_writer(path)?;
        let (stored, totals) = contained(&file, || {
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
        let transaction = contained(&file, || {
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
                contained(&file, || Ok(transaction.commit()?))?;
                self.totals = totals;
                Ok(done)
            }
            Err(error) => {
                // What went wrong counts, not that taking it back does too.
                let _ = contained(&file, || Ok(transaction.abort()?));
                Err(error)
            }
        }
    }

    /// Closes the file; as dropping does, with the error.
    ///
    /// # Errors
    /// The system's.
    pub fn close(mut self) -> Result<(), StoreError> {
        match self.database.take() {
            Some(database) => contained(&self.file, || Ok(database.close()?)),
            None => Ok(()),
        }
    }
}

impl Drop for StoreWriter {
    fn drop(&mut self) {
        if let Some(database) = self.database.take() {
            // Everything acknowledged is on the storage already.
            let _ = contained(&self.file, || Ok(drop(database)));
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

/// One batch on its way.
struct Ingest<'a> {
    file: &'a str,
    policy: &'a Policy,
    names: &'a [String],
    batch: &'a Batch,
    engine: &'a mut dyn Engine,
    totals: Totals,
    done: Ingested,
}

impl Ingest<'_> {
    fn run(mut self, transaction: &WriteTransaction) -> Result<(Ingested, Totals), StoreError> {
        let file = self.file;
        let mut series = contained(file, || self.identify(transaction))?;
        // In the order of the tables.
        series.sort_unstable();
        let mut tables = contained(file, || {
            Ok(Tables {
                series: transaction.open_table(SERIES)?,
                raw: transaction.open_table(RAW)?,
                blocks: transaction.open_table(BLOCKS)?,
            })
        })?;
        let mut series = series.into_iter().peekable();
        while series.peek().is_some() {
            let mut some = Vec::new();
            let mut points = 0;
            while points < POINTS_AT_A_TIME {
                let Some((id, place)) = series.next() else {
                    break;
                };
                let incoming = contained(file, || self.read(&tables, id, place))?;
                points += incoming.size();
                some.push(incoming);
            }
            self.fits(&some, points)?;
            self.advance(&mut tables, some)?;
        }
        self.totals.batches += 1;
        contained(file, || {
            drop(tables);
            let mut meta = transaction.open_table(META)?;
            meta.insert("totals", self.totals.write().as_slice())?;
            Ok(())
        })?;
        Ok((self.done, self.totals))
    }

    /// Numbers and places of the series that have points; new ones get a number.
    fn identify(&mut self, transaction: &WriteTransaction) -> Result<Vec<(u32, usize)>, Fault> {
        let mut table = transaction.open_table(NAMES)?;
        let offsets = self.batch.offsets();
        let mut found = Vec::with_capacity(self.names.len());
        for (place, name) in self.names.iter().enumerate() {
            if offsets[place] == offsets[place + 1] {
                continue;
            }
            let known = table.get(name.as_str())?.map(|id| id.value());
            let id = match known {
                Some(id) => id,
                None => {
                    let id = u32::try_from(self.totals.series).map_err(|_| {
                        StoreError::Series("the store has 2^32 series: no more fit".to_owned())
                    })?;
                    self.totals.series += 1;
                    self.done.new_series += 1;
                    table.insert(name.as_str(), id)?;
                    id
                }
            };
            found.push((id, place));
        }
        Ok(found)
    }

    /// What is stored of a series, as far as its new points reach.
    fn read(&self, tables: &Tables<'_>, id: u32, place: usize) -> Result<Incoming, Fault> {
        let record = tables.series.get(id)?;
        let state = match record {
            None => None,
            Some(record) => {
                Some(State::read(record.value()).ok_or(Fault::Record("the state of a series"))?)
            }
        };
        let window = state.map_or(0, |state| self.policy.window_start(state.last));
        let range = self.batch.offsets()[place]..self.batch.offsets()[place + 1];
        let times = &self.batch.times()[range.clone()];
        let values = &self.batch.values()[range];
        let batch: Vec<(i64, f64)> = times
            .iter()
            .zip(values)
            .filter(|(time, _)| **time >= window)
            .map(|(time, value)| (*time, *value))
            .collect();
        let refused = (times.len() - batch.len()) as u64;
        let mut stored = Vec::new();
        if let (Some(_), Some(earliest)) = (state, batch.iter().map(|point| point.0).min()) {
            let stretch = stretch_of(self.policy, self.policy.reach(earliest));
            if self.policy.has_rates()
                && let Some(before) = tables.raw.range((id, 0)..(id, stretch))?.next_back()
            {
                stored.push(before?.1.value().to_vec());
            }
            for record in tables.raw.range((id, stretch)..=(id, u64::MAX))? {
                stored.push(record?.1.value().to_vec());
            }
        }
        Ok(Incoming {
            id,
            place,
            state,
            batch,
            refused,
            stored,
        })
    }

    /// Holds the points of some series against the memory.
    fn fits(&self, some: &[Incoming], points: usize) -> Result<(), StoreError> {
        let available = Memory::available().limit();
        let needed = points as u128 * BYTES_OF_A_POINT as u128;
        if needed <= u128::from(available) {
            return Ok(());
        }
        let largest = some.iter().max_by_key(|incoming| incoming.size());
        Err(StoreError::TooLarge {
            series: largest.map_or_else(String::new, |incoming| self.names[incoming.place].clone()),
            points: largest.map_or(0, Incoming::size),
            needed: Bytes(needed),
            available: Bytes(u128::from(available)),
        })
    }

    /// Merges some series, computes what they touch, and puts it in its place.
    fn advance(&mut self, tables: &mut Tables<'_>, some: Vec<Incoming>) -> Result<(), StoreError> {
        let (file, policy) = (self.file, self.policy);
        let changed: Option<Vec<Changed>> = some
            .into_par_iter()
            .map(|incoming| change(policy, incoming))
            .collect();
        let changed = contained(file, || changed.ok_or(Fault::Record("points of a series")))?;
        for series in &changed {
            self.count(series);
        }
        let mut times = Vec::new();
        let mut values = Vec::new();
        let mut offsets = vec![0];
        for series in &changed {
            times.extend_from_slice(&series.touched.points.times);
            values.extend_from_slice(&series.touched.points.values);
            offsets.push(times.len());
        }
        let mut replaced = Vec::new();
        if !times.is_empty() {
            let resampled = self.engine.resample(&Batch::new(times, values, offsets)?)?;
            let wanted: Vec<(u32, &[Vec<u64>])> = changed
                .iter()
                .map(|series| (series.id, series.touched.buckets.as_slice()))
                .collect();
            let is_new: Vec<bool> = changed
                .iter()
                .map(|series| series.before.is_none())
                .collect();
            let old = contained(file, || old_blocks(tables, &wanted, &is_new))?;
            replaced = contained(file, || {
                replacements(policy, &resampled, &wanted, &old)
                    .ok_or(Fault::Record("a block of buckets"))
            })?;
        }
        contained(file, || write(policy, tables, &changed, &replaced))
    }

    fn count(&mut self, series: &Changed) {
        let merged = &series.merged;
        let refused = series.after.refused - series.before.map_or(0, |state| state.refused);
        let buckets: usize = series.touched.buckets.iter().map(Vec::len).sum();
        self.done += Ingested {
            points: 0,
            added: merged.added,
            replaced: merged.replaced,
            duplicates: merged.duplicates,
            refused,
            new_series: 0,
            buckets: buckets as u64,
        };
        self.totals.points += merged.added;
        self.totals.replaced += merged.replaced;
        self.totals.refused += refused;
        self.totals.last = self.totals.last.max(series.after.last);
    }
}

/// Nanoseconds of a record of points: some fine buckets, not more than a coarse one.
fn stretch(policy: &Policy) -> u64 {
    const FINE_BUCKETS: u64 = 64;
    let archives = policy.archives();
    let (finest, coarsest) = (archives[0].step, archives[archives.len() - 1].step);
    finest.saturating_mul(FINE_BUCKETS).min(coarsest)
}

fn stretch_of(policy: &Policy, time: i64) -> u64 {
    time as u64 / stretch(policy)
}

/// Merges, and says what is touched; nothing where a record cannot be read.
fn change(policy: &Policy, incoming: Incoming) -> Option<Changed> {
    let mut stored = Points::default();
    for record in &incoming.stored {
        stored.read_into(record)?;
    }
    let merged = merge(stored, incoming.batch);
    let before = incoming.state.unwrap_or_default();
    let newest = merged.points.times.last().copied().unwrap_or(0);
    let after = State {
        last: before.last.max(newest),
        points: before.points + merged.added,
        replaced: before.replaced + merged.replaced,
        refused: before.refused + incoming.refused,
    };
    let touched = touched(policy, &merged, after.last);
    Some(Changed {
        id: incoming.id,
        before: incoming.state,
        after,
        merged,
        touched,
    })
}

/// The stored records of the blocks that `wanted` touches, in its order; none of new series.
fn old_blocks(
    tables: &Tables<'_>,
    wanted: &[(u32, &[Vec<u64>])],
    is_new: &[bool],
) -> Result<Vec<Option<Vec<u8>>>, Fault> {
    let mut old = Vec::new();
    for ((id, archives), is_new) in wanted.iter().zip(is_new) {
        for (archive, buckets) in archives.iter().enumerate() {
            for some in buckets.chunk_by(|a, b| a / BUCKETS == b / BUCKETS) {
                let record = if *is_new {
                    None
                } else {
                    tables.blocks.get((*id, archive as u8, some[0] / BUCKETS))?
                };
                old.push(record.map(|record| record.value().to_vec()));
            }
        }
    }
    Ok(old)
}

/// Puts everything in its place, and drops what is past.
fn write(
    policy: &Policy,
    tables: &mut Tables<'_>,
    changed: &[Changed],
    replaced: &[Replacement],
) -> Result<(), Fault> {
    for replacement in replaced {
        let key = (replacement.id, replacement.archive, replacement.block);
        tables.blocks.insert(key, replacement.record.as_slice())?;
    }
    for series in changed {
        write_points(policy, tables, series)?;
        if let Some(before) = series.before {
            for (number, archive) in policy.archives().iter().enumerate() {
                let first_block = |last| archive.first_kept(last) / BUCKETS;
                let first = first_block(series.after.last);
                if first > first_block(before.last) {
                    let past = (series.id, number as u8, 0)..(series.id, number as u8, first);
                    tables.blocks.retain_in(past, |_, _| false)?;
                }
            }
        }
        if series.before != Some(series.after) {
            tables
                .series
                .insert(series.id, series.after.write().as_slice())?;
        }
    }
    Ok(())
}

/// Writes the records of points that changed. Of those that lie wholly before what the window reaches, the last one
/// alone stays: it has the point before.
fn write_points(policy: &Policy, tables: &mut Tables<'_>, series: &Changed) -> Result<(), Fault> {
    let Points { times, values } = &series.merged.points;
    let first_of = |last| stretch_of(policy, policy.reach(policy.window_start(last)));
    let first = first_of(series.after.last);
    let before = times.partition_point(|time| stretch_of(policy, *time) < first);
    let keep_from = match before {
        0 => 0,
        points => stretch_of(policy, times[points - 1]),
    };
    let mut begin = times.partition_point(|time| stretch_of(policy, *time) < keep_from);
    while begin < times.len() {
        let stretch = stretch_of(policy, times[begin]);
        let points = times[begin..].partition_point(|time| stretch_of(policy, *time) == stretch);
        let end = begin + points;
        if series.merged.fresh[begin..end].contains(&true) {
            let record = Points::write(&times[begin..end], &values[begin..end]);
            tables.raw.insert((series.id, stretch), record.as_slice())?;
        }
        begin = end;
    }
    if series
        .before
        .is_some_and(|before| first_of(before.last) < first)
    {
        let past = (series.id, 0)..(series.id, first);
        let kept = match tables.raw.range(past)?.next_back() {
            Some(record) => record?.0.value(),
            None => return Ok(()),
        };
        tables.raw.retain_in((series.id, 0)..kept, |_, _| false)?;
    }
    Ok(())
}
