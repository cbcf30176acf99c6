//! Rows of tables whose columns have types: cells to points.

use super::names::{Lookup, Names, NoName};
use super::reader::{Block, Shared};
use super::rows::{Fault, Faults};
use super::timestamp::{Clock, NoTime, Unit, whole};
use super::{IoError, OnError, ReadOptions, TimeUnit};

/// One cell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Cell<'c> {
    Null,
    Whole(i64),
    /// An unsigned number.
    Natural(u64),
    Real(f64),
    /// Nanoseconds of a day, and its Julian number.
    Julian(u64, u32),
    Text(&'c [u8]),
}

/// What a column of timestamps holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TimeKind {
    /// So many units since 1970.
    Stamps(Unit),
    /// Days since 1970.
    Days,
    /// Days of Julius Scaliger and nanoseconds, Parquet's INT96.
    Julian,
    /// Numbers or texts of which the first tells the clock.
    Plain,
}

/// The Julian day that begins at noon of 1970-01-01; files count it from midnight.
const JULIAN_1970: i64 = 2_440_588;
const DAY: i64 = 86_400_000_000_000;

/// How the rows of a table become points.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) file: String,
    kind: TimeKind,
    clock: Option<Clock>,
    pub(super) unit: TimeUnit,
    on_error: OnError,
    longest_name: Option<usize>,
    /// The series' number where the file is one.
    pub(super) single: Option<u32>,
    /// Rows so far.
    rows: u64,
    /// Values that are null.
    nulls: u64,
}

impl Table {
    /// `time` is the name of the column of timestamps.
    pub(super) fn new(
        file: String,
        time: &str,
        kind: TimeKind,
        single: Option<u32>,
        options: &ReadOptions,
    ) -> Self {
        Self {
            file,
            kind,
            clock: None,
            unit: match options.time_unit {
                TimeUnit::Auto => super::columns::unit_of(time),
                stated => stated,
            },
            on_error: options.on_error,
            longest_name: options.longest_name,
            single,
            rows: 0,
            nulls: 0,
        }
    }

    /// A block of the cells of `rows` rows, each (time, value, series).
    pub(super) fn block<'c>(
        &mut self,
        rows: usize,
        cells: impl Iterator<Item = (Cell<'c>, Cell<'c>, Cell<'c>)>,
        shared: &mut Shared,
    ) -> Result<Block, IoError> {
        let known = shared.names.len();
        let mut filled = self.fill(rows, cells, &shared.names);
        let first = self.rows + 1;
        self.rows += rows as u64;
        shared.settle(&self.file, "row", first, filled.faults, self.on_error)?;
        match self.single {
            Some(number) => filled.block.series = vec![number; filled.block.times.len()],
            None => {
                shared.renumber(&self.file, &mut filled.block.series, known, &filled.fresh)?;
            }
        }
        Ok(filled.block)
    }

    fn fill<'c>(
        &mut self,
        rows: usize,
        cells: impl Iterator<Item = (Cell<'c>, Cell<'c>, Cell<'c>)>,
        names: &Names,
    ) -> Filled {
        let mut lookup = Lookup::new(names, self.longest_name);
        let mut block = Block {
            series: Vec::with_capacity(if self.single.is_none() { rows } else { 0 }),
            times: Vec::with_capacity(rows),
            values: Vec::with_capacity(rows),
        };
        let mut faults = Faults::default();
        for (row, (time, value, series)) in cells.enumerate() {
            let row = row as u64;
            let point = self.time(row, time).and_then(|time| {
                let value = self.value(row, value)?;
                if self.single.is_none() {
                    block.series.push(number(&mut lookup, row, series)?);
                }
                Ok((time, value))
            });
            match point {
                Ok((time, value)) => {
                    block.times.push(time);
                    block.values.push(value);
                }
                Err(fault) => faults.add(|| fault),
            }
            if faults.count > 0 && self.on_error == OnError::Fail {
                break;
            }
        }
        Filled {
            block,
            faults,
            fresh: lookup.into_fresh(),
        }
    }

    #[inline]
    fn time(&mut self, row: u64, cell: Cell<'_>) -> Result<i64, Fault> {
        let read = match (cell, self.kind) {
            (Cell::Null, _) => {
                return Err(Fault::new(row, "the timestamp is null".to_owned(), "one"));
            }
            (Cell::Whole(n), TimeKind::Stamps(unit)) => whole(n, unit, false),
            (Cell::Whole(n), TimeKind::Days) if n < 0 => Err(NoTime::Early),
            (Cell::Whole(n), TimeKind::Days) => n.checked_mul(DAY).ok_or(NoTime::Late),
            (Cell::Julian(nanoseconds, day), _) => julian(nanoseconds, day),
            (Cell::Whole(n), _) => self.plain_number(n),
            (Cell::Natural(n), _) => match i64::try_from(n) {
                Ok(n) => self.plain_number(n),
                Err(_) => Err(NoTime::Late),
            },
            (Cell::Text(text), _) => self.text(text),
            (Cell::Real(_), _) => Err(NoTime::Form),
        };
        read.map_err(|why| self.no_time(row, cell, why))
    }

    fn plain_number(&mut self, number: i64) -> Result<i64, NoTime> {
        let auto = self.unit;
        let clock = *self.clock.get_or_insert_with(|| Clock::Epoch {
            unit: Unit::named(auto).unwrap_or(Unit::of_magnitude(number.unsigned_abs())),
            concluded: auto == TimeUnit::Auto,
        });
        match clock {
            Clock::Epoch { unit, concluded } => whole(number, unit, concluded),
            Clock::Iso => Err(NoTime::Form),
        }
    }

    fn text(&mut self, text: &[u8]) -> Result<i64, NoTime> {
        let text = text.trim_ascii();
        if self.clock.is_none() {
            self.clock = Clock::of_first(text, self.unit);
        }
        self.clock.unwrap_or(Clock::Iso).read(text)
    }

    #[cold]
    fn no_time(&self, row: u64, cell: Cell<'_>, why: NoTime) -> Fault {
        let text = match cell {
            Cell::Whole(n) => n.to_string(),
            Cell::Natural(n) => n.to_string(),
            Cell::Julian(nanoseconds, day) => format!("Julian day {day}, {nanoseconds} ns"),
            Cell::Text(text) => String::from_utf8_lossy(&text[..text.len().min(400)]).into_owned(),
            Cell::Real(_) | Cell::Null => String::new(),
        };
        let clock = match self.kind {
            TimeKind::Stamps(unit) => Some(Clock::Epoch {
                unit,
                concluded: false,
            }),
            _ => self.clock,
        };
        Fault::time(row, &text, why, clock.unwrap_or(Clock::Iso))
    }

    #[inline]
    fn value(&mut self, row: u64, cell: Cell<'_>) -> Result<f64, Fault> {
        Ok(match cell {
            Cell::Real(value) => value,
            Cell::Whole(n) => n as f64,
            Cell::Natural(n) => n as f64,
            Cell::Null => {
                self.nulls += 1;
                f64::NAN
            }
            Cell::Text(_) | Cell::Julian(..) => return Err(Fault::value(row, "a text")),
        })
    }

    /// Says what was made of nulls.
    pub(super) fn end(&mut self, shared: &mut Shared) {
        if self.nulls > 0 {
            let note = format!("{} values are null and taken as NaN", self.nulls);
            shared.notes.add(&self.file, note);
            self.nulls = 0;
        }
    }
}

struct Filled {
    block: Block,
    faults: Faults,
    fresh: Names,
}

fn julian(nanoseconds: u64, day: u32) -> Result<i64, NoTime> {
    if nanoseconds >= DAY.unsigned_abs() {
        return Err(NoTime::Form);
    }
    let days = i64::from(day) - JULIAN_1970;
    if days < 0 {
        return Err(NoTime::Early);
    }
    days.checked_mul(DAY)
        .and_then(|n| n.checked_add(nanoseconds as i64))
        .ok_or(NoTime::Late)
}

/// The number of the series that a cell names.
#[inline]
fn number(lookup: &mut Lookup<'_>, row: u64, cell: Cell<'_>) -> Result<u32, Fault> {
    let named = match cell {
        Cell::Text(name) => lookup.number(name),
        Cell::Whole(n) => lookup.number(n.to_string().as_bytes()),
        Cell::Natural(n) => lookup.number(n.to_string().as_bytes()),
        _ => Err(NoName::Empty),
    };
    named.map_err(|why| {
        Fault::name(
            row,
            why,
            if let Cell::Text(name) = cell {
                name
            } else {
                b""
            },
        )
    })
}
