//! One batch on its way: read what its series have, merge, compute what is touched.

use super::Ingested;
use super::tables::{Tables, old_blocks, stretch_of, write};
use crate::io::{Bytes, Memory};
use crate::series::store::file::{A_NAME, BLOCKS, Fault, META, NAMES, RAW, SERIES, on_engine};
use crate::series::store::merge::{Merged, Touched, merge, touched};
use crate::series::store::read::Totals;
use crate::series::store::record::{Place, Points, State, open_id, seal_id};
use crate::series::store::replace::replacements;
use crate::series::store::{Policy, StoreError};
use crate::series::{Batch, Engine};
use rayon::prelude::*;
use redb::{ReadableTable, WriteTransaction};

/// Points that are computed from at a time, stored ones included; a series alone may have more.
const POINTS_AT_A_TIME: usize = 4 << 20;

/// Bytes that a point takes while it is merged and aggregated.
const BYTES_OF_A_POINT: usize = 120;

/// The file's bytes of a stored point, at least.
const LEAST_BYTES_STORED: usize = 9;

/// A series of a batch.
struct Incoming {
    id: u32,
    /// Its number in the batch.
    place: usize,
    state: Option<State>,
    /// The batch's points that are not too late.
    batch: Vec<(i64, f64)>,
    refused: u64,
    /// Stretches of time and records of its stored points, as far back as they are needed, in their order.
    stored: Vec<(u64, Vec<u8>)>,
}

impl Incoming {
    /// Points.
    fn size(&self) -> usize {
        self.batch.len() + self.size_stored()
    }

    /// Stored points, estimated.
    fn size_stored(&self) -> usize {
        let bytes: usize = self.stored.iter().map(|(_, record)| record.len()).sum();
        bytes / LEAST_BYTES_STORED
    }
}

/// A series after its points were merged.
pub(super) struct Changed {
    pub(super) id: u32,
    pub(super) before: Option<State>,
    pub(super) after: State,
    pub(super) merged: Merged,
    pub(super) touched: Touched,
}

/// One batch on its way.
pub(super) struct Ingest<'a> {
    pub(super) file: &'a str,
    pub(super) policy: &'a Policy,
    pub(super) names: &'a [String],
    pub(super) batch: &'a Batch,
    pub(super) engine: &'a mut dyn Engine,
    pub(super) totals: Totals,
    pub(super) done: Ingested,
}

impl Ingest<'_> {
    pub(super) fn run(
        mut self,
        transaction: &WriteTransaction,
    ) -> Result<(Ingested, Totals), StoreError> {
        let file = self.file;
        let known = self.totals.series;
        let mut series = on_engine(file, || self.identify(transaction))?;
        // In the order of the tables.
        series.sort_unstable();
        let mut tables = on_engine(file, || {
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
                let incoming = on_engine(file, || {
                    self.read(&tables, id, place, u64::from(id) < known)
                })?;
                points += incoming.size();
                some.push(incoming);
            }
            self.fits(&some, points)?;
            self.advance(&mut tables, some)?;
        }
        self.totals.batches += 1;
        on_engine(file, || {
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
                Some(id) => open_id(name, id).ok_or(Fault::Record(A_NAME))?,
                None => {
                    let id = u32::try_from(self.totals.series).map_err(|_| {
                        StoreError::Series("the store has 2^32 series: no more fit".to_owned())
                    })?;
                    self.totals.series += 1;
                    self.done.new_series += 1;
                    table.insert(name.as_str(), seal_id(name, id))?;
                    id
                }
            };
            found.push((id, place));
        }
        Ok(found)
    }

    /// What is stored of a series, as far as its new points reach; one that was `known` before has a state.
    fn read(
        &self,
        tables: &Tables<'_>,
        id: u32,
        place: usize,
        known: bool,
    ) -> Result<Incoming, Fault> {
        let record = tables.series.get(id)?;
        let state = match record {
            None if known => return Err(Fault::Record("the state of a series")),
            None => None,
            Some(record) => Some(
                State::read(record.value(), id).ok_or(Fault::Record("the state of a series"))?,
            ),
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
                let (key, record) = before?;
                stored.push((key.value().1, record.value().to_vec()));
            }
            for record in tables.raw.range((id, stretch)..=(id, u64::MAX))? {
                let (key, record) = record?;
                stored.push((key.value().1, record.value().to_vec()));
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
            new: largest.map_or(0, |incoming| incoming.batch.len()),
            stored: largest.map_or(0, Incoming::size_stored),
            cure: match largest {
                Some(largest) if largest.batch.len() < largest.size_stored() => {
                    "a policy with a smaller back_window"
                }
                _ => "a smaller --batch",
            },
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
        let changed = on_engine(file, || changed.ok_or(Fault::Record("points of a series")))?;
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
            let old = on_engine(file, || old_blocks(tables, &wanted, &is_new))?;
            replaced = on_engine(file, || {
                replacements(policy, &resampled, &wanted, &old)
                    .ok_or(Fault::Record("a block of buckets"))
            })?;
        }
        on_engine(file, || write(policy, tables, &changed, &replaced))
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

/// Merges, and says what is touched; nothing where a record cannot be read.
fn change(policy: &Policy, incoming: Incoming) -> Option<Changed> {
    let mut stored = Points::default();
    for (stretch, record) in &incoming.stored {
        stored.read_into(record, Place::of_points(incoming.id, *stretch))?;
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
