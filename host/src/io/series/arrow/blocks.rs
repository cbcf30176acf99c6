//! Batches of a file, found by its footer.

use super::{GROWTH, MARK, check, schema_of};
use crate::io::contained;
use crate::io::series::{IoError, Memory, allow, damaged, no_series};
use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_ipc::reader::FileDecoder;
use arrow_ipc::{Block, root_as_footer, root_as_message};
use arrow_schema::SchemaRef;
use std::collections::VecDeque;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};

/// Batches of a file that are still to be read.
pub(super) struct Blocks {
    place: Place,
    decoder: FileDecoder,
    batches: VecDeque<Block>,
}

/// A file of known length.
struct Place {
    file: String,
    opened: File,
    length: u64,
    memory: Memory,
}

/// Length of the footer and the signature, at the end.
const TAIL: u64 = 10;

impl Blocks {
    /// Reads footer and dictionaries.
    pub(super) fn open(
        file: String,
        opened: File,
        length: u64,
        memory: Memory,
    ) -> Result<(Self, SchemaRef), IoError> {
        let mut place = Place {
            file,
            opened,
            length,
            memory,
        };
        let cut = "the file does not end as it should; it may be truncated";
        let tail = length.checked_sub(TAIL).ok_or_else(|| place.broken(cut))?;
        let end = place.bytes(tail, TAIL as usize)?;
        let size = u32::from_le_bytes([end[0], end[1], end[2], end[3]]);
        let start = tail.checked_sub(u64::from(size));
        let start = start.filter(|_| &end[4..] == b"ARROW1");
        let start = start.ok_or_else(|| place.broken(cut))?;
        let needed = u128::from(size) * GROWTH;
        allow(&place.file, "the footer of Arrow", needed, memory)?;
        let bytes = place.bytes(start, size as usize)?;
        let footer = root_as_footer(&bytes).map_err(|e| place.broken(e))?;
        let none = || no_series(&place.file, "it is Arrow without a schema");
        let schema = schema_of(&place.file, footer.schema().ok_or_else(none)?)?;
        let mut decoder = FileDecoder::new(SchemaRef::clone(&schema), footer.version());
        for block in footer.dictionaries().into_iter().flatten() {
            let buffer = place.block(block)?;
            contained(|| decoder.read_dictionary(block, &buffer))
                .ok_or_else(|| place.broken("a dictionary is damaged"))?
                .map_err(|e| place.broken(e))?;
        }
        let batches = footer.recordBatches().into_iter().flatten().copied();
        let blocks = Self {
            batches: batches.collect(),
            decoder,
            place,
        };
        Ok((blocks, schema))
    }

    /// The next batch; `None` at the end.
    pub(super) fn batch(&mut self) -> Result<Option<RecordBatch>, IoError> {
        while let Some(block) = self.batches.pop_front() {
            let buffer = self.place.block(&block)?;
            let decoded = contained(|| self.decoder.read_record_batch(&block, &buffer));
            let batch = decoded
                .ok_or_else(|| self.place.broken("a batch is damaged"))?
                .map_err(|e| self.place.broken(e))?;
            if batch.is_some() {
                return Ok(batch);
            }
        }
        Ok(None)
    }
}

impl Place {
    fn broken(&self, reason: impl std::fmt::Display) -> IoError {
        damaged(&self.file, "its Arrow data", reason)
    }

    /// Bytes that the file has.
    fn bytes(&mut self, start: u64, length: usize) -> Result<Vec<u8>, IoError> {
        let end = start.checked_add(length as u64);
        if end.is_none_or(|end| end > self.length) {
            return Err(self.broken("a part of it lies beyond the end of the file"));
        }
        let mut bytes = vec![0; length];
        let read = self
            .opened
            .seek(SeekFrom::Start(start))
            .and_then(|_| self.opened.read_exact(&mut bytes));
        read.map_err(|e| self.broken(e))?;
        Ok(bytes)
    }

    /// A message with its body, which fits into the memory.
    fn block(&mut self, block: &Block) -> Result<Buffer, IoError> {
        let [start, head, body] = [
            block.offset(),
            i64::from(block.metaDataLength()),
            block.bodyLength(),
        ]
        .map(|number| u64::try_from(number).ok());
        let (Some(start), Some(head), Some(body)) = (start, head, body) else {
            return Err(self.broken("its footer has a negative length"));
        };
        // What lies beyond the file is refused before memory is asked for.
        let whole = head
            .checked_add(body)
            .filter(|n| *n <= self.length && head >= 8);
        let whole =
            whole.ok_or_else(|| self.broken("a part of it lies beyond the end of the file"))?;
        let needed = u128::from(head) * GROWTH + 2 * u128::from(body);
        allow(&self.file, "a batch of Arrow", needed, self.memory)?;
        let bytes = self.bytes(start, whole as usize)?;
        let (head, body) = bytes.split_at(head as usize);
        let from = if head.starts_with(&MARK) { 8 } else { 4 };
        let message = root_as_message(&head[from..]).map_err(|e| self.broken(e))?;
        check(&self.file, &message, body, self.memory)?;
        Ok(Buffer::from_vec(bytes))
    }
}
