//! The links of a group (specification, sections III.A to III.D and IV.A.2).

use super::blocks::Blocks;
use super::dense::{self, Names};
use super::headers::messages;
use super::{Fields, StructureError};
use std::collections::BTreeMap;

const LINK_INFO: u16 = 0x2;
const LINK: u16 = 0x6;
const SYMBOL_TABLE: u16 = 0x11;

const SOFT: u8 = 1;
const EXTERNAL: u8 = 64;

/// Deepest tree of an old group.
const DEEPEST: usize = 16;
/// Most bytes of the names in an old group.
const LONGEST_NAMES: usize = 16 << 20;

/// Where a link leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LinkTarget {
    /// To the object whose header is at this address of the file.
    Hard(u64),
    /// To this path of the file, relative to the group of the link if it does not begin with `/`.
    Soft(String),
    /// To an object of another file.
    External {
        /// Name of the file, as written.
        file: String,
        /// Path of the object.
        path: String,
    },
    /// Another kind, which only the program that made it can follow.
    Other,
}

/// The links of the group at `address`.
pub(super) fn links(
    blocks: &mut Blocks,
    address: u64,
) -> Result<BTreeMap<String, LinkTarget>, StructureError> {
    let mut found = BTreeMap::new();
    for message in messages(blocks, address)? {
        if message.shared {
            continue;
        }
        match message.kind {
            LINK => {
                add(&mut found, link(&message.body, blocks.offset)?)?;
            }
            LINK_INFO => {
                let mut fields = Fields::new(&message.body, "a group");
                fields.skip(1)?;
                if fields.byte()? & 1 != 0 {
                    fields.skip(8)?;
                }
                let heap = fields.address(blocks.offset)?;
                let names = fields.address(blocks.offset)?;
                if let (Some(heap), Some(names)) = (heap, names) {
                    for bytes in dense::objects(blocks, heap, names, Names::Links)? {
                        add(&mut found, link(&bytes, blocks.offset)?)?;
                    }
                }
            }
            SYMBOL_TABLE => {
                let mut fields = Fields::new(&message.body, "a group");
                let tree = fields.address(blocks.offset)?;
                let heap = fields.address(blocks.offset)?;
                let (Some(tree), Some(heap)) = (tree, heap) else {
                    return Err(fields.damaged());
                };
                let names = local_heap(blocks, heap)?;
                symbols(blocks, tree, &names, &mut found)?;
            }
            _ => {}
        }
    }
    Ok(found)
}

/// Adds a link. A name that a group has twice leads to two objects, of which HDF5 may find either.
fn add(
    found: &mut BTreeMap<String, LinkTarget>,
    (name, target): (String, LinkTarget),
) -> Result<(), StructureError> {
    match found.insert(name, target) {
        None => Ok(()),
        Some(_) => Err(StructureError::Damaged("the list of a group's links")),
    }
}

/// The name and target in a link message.
fn link(body: &[u8], offset: usize) -> Result<(String, LinkTarget), StructureError> {
    let mut fields = Fields::new(body, "a link");
    if fields.byte()? != 1 {
        return Err(StructureError::Unsupported("the version of a link"));
    }
    let flags = fields.byte()?;
    let kind = if flags & 8 == 0 { 0 } else { fields.byte()? };
    if flags & 4 != 0 {
        fields.skip(8)?;
    }
    if flags & 16 != 0 {
        fields.skip(1)?;
    }
    let length = fields.count(1 << (flags & 3))?;
    let name = fields.bytes(length)?;
    let name = fields.text(name)?;
    let target = match kind {
        0 => LinkTarget::Hard(fields.address(offset)?.ok_or_else(|| fields.damaged())?),
        SOFT => {
            let length = fields.count(2)?;
            let path = fields.bytes(length)?;
            LinkTarget::Soft(fields.text(path)?)
        }
        EXTERNAL => {
            let length = fields.count(2)?;
            let mut value = Fields::new(fields.bytes(length)?, "a link to another file");
            // Version and flags, both 0.
            value.skip(1)?;
            let (file, path) = (value.name()?, value.name()?);
            LinkTarget::External { file, path }
        }
        _ => LinkTarget::Other,
    };
    Ok((name, target))
}

/// The names in the local heap at `address`.
fn local_heap(blocks: &mut Blocks, address: u64) -> Result<Vec<u8>, StructureError> {
    const WHAT: &str = "the names of a group";
    let head = blocks.read(address, 8 + 2 * blocks.size + blocks.offset, WHAT)?;
    let mut fields = Fields::new(&head, WHAT);
    fields.signature(*b"HEAP")?;
    fields.skip(4)?;
    let size = fields.count(blocks.size)?;
    fields.skip(blocks.size)?;
    let data = fields.address(blocks.offset)?;
    if size > LONGEST_NAMES {
        return Err(StructureError::TooLarge);
    }
    blocks.read(data.ok_or_else(|| fields.damaged())?, size, WHAT)
}

/// Adds the links below the tree at `address`, whose names are in `names`.
fn symbols(
    blocks: &mut Blocks,
    address: u64,
    names: &[u8],
    found: &mut BTreeMap<String, LinkTarget>,
) -> Result<(), StructureError> {
    const WHAT: &str = "the list of a group's links";
    let mut waiting = vec![(address, 0)];
    while let Some((at, depth)) = waiting.pop() {
        let head = blocks.read(at, 8, WHAT)?;
        if head.starts_with(b"SNOD") {
            let count = Fields::new(&head[6..], WHAT).count(2)?;
            let each = 2 * blocks.offset + 24;
            let entries = blocks.read(at + 8, count * each, WHAT)?;
            for entry in entries.chunks_exact(each) {
                let mut fields = Fields::new(entry, WHAT);
                let name = name_at(names, fields.count(blocks.offset)?)?;
                let header = fields.address(blocks.offset)?;
                let cached = fields.number(4)?;
                fields.skip(4)?;
                let target = if cached == 2 {
                    LinkTarget::Soft(name_at(names, fields.count(4)?)?)
                } else {
                    LinkTarget::Hard(header.ok_or_else(|| fields.damaged())?)
                };
                add(found, (name, target))?;
            }
            continue;
        }
        let mut fields = Fields::new(&head, WHAT);
        fields.signature(*b"TREE")?;
        if fields.byte()? != 0 || depth >= DEEPEST {
            return Err(fields.damaged());
        }
        fields.skip(1)?;
        let count = fields.count(2)?;
        let begin = at + 8 + 2 * blocks.offset as u64;
        let rest = blocks.read(begin, count * (blocks.size + blocks.offset), WHAT)?;
        let mut fields = Fields::new(&rest, WHAT);
        for _ in 0..count {
            fields.skip(blocks.size)?;
            let child = fields.address(blocks.offset)?;
            waiting.push((child.ok_or_else(|| fields.damaged())?, depth + 1));
        }
    }
    Ok(())
}

fn name_at(names: &[u8], at: usize) -> Result<String, StructureError> {
    let rest = names.get(at..).unwrap_or_default();
    Fields::new(rest, "the names of a group").name()
}
