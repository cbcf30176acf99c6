//! Tiles of 16 neighbouring columns, which the blocks of a step in passes handle, and the part of the probe in them.
//!
//! A block keeps to a tile of one mode and goes through the frames, so that it reads this part of the probe once. The
//! blocks that run together have all tiles of some frames, whole rows of them.

use warpstride_device::prelude::*;

/// Columns of a tile.
pub const WIDTH: u32 = 16;
/// Longest column of which a block keeps the probe: with it and the tile's transform it has 64 KiB of shared memory.
pub(super) const KEPT: usize = 256;
/// Values that a thread loads together.
const TOGETHER: usize = 8;

/// The thread's number in its column, and its column in the tile.
#[inline(always)]
pub(super) fn place() -> (u32, u32) {
    let index = thread::hidden(thread::thread_idx_x());
    (index / WIDTH, index % WIDTH)
}

/// The tiles of the layers of a group of frames, number `(frame · modes + mode) · tiles + tile`, in the order in
/// which a block has them.
pub(super) struct Tiles {
    /// Modes of the probe.
    pub(super) modes: u32,
    /// Tiles of a row.
    pub(super) tiles: u32,
}

/// What a number of [`Tiles`] stands for.
pub(super) struct Tile {
    /// Frame of the group.
    pub(super) member: u32,
    pub(super) mode: u32,
    /// First column.
    pub(super) first: u32,
}

impl Tiles {
    /// Tiles of a frame in all modes; not 0, so that a division by it is no call.
    #[inline(always)]
    pub(super) fn of_frame(&self) -> u32 {
        (self.modes * self.tiles).max(1)
    }

    /// From a number of the block to its next one. The block keeps to its tile if there are at least as many blocks as a
    /// frame has tiles; those that are too few for all of them then have no number: theirs is not below the step.
    #[inline(always)]
    pub(super) fn step(&self) -> u32 {
        let (blocks, all) = (thread::hidden(thread::grid_dim_x()), self.of_frame());
        if blocks < all {
            blocks
        } else {
            blocks / all * all
        }
    }

    /// The tile with this number, computed where it is needed.
    #[inline(always)]
    pub(super) fn at(&self, number: u32) -> Tile {
        let number = thread::hidden(number);
        let all = self.of_frame();
        let (member, layer_tile) = (number / all, number % all);
        Tile {
            member,
            mode: layer_tile / self.tiles.max(1),
            first: layer_tile % self.tiles.max(1) * WIDTH,
        }
    }
}

/// The probe in a tile of columns of A B values, of which a thread of B for each column uses the rows B k + t: kept in shared
/// memory behind the tile's transform, unless a column has more than [`KEPT`] values.
pub(super) struct ProbeTile {
    /// The tile's transform.
    pub(super) exchange: *mut Complex32,
    /// (mode, row, column)
    pub(super) probe: *const Complex32,
    /// Columns of a frame.
    pub(super) columns: u32,
}

impl ProbeTile {
    /// Where the thread finds the row t, and how far each row is behind the one before.
    #[inline(always)]
    pub(super) unsafe fn rows<const A: usize, const B: usize>(
        &self,
        tile: &Tile,
    ) -> (*const Complex32, u32) {
        if A * B <= KEPT {
            (self.kept::<A, B>(), WIDTH)
        } else {
            self.of_memory::<A, B>(tile)
        }
    }

    #[inline(always)]
    unsafe fn kept<const A: usize, const B: usize>(&self) -> *mut Complex32 {
        let (t, inner) = place();
        let kept = self.exchange.add(A * B * WIDTH as usize);
        kept.add((t * WIDTH + inner) as usize)
    }

    #[inline(always)]
    unsafe fn of_memory<const A: usize, const B: usize>(
        &self,
        tile: &Tile,
    ) -> (*const Complex32, u32) {
        let (t, inner) = place();
        let layer = tile.mode * ((A * B) as u32 * self.columns);
        let start = layer + t * self.columns + tile.first + inner;
        (self.probe.add(start as usize), self.columns)
    }

    /// Reads the rows that the thread uses, if they are kept. No thread uses those of another one.
    #[inline(always)]
    pub(super) unsafe fn keep<const A: usize, const B: usize>(&self, tile: &Tile) {
        if A * B > KEPT {
            return;
        }
        let (from, pitch) = self.of_memory::<A, B>(tile);
        let kept = self.kept::<A, B>();
        for group in 0..A / TOGETHER {
            let mut values = [Complex32::ZERO; TOGETHER];
            for u in 0..TOGETHER {
                let row = ((group * TOGETHER + u) * B) as u32;
                values[u] = *from.add((row * pitch) as usize);
            }
            for u in 0..TOGETHER {
                let row = (group * TOGETHER + u) * B;
                *kept.add(row * WIDTH as usize) = values[u];
            }
        }
    }
}
