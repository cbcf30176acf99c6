//! The mask of a scan.

use ndarray::{Array2, Array3, ArrayView2, ArrayViewMut2, Axis};

/// Valid detector pixels (`true`).
#[derive(Debug, Clone, PartialEq)]
pub enum Mask {
    /// One mask for all frames: (row, column).
    Shared(Array2<bool>),
    /// One mask per frame: (frame, row, column).
    PerFrame(Array3<bool>),
}

impl Mask {
    /// Number of valid pixels of `frame`.
    #[must_use]
    pub fn valid_in(&self, frame: usize) -> usize {
        match self {
            Self::Shared(m) => m.iter().filter(|v| **v).count(),
            Self::PerFrame(m) => m.index_axis(Axis(0), frame).iter().filter(|v| **v).count(),
        }
    }

    /// Valid pixels of `frame`: (row, column).
    #[must_use]
    pub fn of_frame(&self, frame: usize) -> ArrayView2<'_, bool> {
        match self {
            Self::Shared(m) => m.view(),
            Self::PerFrame(m) => m.index_axis(Axis(0), frame),
        }
    }

    /// Sets the masked pixels of `frame` to 0, and −0 to 0.
    pub(super) fn clear(&self, frame: usize, mut counts: ArrayViewMut2<'_, f32>) {
        counts.zip_mut_with(&self.of_frame(frame), |count, valid| {
            *count = if *valid { *count + 0.0 } else { 0.0 };
        });
    }
}
