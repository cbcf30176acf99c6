//! Objects of a group with many links, or with many attributes: a fractal heap (specification,
//! section III.G), found by a tree of names (III.A.2).

use super::blocks::Blocks;
use super::fields::bytes_for;
use super::{Fields, StructureError};

const HEAP: &str = "the heap of an object's links or attributes";
const TREE: &str = "the tree of an object's links or attributes";
/// Bytes of a node around its records: signature, version, type and sum.
const AROUND: usize = 10;
/// Deepest tree, and most indirect blocks inside each other.
const DEEPEST: usize = 16;
/// What a tree of names finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Names {
    Links,
    Attributes,
}

impl Names {
    /// The type of a tree's records.
    fn kind(self) -> u8 {
        match self {
            Self::Links => 5,
            Self::Attributes => 8,
        }
    }

    /// Where in a record the identification of the object is: a link's is behind a hash of its
    /// name, an attribute's begins the record.
    fn id(self, record: &[u8]) -> &[u8] {
        match self {
            Self::Links => record.get(4..).unwrap_or_default(),
            Self::Attributes => record.get(..8).unwrap_or_default(),
        }
    }
}

/// The objects that the tree of names at `names` finds in the heap at `heap`.
pub(super) fn objects(
    blocks: &mut Blocks,
    heap: u64,
    names: u64,
    of: Names,
) -> Result<Vec<Vec<u8>>, StructureError> {
    let heap = Heap::open(blocks, heap)?;
    let records = records(blocks, names, of)?;
    (records
        .iter()
        .map(|record| heap.object(blocks, of.id(record))))
    .collect()
}

/// A heap of variable-length objects.
#[derive(Debug)]
struct Heap {
    /// Bytes of an offset in the heap.
    offset: usize,
    /// Bytes of an object's length.
    length: usize,
    /// Blocks in a row of the table.
    width: u64,
    /// Size of the blocks in the first two rows, bytes.
    first: u64,
    /// Largest block of data, bytes.
    largest: u64,
    root: u64,
    /// Rows of the root block's table; 0 if the root block has data itself.
    rows: u64,
    /// Sum behind the head of a block of data.
    has_sums: bool,
}

impl Heap {
    fn open(blocks: &mut Blocks, address: u64) -> Result<Self, StructureError> {
        let [o, l] = [blocks.offset, blocks.size];
        let head = blocks.read(address, 22 + 3 * o + 12 * l, HEAP)?;
        let mut fields = Fields::new(&head, HEAP);
        fields.signature(*b"FRHP")?;
        fields.skip(1)?;
        fields.skip(2)?;
        if fields.number(2)? != 0 {
            return Err(StructureError::Unsupported("a compressed group"));
        }
        let has_sums = fields.byte()? & 2 != 0;
        let longest = fields.number(4)?;
        fields.skip(2 * o + 10 * l)?;
        let width = fields.number(2)?;
        let [first, largest] = [fields.number(l)?, fields.number(l)?];
        let bits = fields.number(2)?;
        fields.skip(2)?;
        let root = fields.address(o)?;
        let rows = fields.number(2)?;
        let powers = [width, first, largest].map(u64::is_power_of_two);
        if powers != [true; 3]
            || largest < first
            || largest > 1 << 32
            || width > 1 << 10
            || !(1..=64).contains(&bits)
            || rows > 64
        {
            return Err(fields.damaged());
        }
        Ok(Self {
            offset: usize::try_from(bits.div_ceil(8)).map_err(|_| fields.damaged())?,
            length: (largest.ilog2().div_ceil(8) as usize).min(bytes_for(longest)),
            width,
            first,
            largest,
            root: root.ok_or_else(|| fields.damaged())?,
            rows,
            has_sums,
        })
    }

    /// Size of the blocks in a row of the table, bytes.
    fn block_size(&self, row: u64) -> Option<u64> {
        self.first.checked_mul(1 << row.saturating_sub(1).min(62))
    }

    /// The object with this identification.
    fn object(&self, blocks: &mut Blocks, id: &[u8]) -> Result<Vec<u8>, StructureError> {
        let mut fields = Fields::new(id, HEAP);
        // Version, and whether the object is in a block of data.
        if fields.byte()? & 0xf0 != 0 {
            return Err(StructureError::Unsupported(
                "a link or attribute that is stored outside its object",
            ));
        }
        let at = fields.number(self.offset)?;
        let length = fields.count(self.length)?;
        let (block, begin) = self.block_at(blocks, at)?;
        let into = at - begin;
        let head = 5 + blocks.offset + self.offset + if self.has_sums { 4 } else { 0 };
        if into < head as u64 {
            return Err(fields.damaged());
        }
        let address = block.checked_add(into).ok_or_else(|| fields.damaged())?;
        blocks.read(address, length, HEAP)
    }

    /// The address of the block of data that has the byte `at` of the heap, and the block's first
    /// byte there.
    fn block_at(&self, blocks: &mut Blocks, at: u64) -> Result<(u64, u64), StructureError> {
        let damaged = || StructureError::Damaged(HEAP);
        let (mut address, mut rows, mut begin) = (self.root, self.rows, 0_u64);
        // Rows of blocks of data.
        let direct = u64::from(self.largest.ilog2() - self.first.ilog2()) + 2;
        for _ in 0..DEEPEST {
            if rows == 0 {
                return Ok((address, begin));
            }
            let into = at.checked_sub(begin).ok_or_else(damaged)?;
            let in_row = self.width * self.first;
            let (row, row_begin) = if into < in_row {
                (0, 0)
            } else {
                let power = u64::from(into.ilog2() - in_row.ilog2());
                (power + 1, in_row.checked_shl(power as u32).unwrap_or(0))
            };
            if row >= rows {
                return Err(damaged());
            }
            let size = self.block_size(row).ok_or_else(damaged)?;
            let column = (into - row_begin) / size;
            let entry = row * self.width + column;
            let entries = 5 + blocks.offset as u64 + self.offset as u64;
            let found = (address.checked_add(entries))
                .and_then(|at| at.checked_add(entry * blocks.offset as u64))
                .ok_or_else(damaged)?;
            if blocks.read(address, 4, HEAP)? != *b"FHIB" {
                return Err(damaged());
            }
            let child = blocks.read(found, blocks.offset, HEAP)?;
            let child = Fields::new(&child, HEAP).address(blocks.offset)?;
            address = child.ok_or_else(damaged)?;
            begin += row_begin + column * size;
            rows = if row < direct {
                0
            } else {
                u64::from(size.ilog2().saturating_sub(in_row.ilog2())) + 1
            };
        }
        Err(damaged())
    }
}

/// The records of the tree at `address`.
fn records(blocks: &mut Blocks, address: u64, of: Names) -> Result<Vec<Vec<u8>>, StructureError> {
    let head = blocks.read(address, 22 + blocks.offset + blocks.size, TREE)?;
    let mut fields = Fields::new(&head, TREE);
    fields.signature(*b"BTHD")?;
    fields.skip(1)?;
    if fields.byte()? != of.kind() {
        return Err(fields.damaged());
    }
    let node = fields.count(4)?;
    let record = fields.count(2)?;
    let depth = fields.count(2)?;
    fields.skip(2)?;
    let root = fields.address(blocks.offset)?;
    let in_root = fields.count(2)?;
    let Some(root) = root else {
        return Ok(Vec::new());
    };
    if record == 0 || node < AROUND + record || depth > DEEPEST {
        return Err(fields.damaged());
    }
    let pointers = pointers(node, record, depth, blocks.offset).ok_or_else(|| fields.damaged())?;
    let mut found = Vec::new();
    let mut waiting = vec![(root, in_root, depth)];
    while let Some((at, count, depth)) = waiting.pop() {
        let bytes = blocks.read(at, node, TREE)?;
        let mut fields = Fields::new(&bytes, TREE);
        fields.signature(if depth == 0 { *b"BTLF" } else { *b"BTIN" })?;
        fields.skip(2)?;
        for _ in 0..count {
            found.push(fields.bytes(record)?.to_vec());
        }
        if depth > 0 {
            let [in_child, below] = pointers[depth - 1];
            for _ in 0..=count {
                let child = fields.address(blocks.offset)?;
                let records = fields.count(in_child)?;
                fields.skip(below)?;
                waiting.push((child.ok_or_else(|| fields.damaged())?, records, depth - 1));
            }
        }
    }
    Ok(found)
}

/// Bytes of the two counts behind the address of a child, for children at each depth: of its
/// records, and of all below it.
fn pointers(node: usize, record: usize, depth: usize, address: usize) -> Option<Vec<[usize; 2]>> {
    let leaf = ((node - AROUND) / record) as u64;
    let in_child = bytes_for(leaf);
    let mut all = leaf;
    let mut found = vec![[in_child, 0]];
    for _ in 1..depth {
        let below = found.last()?[1];
        let pointer = address + in_child + below;
        let most = (node.checked_sub(AROUND + pointer)? / (record + pointer)) as u64;
        all = all.saturating_mul(most + 1).saturating_add(most);
        found.push([in_child, bytes_for(all)]);
    }
    Some(found)
}
