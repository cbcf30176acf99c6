//! Transforms of the emulator: RustFFT along one axis after the other.

use crate::gpu::Direction;
use std::fmt;
use std::sync::Arc;
use warpstride_fft::{Fft, num_complex, transpose};

/// A plan of transforms of `batch` arrays.
pub struct EmulatedFft {
    /// (row, column) or (slice, row, column).
    pub(super) shape: Vec<usize>,
    pub(super) batch: usize,
    /// Forward transform along each axis.
    pub(super) forward: Vec<Arc<dyn Fft<f32>>>,
    /// Inverse transform along each axis.
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
    /// The number of elements of an array.
    pub(super) fn frame(&self) -> usize {
        self.shape.iter().product()
    }

    /// Transforms one array in place: once per axis, the last axis is transformed and becomes the
    /// first.
    pub(super) fn transform(&self, frame: &mut [num_complex::Complex<f32>], direction: Direction) {
        let along = match direction {
            Direction::Forward => &self.forward,
            Direction::Inverse => &self.inverse,
        };
        let mut along_axis = frame.to_vec();
        for (len, axis) in self.shape.iter().zip(along).rev() {
            along_axis.copy_from_slice(frame);
            axis.process(&mut along_axis);
            transpose(&along_axis, frame, *len, frame.len() / len);
        }
    }
}
