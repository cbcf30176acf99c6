//! The frames whose windows touch a tile of the object, listed in shared memory by a block of [`TILE_ROWS`] ×
//! [`TILE_COLUMNS`] threads, one thread per object pixel of the tile.

use warpstride_device::prelude::*;

/// Object rows in a tile.
pub const TILE_ROWS: u32 = 8;
/// Object columns in a tile.
pub const TILE_COLUMNS: u32 = 32;
/// Threads of the block, and frames that are examined at a time.
pub(super) const THREADS: u32 = TILE_ROWS * TILE_COLUMNS;
/// Tiles of an object of `rows` × `columns` pixels.
#[must_use]
pub const fn tiles(rows: usize, columns: usize) -> usize {
    rows.div_ceil(TILE_ROWS as usize) * columns.div_ceil(TILE_COLUMNS as usize)
}

/// Warps of the block.
pub(super) const WARPS: usize = (THREADS / 32) as usize;

/// A tile, and the shared memory in which its frames are listed.
pub(super) struct Tile {
    /// [`THREADS`] entries: number, top, left.
    pub(super) kept: *mut [u32; 3],
    /// [`WARPS`] entries.
    pub(super) counts: *mut u32,
    pub(super) first_row: u32,
    pub(super) first_column: u32,
    /// Object rows in the tile.
    pub(super) rows: u32,
}

impl Tile {
    /// Lists those of the frames `base .. base + THREADS`, below `frames`, whose windows of `rows` × `columns` touch the
    /// tile, in their order, and returns how many. Before the next list all threads must have read this one
    /// (`sync_threads`).
    #[inline(always)]
    pub(super) unsafe fn list(
        &self,
        corners: *const [u32; 2],
        base: u32,
        frames: u32,
        [rows, columns]: [u32; 2],
    ) -> u32 {
        let frame = base + thread::index_in_block();
        let mut corner = [0, 0];
        let mut touches = false;
        if frame < frames {
            corner = *corners.add(frame as usize);
            touches = corner[0] < self.first_row + self.rows
                && corner[0] + rows > self.first_row
                && corner[1] < self.first_column + TILE_COLUMNS
                && corner[1] + columns > self.first_column;
        }
        let votes = warp::ballot(warp::FULL, touches);
        if warp::lane_id() == 0 {
            *self.counts.add(warp::warp_id() as usize) = votes.count_ones();
        }
        thread::sync_threads();
        let (mut before, mut total) = (0, 0);
        for w in 0..WARPS {
            if w == warp::warp_id() as usize {
                before = total;
            }
            total += *self.counts.add(w);
        }
        if touches {
            let lower = votes & ((1 << warp::lane_id()) - 1);
            let place = before + lower.count_ones();
            *self.kept.add(place as usize) = [frame, corner[0], corner[1]];
        }
        thread::sync_threads();
        total
    }
}
