//! Arrow's interprocess formats (file and stream; Feather version 2 is the first) to points.
//!
//! A file is a stream between a signature and a footer, so both are read from their beginning. Each message is held
//! against the memory before the decoder sees it.

mod cells;

use super::columns::{self, Columns};
use super::contain::contained;
use super::input::Stream;
use super::reader::{Block, Shared, Source};
use super::typed::Table;
use super::{IoError, Memory, ReadOptions, allow, damaged, no_series};
use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_ipc::reader::StreamDecoder;
use arrow_ipc::{Message, root_as_message};
use arrow_schema::SchemaRef;
use cells::Cells;

/// A stream whose columns are known.
pub(super) struct Arrow {
    table: Table,
    messages: Messages,
    columns: Columns,
}

/// Messages of a stream, decoded.
struct Messages {
    file: String,
    stream: Stream,
    decoder: StreamDecoder,
    memory: Memory,
}

/// Rows of a block.
const ROWS: usize = 1 << 16;
/// What begins a message since version 0.15.
const MARK: [u8; 4] = [0xff; 4];
/// Memory that a byte of a schema may become.
const GROWTH: u128 = 64;
/// Read at a time, so that a stream that ends early takes no more than it holds.
const STEP: usize = 1 << 20;

impl Arrow {
    /// Reads the schema. A stream without a column of series is the series `name`.
    pub(super) fn open(
        file: String,
        name: String,
        mut stream: Stream,
        options: &ReadOptions,
        shared: &mut Shared,
    ) -> Result<Self, IoError> {
        signature(&mut stream).map_err(|e| stream.failed(&file, &e))?;
        let mut messages = Messages {
            file,
            stream,
            decoder: StreamDecoder::new(),
            memory: shared.memory,
        };
        let schema = messages.schema()?;
        let file = messages.file.clone();
        let names: Vec<String> = schema.fields().iter().map(|f| f.name().clone()).collect();
        let columns = columns::by_name(&file, &names, options, &mut shared.notes)?;
        let field = |column: usize| schema.field(column).data_type();
        let refuse = |column: usize, expected: &'static str| IoError::Type {
            file: file.clone(),
            dataset: format!("column {}", super::shorten(&names[column])),
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
            None => Some(shared.number(&file, &name)?),
        };
        let table = Table::new(file.clone(), &names[columns.time], kind, single, options);
        Ok(Self {
            table,
            messages,
            columns,
        })
    }
}

/// Passes over the signature of a file, which zeros fill up to 8 or 64 bytes.
fn signature(stream: &mut Stream) -> std::io::Result<()> {
    let mut signed = false;
    for _ in 0..8 {
        let mut start = [0; 8];
        let count = stream.fill(&mut start)?;
        let passed = (signed && start == [0; 8]) || start.starts_with(b"ARROW1");
        if count < start.len() || !passed {
            let rest = std::mem::replace(&mut stream.bytes, Box::new(std::io::empty()));
            let again = std::io::Cursor::new(start[..count].to_vec());
            stream.bytes = Box::new(std::io::Read::chain(again, rest));
            break;
        }
        signed = true;
    }
    Ok(())
}

impl Messages {
    fn broken(&self, reason: impl std::fmt::Display) -> IoError {
        damaged(&self.file, "its Arrow stream", reason)
    }

    /// The next bytes, which must be there.
    fn take(&mut self, length: usize, bytes: &mut Vec<u8>) -> Result<(), IoError> {
        let mut missing = length;
        while missing > 0 {
            let old = bytes.len();
            let step = missing.min(STEP);
            bytes.resize(old + step, 0);
            let count = self
                .stream
                .fill(&mut bytes[old..])
                .map_err(|e| self.stream.failed(&self.file, &e))?;
            if count < step {
                return Err(self.broken("it ends too early; copy the file again"));
            }
            missing -= step;
        }
        Ok(())
    }

    /// The next message with its body, which fits into the memory; `None` at the end.
    fn message(&mut self) -> Result<Option<Vec<u8>>, IoError> {
        let mut head = [0; 4];
        let count = self
            .stream
            .fill(&mut head)
            .map_err(|e| self.stream.failed(&self.file, &e))?;
        // A stream may end without its mark.
        if count == 0 {
            return Ok(None);
        }
        let mut bytes = head.to_vec();
        if count == 4 && head == MARK {
            self.take(4, &mut bytes)?;
        } else if count < 4 {
            return Err(self.broken("it ends too early; copy the file again"));
        }
        let mut size = [0; 4];
        size.copy_from_slice(&bytes[bytes.len() - 4..]);
        let size = u32::from_le_bytes(size);
        if size == 0 {
            return Ok(None);
        }
        allow(
            &self.file,
            "a message of Arrow",
            u128::from(size) * GROWTH,
            self.memory,
        )?;
        let from = bytes.len();
        self.take(size as usize, &mut bytes)?;
        let body = {
            let message = root_as_message(&bytes[from..])
                .map_err(|e| self.broken(format!("a message is damaged: {e}")))?;
            usize::try_from(message.bodyLength())
                .map_err(|_| self.broken("a message has a negative length"))?
        };
        allow(
            &self.file,
            "a batch of Arrow",
            2 * body as u128,
            self.memory,
        )?;
        let to = bytes.len();
        self.take(body, &mut bytes)?;
        let message = root_as_message(&bytes[from..to]).map_err(|e| self.broken(e))?;
        self.check(&message, &bytes[to..])?;
        Ok(Some(bytes))
    }

    /// Holds what compressed buffers say that they become against the memory.
    fn check(&self, message: &Message<'_>, body: &[u8]) -> Result<(), IoError> {
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
                .ok_or_else(|| self.broken("a buffer lies outside of its message"))?;
            // −1: this buffer is not compressed.
            needed += i64::from_le_bytes(*announced).max(0).unsigned_abs() as u128;
        }
        allow(&self.file, "a batch of Arrow", needed, self.memory)
    }

    /// Gives the decoder a message. It looks at one without a body only when something follows, so that batches may come
    /// late; those have no rows.
    fn decode(&mut self, message: Vec<u8>) -> Result<Option<RecordBatch>, IoError> {
        let mut buffer = Buffer::from_vec(message);
        let decoder = &mut self.decoder;
        let decoded = contained(|| {
            let mut last = None;
            while !buffer.is_empty() {
                last = decoder.decode(&mut buffer)?.or(last);
            }
            Ok::<_, arrow_schema::ArrowError>(last)
        });
        decoded
            .ok_or_else(|| self.broken("it is damaged"))?
            .map_err(|e| self.broken(e))
    }

    /// Reads up to the schema.
    fn schema(&mut self) -> Result<SchemaRef, IoError> {
        let none = |file: &str| no_series(file, "it is Arrow without a schema");
        let message = self.message()?.ok_or_else(|| none(&self.file))?;
        let schema = {
            let from = if message.starts_with(&MARK) { 8 } else { 4 };
            let head = root_as_message(&message[from..]).map_err(|e| self.broken(e))?;
            let schema = head.header_as_schema().ok_or_else(|| none(&self.file))?;
            contained(|| arrow_ipc::convert::try_fb_to_schema(schema))
                .ok_or_else(|| self.broken("its schema is damaged"))?
                .map_err(|e| self.broken(e))?
        };
        self.decode(message)?;
        Ok(SchemaRef::new(schema))
    }

    fn batch(&mut self) -> Result<Option<RecordBatch>, IoError> {
        while let Some(message) = self.message()? {
            if let Some(batch) = self.decode(message)? {
                return Ok(Some(batch));
            }
        }
        Ok(None)
    }
}

impl Source for Arrow {
    fn next(&mut self, shared: &mut Shared) -> Result<Option<Vec<Block>>, IoError> {
        let Some(batch) = self.messages.batch()? else {
            self.table.end(shared);
            return Ok(None);
        };
        let cells = |column: usize| Cells::of(batch.column(column));
        let opened = contained(|| {
            let series = self.columns.series.map(cells);
            (cells(self.columns.time), cells(self.columns.value), series)
        });
        let (Some(time), Some(value), series) =
            opened.ok_or_else(|| self.messages.broken("it is damaged"))?
        else {
            return Err(self.messages.broken("a batch is not as the schema says"));
        };
        let series = match series {
            None => None,
            Some(None) => return Err(self.messages.broken("a batch is not as the schema says")),
            Some(series) => series,
        };
        let mut blocks = Vec::new();
        let rows = batch.num_rows();
        for from in (0..rows).step_by(ROWS) {
            let part = from..rows.min(from + ROWS);
            let count = part.len();
            let cells = part.map(|row| {
                let name = series
                    .as_ref()
                    .map_or(super::typed::Cell::Null, |s| s.at(row));
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
}
