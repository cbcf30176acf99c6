//! Messages of a stream.

use super::message::{CONTINUATION, GROWTH, check, schema_of};
use crate::io::stream::Stream;
use crate::io::{IoError, Memory, allow, damaged, format_error};
use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_ipc::reader::StreamDecoder;
use arrow_ipc::root_as_message;
use arrow_schema::SchemaRef;
use warpstride_core::system::catch_panic;

/// Decodes the messages of a stream.
pub(super) struct Messages {
    file: String,
    stream: Stream,
    decoder: StreamDecoder,
    memory: Memory,
}

/// Bytes read at a time, so that a truncated stream takes no more memory than it has bytes.
const STEP: usize = 1 << 20;

/// Skips the signature of a file, which is padded with zeros to 8 or 64 bytes.
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
    /// Reads the schema.
    pub(super) fn open(
        file: String,
        mut stream: Stream,
        memory: Memory,
    ) -> Result<(Self, SchemaRef), IoError> {
        signature(&mut stream).map_err(|e| stream.failed(&file, &e))?;
        let mut messages = Self {
            file,
            stream,
            decoder: StreamDecoder::new(),
            memory,
        };
        let schema = messages.schema()?;
        Ok((messages, schema))
    }

    fn broken(&self, reason: impl std::fmt::Display) -> IoError {
        damaged(&self.file, "Arrow stream", reason)
    }

    /// Reads exactly `length` bytes.
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
                return Err(self.broken("the stream ends too early; copy the file again"));
            }
            missing -= step;
        }
        Ok(())
    }

    /// Reads the next message with its body if it fits in memory; `None` at the end.
    fn message(&mut self) -> Result<Option<Vec<u8>>, IoError> {
        let mut head = [0; 4];
        let count = self
            .stream
            .fill(&mut head)
            .map_err(|e| self.stream.failed(&self.file, &e))?;
        // A stream may end without its end marker.
        if count == 0 {
            return Ok(None);
        }
        let mut bytes = head.to_vec();
        if count == 4 && head == CONTINUATION {
            self.take(4, &mut bytes)?;
        } else if count < 4 {
            return Err(self.broken("the stream ends too early; copy the file again"));
        }
        let mut size = [0; 4];
        size.copy_from_slice(&bytes[bytes.len() - 4..]);
        let size = u32::from_le_bytes(size);
        if size == 0 {
            return Ok(None);
        }
        allow(
            &self.file,
            "an Arrow message",
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
            "an Arrow record batch",
            2 * body as u128,
            self.memory,
        )?;
        let to = bytes.len();
        self.take(body, &mut bytes)?;
        let message = root_as_message(&bytes[from..to]).map_err(|e| self.broken(e))?;
        check(&self.file, &message, &bytes[to..], self.memory)?;
        Ok(Some(bytes))
    }

    /// Passes a message to the decoder. The decoder completes a message without a body only with
    /// the next one, so record batches may be returned late; those have no rows.
    fn decode(&mut self, message: Vec<u8>) -> Result<Option<RecordBatch>, IoError> {
        let mut buffer = Buffer::from_vec(message);
        let decoder = &mut self.decoder;
        let decoded = catch_panic(|| {
            let mut last = None;
            while !buffer.is_empty() {
                last = decoder.decode(&mut buffer)?.or(last);
            }
            Ok::<_, arrow_schema::ArrowError>(last)
        });
        decoded
            .ok_or_else(|| self.broken("a message is damaged"))?
            .map_err(|e| self.broken(e))
    }

    /// Reads up to the schema.
    fn schema(&mut self) -> Result<SchemaRef, IoError> {
        let none = |file: &str| format_error(file, "an Arrow stream without a schema");
        let message = self.message()?.ok_or_else(|| none(&self.file))?;
        let schema = {
            let from = if message.starts_with(&CONTINUATION) {
                8
            } else {
                4
            };
            let head = root_as_message(&message[from..]).map_err(|e| self.broken(e))?;
            let schema = head.header_as_schema().ok_or_else(|| none(&self.file))?;
            schema_of(&self.file, schema)?
        };
        self.decode(message)?;
        Ok(schema)
    }

    /// The next record batch; `None` at the end.
    pub(super) fn batch(&mut self) -> Result<Option<RecordBatch>, IoError> {
        while let Some(message) = self.message()? {
            if let Some(batch) = self.decode(message)? {
                return Ok(Some(batch));
            }
        }
        Ok(None)
    }
}
