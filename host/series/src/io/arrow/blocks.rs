//! Record batches of a file, located by its footer.

use super::message::{CONTINUATION, GROWTH, check, schema_of};
use crate::io::{IoError, Memory, allow, damaged, format_error};
use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_ipc::reader::FileDecoder;
use arrow_ipc::{Block, root_as_footer, root_as_message};
use arrow_schema::SchemaRef;
use std::collections::VecDeque;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use warpstride_core::system::catch_panic;

/// The remaining record batches of a file.
pub(super) struct Blocks {
    source: BoundedFile,
    decoder: FileDecoder,
    batches: VecDeque<Block>,
}

/// A file of known length.
struct BoundedFile {
    file: String,
    opened: File,
    length: u64,
    memory: Memory,
}

/// Bytes of the footer's length and the signature, at the end.
const TAIL: u64 = 10;

impl Blocks {
    /// Reads the footer and the dictionaries.
    pub(super) fn open(
        file: String,
        opened: File,
        length: u64,
        memory: Memory,
    ) -> Result<(Self, SchemaRef), IoError> {
        let mut source = BoundedFile {
            file,
            opened,
            length,
            memory,
        };
        let cut = "the footer is missing; the file may be truncated";
        let tail = length.checked_sub(TAIL).ok_or_else(|| source.broken(cut))?;
        let end = source.bytes(tail, TAIL as usize)?;
        let size = u32::from_le_bytes([end[0], end[1], end[2], end[3]]);
        let start = tail.checked_sub(u64::from(size));
        let start = start.filter(|_| &end[4..] == b"ARROW1");
        let start = start.ok_or_else(|| source.broken(cut))?;
        let needed = u128::from(size) * GROWTH;
        allow(&source.file, "the Arrow footer", needed, memory)?;
        let bytes = source.bytes(start, size as usize)?;
        let footer = root_as_footer(&bytes).map_err(|e| source.broken(e))?;
        let none = || format_error(&source.file, "an Arrow file without a schema");
        let schema = schema_of(&source.file, footer.schema().ok_or_else(none)?)?;
        let mut decoder = FileDecoder::new(SchemaRef::clone(&schema), footer.version());
        for block in footer.dictionaries().into_iter().flatten() {
            let buffer = source.block(block)?;
            catch_panic(|| decoder.read_dictionary(block, &buffer))
                .ok_or_else(|| source.broken("a dictionary is damaged"))?
                .map_err(|e| source.broken(e))?;
        }
        let batches = footer.recordBatches().into_iter().flatten().copied();
        let blocks = Self {
            batches: batches.collect(),
            decoder,
            source,
        };
        Ok((blocks, schema))
    }

    /// The next record batch; `None` at the end.
    pub(super) fn batch(&mut self) -> Result<Option<RecordBatch>, IoError> {
        while let Some(block) = self.batches.pop_front() {
            let buffer = self.source.block(&block)?;
            let decoded = catch_panic(|| self.decoder.read_record_batch(&block, &buffer));
            let batch = decoded
                .ok_or_else(|| self.source.broken("a batch is damaged"))?
                .map_err(|e| self.source.broken(e))?;
            if batch.is_some() {
                return Ok(batch);
            }
        }
        Ok(None)
    }
}

impl BoundedFile {
    fn broken(&self, reason: impl std::fmt::Display) -> IoError {
        damaged(&self.file, "Arrow data", reason)
    }

    /// Reads bytes within the file.
    fn bytes(&mut self, start: u64, length: usize) -> Result<Vec<u8>, IoError> {
        let end = start.checked_add(length as u64);
        if end.is_none_or(|end| end > self.length) {
            return Err(self.broken("a block extends beyond the end of the file"));
        }
        let mut bytes = vec![0; length];
        let read = self
            .opened
            .seek(SeekFrom::Start(start))
            .and_then(|_| self.opened.read_exact(&mut bytes));
        read.map_err(|e| self.broken(e))?;
        Ok(bytes)
    }

    /// Reads a message with its body if it fits in memory.
    fn block(&mut self, block: &Block) -> Result<Buffer, IoError> {
        let [start, head, body] = [
            block.offset(),
            i64::from(block.metaDataLength()),
            block.bodyLength(),
        ]
        .map(|number| u64::try_from(number).ok());
        let (Some(start), Some(head), Some(body)) = (start, head, body) else {
            return Err(self.broken("the footer has a negative length"));
        };
        // Blocks beyond the end of the file are rejected before memory is allocated.
        let whole = head
            .checked_add(body)
            .filter(|n| *n <= self.length && head >= 8);
        let whole =
            whole.ok_or_else(|| self.broken("a block extends beyond the end of the file"))?;
        let needed = u128::from(head) * GROWTH + 2 * u128::from(body);
        allow(&self.file, "an Arrow record batch", needed, self.memory)?;
        let bytes = self.bytes(start, whole as usize)?;
        let (head, body) = bytes.split_at(head as usize);
        let from = if head.starts_with(&CONTINUATION) {
            8
        } else {
            4
        };
        let message = root_as_message(&head[from..]).map_err(|e| self.broken(e))?;
        check(&self.file, &message, body, self.memory)?;
        Ok(Buffer::from_vec(bytes))
    }
}
