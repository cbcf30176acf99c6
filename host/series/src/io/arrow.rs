//! Reads points from the Arrow IPC formats (file and stream; Feather version 2 is the file format).
//!
//! A seekable file is read by its footer; a pipe or a compressed file is read as the stream that
//! most programs write. The memory that a message needs is checked before the decoder sees it.

mod blocks;
mod cells;
mod message;
mod stream;

use super::block::Block;
use super::columns::{self, Columns, WideColumns};
use super::series_key::SeriesKey;
use super::source::{Shared, Source};
use super::stream::Stream;
use super::typed::{LABELS_EXPECTED, NameCell, Table, TimeKind};
use super::zone_columns::ZoneColumn;
use super::{IoError, ReadOptions, damaged};
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use blocks::Blocks;
use cells::{Cells, FlatColumn};
pub use cells::{is_date, may_be_label};
use std::fs::File;
use stream::Messages;
use warpstride_core::system::catch_panic;

/// A file or stream whose schema has been read.
pub(super) struct Arrow {
    table: Table,
    batches: Batches,
    columns: Columns,
    /// Those of times, values, names of series, and unused dates; none of a wide table.
    used: Vec<FlatColumn>,
    /// The kinds of times of the columns that name series, then of unused dates.
    label_times: Vec<Option<TimeKind>>,
    /// The columns of a wide table and their series; then `columns` is not used.
    wide: Option<(WideColumns, Vec<u32>)>,
}

/// The source of record batches.
enum Batches {
    Stream(Box<Messages>),
    File(Box<Blocks>),
}

/// Rows per block.
const ROWS: usize = 1 << 16;

/// What a column of timestamps must be.
const TIMES_EXPECTED: &str = "timestamps (Timestamp, Date, integers, double precision or text), in another column that --time-column names or after a conversion";

/// What a column of values must be.
const VALUES_EXPECTED: &str = "numbers (floating-point or integers; decimals after a conversion to double precision), or --value-column with another column";

impl Arrow {
    /// Reads the schema of a stream. Without a series column, all points belong to the series
    /// `name`.
    pub(super) fn stream(
        file: String,
        name: &str,
        stream: Stream,
        options: &ReadOptions,
        shared: &mut Shared,
    ) -> Result<Self, IoError> {
        let (messages, schema) = Messages::open(file.clone(), stream, shared.memory)?;
        let batches = Batches::Stream(Box::new(messages));
        Self::open(file, name, batches, &schema, options, shared)
    }

    /// Reads the schema of a file of `length` bytes. Without a series column, all points belong to
    /// the series `name`.
    pub(super) fn file(
        file: String,
        name: &str,
        (opened, length): (File, u64),
        options: &ReadOptions,
        shared: &mut Shared,
    ) -> Result<Self, IoError> {
        let (blocks, schema) = Blocks::open(file.clone(), opened, length, shared.memory)?;
        let batches = Batches::File(Box::new(blocks));
        Self::open(file, name, batches, &schema, options, shared)
    }

    fn open(
        file: String,
        name: &str,
        batches: Batches,
        schema: &SchemaRef,
        options: &ReadOptions,
        shared: &mut Shared,
    ) -> Result<Self, IoError> {
        let flat = cells::flat(schema.fields());
        let names: Vec<String> = flat.iter().map(|column| column.name.clone()).collect();
        if options.wide {
            let names: Vec<String> = schema.fields().iter().map(|f| f.name().clone()).collect();
            return Self::open_wide(file, &names, batches, schema, options, shared);
        }
        let has_numbers = |column: usize| flat[column].kind.is_numeric();
        let columns = columns::by_name(&file, &names, options, &mut shared.notes, has_numbers)?;
        let field = |column: usize| &flat[column].kind;
        let refuse = |column: usize, expected: &'static str| IoError::Type {
            file: file.clone(),
            dataset: format!(
                "column {} ({})",
                super::shorten(&names[column]),
                super::shorten(&field(column).to_string())
            ),
            expected,
        };
        let kind = cells::time_kind(field(columns.time))
            .ok_or_else(|| refuse(columns.time, TIMES_EXPECTED))?;
        if !cells::is_number(field(columns.value)) {
            return Err(refuse(columns.value, VALUES_EXPECTED));
        }
        for series in columns.series.columns() {
            if !cells::is_name(field(*series)) {
                return Err(refuse(*series, LABELS_EXPECTED));
            }
        }
        columns.reject_labels(
            &file,
            |column| cells::may_be_label(field(column)),
            |column| cells::is_text(field(column)),
            |column| cells::is_name(field(column)),
        )?;
        let hours = columns.hours(&names);
        if let Some(hours) = hours.as_ref().filter(|_| kind == TimeKind::Days) {
            return Err(hours.refusal(&file));
        }
        columns.note_unused(&file, &mut shared.notes, |column| {
            cells::is_name(field(column))
        });
        let single = match columns.series {
            SeriesKey::File => Some(shared.number_of_file(&file, name)?),
            SeriesKey::Column(_) | SeriesKey::Labels(_) => None,
        };
        let unused = columns.unused.iter();
        let dates = unused.filter(|(column, _)| cells::is_date(field(*column)));
        let dates: Vec<usize> = dates.map(|(column, _)| *column).collect();
        let named = dates.iter().map(|column| names[*column].clone()).collect();
        let may_be_zone = |zone: &ZoneColumn| {
            cells::is_text(field(zone.column)) || cells::is_number(field(zone.column))
        };
        let mut zones = columns.zones(&names, &[], options);
        zones.retain(may_be_zone);
        let read = [
            &dates[..],
            &zones.iter().map(|zone| zone.column).collect::<Vec<_>>(),
        ]
        .concat();
        let labels = columns.series.columns().iter().chain(&read);
        let label_times = labels
            .map(|column| cells::time_kind(field(*column)))
            .collect();
        let table = Table::new(file, &names[columns.time], kind, single, options)
            .with_dates(named)
            .with_zones(zones)
            .with_hours(hours);
        let used = [columns.time, columns.value]
            .into_iter()
            .chain(columns.series.columns().iter().copied())
            .chain(read);
        let used = used.map(|column| flat[column].clone()).collect();
        Ok(Self {
            table,
            batches,
            used,
            columns,
            label_times,
            wide: None,
        })
    }

    fn open_wide(
        file: String,
        names: &[String],
        batches: Batches,
        schema: &SchemaRef,
        options: &ReadOptions,
        shared: &mut Shared,
    ) -> Result<Self, IoError> {
        let wide = WideColumns::by_name(&file, names, options, &mut shared.notes)?;
        let kinds = |column: usize| schema.field(column).data_type();
        let refuse = |column: usize, expected: &'static str| IoError::Type {
            file: file.clone(),
            dataset: format!(
                "column {} ({})",
                super::shorten(&names[column]),
                super::shorten(&kinds(column).to_string())
            ),
            expected,
        };
        let kind =
            cells::time_kind(kinds(wide.time)).ok_or_else(|| refuse(wide.time, TIMES_EXPECTED))?;
        let values = wide.values.iter().map(|(column, _)| *column);
        if let Some(column) = values
            .chain(wide.unnamed.iter().copied())
            .find(|column| wide.unnamed.contains(column) || !cells::is_number(kinds(*column)))
        {
            return Err(refuse(column, columns::WIDE_EXPECTED));
        }
        let numbers = wide.numbers(&file, shared)?;
        let table = Table::new(file, &names[wide.time], kind, None, options)
            .with_hours(wide.hours(names))
            .with_zones(wide.zones(names, options));
        let columns = Columns {
            time: wide.time,
            date: None,
            value: wide.time,
            series: SeriesKey::File,
            unused: Vec::new(),
        };
        Ok(Self {
            table,
            batches,
            columns,
            used: Vec::new(),
            label_times: Vec::new(),
            wide: Some((wide, numbers)),
        })
    }

    /// The blocks of a record batch of a wide table.
    fn wide_blocks(
        &mut self,
        batch: &RecordBatch,
        shared: &mut Shared,
    ) -> Result<Vec<Block>, IoError> {
        let Some((wide, numbers)) = &self.wide else {
            return Ok(Vec::new());
        };
        let broken = |why: &str| damaged(&self.table.file, "Arrow data", why);
        let cells = |column: usize| batch.columns().get(column).and_then(Cells::of);
        let opened = catch_panic(|| {
            let values = wide.values.iter();
            let values: Option<Vec<Cells>> = values.map(|(column, _)| cells(*column)).collect();
            (cells(wide.time), values)
        });
        let (Some(time), Some(values)) = opened.ok_or_else(|| broken("a column is damaged"))?
        else {
            return Err(broken("a record batch does not match the schema"));
        };
        let mut blocks = Vec::new();
        let rows = batch.num_rows();
        let step = columns::wide_rows(ROWS, numbers.len());
        for from in (0..rows).step_by(step) {
            let count = step.min(rows - from);
            let block = self.table.wide_block(
                count,
                numbers,
                |row| time.at(from + row),
                |position, row| values[position].at(from + row),
                shared,
            )?;
            if !block.is_empty() {
                blocks.push(block);
            }
        }
        Ok(blocks)
    }
}

impl Source for Arrow {
    fn next(&mut self, shared: &mut Shared) -> Result<Option<Vec<Block>>, IoError> {
        let next = match &mut self.batches {
            Batches::Stream(messages) => messages.batch()?,
            Batches::File(blocks) => blocks.batch()?,
        };
        let Some(batch) = next else {
            self.table.end(shared)?;
            return Ok(None);
        };
        if self.wide.is_some() {
            return self.wide_blocks(&batch, shared).map(Some);
        }
        let broken = |why: &str| damaged(&self.table.file, "Arrow data", why);
        let opened = catch_panic(|| {
            let used = self.used.iter().map(|column| column.of(&batch));
            used.collect::<Option<Vec<Cells>>>()
        });
        let opened = opened.ok_or_else(|| broken("a column is damaged"))?;
        let Some([time, value, rest @ ..]) = opened.as_deref() else {
            return Err(broken("a record batch does not match the schema"));
        };
        let (series, dates) = rest.split_at(self.columns.series.columns().len());
        let mut blocks = Vec::new();
        let rows = batch.num_rows();
        for from in (0..rows).step_by(ROWS) {
            let part = from..rows.min(from + ROWS);
            let count = part.len();
            let cells = part.map(|row| {
                let name = NameCell::of(&self.columns.series, &self.label_times, |position| {
                    series[position].at(row)
                });
                let kinds = self.label_times.iter().skip(series.len());
                let dates = dates.iter().zip(kinds);
                let dates = dates
                    .map(|(cells, kind)| cells.at(row).label_of(*kind))
                    .collect();
                (time.at(row), value.at(row), name, dates)
            });
            let block = self.table.block(count, cells, shared)?;
            if !block.is_empty() {
                blocks.push(block);
            }
        }
        Ok(Some(blocks))
    }

    fn file(&self) -> &str {
        &self.table.file
    }

    fn unit(&self) -> super::TimeUnit {
        self.table.unit
    }
}
