//! The columns of one warp: its own, and on both sides as many more as there are sweeps in a pass.

use super::cells::Cells;
use warpstride_device::prelude::*;

/// Columns of the grid, and what they do at its border.
#[derive(Clone, Copy)]
pub(super) struct Columns {
    pub(super) nx: i32,
    /// Columns wrap around: 0 stands for nx−2, nx−1 for 1. Else the first and the last are fixed.
    pub(super) periodic: bool,
}

/// One thread's cells of every row, and what is special about them.
pub(super) struct Window {
    /// Vectors before the first cell of a row; negative left of the grid.
    vector: i32,
    /// Whether this thread's cells are the warp's own.
    pub(super) own: bool,
    /// Whether any of the warp's cells is not an inner column. The same in all its threads.
    pub(super) edge: bool,
    /// Values before each cell in a row; negative: there is none.
    offsets: [i32; 4],
    /// Cells that keep their values, the first in bit 0.
    pub(super) held: u32,
    /// Cells that no norm counts.
    pub(super) uncounted: u32,
}

/// Columns beside a warp's own on each side: `sweeps`, in whole vectors.
const fn margin<C: Cells>(sweeps: u32) -> u32 {
    sweeps.div_ceil(C::COUNT) * C::COUNT
}

/// Columns that a warp has for itself.
pub(super) const fn own_columns<C: Cells>(sweeps: u32) -> u32 {
    warp::SIZE * C::COUNT - 2 * margin::<C>(sweeps)
}

impl Window {
    /// The calling thread's part of window `index`, for passes of `sweeps`.
    #[inline(always)]
    pub(super) fn new<C: Cells>(index: u32, sweeps: u32, columns: Columns) -> Self {
        let margin = margin::<C>(sweeps);
        let lane = warp::lane_id();
        let start = (index * own_columns::<C>(sweeps)) as i32 - margin as i32;
        let first = start + (lane * C::COUNT) as i32;
        let beside = margin / C::COUNT;
        let inner = columns.nx - 2;
        let mut window = Self {
            vector: first.div_euclid(C::COUNT as i32),
            own: lane >= beside && lane < warp::SIZE - beside && first < columns.nx,
            edge: start < 1 || start + (warp::SIZE * C::COUNT) as i32 > columns.nx - 1,
            offsets: [-1; 4],
            held: 0,
            uncounted: 0,
        };
        if window.edge {
            for i in 0..C::COUNT as usize {
                let x = first + i as i32;
                let is_inner = x >= 1 && x <= inner;
                window.uncounted |= u32::from(!is_inner) << i;
                if columns.periodic {
                    window.offsets[i] = 1 + (x - 1).rem_euclid(inner.max(1));
                } else {
                    window.held |= u32::from(!is_inner) << i;
                    if x >= 0 && x < columns.nx {
                        window.offsets[i] = x;
                    }
                }
            }
        }
        window
    }

    /// The cells of the row that begins at `row`.
    #[inline(always)]
    pub(super) unsafe fn load<C: Cells, const EDGE: bool>(&self, row: *const C) -> C {
        if EDGE {
            C::gather(row.cast(), self.offsets)
        } else {
            C::load(row.offset(self.vector as isize))
        }
    }

    /// Writes the cells of the row that begins at `row`; own cells only.
    #[inline(always)]
    pub(super) unsafe fn store<C: Cells>(&self, row: *mut C, cells: C) {
        if self.own {
            *row.offset(self.vector as isize) = cells;
        }
    }
}
