//! Converts rows of typed tables (Parquet and Arrow) to points.

mod cells;

use super::block::Block;
use super::columns::{Hours, is_missing, overlapping_dates};
use super::names::{Lookup, NameError, Names};
use super::rounded::Rounded;
use super::rows::{Fault, Faults, WITHOUT_ONE};
use super::source::Shared;
use super::time_span::TimeSpan;
use super::timestamp::{LocalTimes, TimestampError, TimestampFormat, Unit, UnitOrigin, day, whole};
use super::unused_dates::UnusedDates;
use super::zone_columns::{ZoneColumn, ZoneFound};
use super::{IoError, OnError, ReadOptions, TimeFormat, TimeUnit};
pub use cells::time_label;
pub(super) use cells::{Cell, NameCell, TimeKind};
use cells::{DAY, julian};

/// What a column of labels must be.
pub(super) const LABELS_EXPECTED: &str = "text, bytes, integers, booleans, dates, times with a date or UUIDs (times of day and durations after a conversion to text)";

/// Converts the rows of a table to points.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) file: String,
    kind: TimeKind,
    time_format: Option<TimestampFormat>,
    pub(super) unit: TimeUnit,
    /// `--time-unit`.
    stated_unit: TimeUnit,
    /// Whether an option states the unit.
    stated: bool,
    /// Whether `--time-format` is given.
    has_stated_format: bool,
    /// How times without an offset are read, if not in UTC.
    local: Option<LocalTimes>,
    /// Number of times that clocks show twice.
    twice: u64,
    on_error: OnError,
    longest_name: usize,
    /// Index of the series if the file is one series.
    pub(super) single: Option<u32>,
    /// Number of rows so far.
    rows: u64,
    /// Integers that double precision rounds.
    rounded: Rounded,
    /// The times so far.
    span: TimeSpan,
    /// Columns of dates and times that nothing is read from.
    date_columns: Vec<String>,
    dates: UnusedDates,
    /// Columns after those of dates that may have the zones of times without an offset.
    zones: Vec<ZoneColumn>,
    zone: Option<ZoneFound>,
    /// Hours that nothing is read from.
    hours: Option<Hours>,
}

impl Table {
    /// `time` is the name of the timestamp column.
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
            time_format: options.stated_format(),
            unit: match options.unit() {
                TimeUnit::Auto => super::columns::unit_of(time, options.time_column.is_some()),
                stated => stated,
            },
            stated_unit: options.time_unit,
            stated: options.unit() != TimeUnit::Auto,
            has_stated_format: options.time_format != TimeFormat::Auto,
            local: options.local_times(),
            twice: 0,
            on_error: options.on_error,
            longest_name: options.name_limit(),
            single,
            rows: 0,
            rounded: Rounded::default(),
            span: TimeSpan::default(),
            date_columns: Vec::new(),
            dates: UnusedDates::default(),
            zones: Vec::new(),
            zone: None,
            hours: None,
        }
    }

    /// With a column of hours that nothing is read from.
    pub(super) fn with_hours(self, hours: Option<Hours>) -> Self {
        Self { hours, ..self }
    }

    /// With columns that may have the zones of times.
    pub(super) fn with_zones(self, zones: Vec<ZoneColumn>) -> Self {
        Self { zones, ..self }
    }

    /// With columns of dates and times that nothing is read from.
    pub(super) fn with_dates(self, date_columns: Vec<String>) -> Self {
        Self {
            date_columns,
            ..self
        }
    }

    /// Makes a block from `rows` rows of cells (time, value, series, unused dates and zones).
    pub(super) fn block<'c>(
        &mut self,
        rows: usize,
        cells: impl Iterator<Item = (Cell<'c>, Cell<'c>, NameCell<'c>, Vec<Cell<'c>>)>,
        shared: &mut Shared,
    ) -> Result<Block, IoError> {
        let known = shared.names.len();
        let mut filled = self.fill(rows, cells, &shared.names);
        self.reject_zone()?;
        let first = self.rows + 1;
        self.rows += rows as u64;
        shared.record_faults(&self.file, "row", first, filled.faults, self.on_error)?;
        shared.missing_of_file += filled.missing;
        self.span
            .add(&filled.block.times, self.local.map(|local| local.zone));
        match self.single {
            Some(number) => filled.block.series = vec![number; filled.block.times.len()],
            None => {
                shared.renumber(&self.file, &mut filled.block.series, known, &filled.fresh)?;
            }
        }
        for (column, point, date) in filled.dates {
            let (series, time) = (filled.block.series[point], filled.block.times[point]);
            self.dates.add(column, series, date, time);
        }
        Ok(filled.block)
    }

    /// Makes a block from `rows` rows of a wide table with these series. `time` and `value` return
    /// the next timestamp and the next value of a column (by its position in `series`); null is no
    /// point.
    pub(super) fn wide_block<'c>(
        &mut self,
        rows: usize,
        series: &[u32],
        mut time: impl FnMut(usize) -> Cell<'c>,
        mut value: impl FnMut(usize, usize) -> Cell<'c>,
        shared: &mut Shared,
    ) -> Result<Block, IoError> {
        let points = rows.saturating_mul(series.len());
        let mut block = Block {
            series: Vec::with_capacity(points),
            times: Vec::with_capacity(points),
            values: Vec::with_capacity(points),
        };
        let mut faults = Faults::default();
        for row in 0..rows {
            let number = row as u64;
            let before = block.times.len();
            let moment = time(row);
            let time = self.time(number, moment);
            let mut fault = None;
            for (position, series) in series.iter().enumerate() {
                // Columns advance together, whatever is wrong with a row.
                let cell = value(position, row);
                if let Some(zone) = self.zones.iter().position(|zone| zone.column == position) {
                    self.find_zone(zone, moment, cell);
                }
                let (Ok(time), None) = (&time, &fault) else {
                    continue;
                };
                if cell == Cell::Null {
                    shared.missing_of_file += 1;
                    continue;
                }
                match self.value(number, cell) {
                    Ok(value) => {
                        block.series.push(*series);
                        block.times.push(*time);
                        block.values.push(value);
                    }
                    Err(wrong) => fault = Some(wrong),
                }
            }
            if let Some(wrong) = time.err().or(fault) {
                block.series.truncate(before);
                block.times.truncate(before);
                block.values.truncate(before);
                faults.add(|| wrong);
                if self.on_error == OnError::Fail {
                    break;
                }
            }
        }
        self.reject_zone()?;
        let first = self.rows + 1;
        self.rows += rows as u64;
        shared.record_faults(&self.file, "row", first, faults, self.on_error)?;
        self.span
            .add(&block.times, self.local.map(|local| local.zone));
        Ok(block)
    }

    fn fill<'c>(
        &mut self,
        rows: usize,
        cells: impl Iterator<Item = (Cell<'c>, Cell<'c>, NameCell<'c>, Vec<Cell<'c>>)>,
        names: &Names,
    ) -> Filled {
        let mut lookup = Lookup::new(names, self.longest_name);
        let mut block = Block {
            series: Vec::with_capacity(if self.single.is_none() { rows } else { 0 }),
            times: Vec::with_capacity(rows),
            values: Vec::with_capacity(rows),
        };
        let mut faults = Faults::default();
        let mut shared_missing = 0;
        let mut dates = Vec::new();
        for (row, (time, value, series, unused)) in cells.enumerate() {
            let row = row as u64;
            let zones = unused.iter().skip(self.date_columns.len());
            for (position, cell) in zones.enumerate() {
                self.find_zone(position, time, *cell);
            }
            // A row without a value is no point, whatever else it has.
            if value == Cell::Null {
                shared_missing += 1;
                continue;
            }
            let point = self.time(row, time).and_then(|time| {
                let value = self.value(row, value)?;
                if self.single.is_none() {
                    block.series.push(number(&mut lookup, row, &series)?);
                }
                Ok((time, value))
            });
            match point {
                Ok((time, value)) => {
                    let point = block.times.len();
                    let read = unused.iter().take(self.date_columns.len()).enumerate();
                    dates.extend(
                        read.filter_map(|(column, cell)| Some((column, point, cell.date()?))),
                    );
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
            missing: shared_missing,
            dates,
            faults,
            fresh: lookup.into_fresh(),
        }
    }

    /// Looks for the zone of a time without an offset in the cell of one of [`Self::zones`].
    #[inline]
    fn find_zone(&mut self, position: usize, time: Cell<'_>, cell: Cell<'_>) {
        if self.zone.is_some() {
            return;
        }
        let text = match cell {
            Cell::Real(number) => number.to_string().into_bytes(),
            other => other.into_label().into_owned(),
        };
        let is_local = match (time, self.kind) {
            (Cell::Integer(_), TimeKind::Naive(_)) | (Cell::Day(_), _) => true,
            (Cell::Text(text), _) => {
                let assumed = self.time_format.as_ref().unwrap_or(&TimestampFormat::Iso);
                assumed.is_without_offset(text)
            }
            _ => false,
        };
        if is_local && !is_missing(&text) && self.zones[position].is_zone(&text) {
            self.zone = Some(ZoneFound {
                position,
                time: String::new(),
                cell: String::from_utf8_lossy(&text).into_owned(),
            });
        }
    }

    /// Fails if times without an offset have zones in another column.
    fn reject_zone(&self) -> Result<(), IoError> {
        let found = self
            .zone
            .as_ref()
            .map(|found| (found, &self.zones[found.position]));
        match found {
            Some((found, zone)) => Err(zone.refusal(&self.file, None, found, &TimeFormat::Auto)),
            None => Ok(()),
        }
    }

    #[inline]
    fn time(&mut self, row: u64, cell: Cell<'_>) -> Result<i64, Fault> {
        let read = match (cell, self.kind) {
            (Cell::Null, _) => {
                return Err(Fault::new(
                    row,
                    "none (null)".to_owned(),
                    format!("a timestamp; {WITHOUT_ONE}"),
                ));
            }
            (Cell::Integer(n), TimeKind::SinceEpoch(unit)) => whole(n, unit, UnitOrigin::Stated),
            (Cell::Day(n), _) if n < 0 => Err(TimestampError::TooEarly),
            (Cell::Day(n), _) => n
                .checked_mul(DAY)
                .ok_or(TimestampError::TooLate)
                .and_then(|local| self.naive(local)),
            (Cell::Integer(n), TimeKind::Naive(unit)) => {
                whole(n, unit, UnitOrigin::Stated).and_then(|local| self.naive(local))
            }
            (Cell::Julian(nanoseconds, day), _) => julian(nanoseconds, day),
            (Cell::Integer(n), _) => self.plain_number(n),
            (Cell::Unsigned(n), _) => match i64::try_from(n) {
                Ok(n) => self.plain_number(n),
                Err(_) => Err(TimestampError::TooLate),
            },
            (Cell::Text(text), _) => self.text(text),
            // The shortest digits of the number are those that were written.
            (Cell::Real(n), _) => self.text(format!("{n}").as_bytes()),
            (Cell::Boolean(_) | Cell::Bytes(_) | Cell::Moment(..), _) => {
                Err(TimestampError::Invalid)
            }
        };
        read.map_err(|why| self.timestamp_fault(row, cell, why))
    }

    /// Nanoseconds since 1970, UTC, of nanoseconds on local clocks.
    fn naive(&mut self, local: i64) -> Result<i64, TimestampError> {
        match self.local {
            Some(times) => times.nanoseconds(local, &mut self.twice),
            None => Ok(local),
        }
    }

    fn plain_number(&mut self, number: i64) -> Result<i64, TimestampError> {
        let (auto, stated) = (self.unit, self.stated);
        let time_format = self
            .time_format
            .get_or_insert_with(|| TimestampFormat::Epoch {
                unit: Unit::named(auto).unwrap_or(Unit::of_magnitude(number.unsigned_abs())),
                origin: UnitOrigin::of(auto, stated, number.unsigned_abs()),
            });
        match time_format {
            TimestampFormat::Epoch { unit, origin } => whole(number, *unit, *origin),
            TimestampFormat::Pattern(..) => self.text(number.to_string().as_bytes()),
            _ => Err(TimestampError::Invalid),
        }
    }

    fn text(&mut self, text: &[u8]) -> Result<i64, TimestampError> {
        let text = text.trim_ascii();
        if self.time_format.is_none() {
            let found = TimestampFormat::assumed(text, self.unit, self.stated);
            self.time_format = found.map(|found| found.in_zone(self.local));
        }
        let time_format = self.time_format.as_ref();
        let time_format = time_format.unwrap_or(&TimestampFormat::Iso);
        time_format.read_counting(text, &mut self.twice)
    }

    #[cold]
    fn timestamp_fault(&self, row: u64, cell: Cell<'_>, why: TimestampError) -> Fault {
        let text = match cell {
            Cell::Integer(n) => n.to_string(),
            Cell::Unsigned(n) => n.to_string(),
            Cell::Julian(nanoseconds, day) => format!("Julian day {day}, {nanoseconds} ns"),
            Cell::Text(text) => String::from_utf8_lossy(&text[..text.len().min(400)]).into_owned(),
            Cell::Real(n) => n.to_string(),
            Cell::Day(days) => day(days),
            Cell::Boolean(_) | Cell::Bytes(_) | Cell::Moment(..) | Cell::Null => String::new(),
        };
        let time_format = match self.kind {
            TimeKind::SinceEpoch(unit) | TimeKind::Naive(unit) => Some(TimestampFormat::Epoch {
                unit,
                origin: UnitOrigin::Stated,
            }),
            _ => self.time_format.clone(),
        };
        Fault::time_of_table(
            row,
            &text,
            why,
            &time_format.unwrap_or(TimestampFormat::Iso),
        )
    }

    #[inline]
    fn value(&mut self, row: u64, cell: Cell<'_>) -> Result<f64, Fault> {
        Ok(match cell {
            Cell::Real(value) => value,
            Cell::Integer(n) => self.rounded.integer(i128::from(n)),
            Cell::Unsigned(n) => self.rounded.integer(i128::from(n)),
            Cell::Null => f64::NAN,
            Cell::Text(_)
            | Cell::Julian(..)
            | Cell::Moment(..)
            | Cell::Day(_)
            | Cell::Boolean(_)
            | Cell::Bytes(_) => {
                return Err(Fault::value(row, "a text"));
            }
        })
    }

    /// Adds notes about null values and a unit that was not used.
    ///
    /// # Errors
    /// There are columns of dates that tell series apart, or hours beside dates.
    pub(super) fn end(&mut self, shared: &mut Shared) -> Result<(), IoError> {
        if let Some(hours) = self.hours.as_ref().filter(|_| self.span.has_dates_alone()) {
            return Err(hours.refusal(&self.file));
        }
        let is_text = self
            .time_format
            .as_ref()
            .is_some_and(TimestampFormat::is_text);
        if self.kind != TimeKind::Inferred && self.has_stated_format {
            let what =
                "its timestamps are of a timestamp type: --time-format has no effect on them";
            shared.notes.add(&self.file, what.to_owned());
        }
        if self.kind != TimeKind::Inferred
            && let Some(what) = self.span.last().and_then(super::january_of_1970)
        {
            shared.notes.add(&self.file, what);
        }
        if let Some(what) = self.span.note(self.time_format.as_ref()) {
            shared.notes.add(&self.file, what);
        }
        if self.kind != TimeKind::Inferred || is_text {
            let notes = &mut shared.notes;
            notes.add_unused_unit(&self.file, self.stated_unit);
        }
        shared.twice_of_file = self.twice;
        shared.rounded_of_file.add(&self.rounded);
        shared.note_counts(&self.file, self.local);
        let labels = self.dates.labels();
        let labels: Vec<_> = labels.iter().map(|at| &self.date_columns[*at]).collect();
        if labels.is_empty() {
            return Ok(());
        }
        let names = labels.iter().map(|name| name.as_str());
        Err(overlapping_dates(&self.file, names))
    }
}

struct Filled {
    block: Block,
    /// Number of rows without a value.
    missing: u64,
    /// (column, point, date) of unused dates.
    dates: Vec<(usize, usize, u64)>,
    faults: Faults,
    fresh: Names,
}

/// The index of the series named by a cell.
#[inline]
fn number(lookup: &mut Lookup<'_>, row: u64, name: &NameCell<'_>) -> Result<u32, Fault> {
    let (named, text): (_, &[u8]) = match name {
        NameCell::One(Cell::Text(name)) => (lookup.number(name), name),
        NameCell::One(Cell::Null) | NameCell::None => (Err(NameError::Empty), b""),
        NameCell::One(cell) => (lookup.number(&cell.into_label()), b""),
        NameCell::Labels(name) => (lookup.number(name), name),
    };
    named.map_err(|why| Fault::name(row, why, text))
}
