//! Selections of elements of a dataset, as virtual layouts store them.

use super::fields::all_ones;
use super::{Fields, StructureError};

const WHAT: &str = "a selection of a virtual dataset";
/// Highest rank of a dataset in HDF5.
const HIGHEST_RANK: usize = 32;

/// The elements `start + i·stride + j` of an axis, for i below `count` and j below `block`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Axis {
    /// First element.
    pub start: u64,
    /// Elements from the first of a block to that of the next one.
    pub stride: u64,
    /// Number of blocks; `None`: as many as there are.
    pub count: Option<u64>,
    /// Elements of a block; `None`: all that there are.
    pub block: Option<u64>,
}

/// Selected elements of a dataset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selection {
    /// None.
    Nothing,
    /// All.
    All,
    /// Those that every axis selects.
    Regular(Vec<Axis>),
}

/// Reads a selection.
pub(super) fn selection(fields: &mut Fields<'_>) -> Result<Selection, StructureError> {
    let kind = fields.number(4)?;
    let version = fields.number(4)?;
    match (kind, version) {
        (0 | 3, 1) => {
            fields.skip(8)?;
            Ok(if kind == 0 {
                Selection::Nothing
            } else {
                Selection::All
            })
        }
        (2, 1) => {
            fields.skip(8)?;
            let rank = rank(fields)?;
            let count = fields.count(4)?;
            blocks(fields, (rank, count, 4))
        }
        (2, 2) => {
            let regular = fields.byte()? & 1 != 0;
            fields.skip(4)?;
            let rank = rank(fields)?;
            if regular {
                axes(fields, rank, 8)
            } else {
                Err(StructureError::Unsupported(
                    "an irregular selection of a virtual dataset",
                ))
            }
        }
        (2, 3) => {
            let regular = fields.byte()? & 1 != 0;
            let bytes = usize::from(fields.byte()?);
            if ![2, 4, 8].contains(&bytes) {
                return Err(fields.damaged());
            }
            let rank = rank(fields)?;
            if regular {
                axes(fields, rank, bytes)
            } else {
                let count = fields.count(bytes)?;
                blocks(fields, (rank, count, bytes))
            }
        }
        (1, _) => Err(StructureError::Unsupported(
            "a virtual dataset of single elements",
        )),
        _ => Err(fields.damaged()),
    }
}

fn rank(fields: &mut Fields<'_>) -> Result<usize, StructureError> {
    let rank = fields.count(4)?;
    if (1..=HIGHEST_RANK).contains(&rank) {
        Ok(rank)
    } else {
        Err(fields.damaged())
    }
}

/// A regular selection of `bytes` bytes a number.
fn axes(fields: &mut Fields<'_>, rank: usize, bytes: usize) -> Result<Selection, StructureError> {
    let mut axes = Vec::with_capacity(rank);
    for _ in 0..rank {
        let [start, stride] = [fields.number(bytes)?, fields.number(bytes)?];
        let mut limited = || -> Result<Option<u64>, StructureError> {
            let number = fields.number(bytes)?;
            Ok((number != all_ones(bytes)).then_some(number))
        };
        let [count, block] = [limited()?, limited()?];
        axes.push(Axis {
            start,
            stride,
            count,
            block,
        });
    }
    checked(axes)
}

/// Refuses axes without elements, and blocks that overlap.
fn checked(axes: Vec<Axis>) -> Result<Selection, StructureError> {
    for axis in &axes {
        let several = axis.count != Some(1);
        let overlap = several && axis.block.is_none_or(|block| block > axis.stride);
        if axis.count == Some(0) || axis.block == Some(0) || overlap {
            return Err(StructureError::Damaged(WHAT));
        }
    }
    Ok(Selection::Regular(axes))
}

/// A list of blocks, which has to be that of a regular selection.
fn blocks(
    fields: &mut Fields<'_>,
    (rank, count, bytes): (usize, usize, usize),
) -> Result<Selection, StructureError> {
    if count == 0 || fields.left() / (2 * rank * bytes) < count {
        return Err(fields.damaged());
    }
    // The first and last element of the blocks along each axis.
    let mut ends = vec![Vec::with_capacity(count); rank];
    for _ in 0..count {
        let mut corners = || -> Result<Vec<u64>, StructureError> {
            (0..rank).map(|_| fields.number(bytes)).collect()
        };
        let (first, last) = (corners()?, corners()?);
        for ((ends, first), last) in ends.iter_mut().zip(first).zip(last) {
            ends.push((first, last));
        }
    }
    let irregular = || StructureError::Unsupported("an irregular selection of a virtual dataset");
    let mut axes = Vec::with_capacity(rank);
    let mut product = 1_usize;
    for mut ends in ends {
        ends.sort_unstable();
        ends.dedup();
        product = product.saturating_mul(ends.len());
        let (first, last) = ends[0];
        let block = last.checked_sub(first).ok_or_else(|| fields.damaged())? + 1;
        let stride = ends.get(1).map_or(block, |next| next.0 - first);
        for pair in ends.windows(2) {
            if pair[1].0 - pair[0].0 != stride {
                return Err(irregular());
            }
        }
        if ends
            .iter()
            .any(|(first, last)| last.checked_sub(*first) != Some(block - 1))
        {
            return Err(irregular());
        }
        axes.push(Axis {
            start: first,
            stride,
            count: Some(ends.len() as u64),
            block: Some(block),
        });
    }
    if product != count {
        return Err(irregular());
    }
    checked(axes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A list of blocks of 4-byte numbers, as version 1 has them.
    fn listed(blocks: &[[u32; 4]]) -> Result<Selection, StructureError> {
        let mut words = vec![2, 1, 0, 0, 2, blocks.len() as u32];
        words.extend(blocks.iter().flatten());
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        selection(&mut Fields::new(&bytes, WHAT))
    }

    #[test]
    fn lists_of_blocks_are_made_regular() {
        let axis = |start, stride, count, block| Axis {
            start,
            stride,
            count: Some(count),
            block: Some(block),
        };
        // Rows 1 to 2, 5 to 6 and 9 to 10, columns 3 to 7.
        let three = [[1, 3, 2, 7], [5, 3, 6, 7], [9, 3, 10, 7]];
        let expected = Selection::Regular(vec![axis(1, 4, 3, 2), axis(3, 5, 1, 5)]);
        assert_eq!(listed(&three), Ok(expected));
        let irregular = [[1, 3, 2, 7], [5, 3, 6, 7], [8, 3, 9, 7]];
        assert!(listed(&irregular).is_err());
        // Two of the four corners of a square.
        assert!(listed(&[[0, 0, 0, 0], [2, 2, 2, 2]]).is_err());
        assert!(listed(&[[2, 0, 1, 0]]).is_err());
        assert!(listed(&[]).is_err());
    }
}
