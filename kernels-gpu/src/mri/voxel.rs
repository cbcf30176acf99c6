//! The position of a voxel.

/// Column, row and slice of a voxel, and the distances of its neighbours in memory.
#[derive(Clone, Copy)]
pub(super) struct Voxel {
    pub(super) column: u32,
    pub(super) row: u32,
    pub(super) slice: u32,
    columns: u32,
    rows: u32,
}

impl Voxel {
    /// Voxel number `n` of an image.
    #[inline(always)]
    pub(super) fn of(n: usize, columns: u32, rows: u32) -> Self {
        let line = n / columns as usize;
        Self {
            column: (n % columns as usize) as u32,
            row: (line % rows as usize) as u32,
            slice: (line / rows as usize) as u32,
            columns,
            rows,
        }
    }

    /// The voxel's index along column, row or slice (0, 1, 2), and the elements to the next one.
    #[inline(always)]
    pub(super) fn along(&self, axis: u32) -> (u32, usize) {
        match axis {
            0 => (self.column, 1),
            1 => (self.row, self.columns as usize),
            _ => (self.slice, self.columns as usize * self.rows as usize),
        }
    }
}
