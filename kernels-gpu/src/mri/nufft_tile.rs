//! Points of a trajectory and the tiles of the fine grid into which they are sorted.
//!
//! A point at x (in fine cells) touches the w cells from `ceil(x − w/2)` on, along each axis. It belongs to the tile
//! that contains the first of them, so that a tile with a border of w − 1 cells at its end contains all cells that
//! its points touch; the border of the last tiles is the beginning of the grid. Tiles are 16 × 16 cells, or 16 × 8 ×
//! 8 (x, y, z).
//!
//! 16 along x avoids bank conflicts in shared memory: with a pitch of 16 + w complex numbers, the w cells of one row
//! follow those of the previous row in the banks, so that the w × w footprint of a point lies in w² consecutive pairs
//! of banks. 8 × 8 along the other axes keeps the border small (w = 5: a copy of a tile has 2.8 times its cells) and
//! allows nine tiles in a multiprocessor's memory.

/// A point of the trajectory: 16 bytes, one load.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C, align(16))]
pub struct NufftPoint {
    /// x, y, z: in the upper 4 bits the first cell touched, relative to the tile; in the lower 28 its distance from
    /// the kernel's edge, in units of 2⁻²⁸ cells.
    pub place: [u32; 3],
    /// The number of its sample.
    pub sample: u32,
}

/// Bits of [`NufftPoint::place`] below the cell.
pub const FRACTION_BITS: u32 = 28;

impl NufftPoint {
    /// First cell touched along an axis, relative to the tile.
    #[inline(always)]
    #[must_use]
    pub fn cell(&self, axis: usize) -> u32 {
        self.place[axis] >> FRACTION_BITS
    }

    /// The argument of the kernel's polynomials along an axis, −1 … 1. It is made signed before it is rounded, so
    /// that the rounding error is relative.
    #[inline(always)]
    #[must_use]
    pub fn argument(&self, axis: usize) -> f32 {
        let fraction = self.place[axis] & ((1 << FRACTION_BITS) - 1);
        let half = 1 << (FRACTION_BITS - 1);
        fraction.wrapping_sub(half).cast_signed() as f32 * (1.0 / half as f32)
    }
}

/// Some points of one tile, processed together by one warp (spreading) or one block (interpolation).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct NufftSubproblem {
    /// First point, in the sorted order.
    pub first: u32,
    /// Number of points, at least one.
    pub points: u32,
    /// The tile's first cell: x, y, z.
    pub origin: [u32; 3],
}

/// Extents of a tile, in cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TileLayout {
    /// Own cells: x, y, z.
    pub own: [u32; 3],
    /// Cells with the border: x, y, z.
    pub padded: [u32; 3],
    /// Distance between rows in shared memory.
    pub pitch: u32,
    /// Distance between rows in global memory: whole sectors of 32 bytes.
    pub slot_pitch: u32,
}

impl TileLayout {
    /// The layout for a kernel of `width` (2 … 8) and 2 or 3 axes.
    #[must_use]
    pub const fn new(width: u32, axes: u32) -> Self {
        let border = width - 1;
        let (own, padded) = if axes == 3 {
            ([16, 8, 8], [16 + border, 8 + border, 8 + border])
        } else {
            ([16, 16, 1], [16 + border, 16 + border, 1])
        };
        Self {
            own,
            padded,
            pitch: 16 + width,
            slot_pitch: padded[0].div_ceil(4) * 4,
        }
    }

    /// Complex numbers in a tile in shared memory.
    #[must_use]
    pub const fn shared_cells(&self) -> usize {
        (self.pitch * self.padded[1] * self.padded[2]) as usize
    }

    /// Complex numbers in a tile's copy in global memory.
    #[must_use]
    pub const fn slot_cells(&self) -> usize {
        (self.slot_pitch * self.padded[1] * self.padded[2]) as usize
    }
}

/// [`TileLayout::slot_cells`] as a function of integers, for extents.
#[must_use]
pub const fn slot_cells(width: usize, axes: usize) -> usize {
    TileLayout::new(width as u32, axes as u32).slot_cells()
}

/// Own cells of a tile.
#[must_use]
pub const fn own_cells(axes: usize) -> usize {
    let [x, y, z] = TileLayout::new(2, axes as u32).own;
    (x * y * z) as usize
}

/// Coefficients of each polynomial for a kernel of this width: ascending powers, one row a piece, padded with zeros.
#[must_use]
pub const fn terms(width: usize) -> usize {
    if width < 5 { width + 3 } else { width + 2 }
}
