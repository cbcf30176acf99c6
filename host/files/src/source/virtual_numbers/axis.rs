//! Elements along one axis of a dataset.

use std::ops::Range;
use warpstride_formats::hdf5_structure::{Axis, Selection};

/// Selected elements of an axis, in blocks of equal distances.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Elements {
    start: usize,
    /// From the beginning of a block to that of the next one; not below `block`.
    stride: usize,
    block: usize,
    /// Number of elements; as large as possible without a limit.
    count: usize,
    /// Whether there are as many as there are data.
    pub(super) unlimited: bool,
}

impl Elements {
    /// Those of each axis of a dataset of `shape`; `None` if it has another rank or the numbers are
    /// too large.
    pub(super) fn of_selection(selection: &Selection, shape: &[usize]) -> Option<Vec<Self>> {
        match selection {
            Selection::Nothing => None,
            Selection::All => Some(shape.iter().map(|length| Self::all(*length)).collect()),
            Selection::Regular(axes) if axes.len() == shape.len() => {
                axes.iter().map(Self::of_axis).collect()
            }
            Selection::Regular(_) => None,
        }
    }

    fn all(length: usize) -> Self {
        Self {
            start: 0,
            stride: length.max(1),
            block: length.max(1),
            count: length,
            unlimited: false,
        }
    }

    fn of_axis(axis: &Axis) -> Option<Self> {
        let number = |of: u64| usize::try_from(of).ok();
        let block = axis.block.map_or(Some(usize::MAX), number)?;
        let count = axis.count.map_or(Some(usize::MAX), number)?;
        let unlimited = axis.block.is_none() || axis.count.is_none();
        Some(Self {
            start: number(axis.start)?,
            stride: number(axis.stride)?.max(block).max(1),
            block: block.max(1),
            count: if unlimited {
                usize::MAX
            } else {
                count.checked_mul(block)?
            },
            unlimited,
        })
    }

    /// Number of elements.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    fn checked_at(&self, number: usize) -> Option<usize> {
        (number / self.block)
            .checked_mul(self.stride)?
            .checked_add(number % self.block)?
            .checked_add(self.start)
    }

    /// The element of this number. Those of a part have been checked.
    pub(super) fn at(&self, number: usize) -> usize {
        self.checked_at(number).unwrap_or(usize::MAX)
    }

    /// The element behind the last one; `None` if it is too large.
    pub(super) fn end(&self) -> Option<usize> {
        match self.count.checked_sub(1) {
            Some(last) => self.checked_at(last)?.checked_add(1),
            None => Some(0),
        }
    }

    /// The number of the first element from `element` on.
    fn first_from(&self, element: usize) -> usize {
        let distance = element.saturating_sub(self.start);
        let blocks = distance / self.stride;
        let inside = (distance % self.stride).min(self.block);
        let number = blocks.saturating_mul(self.block).saturating_add(inside);
        number.min(self.count)
    }

    /// Numbers of the elements in `range`.
    pub(super) fn numbers_in(&self, range: &Range<usize>) -> Range<usize> {
        self.first_from(range.start)..self.first_from(range.end)
    }

    /// Leaves out elements from `length` on.
    pub(super) fn limit(&mut self, length: usize) {
        self.shorten(self.first_from(length));
    }

    /// Leaves out elements but the first `count`.
    pub(super) fn shorten(&mut self, count: usize) {
        self.count = self.count.min(count);
        self.unlimited = false;
    }

    /// The block of this number alone; `None` if it has no limit.
    pub(super) fn lone_block(&self, number: usize) -> Option<Self> {
        if self.block == usize::MAX {
            return None;
        }
        Some(Self {
            start: number.checked_mul(self.stride)?.checked_add(self.start)?,
            count: self.block,
            unlimited: false,
            ..*self
        })
    }

    /// The elements of these numbers, counted from the element `begin`.
    pub(super) fn along(&self, numbers: &Range<usize>, begin: usize) -> Along {
        let (range, chosen) = self.block(numbers);
        let first = range.start - begin;
        match chosen {
            None => Along::Range(first..first + range.len()),
            Some(chosen) => Along::List(chosen.into_iter().map(|of| of + first).collect()),
        }
    }

    /// The range that has the elements of these numbers, at least one, and those of it that are
    /// elements, if not all.
    pub(super) fn block(&self, numbers: &Range<usize>) -> (Range<usize>, Option<Vec<usize>>) {
        let range = self.at(numbers.start)..self.at(numbers.end - 1) + 1;
        let chosen = (range.len() != numbers.len())
            .then(|| numbers.clone().map(|n| self.at(n) - range.start).collect());
        (range, chosen)
    }

    /// Parts of `numbers` whose elements follow each other without gaps, in this axis and in
    /// `other`.
    pub(super) fn runs(&self, other: &Self, numbers: &Range<usize>) -> Vec<Range<usize>> {
        let end_of_block = |of: &Self, number: usize| {
            if of.stride == of.block {
                usize::MAX
            } else {
                (number / of.block + 1).saturating_mul(of.block)
            }
        };
        let mut runs = Vec::new();
        let mut at = numbers.start;
        while at < numbers.end {
            let end = (numbers.end)
                .min(end_of_block(self, at))
                .min(end_of_block(other, at));
            runs.push(at..end);
            at = end;
        }
        runs
    }
}

/// Places along an axis of an array.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Along {
    Range(Range<usize>),
    List(Vec<usize>),
}

impl Along {
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Range(range) => range.len(),
            Self::List(list) => list.len(),
        }
    }

    pub(super) fn range(&self) -> Option<Range<usize>> {
        match self {
            Self::Range(range) => Some(range.clone()),
            Self::List(_) => None,
        }
    }

    pub(super) fn at(&self, number: usize) -> usize {
        match self {
            Self::Range(range) => range.start + number,
            Self::List(list) => list[number],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against all elements one by one.
    #[test]
    fn numbers_and_runs_are_those_of_the_elements() {
        let axis = |start, stride, count, block| {
            Elements::of_axis(&Axis {
                start,
                stride,
                count: Some(count),
                block: Some(block),
            })
            .unwrap()
        };
        let all = [
            axis(0, 1, 6, 1),
            axis(2, 3, 3, 2),
            axis(1, 0, 1, 6),
            axis(3, 6, 1, 6),
            axis(0, 2, 6, 1),
        ];
        for of in &all {
            assert_eq!(of.count(), 6);
            let elements: Vec<usize> = (0..6).map(|n| of.at(n)).collect();
            assert_eq!(of.end(), Some(elements[5] + 1));
            for begin in 0..14 {
                for end in begin..14 {
                    let inside: Vec<usize> = (0..6)
                        .filter(|n| (begin..end).contains(&elements[*n]))
                        .collect();
                    let numbers = of.numbers_in(&(begin..end));
                    assert_eq!(numbers.clone().collect::<Vec<_>>(), inside, "{of:?}");
                    if !numbers.is_empty() {
                        let along = of.along(&numbers, begin);
                        let found: Vec<usize> =
                            (0..along.len()).map(|n| along.at(n) + begin).collect();
                        assert_eq!(found, elements[numbers.clone()], "{of:?}");
                    }
                    for other in &all {
                        let runs = of.runs(other, &numbers);
                        let joined: Vec<usize> = runs.iter().cloned().flatten().collect();
                        assert_eq!(joined, inside);
                        for run in runs {
                            assert_eq!(of.block(&run).1, None, "{of:?} {other:?}");
                            assert_eq!(other.block(&run).1, None, "{of:?} {other:?}");
                        }
                    }
                }
            }
        }
        let mut growing = Elements::of_axis(&Axis {
            start: 1,
            stride: 3,
            count: None,
            block: Some(2),
        })
        .unwrap();
        assert_eq!(growing.end(), None);
        assert_eq!(growing.lone_block(2).unwrap().at(0), 7);
        growing.limit(6);
        assert_eq!((growing.count(), growing.end()), (4, Some(6)));
    }
}
