//! The LZ4 filter of HDF5.
//!
//! Sizes are big-endian: that of the data (8 bytes) and of a block (4 bytes); then each block with
//! its compressed size (4 bytes). A block whose compressed size is its own was not compressed.

use super::read::Reader;
use super::{FilterError, lz4_block};

const NAME: &str = "LZ4";

pub(super) fn undo(input: &[u8], output: &mut [u8]) -> Result<usize, FilterError> {
    let mut input = Reader::new(NAME, input);
    let declared = u64::from_be_bytes(input.array()?);
    let available = output.len();
    let output = usize::try_from(declared)
        .ok()
        .and_then(|declared| output.get_mut(..declared))
        .ok_or(FilterError::length(NAME, available, declared))?;
    let block = input.length_be()?;
    if block == 0 && !output.is_empty() {
        return Err(FilterError::Variant {
            filter: NAME,
            expected: "a block size of at least 1",
            found: 0,
        });
    }
    for block in output.chunks_mut(block.max(1)) {
        let compressed = input.length_be()?;
        let data = input.bytes(compressed)?;
        if compressed == block.len() {
            block.copy_from_slice(data);
        } else {
            let found = lz4_block::decompress(NAME, data, block)?;
            if found != block.len() {
                return Err(FilterError::length(NAME, block.len(), found as u64));
            }
        }
    }
    Ok(output.len())
}
