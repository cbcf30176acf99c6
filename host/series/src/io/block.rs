//! Points of an input.

use super::sentinels::is_among;

/// Part of the points in the order of the input; at most a few 10⁵.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Block {
    /// (point), an index of `Names`.
    pub series: Vec<u32>,
    /// (point), nanoseconds since 1970, non-negative.
    pub times: Vec<i64>,
    /// (point).
    pub values: Vec<f64>,
}

impl Block {
    /// Number of points.
    #[must_use]
    pub fn len(&self) -> usize {
        self.times.len()
    }

    /// Whether there are no points.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.times.is_empty()
    }

    /// Removes the points with one of the `missing` values. Returns their number.
    pub(super) fn leave_out(&mut self, missing: &[f64]) -> u64 {
        let kept: Vec<bool> = self.values.iter().map(|v| !is_among(missing, *v)).collect();
        let before = self.len();
        let mut each = kept.iter();
        self.series.retain(|_| each.next() == Some(&true));
        let mut each = kept.iter();
        self.times.retain(|_| each.next() == Some(&true));
        let mut each = kept.iter();
        self.values.retain(|_| each.next() == Some(&true));
        (before - self.len()) as u64
    }
}
