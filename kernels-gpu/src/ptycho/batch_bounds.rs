//! The part of the object under the windows of a batch: what its sums, its direction and its step go over, and not the whole
//! object.

use super::tile_frames::{TILE_COLUMNS, TILE_ROWS};
use warpstride_device::prelude::*;

/// Warps of the block of [`TILE_ROWS`] × [`TILE_COLUMNS`] threads that looks for the bounds.
const WARPS: u32 = TILE_ROWS * TILE_COLUMNS / 32;

/// Object pixels from (`top`, `left`) to before (`bottom`, `right`).
#[derive(Clone, Copy)]
pub(super) struct Bounds {
    pub(super) top: u32,
    pub(super) left: u32,
    pub(super) bottom: u32,
    pub(super) right: u32,
}

impl Bounds {
    /// As arrays have them: top, left, bottom, right.
    #[inline(always)]
    pub(super) fn from_array([top, left, bottom, right]: [u32; 4]) -> Self {
        Self {
            top,
            left,
            bottom,
            right,
        }
    }

    #[inline(always)]
    pub(super) fn to_array(self) -> [u32; 4] {
        [self.top, self.left, self.bottom, self.right]
    }

    /// All of an object.
    #[inline(always)]
    pub(super) fn whole(rows: u32, columns: u32) -> Self {
        Self::from_array([0, 0, rows, columns])
    }

    /// Limited to an object, so that no bounds from memory lead out of it.
    #[inline(always)]
    pub(super) fn within(self, rows: u32, columns: u32) -> Self {
        let (bottom, right) = (self.bottom.min(rows), self.right.min(columns));
        Self {
            top: self.top.min(bottom),
            left: self.left.min(right),
            bottom,
            right,
        }
    }

    /// All pixels of the tiles of these, which begin with a whole tile, on an object.
    #[inline(always)]
    pub(super) fn of_tiles(self, rows: u32, columns: u32) -> Self {
        Self {
            bottom: self.bottom.div_ceil(TILE_ROWS).saturating_mul(TILE_ROWS),
            right: (self.right.div_ceil(TILE_COLUMNS)).saturating_mul(TILE_COLUMNS),
            ..self
        }
        .within(rows, columns)
    }

    #[inline(always)]
    pub(super) fn columns(self) -> u32 {
        self.right - self.left
    }

    /// Number of pixels.
    #[inline(always)]
    pub(super) fn pixels(self) -> usize {
        (self.bottom - self.top) as usize * self.columns() as usize
    }

    /// Place on an object with `columns` columns of pixel number `at` of these, which must be one of them.
    #[inline(always)]
    pub(super) fn place(self, at: usize, columns: u32) -> usize {
        let width = (self.columns() as usize).max(1);
        (self.top as usize + at / width) * columns as usize + self.left as usize + at % width
    }

    /// Whether place `at` on an object with `columns` columns is one of these pixels.
    #[inline(always)]
    pub(super) fn has(self, at: usize, columns: u32) -> bool {
        let columns = (columns as usize).max(1);
        self.contains((at / columns) as u32, (at % columns) as u32)
    }

    #[inline(always)]
    pub(super) fn contains(self, row: u32, column: u32) -> bool {
        row >= self.top && row < self.bottom && column >= self.left && column < self.right
    }
}

/// The bounds of the windows of the frames `order[..count]`, which begin with a whole tile; the same for all threads of the block, which
/// all call it.
#[inline(always)]
pub(super) unsafe fn bounds_of(
    corners: *const [u32; 2],
    order: *const u32,
    count: u32,
    [rows, columns]: [u32; 2],
    [object_rows, object_columns]: [u32; 2],
) -> Bounds {
    // The smallest numbers as the largest of their complements.
    let mut own = [0_u32; 4];
    let mut member = thread::index_in_block();
    while member < count {
        let [top, left] = *corners.add(*order.add(member as usize) as usize);
        own = [
            own[0].max(!top),
            own[1].max(!left),
            own[2].max(top + rows),
            own[3].max(left + columns),
        ];
        member += TILE_ROWS * TILE_COLUMNS;
    }
    let of_warps = shared_array![u32; 4 * WARPS as usize];
    for k in 0..4 {
        let most = warp::max_u32(warp::FULL, own[k as usize]);
        if warp::lane_id() == 0 {
            *of_warps.add((4 * warp::warp_id() + k) as usize) = most;
        }
    }
    thread::sync_threads();
    let mut most = [0_u32; 4];
    for w in 0..WARPS {
        for k in 0..4 {
            most[k as usize] = most[k as usize].max(*of_warps.add((4 * w + k) as usize));
        }
    }
    if count == 0 {
        return Bounds::from_array([0; 4]);
    }
    Bounds {
        top: !most[0] / TILE_ROWS * TILE_ROWS,
        left: !most[1] / TILE_COLUMNS * TILE_COLUMNS,
        bottom: most[2],
        right: most[3],
    }
    .within(object_rows, object_columns)
}
