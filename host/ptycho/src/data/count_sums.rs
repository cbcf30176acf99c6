//! What is known of the counts of a scan after one look at them.

use ndarray::{Array2, ArrayView3, Axis};
use rayon::prelude::*;

/// Sums and other properties of the counts of all frames; masked pixels have none.
#[derive(Debug, Clone, PartialEq)]
pub struct CountSums {
    /// Counts of each frame.
    pub of_frames: Vec<f64>,
    /// Counts of each pixel (row, column) over all frames, added in their order.
    pub of_pixels: Array2<f64>,
    /// The largest count.
    pub largest: f32,
    /// Whether all counts are whole numbers.
    pub whole: bool,
    /// A number that two frames with the same counts share, and hardly two others.
    pub hashes: Vec<u64>,
}

/// Whole numbers below this, 2²³, become the last bits of their sum with it.
pub(super) const SMALL: f32 = 8_388_608.0;

/// Pixels of which 32 bits hold the sum of such numbers.
pub(super) const SMALL_PIXELS: usize = 256;

/// The sum and the largest of at most [`SMALL_PIXELS`] counts that are whole numbers from 0 to 2²³
/// − 1; `None` of others.
fn small(counts: &[f32]) -> Option<(u32, f32)> {
    let (mut sum, mut largest, mut small) = (0_u32, 0_i32, true);
    for count in counts {
        let shifted = count + SMALL;
        // No branches, and integers, so that several are computed at once: bits of numbers from 0
        // on have the order of the numbers.
        small &= (shifted - SMALL == *count) & (*count >= 0.0);
        sum = sum.wrapping_add(shifted.to_bits() & 0x007f_ffff);
        largest = largest.max(count.to_bits().cast_signed());
    }
    let largest = f32::from_bits(largest.cast_unsigned());
    (small && largest < SMALL).then_some((sum, largest))
}

/// Words of which a hash is computed independently.
const LANES: usize = 4;

/// An odd number: the first 64 bits of the fraction of the golden ratio.
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

/// The number that a hash `state` becomes with a word: both halves of a product of 128 bits.
fn mixed(state: u64, word: u64) -> u64 {
    let product = u128::from(state ^ word).wrapping_mul(u128::from(FACTOR));
    (product >> 64) as u64 ^ product as u64
}

/// A hash of rows of counts, one after the other.
pub(super) struct CountHash([u64; LANES]);

impl CountHash {
    pub(super) fn new() -> Self {
        Self([1, 2, 3, 4].map(|n: u64| n.wrapping_mul(FACTOR)))
    }

    pub(super) fn add(&mut self, row: &[f32]) {
        let bytes: &[u8] = bytemuck::cast_slice(row);
        let (groups, rest) = bytes.as_chunks::<{ 8 * LANES }>();
        let word = |bytes: &[u8]| {
            let mut word = [0; 8];
            word[..bytes.len()].copy_from_slice(bytes);
            u64::from_le_bytes(word)
        };
        for group in groups {
            for (state, bytes) in self.0.iter_mut().zip(group.as_chunks::<8>().0) {
                *state = mixed(state.rotate_left(5), u64::from_le_bytes(*bytes));
            }
        }
        for (state, bytes) in self.0.iter_mut().zip(rest.chunks(8)) {
            *state = mixed(state.rotate_left(5), word(bytes));
        }
    }

    pub(super) fn finish(self) -> u64 {
        self.0.into_iter().fold(FACTOR, |all, state| {
            mixed(all.rotate_left(5), state).wrapping_add(state)
        })
    }
}

/// Properties of a frame, of which its rows are added.
pub(super) struct OfFrame {
    sum: f64,
    largest: f32,
    whole: bool,
    hash: CountHash,
}

impl OfFrame {
    pub(super) fn new() -> Self {
        Self {
            sum: 0.0,
            largest: 0.0,
            whole: true,
            hash: CountHash::new(),
        }
    }

    /// Adds a row, in which masked pixels are 0, or returns the column of the first count that is
    /// negative or not finite, and the count.
    pub(super) fn add(&mut self, row: &[f32]) -> Result<(), (usize, f32)> {
        for (number, counts) in row.chunks(SMALL_PIXELS).enumerate() {
            if let Some((sum, largest)) = small(counts) {
                // Sums of whole numbers are exact, so that the order of their terms does not
                // matter.
                if self.whole {
                    self.sum += f64::from(sum);
                    self.largest = self.largest.max(largest);
                    continue;
                }
            }
            for (column, count) in counts.iter().enumerate() {
                if !(count.is_finite() && *count >= 0.0) {
                    return Err((number * SMALL_PIXELS + column, *count));
                }
                self.sum += f64::from(*count);
                self.largest = self.largest.max(*count);
                self.whole &= count.fract() == 0.0;
            }
        }
        self.hash.add(row);
        Ok(())
    }
}

impl CountSums {
    /// Those of no frames of `rows` × `columns` pixels.
    pub(super) fn new(rows: usize, columns: usize) -> Self {
        Self {
            of_frames: Vec::new(),
            of_pixels: Array2::zeros((rows, columns)),
            largest: 0.0,
            whole: true,
            hashes: Vec::new(),
        }
    }

    /// Adds the frames that follow, and what is known of each.
    pub(super) fn add(&mut self, block: ArrayView3<'_, f32>, frames: Vec<OfFrame>) {
        for of in frames {
            self.of_frames.push(of.sum);
            self.hashes.push(of.hash.finish());
            self.largest = self.largest.max(of.largest);
            self.whole &= of.whole;
        }
        let rows: Vec<_> = self.of_pixels.rows_mut().into_iter().collect();
        rows.into_par_iter()
            .enumerate()
            .for_each(|(row, mut sums)| {
                for counts in block.index_axis(Axis(1), row).outer_iter() {
                    sums.zip_mut_with(&counts, |sum, count| *sum += f64::from(*count));
                }
            });
    }

    /// Counts of all frames.
    #[must_use]
    pub fn total(&self) -> f64 {
        self.of_frames.iter().sum()
    }

    /// Counts of the brightest frame.
    #[must_use]
    pub fn brightest(&self) -> f64 {
        self.of_frames.iter().copied().fold(0.0, f64::max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sum, largest count, whether all are whole, and hash.
    fn properties(rows: &[&[f32]]) -> Result<(f64, f32, bool, u64), (usize, f32)> {
        let mut of = OfFrame::new();
        rows.iter().try_for_each(|row| of.add(row))?;
        Ok((of.sum, of.largest, of.whole, of.hash.finish()))
    }

    #[test]
    fn sums_of_rows_are_those_of_their_counts() {
        let counts = |factor: f32| -> Vec<f32> {
            (0..1003_u16)
                .map(|n| f32::from(n * 31 % 997) * factor)
                .collect()
        };
        for (factor, whole) in [(1.0, true), (8192.0, true), (0.3, false)] {
            let mut row = counts(factor);
            let sum = row.iter().fold(0.0, |sum, count| sum + f64::from(*count));
            let largest = row.iter().copied().fold(0.0, f32::max);
            let (found, most, all_whole, hash) = properties(&[&row]).unwrap();
            assert_eq!((found, most, all_whole), (sum, largest, whole), "{factor}");
            let (first, second) = row.split_at(512);
            assert_eq!(properties(&[first, second]).unwrap().0, sum);
            row.swap(3, 700);
            assert_ne!(properties(&[&row]).unwrap().3, hash);
            for wrong in [-1.0, f32::NAN, f32::INFINITY] {
                row[600] = wrong;
                assert_eq!(properties(&[&row]).unwrap_err().0, 600);
            }
        }
    }
}
