//! Superblocks (specification, section II.A) and object headers (IV.A).

use super::blocks::Blocks;
use super::{Fields, StructureError};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

const SIGNATURE: [u8; 8] = *b"\x89HDF\r\n\x1a\n";
/// Bytes of the longest superblock up to the address of the root group.
const LONGEST: u64 = 96;
/// Most messages of an object.
const MOST_MESSAGES: usize = 100_000;
/// Most blocks of an object's header.
const MOST_BLOCKS: usize = 1000;

const WHAT: &str = "an object header";
const CONTINUATION: u16 = 0x10;
/// Bit of a message's flags: it is stored elsewhere.
const SHARED: u8 = 2;

/// Opens `path`; returns the file and the address of its root group.
pub(super) fn superblock(path: &Path) -> Result<(Blocks, u64), StructureError> {
    let refused = |e: std::io::Error| StructureError::Read(e.to_string());
    let mut file = File::open(path).map_err(refused)?;
    let length = file.metadata().map_err(refused)?.len();
    let mut base = 0_u64;
    while base < length {
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(base)).map_err(refused)?;
        let mut part = (&mut file).take(LONGEST);
        part.read_to_end(&mut bytes).map_err(refused)?;
        if let Some(rest) = bytes.strip_prefix(&SIGNATURE) {
            let (sizes, root) = root(Fields::new(rest, "the superblock"))?;
            return Ok((Blocks::new(file, length, base, sizes), root));
        }
        base = if base == 0 {
            512
        } else {
            base.saturating_mul(2)
        };
    }
    Err(StructureError::Damaged("the superblock"))
}

/// Bytes of addresses and lengths, and the address of the root group.
fn root(mut fields: Fields<'_>) -> Result<([usize; 2], u64), StructureError> {
    let version = fields.byte()?;
    if version < 2 {
        fields.skip(4)?;
    }
    let sizes = [fields.byte()?, fields.byte()?].map(usize::from);
    if sizes.iter().any(|size| ![2, 4, 8].contains(size)) {
        return Err(fields.damaged());
    }
    let skipped = match version {
        // Versions and ranks of groups, flags, four addresses, the offset of the root's name.
        0 => 9 + 5 * sizes[0],
        1 => 13 + 5 * sizes[0],
        // Flags and three addresses.
        2 | 3 => 1 + 3 * sizes[0],
        _ => return Err(StructureError::Unsupported("the version of the superblock")),
    };
    fields.skip(skipped)?;
    let root = fields.address(sizes[0])?;
    Ok((sizes, root.ok_or_else(|| fields.damaged())?))
}

/// A message of an object header.
#[derive(Debug)]
pub(super) struct Message {
    pub(super) kind: u16,
    /// Whether `body` only says where the message is.
    pub(super) shared: bool,
    pub(super) body: Vec<u8>,
}

/// The messages of the object whose header is at `address`.
pub(super) fn messages(blocks: &mut Blocks, address: u64) -> Result<Vec<Message>, StructureError> {
    let prefix = blocks.read(address, 16, WHAT)?;
    if prefix.starts_with(b"OHDR") {
        return new_messages(blocks, address);
    }
    let mut fields = Fields::new(&prefix, WHAT);
    if fields.byte()? != 1 {
        return Err(fields.damaged());
    }
    fields.skip(7)?;
    let size = fields.count(4)?;
    let first = blocks.read(address + 16, size, WHAT)?;
    let mut found = Vec::new();
    let mut waiting = vec![first];
    let mut read = 0;
    while let Some(block) = waiting.pop() {
        read += 1;
        let mut fields = Fields::new(&block, WHAT);
        // Fewer bytes than the head of a message are a gap.
        while fields.left() >= 8 {
            let kind = fields.number(2)? as u16;
            let size = fields.count(2)?;
            let flags = fields.byte()?;
            fields.skip(3)?;
            take(
                blocks,
                (kind, flags, fields.bytes(size)?),
                (&mut found, &mut waiting, read),
            )?;
        }
    }
    Ok(found)
}

/// Messages of a header of version 2.
fn new_messages(blocks: &mut Blocks, address: u64) -> Result<Vec<Message>, StructureError> {
    const LONGEST_PREFIX: usize = 4 + 2 + 16 + 4;
    // A header at the very end of a file may be shorter than this.
    let prefix = (0..=LONGEST_PREFIX + 8)
        .rev()
        .step_by(4)
        .find_map(|count| blocks.read(address, count, WHAT).ok())
        .unwrap_or_default();
    let mut fields = Fields::new(&prefix, WHAT);
    fields.signature(*b"OHDR")?;
    if fields.byte()? != 2 {
        return Err(StructureError::Unsupported(
            "the version of an object header",
        ));
    }
    let header_flags = fields.byte()?;
    if header_flags & 0x20 != 0 {
        fields.skip(16)?;
    }
    if header_flags & 0x10 != 0 {
        fields.skip(4)?;
    }
    let size = fields.count(1 << (header_flags & 3))?;
    let begin = address + (prefix.len() - fields.left()) as u64;
    let first = blocks.read(begin, size, WHAT)?;
    let head = if header_flags & 4 == 0 { 4 } else { 6 };
    let mut found = Vec::new();
    let mut waiting = vec![first];
    let mut read = 0;
    while let Some(block) = waiting.pop() {
        read += 1;
        // Blocks that continue the header have a signature before, and a sum behind.
        let inner = if read == 1 {
            &block[..]
        } else {
            let inner = block.strip_prefix(b"OCHK");
            let inner = inner.and_then(|inner| inner.split_last_chunk::<4>());
            inner.ok_or(StructureError::Damaged(WHAT))?.0
        };
        let mut fields = Fields::new(inner, WHAT);
        while fields.left() >= head {
            let kind = u16::from(fields.byte()?);
            let size = fields.count(2)?;
            let flags = fields.byte()?;
            fields.skip(head - 4)?;
            take(
                blocks,
                (kind, flags, fields.bytes(size)?),
                (&mut found, &mut waiting, read),
            )?;
        }
    }
    Ok(found)
}

/// Adds a message to those found, or the block that a continuation leads to, to those that wait.
fn take(
    blocks: &mut Blocks,
    (kind, flags, body): (u16, u8, &[u8]),
    (found, waiting, read): (&mut Vec<Message>, &mut Vec<Vec<u8>>, usize),
) -> Result<(), StructureError> {
    if kind == CONTINUATION {
        let mut fields = Fields::new(body, WHAT);
        let address = fields.address(blocks.offset)?;
        let size = fields.count(blocks.size)?;
        if read + waiting.len() >= MOST_BLOCKS {
            return Err(StructureError::TooLarge);
        }
        let address = address.ok_or(StructureError::Damaged(WHAT))?;
        waiting.push(blocks.read(address, size, WHAT)?);
        return Ok(());
    }
    if found.len() >= MOST_MESSAGES {
        return Err(StructureError::TooLarge);
    }
    found.push(Message {
        kind,
        shared: flags & SHARED != 0,
        body: body.to_vec(),
    });
    Ok(())
}
