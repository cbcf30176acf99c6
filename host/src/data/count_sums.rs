//! What is known of the counts of a scan after one look at them.

use ndarray::{Array2, ArrayView2, ArrayView3, Axis};
use rayon::prelude::*;
use std::hash::{DefaultHasher, Hasher as _};

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

/// Properties of a frame.
struct OfFrame {
    sum: f64,
    largest: f32,
    whole: bool,
    hash: u64,
}

impl OfFrame {
    fn new(frame: ArrayView2<'_, f32>) -> Self {
        let mut new = Self {
            sum: 0.0,
            largest: 0.0,
            whole: true,
            hash: 0,
        };
        let mut hasher = DefaultHasher::new();
        for row in frame.rows() {
            for count in row {
                new.sum += f64::from(*count);
                new.largest = new.largest.max(*count);
                new.whole &= count.fract() == 0.0;
            }
            match row.as_slice() {
                Some(row) => hasher.write(bytemuck::cast_slice(row)),
                None => row
                    .iter()
                    .for_each(|count| hasher.write_u32(count.to_bits())),
            }
        }
        new.hash = hasher.finish();
        new
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

    /// Adds the frames that follow.
    pub(super) fn add(&mut self, block: ArrayView3<'_, f32>) {
        let frames: Vec<_> = block.outer_iter().collect();
        let found: Vec<OfFrame> = frames.into_par_iter().map(OfFrame::new).collect();
        for of in found {
            self.of_frames.push(of.sum);
            self.hashes.push(of.hash);
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
