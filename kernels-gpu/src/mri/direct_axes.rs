//! What the separable direct operators share: positions of voxels in half pixels, phases in fractions of a turn, and
//! the numbering of rows and pairs of voxels.
//!
//! Voxel n of an axis of N lies at n − ⌊N/2⌋, and the centre c of the axis at −1/2 (N even) or 0 (N odd). A sample's
//! k is given as the fraction h of a turn for half a pixel (2³² is one turn), so every position is a whole number of
//! half pixels, and h times this number wraps around exactly.

use warpstride_device::prelude::*;

/// Threads of a block, as (32, 8).
pub(super) const THREADS: u32 = 256;
/// Rows that one thread computes or sums: neighbours along y.
pub(super) const GROUP: u32 = 4;
/// Groups of rows that a block processes at once.
pub(super) const GROUPS: u32 = 16;
/// Elements of one of the two halves (cosines and sines, real and imaginary parts) of a table's line.
pub(super) const HALF: usize = 64;

/// A thread's position among the tiles of a block: 16 columns and 16 rows of threads, 8 × 4 a warp, so that a warp's
/// 16-byte reads of either operand are one or two wavefronts of shared memory.
#[derive(Clone, Copy)]
pub(super) struct Tile {
    pub(super) x: u32,
    pub(super) y: u32,
}

impl Tile {
    #[inline(always)]
    pub(super) fn of_thread() -> Self {
        let (lane, warp) = (thread::thread_idx_x(), thread::thread_idx_y());
        Self {
            x: (warp & 1) * 8 + (lane & 7),
            y: (warp >> 1) * 4 + (lane >> 3),
        }
    }

    /// The index in the block of the thread at this position.
    #[inline(always)]
    pub(super) fn thread(self) -> u32 {
        let warp = (self.y >> 2) * 2 + (self.x >> 3);
        warp * 32 + (self.y & 3) * 8 + (self.x & 7)
    }
}

/// An image's axes.
#[derive(Clone, Copy)]
pub(super) struct Axes {
    pub(super) slices: u32,
    pub(super) rows: u32,
    pub(super) columns: u32,
}

impl Axes {
    /// Number of pairs of voxels c ± offset in a row; the middle voxel of an odd number is a pair by itself.
    #[inline(always)]
    pub(super) fn pairs(self) -> u32 {
        self.columns / 2 + self.columns % 2
    }

    /// Half pixels from the centre to the first voxel of pair j.
    #[inline(always)]
    pub(super) fn offset(self, pair: u32) -> u32 {
        2 * pair + 1 - self.columns % 2
    }

    /// Columns of the two voxels of a pair: c + offset, c − offset.
    #[inline(always)]
    pub(super) fn columns_of(self, pair: u32) -> (u32, u32) {
        let middle = self.columns / 2;
        let even = 1 - self.columns % 2;
        (middle + pair, middle.wrapping_sub(even + pair))
    }

    /// Groups of rows in a slice.
    #[inline(always)]
    pub(super) fn groups(self) -> u32 {
        self.rows / GROUP + (self.rows % GROUP).min(1)
    }

    /// Centre of the columns, first row of the group, and slice, in half pixels.
    #[inline(always)]
    pub(super) fn half_pixels(self, slice: u32, first_row: u32) -> [u32; 3] {
        let to_middle = |n: u32, extent: u32| 2_u32.wrapping_mul(n.wrapping_sub(extent / 2));
        let centre = (self.columns % 2).wrapping_sub(1);
        [
            centre,
            to_middle(first_row, self.rows),
            to_middle(slice, self.slices),
        ]
    }
}

/// exp(2πi t) for a fraction of a turn, with exact or approximate trigonometric functions.
#[inline(always)]
pub(super) fn rotation(fraction: u32, hardware: u32) -> Complex32 {
    if hardware == 0 {
        phase::sincos_fraction_accurate(fraction)
    } else {
        phase::sincos_fraction_fast(fraction)
    }
}

/// exp(2πi k·x) at a position in half pixels.
#[inline(always)]
pub(super) fn rotation_at(turns: U32x4, place: [u32; 3], hardware: u32) -> Complex32 {
    let [x, y, z, _] = turns.0;
    let fraction = x
        .wrapping_mul(place[0])
        .wrapping_add(y.wrapping_mul(place[1]))
        .wrapping_add(z.wrapping_mul(place[2]));
    rotation(fraction, hardware)
}

/// `[first, first·step, first·step², first·step³]`.
#[inline(always)]
pub(super) fn rotated(first: Complex32, step: Complex32) -> [Complex32; GROUP as usize] {
    let second = first * step;
    let third = second * step;
    [first, second, third, third * step]
}

/// The range of part `part` when `all` items are divided into `parts`.
#[inline(always)]
pub(super) fn share(all: u32, part: u32, parts: u32) -> (u32, u32) {
    let cut = |n: u32| (u64::from(all) * u64::from(n) / u64::from(parts)) as u32;
    (cut(part), cut(part + 1))
}

/// Reads four neighbouring elements of a table in shared memory.
#[inline(always)]
pub(super) unsafe fn four(line: *const f32, at: u32) -> [f32; 4] {
    (*line.add(at as usize).cast::<F32x4>()).0
}

/// Writes four neighbouring elements of a table in shared memory.
#[inline(always)]
pub(super) unsafe fn put(line: *mut f32, at: u32, values: [f32; 4]) {
    *line.add(at as usize).cast::<F32x4>() = F32x4(values);
}
