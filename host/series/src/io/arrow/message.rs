//! Messages of Arrow IPC: their schema, and the memory that they need.

use crate::io::{IoError, Memory, allow, damaged};
use arrow_ipc::{Endianness, Message, Schema as Described};
use arrow_schema::{Schema, SchemaRef};
use warpstride_core::system::catch_panic;

/// The continuation marker that precedes a message since version 0.15.
pub(super) const CONTINUATION: [u8; 4] = [0xff; 4];
/// Upper bound on the memory that a byte of a schema may need.
pub(super) const GROWTH: u128 = 64;

/// Converts a schema to the decoder's type.
pub(super) fn schema_of(file: &str, described: Described<'_>) -> Result<SchemaRef, IoError> {
    let broken = |e: &dyn std::fmt::Display| damaged(file, "Arrow schema", e);
    if described.endianness() != Endianness::Little {
        return Err(broken(&"numbers are big-endian, which is not supported"));
    }
    let schema: Schema = catch_panic(|| arrow_ipc::convert::try_fb_to_schema(described))
        .ok_or_else(|| broken(&"the schema is damaged"))?
        .map_err(|e| broken(&e))?;
    Ok(SchemaRef::new(schema))
}

/// Checks the announced sizes of compressed buffers of a message against the memory.
pub(super) fn check(
    file: &str,
    message: &Message<'_>,
    body: &[u8],
    memory: Memory,
) -> Result<(), IoError> {
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
        let source = usize::try_from(buffer.offset()).ok();
        let announced = source
            .and_then(|source| body.get(source..)?.first_chunk::<8>())
            .ok_or_else(|| damaged(file, "Arrow data", "a buffer lies outside its message"))?;
        // −1: this buffer is not compressed.
        needed += u128::from(i64::from_le_bytes(*announced).max(0).unsigned_abs());
    }
    allow(file, "an Arrow record batch", needed, memory)
}
