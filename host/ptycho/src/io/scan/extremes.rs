//! The range of the counts, by which readers know at one look that all of them are counts.

use crate::data::{Frames, Mask};
use ndarray::{ArrayView1, ArrayView2};
use rayon::prelude::*;
use warpstride_core::system::ScratchError;

/// The range of the counts of some pixels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Extremes {
    /// Whether one is negative or NaN.
    below: bool,
    /// The largest, at least 0.
    largest: f32,
}

impl Extremes {
    const NONE: Self = Self {
        below: false,
        largest: 0.0,
    };

    /// Those of the pixels that are not masked; the mask fits the frames. They may be known from
    /// reading.
    ///
    /// # Errors
    /// The temporary file of the counts cannot be read.
    pub(super) fn of(frames: &Frames, mask: Option<&Mask>) -> Result<Self, ScratchError> {
        if let Some(largest) = frames.known_largest(mask) {
            return Ok(Self {
                below: false,
                largest,
            });
        }
        let mut all = Self::NONE;
        frames.blocks(|first, block| {
            let each: Vec<_> = block.outer_iter().collect();
            let found = each.into_par_iter().enumerate().map(|(number, frame)| {
                let valid = mask.map(|mask| mask.of_frame(first + number));
                Self::of_frame(frame, valid)
            });
            all = all.with(found.reduce(|| Self::NONE, Self::with));
            Ok::<(), ScratchError>(())
        })?;
        Ok(all)
    }

    /// Those of the pixels of a frame for which `valid` is true, or of all.
    pub(super) fn of_frame(
        frame: ArrayView2<'_, f32>,
        valid: Option<ArrayView2<'_, bool>>,
    ) -> Self {
        let rows = frame.rows().into_iter().enumerate();
        rows.fold(Self::NONE, |all, (row, counts)| {
            let valid = valid.as_ref().map(|valid| valid.row(row));
            all.with(Self::of_row(counts, valid))
        })
    }

    fn of_row(counts: ArrayView1<'_, f32>, valid: Option<ArrayView1<'_, bool>>) -> Self {
        let valid_slice = valid.as_ref().map(|valid| valid.as_slice());
        match (counts.as_slice(), valid_slice) {
            (Some(counts), None) => Self::of_values(counts.iter().copied()),
            (Some(counts), Some(Some(valid))) => {
                let both = counts.iter().zip(valid);
                Self::of_values(both.map(|(count, valid)| if *valid { *count } else { 0.0 }))
            }
            _ => Self::of_values(counts.iter().enumerate().map(|(column, count)| {
                let valid = valid.as_ref().is_none_or(|valid| valid[column]);
                if valid { *count } else { 0.0 }
            })),
        }
    }

    /// Without branches and with integers, so that several are compared at once: bits of numbers
    /// from 0 on have the order of the numbers.
    #[inline]
    fn of_values(counts: impl Iterator<Item = f32>) -> Self {
        let (below, largest) = counts.fold((false, 0_i32), |(below, largest), count| {
            let is_count = count >= 0.0;
            let bits = if is_count { count.to_bits() } else { 0 };
            (below | !is_count, largest.max(bits.cast_signed()))
        });
        Self {
            below,
            largest: f32::from_bits(largest.cast_unsigned()),
        }
    }

    fn with(self, other: Self) -> Self {
        Self {
            below: self.below | other.below,
            largest: self.largest.max(other.largest),
        }
    }

    /// Whether all are at least 0 and below `end`.
    pub(super) fn are_counts_below(&self, end: f32) -> bool {
        !self.below && self.largest < end
    }

    /// Whether none is `least` or more.
    pub(super) fn none_from(&self, least: f32) -> bool {
        self.largest < least
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::{Array2, Array3};

    #[test]
    fn masked_pixels_do_not_count() {
        let mut counts = Array3::from_elem((3, 2, 4), 5.0_f32);
        counts[[1, 1, 2]] = f32::NAN;
        counts[[2, 1, 2]] = 70.0;
        let of = |mask: Option<&Mask>| Extremes::of(&counts.clone().into(), mask).unwrap();
        assert_eq!(
            of(None),
            Extremes {
                below: true,
                largest: 70.0
            }
        );
        assert!(of(None).none_from(71.0) && !of(None).are_counts_below(71.0));
        let mut plane = Array2::from_elem((2, 4), true);
        plane[[1, 2]] = false;
        let masked = of(Some(&Mask::Shared(plane.clone())));
        assert!(masked.are_counts_below(6.0) && !masked.are_counts_below(5.0));
        let transposed =
            Extremes::of_frame(counts.index_axis(ndarray::Axis(0), 2).t(), Some(plane.t()));
        assert_eq!(transposed.largest, 5.0);
    }
}
