//! Arrow's interprocess formats (file and stream; Feather version 2 is the first) to points.
//!
//! A file that can be searched is read by its footer; through a pipe, or compressed, it is read as the stream that most
//! programs make of it. Each message is held against the memory before the decoder sees it.

mod blocks;
mod cells;
mod stream;

use super::columns::{self, Columns};
use super::input::Stream;
use super::reader::{Block, Shared, Source};
use super::typed::{Cell, Table};
use super::{IoError, Memory, ReadOptions, allow, damaged};
use crate::io::contained;
use arrow_ipc::{Endianness, Message, Schema as Described};
use arrow_schema::{Schema, SchemaRef};
use blocks::Blocks;
use cells::Cells;
use std::fs::File;
use stream::Messages;

/// A file or stream whose columns are known.
pub(super) struct Arrow {
    table: Table,
    batches: Batches,
    columns: Columns,
}

/// Where batches come from.
enum Batches {
    Stream(Box<Messages>),
    File(Box<Blocks>),
}

/// Rows of a block.
const ROWS: usize = 1 << 16;
/// What begins a message since version 0.15.
const MARK: [u8; 4] = [0xff; 4];
/// Memory that a byte of a schema may become.
const GROWTH: u128 = 64;

impl Arrow {
    /// Reads the schema of a stream. One without a column of series is the series `name`.
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

    /// Reads the schema of a file of `length` bytes. One without a column of series is the series `name`.
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
        let names: Vec<String> = schema.fields().iter().map(|f| f.name().clone()).collect();
        let columns = columns::by_name(&file, &names, options, &mut shared.notes)?;
        let field = |column: usize| schema.field(column).data_type();
        let refuse = |column: usize, expected: &'static str| IoError::Type {
            file: file.clone(),
            dataset: format!(
                "column {} ({})",
                super::shorten(&names[column]),
                super::shorten(&field(column).to_string())
            ),
            expected,
        };
        let kind = cells::time_kind(field(columns.time)).ok_or_else(|| {
            refuse(
                columns.time,
                "timestamps (Timestamp, Date, whole numbers or texts)",
            )
        })?;
        if !cells::is_number(field(columns.value)) {
            return Err(refuse(
                columns.value,
                "numbers (floating-point or whole ones)",
            ));
        }
        if let Some(series) = columns.series
            && !cells::is_name(field(series))
        {
            return Err(refuse(series, "texts or whole numbers"));
        }
        let single = match columns.series {
            Some(_) => None,
            None => Some(shared.number_of_file(&file, name)?),
        };
        let table = Table::new(file, &names[columns.time], kind, single, options);
        Ok(Self {
            table,
            batches,
            columns,
        })
    }
}

/// The decoder's form of a schema.
fn schema_of(file: &str, described: Described<'_>) -> Result<SchemaRef, IoError> {
    let broken = |e: &dyn std::fmt::Display| damaged(file, "its Arrow schema", e);
    if described.endianness() != Endianness::Little {
        return Err(broken(
            &"its numbers are big-endian, which is not read here",
        ));
    }
    let schema: Schema = contained(|| arrow_ipc::convert::try_fb_to_schema(described))
        .ok_or_else(|| broken(&"it is damaged"))?
        .map_err(|e| broken(&e))?;
    Ok(SchemaRef::new(schema))
}

/// Holds what compressed buffers of a message say that they become against the memory.
fn check(file: &str, message: &Message<'_>, body: &[u8], memory: Memory) -> Result<(), IoError> {
    let batch = message
        .header_as_record_batch()
        .or_else(|| message.header_as_dictionary_batch().and_then(|d| d.data()));
    let Some(batch) = batch else {
        return Ok(());
    };
    let mut needed = 2 * body.len() as u128;
    for buffer in batch.buffers().into_iter().flatten() {
        if batch.compression().is_none() || buffer.length() == 0 {
            continue;
        }
        let place = usize::try_from(buffer.offset()).ok();
        let announced = place
            .and_then(|place| body.get(place..)?.first_chunk::<8>())
            .ok_or_else(|| {
                damaged(
                    file,
                    "its Arrow data",
                    "a buffer lies outside of its message",
                )
            })?;
        // −1: this buffer is not compressed.
        needed += u128::from(i64::from_le_bytes(*announced).max(0).unsigned_abs());
    }
    allow(file, "a batch of Arrow", needed, memory)
}

impl Source for Arrow {
    fn next(&mut self, shared: &mut Shared) -> Result<Option<Vec<Block>>, IoError> {
        let next = match &mut self.batches {
            Batches::Stream(messages) => messages.batch()?,
            Batches::File(blocks) => blocks.batch()?,
        };
        let Some(batch) = next else {
            self.table.end(shared);
            return Ok(None);
        };
        let broken = |why: &str| damaged(&self.table.file, "its Arrow data", why);
        let cells = |column: usize| Cells::of(batch.column(column));
        let opened = contained(|| {
            let series = self.columns.series.map(cells);
            (cells(self.columns.time), cells(self.columns.value), series)
        });
        let (Some(time), Some(value), series) = opened.ok_or_else(|| broken("they are damaged"))?
        else {
            return Err(broken("a batch is not as the schema says"));
        };
        let series = match series {
            None => None,
            Some(None) => return Err(broken("a batch is not as the schema says")),
            Some(series) => series,
        };
        let mut blocks = Vec::new();
        let rows = batch.num_rows();
        for from in (0..rows).step_by(ROWS) {
            let part = from..rows.min(from + ROWS);
            let count = part.len();
            let cells = part.map(|row| {
                let name = series.as_ref().map_or(Cell::Null, |s| s.at(row));
                (time.at(row), value.at(row), name)
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
