//! Contiguous frames of Blosc 2 with one chunk, as the Blosc2 filter of HDF5 writes them.
//!
//! A header in MessagePack (sizes, parts that describe the data), the chunk, and an index chunk
//! with its offset. A part `b2nd` says that the data are an array whose chunk has the blocks of a
//! grid, each block with its elements in their order; blocks at the ends of axes are filled up.
//! From the descriptions of the frame and of that part.

use super::FilterError;
use super::blosc2::{self, Chunk, NAME, fill_nan, refused};
use super::read::Reader;
use super::scratch::{Tools, at_least};

/// Bytes of the header before the list of its parts.
const FIXED: usize = 0x57;

/// The largest number of axes.
const MOST_AXES: usize = 8;

/// Flag of an offset that stands for a chunk of one value.
const SPECIAL: u64 = 1 << 63;

pub(super) fn undo(
    input: &[u8],
    output: &mut [u8],
    tools: &mut Tools,
) -> Result<usize, FilterError> {
    let mut reader = Reader::new(NAME, input);
    let fixed: [u8; FIXED] = reader.array()?;
    if &fixed[2..10] != b"b2frame\0" {
        return Err(FilterError::damaged(NAME, "no frame (b2frame)"));
    }
    let be4 = |at: usize| u32::from_be_bytes(std::array::from_fn(|n| fixed[at + n]));
    let be8 = |at: usize| u64::from_be_bytes(std::array::from_fn(|n| fixed[at + n]));
    let header = be4(0x0b) as usize;
    let [decoded, compressed] = [be8(0x1e), be8(0x27)];
    let [size, chunk_size] = [be4(0x30), be4(0x3a)].map(|n| n as usize);
    let Some(chunks) = input.get(header..) else {
        return Err(truncated(header as u64, input.len()));
    };
    let grid = match part(&input[FIXED..header.max(FIXED)], input)? {
        Some(content) => Grid::new(content, size)?.filter(|grid| grid.axes > 0),
        None => None,
    };
    let data_size = grid.as_ref().map_or(decoded, Grid::bytes);
    let available = output.len();
    let output = usize::try_from(data_size)
        .ok()
        .and_then(|size| output.get_mut(..size))
        .ok_or(FilterError::length(NAME, available, data_size))?;
    if output.is_empty() {
        return Ok(0);
    }
    if chunk_size as u64 != decoded {
        return Err(refused(
            "a frame with one chunk, whose size is that of the frame",
            chunk_size as u64,
        ));
    }
    let index = usize::try_from(compressed)
        .ok()
        .and_then(|at| chunks.get(at..));
    let mut offset = [0; 8];
    let found = blosc2::chunk(
        index.ok_or(truncated(compressed, chunks.len()))?,
        &mut offset,
        tools,
    )?;
    if found != offset.len() {
        return Err(refused("an index with one offset of 8 bytes", found as u64));
    }
    let offset = u64::from_le_bytes(offset);
    if offset & SPECIAL != 0 {
        // Zeros, and values that were not initialised.
        return match offset >> 56 & 7 {
            1 | 4 => {
                output.fill(0);
                Ok(output.len())
            }
            2 => fill_nan(output, size).map(|()| output.len()),
            other => Err(refused("a chunk of zeros (1) or NaN (2)", other)),
        };
    }
    let chunk = usize::try_from(offset).ok().and_then(|at| chunks.get(at..));
    let chunk = chunk.ok_or(truncated(offset, chunks.len()))?;
    match grid {
        None => blosc2::chunk(chunk, output, tools),
        Some(grid) => grid.undo(chunk, output, tools),
    }
}

fn truncated(expected: u64, found: usize) -> FilterError {
    FilterError::Truncated {
        filter: NAME,
        expected,
        found: found as u64,
    }
}

/// The content of the part `b2nd` of a frame, from the list of its parts.
fn part<'a>(list: &[u8], frame: &'a [u8]) -> Result<Option<&'a [u8]>, FilterError> {
    let mut list = Reader::new(NAME, list);
    let [_, _, _, _, _, high, low] = list.array()?;
    for _ in 0..u16::from_be_bytes([high, low]) {
        let [length] = list.array()?;
        let name = list.bytes(usize::from(length & 31))?;
        let [_] = list.array()?;
        let at = list.length_be()?;
        if name == b"b2nd" {
            let mut content = Reader::new(NAME, frame.get(at..).unwrap_or(&[]));
            let [_] = content.array()?;
            let length = content.length_be()?;
            return content.bytes(length).map(Some);
        }
    }
    Ok(None)
}

/// An array whose chunk has blocks of a grid.
struct Grid {
    axes: usize,
    /// Elements along each axis; 1 for the first axes, which the array does not have.
    shape: [usize; MOST_AXES],
    /// Elements of a block along each axis.
    block: [usize; MOST_AXES],
    /// Size of an element, bytes.
    size: usize,
}

impl Grid {
    fn new(content: &[u8], size: usize) -> Result<Option<Self>, FilterError> {
        let mut content = Reader::new(NAME, content);
        let [_, _, axes, _] = content.array()?;
        let axes = usize::from(axes);
        if axes > MOST_AXES {
            return Err(refused("at most 8 axes", axes as u64));
        }
        let [mut shape, mut chunk, mut block] = [[1; MOST_AXES]; 3];
        for length in &mut shape[MOST_AXES - axes..] {
            let [_] = content.array()?;
            *length = usize::try_from(u64::from_be_bytes(content.array()?)).unwrap_or(usize::MAX);
        }
        for lengths in [&mut chunk, &mut block] {
            let [_] = content.array()?;
            for length in &mut lengths[MOST_AXES - axes..] {
                let [_] = content.array()?;
                *length = content.length_be()?;
            }
        }
        if chunk != shape {
            return Err(FilterError::damaged(
                NAME,
                format!(
                    "an array of {:?} elements in a chunk of {:?}",
                    &shape[MOST_AXES - axes..],
                    &chunk[MOST_AXES - axes..]
                ),
            ));
        }
        if block
            .iter()
            .zip(&shape)
            .any(|(block, length)| *block == 0 || block > length)
        {
            return Err(FilterError::damaged(
                NAME,
                format!(
                    "blocks of {:?} of {:?} elements",
                    &block[MOST_AXES - axes..],
                    &shape[MOST_AXES - axes..]
                ),
            ));
        }
        Ok(Some(Self {
            axes,
            shape,
            block,
            size,
        }))
    }

    /// Size of the array, bytes.
    fn bytes(&self) -> u64 {
        let lengths = self.shape.iter().chain([&self.size]);
        lengths.fold(1, |product: u64, length| {
            product.saturating_mul(*length as u64)
        })
    }

    /// Decodes a chunk into `output`, which has the size of the array.
    fn undo(
        &self,
        input: &[u8],
        output: &mut [u8],
        tools: &mut Tools,
    ) -> Result<usize, FilterError> {
        let blocks: [usize; MOST_AXES] =
            std::array::from_fn(|axis| self.shape[axis].div_ceil(self.block[axis]));
        // No overflow: blocks are not larger than the array, which is in memory.
        let block_bytes = self.block.iter().product::<usize>() * self.size;
        let Some(chunk) = Chunk::new(input)? else {
            return Err(refused(
                "a chunk of Blosc 2 in an array with several axes",
                1,
            ));
        };
        let count = blocks.iter().product::<usize>();
        let padded = count as u128 * block_bytes as u128;
        if chunk.decoded as u128 != padded || (chunk.block != block_bytes && count > 1) {
            return Err(FilterError::length(
                NAME,
                padded as usize,
                chunk.decoded as u64,
            ));
        }
        let mut memory = std::mem::take(&mut tools.grid_block);
        let mut decode = || {
            for n in 0..count {
                let block = at_least(&mut memory, block_bytes);
                chunk.block(n, block, tools)?;
                self.place(n, &blocks, block, output);
            }
            Ok(output.len())
        };
        let result = decode();
        tools.grid_block = memory;
        result
    }

    /// Copies what block `n` has of the array to its place.
    fn place(&self, n: usize, blocks: &[usize; MOST_AXES], block: &[u8], output: &mut [u8]) {
        let mut first = [0; MOST_AXES];
        let mut rest = n;
        for axis in (0..MOST_AXES).rev() {
            first[axis] = rest % blocks[axis] * self.block[axis];
            rest /= blocks[axis];
        }
        let count: [usize; MOST_AXES] =
            std::array::from_fn(|axis| self.block[axis].min(self.shape[axis] - first[axis]));
        let last = MOST_AXES - 1;
        let run = count[last] * self.size;
        let [mut from_strides, mut to_strides] = [[self.size; MOST_AXES]; 2];
        for axis in (0..last).rev() {
            from_strides[axis] = from_strides[axis + 1] * self.block[axis + 1];
            to_strides[axis] = to_strides[axis + 1] * self.shape[axis + 1];
        }
        let mut from = 0;
        let mut to: usize = first
            .iter()
            .zip(&to_strides)
            .map(|(first, stride)| first * stride)
            .sum();
        let mut at = [0; MOST_AXES];
        'rows: loop {
            output[to..to + run].copy_from_slice(&block[from..from + run]);
            for axis in (0..last).rev() {
                at[axis] += 1;
                from += from_strides[axis];
                to += to_strides[axis];
                if at[axis] < count[axis] {
                    continue 'rows;
                }
                at[axis] = 0;
                from -= count[axis] * from_strides[axis];
                to -= count[axis] * to_strides[axis];
            }
            return;
        }
    }
}
