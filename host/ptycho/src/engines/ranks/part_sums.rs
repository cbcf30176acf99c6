//! Sums of the parts of a list, added along a binary tree that depends on nothing but the number of
//! parts.

use std::ops::Range;

/// What can be summed over the parts of a list.
pub(crate) trait Summand: Sized {
    /// The sum of two.
    fn plus(self, other: Self) -> Self;
    /// The values as bytes.
    fn encode(&self) -> Vec<u8>;
    /// The inverse of [`Summand::encode`]; `None` if the bytes are not of such values.
    fn decode(bytes: &[u8]) -> Option<Self>;
}

/// Bytes of a number in a message.
const WORD: usize = size_of::<u64>();

/// Sums over neighbouring parts. Two of them become one as soon as they are the halves of a node of
/// the tree: the whole list, each half of it (the first is the shorter one), and so on.
pub(crate) struct PartSums<V> {
    parts: usize,
    nodes: Vec<(Range<usize>, V)>,
}

impl<V: Summand> PartSums<V> {
    /// No sums yet, of a list in `parts` parts.
    pub(crate) fn new(parts: usize) -> Self {
        Self {
            parts,
            nodes: Vec::new(),
        }
    }

    pub(super) fn without_sums(&self) -> Self {
        Self::new(self.parts)
    }

    /// Adds the sum of a part. Parts are added in their order.
    pub(crate) fn push(&mut self, part: usize, sum: V) {
        self.push_node(part..part + 1, sum);
    }

    fn push_node(&mut self, mut range: Range<usize>, mut sum: V) {
        while let Some((before, earlier)) = self.nodes.pop() {
            if !halves(self.parts, &before, &range) {
                self.nodes.push((before, earlier));
                break;
            }
            sum = earlier.plus(sum);
            range = before.start..range.end;
        }
        self.nodes.push((range, sum));
    }

    /// The sum over all parts; `None` if one is missing.
    pub(crate) fn total(mut self) -> Option<V> {
        let (range, sum) = self.nodes.pop()?;
        (range == (0..self.parts)).then_some(sum)
    }

    /// The sums as bytes: their number, then of each the first part, the last one, the number of
    /// its bytes, and these.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let number = |value: usize, bytes: &mut Vec<u8>| {
            bytes.extend_from_slice(&(value as u64).to_le_bytes());
        };
        number(self.nodes.len(), &mut bytes);
        for (range, sum) in &self.nodes {
            let own = sum.encode();
            number(range.start, &mut bytes);
            number(range.end, &mut bytes);
            number(own.len(), &mut bytes);
            bytes.extend(own);
        }
        bytes
    }

    /// Adds the sums that another rank has encoded; `None` if the bytes are not of such sums.
    pub(super) fn decode(&mut self, mut bytes: &[u8]) -> Option<()> {
        let count = number(&mut bytes)?;
        for _ in 0..count {
            let (start, end) = (number(&mut bytes)?, number(&mut bytes)?);
            let length = number(&mut bytes)?;
            let (own, rest) = bytes.split_at_checked(length)?;
            bytes = rest;
            self.push_node(start..end, V::decode(own)?);
        }
        bytes.is_empty().then_some(())
    }
}

/// Takes a number from the front of `bytes`.
fn number(bytes: &mut &[u8]) -> Option<usize> {
    let (first, rest) = bytes.split_first_chunk::<WORD>()?;
    *bytes = rest;
    usize::try_from(u64::from_le_bytes(*first)).ok()
}

/// Whether `a` and `b` are the halves of a node of the tree over `parts` parts.
fn halves(parts: usize, a: &Range<usize>, b: &Range<usize>) -> bool {
    let (mut low, mut high) = (0, parts);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if (low, high) == (a.start, b.end) {
            return a.end == middle && b.start == middle;
        }
        if a.start >= middle {
            low = middle;
        } else if b.end <= middle {
            high = middle;
        } else {
            return false;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An expression, so that the order of additions can be seen.
    impl Summand for String {
        fn plus(self, other: Self) -> Self {
            format!("({self}{other})")
        }
        fn encode(&self) -> Vec<u8> {
            self.as_bytes().to_vec()
        }
        fn decode(bytes: &[u8]) -> Option<Self> {
            Self::from_utf8(bytes.to_vec()).ok()
        }
    }

    fn sums(parts: usize, own: Range<usize>) -> PartSums<String> {
        let mut sums = PartSums::new(parts);
        for part in own {
            sums.push(part, format!("{part:x}"));
        }
        sums
    }

    #[test]
    fn parts_are_added_along_one_tree_however_they_are_divided() {
        assert_eq!(
            sums(12, 0..12).total().unwrap(),
            "(((0(12))(3(45)))((6(78))(9(ab))))"
        );
        for parts in 1..=13 {
            let alone = sums(parts, 0..parts).total().unwrap();
            for ranks in 1..=parts + 2 {
                let mut all = PartSums::<String>::new(parts);
                for rank in 0..ranks {
                    let own = rank * parts / ranks..(rank + 1) * parts / ranks;
                    all.decode(&sums(parts, own).encode()).unwrap();
                }
                assert_eq!(all.total().unwrap(), alone, "{parts} parts, {ranks} ranks");
            }
        }
    }

    #[test]
    fn missing_parts_and_other_bytes_are_noticed() {
        assert!(sums(3, 0..2).total().is_none());
        assert!(sums(3, 1..3).total().is_none());
        let bytes = sums(3, 0..2).encode();
        for length in 0..bytes.len() {
            let mut all = PartSums::<String>::new(3);
            assert!(all.decode(&bytes[..length]).is_none(), "{length}");
        }
        let longer = [bytes.as_slice(), &[0]].concat();
        assert!(PartSums::<String>::new(3).decode(&longer).is_none());
    }
}
