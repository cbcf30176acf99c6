//! Where the numbers of a chunk are in it, and where they go.

use super::super::stored::{Stored, StoredNumber};
use hdf5_metno::dataset::ChunkInfo;
use std::ops::Range;

/// A chunk, and the part of the dataset that is read of it.
pub(super) type Piece<'c> = (&'c ChunkInfo, Vec<Range<usize>>);

/// Where the numbers of a chunk's part are in the chunk and where they go. Neighbouring axes of
/// which both have everything are one.
pub(super) struct Places {
    lengths: Vec<usize>,
    /// Where the part begins, and the shape of the whole: in the chunk (or the part alone).
    from: [Vec<usize>; 2],
    /// The same in the slab.
    to: [Vec<usize>; 2],
}

impl Places {
    /// Places of the numbers of `piece`, of a chunk of shape `from` or of the part alone, in a slab
    /// of shape `to` that begins at the first of `lines` and the first of the other `parts`.
    pub(super) fn new(
        (chunk, region): &Piece<'_>,
        lines: &Range<usize>,
        parts: &[Range<usize>],
        to: &[usize],
        from: &[usize],
    ) -> Self {
        let mut lengths: Vec<usize> = region.iter().map(ExactSizeIterator::len).collect();
        let alone = lengths == from;
        let begins = region.iter().zip(&chunk.offset);
        let mut in_chunk: Vec<usize> = begins
            .map(|(part, offset)| {
                if alone {
                    0
                } else {
                    part.start - *offset as usize
                }
            })
            .collect();
        let first = std::iter::once(lines).chain(parts.iter().skip(1));
        let begins = region.iter().zip(first);
        let mut in_slab: Vec<usize> = begins.map(|(part, all)| part.start - all.start).collect();
        let (mut from, mut to) = (from.to_vec(), to.to_vec());
        while let [.., _, last] = *lengths.as_slice()
            && from.last() == Some(&last)
            && to.last() == Some(&last)
        {
            for axes in [
                &mut lengths,
                &mut in_chunk,
                &mut in_slab,
                &mut from,
                &mut to,
            ] {
                axes.pop();
                if let Some(before) = axes.last_mut() {
                    *before *= last;
                }
            }
        }
        Self {
            lengths,
            from: [in_chunk, from],
            to: [in_slab, to],
        }
    }

    /// Numbers that follow one another in both, and where they begin in the chunk and in the slab.
    fn rows(&self) -> (usize, impl Iterator<Item = (usize, usize)>) {
        let row = self.lengths.last().copied().unwrap_or(1).max(1);
        let [from, to] = [&self.from, &self.to].map(|[at, of]| rows(at, &self.lengths, of));
        (row, from.zip(to))
    }

    /// Where the only row of numbers, which is all of the slab with `length` numbers, begins in the
    /// chunk; `None` if there are several rows.
    pub(super) fn only_row(&self, length: usize) -> Option<usize> {
        let (row, mut places) = self.rows();
        let (from, _) = places.next()?;
        (row == length).then_some(from)
    }

    /// Converts the numbers from the bytes of the chunk.
    pub(super) fn convert<T: StoredNumber>(&self, stored: Stored, decoded: &[u8], to: &mut [T]) {
        let item = stored.bytes();
        let (row, places) = self.rows();
        for (from, at) in places {
            stored.convert(
                &decoded[from * item..(from + row) * item],
                &mut to[at..at + row],
            );
        }
    }

    /// Copies the numbers of the part.
    pub(super) fn copy<T: Copy>(&self, numbers: &[T], to: &mut [T]) {
        let (row, places) = self.rows();
        for (from, at) in places {
            to[at..at + row].copy_from_slice(&numbers[from..from + row]);
        }
    }
}

/// Where the rows, along the last axis, of a region that begins at `begins` and has `lengths` are
/// in an array of `shape`, in their order.
fn rows(begins: &[usize], lengths: &[usize], shape: &[usize]) -> impl Iterator<Item = usize> {
    let outer = lengths.len().saturating_sub(1);
    let count: usize = lengths[..outer].iter().product();
    let (begins, lengths, shape) = (begins.to_vec(), lengths.to_vec(), shape.to_vec());
    (0..count).map(move |row| {
        let mut left = row;
        let mut at = begins.last().copied().unwrap_or(0);
        let mut stride = shape.last().copied().unwrap_or(1);
        for axis in (0..outer).rev() {
            at += (begins[axis] + left % lengths[axis]) * stride;
            left /= lengths[axis];
            stride *= shape[axis];
        }
        at
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_a_region_follow_the_array() {
        let at: Vec<usize> = rows(&[1, 0, 2], &[2, 2, 3], &[4, 3, 5]).collect();
        // (1, 0, 2), (1, 1, 2), (2, 0, 2), (2, 1, 2) of 4 × 3 × 5.
        assert_eq!(at, [17, 22, 32, 37]);
        assert_eq!(rows(&[3], &[2], &[7]).collect::<Vec<_>>(), [3]);
        assert_eq!(rows(&[], &[], &[]).collect::<Vec<_>>(), [0]);
    }
}
