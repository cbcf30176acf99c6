//! The voxels of an image.

use serde::Serialize;

/// An image's shape: slices × rows × columns; two-dimensional images have one slice.
///
/// Voxel n of an axis of N lies at n − ⌊N/2⌋ pixels. Arrays are (slice, row, column) in row-major
/// order; the axes of k-space are named kx, ky, kz and correspond to column, row, slice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Grid {
    /// Slices, rows, columns.
    pub shape: [usize; 3],
    /// 2 or 3: the number of axes of k-space. With two, slices are not encoded (and there is one).
    pub axes: usize,
}

impl Grid {
    /// rows × columns.
    #[must_use]
    pub fn two(rows: usize, columns: usize) -> Self {
        Self {
            shape: [1, rows, columns],
            axes: 2,
        }
    }

    /// slices × rows × columns.
    #[must_use]
    pub fn three(slices: usize, rows: usize, columns: usize) -> Self {
        Self {
            shape: [slices, rows, columns],
            axes: 3,
        }
    }

    /// Number of voxels.
    #[must_use]
    pub fn voxels(&self) -> usize {
        self.shape.iter().product()
    }

    /// Voxels along kx, ky, kz: columns, rows, slices.
    #[must_use]
    pub fn along_k(&self) -> [usize; 3] {
        let [slices, rows, columns] = self.shape;
        [columns, rows, slices]
    }

    /// The grid of voxel differences: twice as many voxels along every encoded axis.
    #[must_use]
    pub fn doubled(&self) -> Self {
        let [slices, rows, columns] = self.shape;
        let slices = if self.axes == 3 { 2 * slices } else { slices };
        Self {
            shape: [slices, 2 * rows, 2 * columns],
            axes: self.axes,
        }
    }
}
