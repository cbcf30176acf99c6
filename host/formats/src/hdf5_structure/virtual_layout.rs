//! Virtual datasets (specification, sections III.E and IV.A.2.i).

use super::blocks::Blocks;
use super::headers::{Message, messages};
use super::selection::{Selection, selection};
use super::{Fields, StructureError};

const SPACE: u16 = 0x1;
const TYPE: u16 = 0x3;
const OLD_FILL: u16 = 0x4;
const FILL: u16 = 0x5;
const LAYOUT: u16 = 0x8;

const WHAT: &str = "a virtual dataset";
/// Class of a layout: virtual.
const VIRTUAL: u8 = 3;
/// Highest rank of a dataset in HDF5.
const HIGHEST_RANK: usize = 32;
/// Most parts of a virtual dataset.
const MOST_MAPPINGS: usize = 100_000;
/// Most bytes of the names in the parts of a virtual dataset.
const MOST_NAMES: usize = 16 << 20;

/// Type of stored numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NumberType {
    /// Signed integers.
    Signed,
    /// Unsigned integers.
    Unsigned,
    /// Floating-point numbers of IEEE 754.
    Float,
}

/// A part of a virtual dataset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mapping {
    /// Name of the file with the data, `.` for that of the virtual dataset; with `%b` for a number
    /// in it.
    pub file: String,
    /// Path of the dataset with the data; with `%b` for a number in it.
    pub dataset: String,
    /// The elements there.
    pub source: Selection,
    /// The elements of the virtual dataset.
    pub target: Selection,
}

/// A dataset whose data are in other datasets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VirtualDataset {
    /// Shape when it was written; the file's data may have become more along an axis without limit.
    pub shape: Vec<u64>,
    /// Type of its numbers.
    pub number: NumberType,
    /// Bytes of a number.
    pub bytes: usize,
    /// Whether the most significant byte of a number comes first.
    pub big_endian: bool,
    /// A number where no part has data, as stored; empty for 0.
    pub fill: Vec<u8>,
    /// Its parts.
    pub mappings: Vec<Mapping>,
}

/// Reads the virtual dataset at `address`; `None` if it is not one.
pub(super) fn read(
    blocks: &mut Blocks,
    address: u64,
) -> Result<Option<VirtualDataset>, StructureError> {
    // What is no object, or one that only HDF5 can read, is no virtual dataset.
    let Ok(messages) = messages(blocks, address) else {
        return Ok(None);
    };
    let find = |kind| messages.iter().find(|message| message.kind == kind);
    let Some(layout) = find(LAYOUT).filter(|of| !of.shared) else {
        return Ok(None);
    };
    let mut fields = Fields::new(&layout.body, WHAT);
    if fields.byte()? < 4 || fields.byte()? != VIRTUAL {
        return Ok(None);
    }
    let heap = fields.address(blocks.offset)?;
    let index = fields.number(4)?;
    let [space, kind] = [SPACE, TYPE].map(|kind| find(kind).ok_or_else(|| fields.damaged()));
    let shape = shape(own(space?)?, blocks.size)?;
    let (number, bytes, big_endian) = number(own(kind?)?)?;
    let mut fill = match (find(FILL), find(OLD_FILL)) {
        (Some(new), _) => fill(own(new)?)?,
        (None, Some(old)) => {
            let mut fields = Fields::new(own(old)?, WHAT);
            let length = fields.count(4)?;
            fields.bytes(length)?.to_vec()
        }
        (None, None) => Vec::new(),
    };
    if fill.len() != bytes {
        fill.clear();
    }
    let mappings = match heap {
        Some(heap) => mappings(&heap_object(blocks, heap, index)?, blocks.size)?,
        None => Vec::new(),
    };
    Ok(Some(VirtualDataset {
        shape,
        number,
        bytes,
        big_endian,
        fill,
        mappings,
    }))
}

/// Whether the object at `address` has a virtual layout, or a header that cannot be read.
pub(super) fn is_possible(blocks: &mut Blocks, address: u64) -> bool {
    let Ok(messages) = messages(blocks, address) else {
        return true;
    };
    let mut layouts = messages.iter().filter(|message| message.kind == LAYOUT);
    // Of a shared message the body is elsewhere.
    layouts.any(|of| of.shared || of.body.get(1).is_none_or(|class| *class == VIRTUAL))
}

/// The message itself, if it is in the header.
fn own(message: &Message) -> Result<&[u8], StructureError> {
    if message.shared {
        return Err(StructureError::Unsupported(
            "a virtual dataset whose type has a name",
        ));
    }
    Ok(&message.body)
}

fn shape(body: &[u8], size: usize) -> Result<Vec<u64>, StructureError> {
    let mut fields = Fields::new(body, WHAT);
    let version = fields.byte()?;
    let rank = usize::from(fields.byte()?);
    fields.skip(match version {
        1 => 6,
        2 => 2,
        _ => return Err(fields.damaged()),
    })?;
    if !(1..=HIGHEST_RANK).contains(&rank) {
        return Err(fields.damaged());
    }
    (0..rank).map(|_| fields.number(size)).collect()
}

fn number(body: &[u8]) -> Result<(NumberType, usize, bool), StructureError> {
    let other =
        StructureError::Unsupported("a virtual dataset of other elements than real numbers");
    let mut fields = Fields::new(body, WHAT);
    let class = fields.byte()? & 0xf;
    let bits = fields.number(3)?;
    let bytes = fields.count(4)?;
    let [offset, precision] = [fields.count(2)?, fields.count(2)?];
    let whole = offset == 0 && precision == 8 * bytes;
    let number = match (class, bytes) {
        (0, 1 | 2 | 4 | 8) if whole && bits & 8 != 0 => NumberType::Signed,
        (0, 1 | 2 | 4 | 8) if whole => NumberType::Unsigned,
        (1, 4 | 8) if whole && bits & 0x40 == 0 => NumberType::Float,
        _ => return Err(other),
    };
    Ok((number, bytes, bits & 1 != 0))
}

fn fill(body: &[u8]) -> Result<Vec<u8>, StructureError> {
    let mut fields = Fields::new(body, WHAT);
    let version = fields.byte()?;
    let defined = match version {
        1 => {
            fields.skip(3)?;
            true
        }
        2 => {
            fields.skip(2)?;
            fields.byte()? != 0
        }
        3 => fields.byte()? & 0x20 != 0,
        _ => return Err(fields.damaged()),
    };
    if !defined {
        return Ok(Vec::new());
    }
    let length = fields.count(4)?;
    Ok(fields.bytes(length)?.to_vec())
}

/// The object `index` of the global heap at `address`.
fn heap_object(blocks: &mut Blocks, address: u64, index: u64) -> Result<Vec<u8>, StructureError> {
    const HEAP: &str = "a global heap";
    let damaged = || StructureError::Damaged(HEAP);
    let size = blocks.size;
    let head = blocks.read(address, 8 + size, HEAP)?;
    let mut fields = Fields::new(&head, HEAP);
    fields.signature(*b"GCOL")?;
    fields.skip(4)?;
    let end = (address.checked_add(fields.number(size)?)).ok_or_else(damaged)?;
    // Objects begin at multiples of 8 bytes.
    let mut at = address + (8 + size as u64).next_multiple_of(8);
    while at < end {
        let head = blocks.read(at, 8 + size, HEAP)?;
        let mut fields = Fields::new(&head, HEAP);
        let found = fields.number(2)?;
        fields.skip(6)?;
        let length = fields.number(size)?;
        // The object 0 is free space, up to the end.
        if found == 0 {
            break;
        }
        let begin = at + (8 + size as u64).next_multiple_of(8);
        let object_end = begin.checked_add(length).ok_or_else(damaged)?;
        if object_end > end {
            return Err(damaged());
        }
        if found == index {
            let length = usize::try_from(length).map_err(|_| damaged())?;
            return blocks.read(begin, length, HEAP);
        }
        at = object_end.checked_next_multiple_of(8).ok_or_else(damaged)?;
    }
    Err(damaged())
}

/// Bits of the flags of a part: the file is that of the virtual dataset, or its name or that of the
/// dataset is that of another part.
const SAME_FILE: u8 = 4;
const SHARED_FILE: u8 = 1;
const SHARED_DATASET: u8 = 2;

fn mappings(bytes: &[u8], size: usize) -> Result<Vec<Mapping>, StructureError> {
    let mut fields = Fields::new(bytes, WHAT);
    let version = fields.byte()?;
    if version > 1 {
        return Err(StructureError::Unsupported(
            "the version of a virtual dataset",
        ));
    }
    let count = fields.count(size)?;
    if count > MOST_MAPPINGS {
        return Err(StructureError::TooLarge);
    }
    let mut found: Vec<Mapping> = Vec::new();
    let mut names = 0;
    for _ in 0..count {
        let flags = if version == 0 { 0 } else { fields.byte()? };
        let mut name = |shared: u8, of: fn(&Mapping) -> &String| {
            if flags & shared == 0 {
                return fields.name();
            }
            let at = fields.count(size)?;
            let earlier = found.get(at).map(of).cloned();
            earlier.ok_or_else(|| fields.damaged())
        };
        let file = if flags & SAME_FILE == 0 {
            name(SHARED_FILE, |of| &of.file)?
        } else {
            ".".to_owned()
        };
        let dataset = name(SHARED_DATASET, |of| &of.dataset)?;
        // Parts that share a name could have far more of it than the file.
        names += file.len() + dataset.len();
        if names > MOST_NAMES {
            return Err(StructureError::TooLarge);
        }
        found.push(Mapping {
            file,
            dataset,
            source: selection(&mut fields)?,
            target: selection(&mut fields)?,
        });
    }
    Ok(found)
}
