//! The columns of one warp: its own, and on both sides as many more as there are sweeps in a pass.
//!
//! A pass of one sweep needs only one more column on each side: the first and the last thread read it separately, and
//! every thread's cells are the warp's own, so that a warp reads and writes whole lines of memory.

use super::cells::Cells;
use warpstride_device::prelude::*;

/// Columns of the grid, and their boundary condition.
#[derive(Clone, Copy)]
pub(super) struct Columns {
    pub(super) nx: i32,
    /// Columns wrap around: nx−2 precedes 0 and 1 follows nx−1. Otherwise the first and the last are fixed.
    pub(super) periodic: bool,
}

/// All cells of the window are inner columns.
pub(super) const INNER: u8 = 0;
/// Some cells are not changed.
pub(super) const FIXED: u8 = 1;
/// Some cells are copies of cells on the far side of the grid.
pub(super) const PERIODIC: u8 = 2;

/// One thread's cells of every row, and their special properties.
pub(super) struct Window {
    /// Vectors before this thread's cells in a row, or before others if these do not exist.
    vector: u32,
    /// Whether this thread's cells are the warp's own.
    pub(super) own: bool,
    /// [`INNER`], [`FIXED`] or [`PERIODIC`]. The same in all threads of the warp.
    pub(super) kind: u8,
    /// Values before each cell in a row, for periodic columns.
    offsets: [u32; 4],
    /// Cells that are not changed, the first in bit 0.
    pub(super) held: u32,
    /// Cells that change without being part of a norm.
    pub(super) uncounted: u32,
    /// Values before the one beside the warp's columns, west for the first thread and east for the last; before any
    /// existing value for the others.
    side: u32,
}

/// Columns beside a warp's own on each side: `sweeps`, rounded up to whole vectors; none for a single sweep.
const fn margin<C: Cells>(sweeps: u32) -> u32 {
    if sweeps == 1 {
        0
    } else {
        sweeps.div_ceil(C::COUNT) * C::COUNT
    }
}

/// The number of columns that a warp owns.
pub(super) const fn own_columns<C: Cells>(sweeps: u32) -> u32 {
    warp::SIZE * C::COUNT - 2 * margin::<C>(sweeps)
}

impl Window {
    /// The calling thread's part of window `index`, for passes of `sweeps`.
    #[inline(always)]
    pub(super) fn new<C: Cells>(index: u32, sweeps: u32, columns: Columns) -> Self {
        let margin = margin::<C>(sweeps);
        let alone = i32::from(sweeps == 1);
        let lane = warp::lane_id();
        let start = (index * own_columns::<C>(sweeps)) as i32 - margin as i32;
        let end = start + (warp::SIZE * C::COUNT) as i32;
        let first = start + (lane * C::COUNT) as i32;
        let beside = margin / C::COUNT;
        let inner = columns.nx - 2;
        let side = if lane == 0 {
            first - 1
        } else {
            first + C::COUNT as i32
        };
        let mut window = Self {
            vector: first.clamp(0, columns.nx - 1) as u32 / C::COUNT,
            own: lane >= beside && lane < warp::SIZE - beside && first < columns.nx,
            kind: INNER,
            offsets: [0; 4],
            held: 0,
            uncounted: 0,
            side: side.clamp(0, columns.nx - 1) as u32,
        };
        if start - alone < 0 || end + alone > columns.nx - 1 {
            window.kind = if columns.periodic { PERIODIC } else { FIXED };
            let stands_for = |x: i32| 1 + (x - 1).rem_euclid(inner.max(1)) as u32;
            let mut outside = 0;
            for i in 0..C::COUNT {
                let x = first + i as i32;
                outside |= u32::from(x < 1 || x > inner) << i;
                window.offsets[i as usize] = stands_for(x);
            }
            if columns.periodic {
                window.uncounted = outside;
                window.side = stands_for(side);
            } else {
                window.held = outside;
            }
        }
        window
    }

    /// The cells of the row that begins at `row`.
    #[inline(always)]
    pub(super) unsafe fn load<C: Cells, const KIND: u8>(&self, row: *const C) -> C {
        if KIND == PERIODIC {
            C::gather(row.cast(), self.offsets)
        } else {
            C::load(row.add(self.vector as usize))
        }
    }

    /// The value beside the warp's columns in the row that begins at `row`: the western one in the first thread, the
    /// eastern one in the last, and an arbitrary one in the others.
    #[inline(always)]
    pub(super) unsafe fn beside<C: Cells>(&self, row: *const C) -> C::Value {
        mem::load_read_only(row.cast::<C::Value>().add(self.side as usize))
    }

    /// Writes the cells of the row that begins at `row`; own cells only.
    #[inline(always)]
    pub(super) unsafe fn store<C: Cells>(&self, row: *mut C, cells: C) {
        if self.own {
            *row.add(self.vector as usize) = cells;
        }
    }
}
