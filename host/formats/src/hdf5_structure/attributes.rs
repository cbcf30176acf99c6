//! Strings of variable length in attributes (specification, sections IV.A.2.m and IV.A.2.v): how
//! long they claim to be. HDF5 takes memory for that length before it looks for the string.

use super::blocks::Blocks;
use super::dense::{self, Names};
use super::headers::messages;
use super::{Fields, StructureError};

const ATTRIBUTE: u16 = 0xc;
const ATTRIBUTE_INFO: u16 = 0x15;

const WHAT: &str = "an attribute";
/// Length and index around the address of a heap.
const AROUND: usize = 8;

/// The largest length that an element of the attribute `name` claims, whose elements are of
/// variable length; `None` if the object at `address` has no such attribute.
pub(super) fn longest(
    blocks: &mut Blocks,
    address: u64,
    name: &str,
) -> Result<Option<u32>, StructureError> {
    let mut found: Option<u32> = None;
    for message in messages(blocks, address)? {
        match message.kind {
            ATTRIBUTE if message.shared => {
                return Err(StructureError::Unsupported("a shared attribute"));
            }
            ATTRIBUTE => {
                let longest = of_message(blocks, &message.body, name)?;
                found = found.max(longest);
            }
            ATTRIBUTE_INFO => {
                let mut fields = Fields::new(&message.body, WHAT);
                fields.skip(1)?;
                if fields.byte()? & 1 != 0 {
                    fields.skip(2)?;
                }
                let heap = fields.address(blocks.offset)?;
                let names = fields.address(blocks.offset)?;
                if let (Some(heap), Some(names)) = (heap, names) {
                    for bytes in dense::objects(blocks, heap, names, Names::Attributes)? {
                        let longest = of_message(blocks, &bytes, name)?;
                        found = found.max(longest);
                    }
                }
            }
            _ => {}
        }
    }
    Ok(found)
}

/// The same of one attribute message, if it is that of `name`.
fn of_message(blocks: &Blocks, body: &[u8], name: &str) -> Result<Option<u32>, StructureError> {
    let mut fields = Fields::new(body, WHAT);
    let version = fields.byte()?;
    if !(1..=3).contains(&version) {
        return Err(StructureError::Unsupported("the version of an attribute"));
    }
    fields.skip(1)?;
    let sizes = [fields.count(2)?, fields.count(2)?, fields.count(2)?];
    if version == 3 {
        fields.skip(1)?;
    }
    // Version 1 fills each part up to eight bytes.
    let stored = sizes.map(|size| {
        if version == 1 {
            size.next_multiple_of(8)
        } else {
            size
        }
    });
    let called = fields.bytes(stored[0])?;
    let end = called.iter().position(|byte| *byte == 0);
    if &called[..end.unwrap_or(called.len())] != name.as_bytes() {
        return Ok(None);
    }
    fields.skip(stored[1] + stored[2])?;
    let mut longest = 0;
    while fields.left() >= AROUND + blocks.offset {
        let length = fields.number(4)?;
        longest = longest.max(length as u32);
        fields.skip(blocks.offset + 4)?;
    }
    Ok(Some(longest))
}
