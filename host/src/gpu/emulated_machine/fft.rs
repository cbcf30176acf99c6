//! Transforms of the emulator: rustfft along one axis after the other.

use crate::gpu::Direction;
use rustfft::{Fft, num_complex};
use std::fmt;
use std::sync::Arc;

/// A planned transform of `batch` arrays.
pub struct EmulatedFft {
    /// (row, column) or (slice, row, column).
    pub(super) shape: Vec<usize>,
    pub(super) batch: usize,
    /// Along each axis, forward.
    pub(super) forward: Vec<Arc<dyn Fft<f32>>>,
    /// The same, inverse.
    pub(super) inverse: Vec<Arc<dyn Fft<f32>>>,
}

impl fmt::Debug for EmulatedFft {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EmulatedFft")
            .field("shape", &self.shape)
            .field("batch", &self.batch)
            .finish_non_exhaustive()
    }
}

impl EmulatedFft {
    /// Elements of an array.
    pub(super) fn frame(&self) -> usize {
        self.shape.iter().product()
    }

    /// One array in place: the last axis is transformed and becomes the first, as often as there
    /// are axes.
    pub(super) fn transform(&self, frame: &mut [num_complex::Complex<f32>], direction: Direction) {
        let along = match direction {
            Direction::Forward => &self.forward,
            Direction::Inverse => &self.inverse,
        };
        for (len, axis) in self.shape.iter().zip(along).rev() {
            axis.process(frame);
            frame.copy_from_slice(&transposed(frame, frame.len() / len, *len));
        }
    }
}

/// (row, column) to (column, row).
fn transposed<T: Copy>(array: &[T], rows: usize, columns: usize) -> Vec<T> {
    (0..columns)
        .flat_map(|column| (0..rows).map(move |row| array[row * columns + column]))
        .collect()
}
