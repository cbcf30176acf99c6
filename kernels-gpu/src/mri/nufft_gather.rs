//! NUFFT type 1, second step: adds the tiles' copies on the fine grid.
//!
//! `mri_nufft_merge` adds the copies of subproblems of one tile, at most [`MERGED`] at a time, into the first; there
//! is a launch for each level. A block processes one sum of one image, a thread one cell of the tile: reads 8 bytes a
//! cell and copy, writes 8. Tiles with one subproblem need no merge.
//!
//! `mri_nufft_gather` writes every fine cell once: a block processes one row, a thread one cell, which lies in one to
//! four (three axes: eight) padded tiles; they are added in the order of z, y, x. Reads a slot's 8 bytes 1.56 (2.81)
//! times a cell for w = 5, in runs of 16 and 4 cells; writes 8.
//!
//! Blocks of 128: rows of 128 cells and more are usual, and the loads of a thread depend on each other.

use super::nufft_tile::TileLayout;
use super::nufft_tile::{own_cells, slot_cells};
use warpstride_device::prelude::*;

/// Copies that one merge adds.
pub const MERGED: u32 = 16;
/// Entry of a tile without points.
pub const NO_SLOT: u32 = u32::MAX;

/// Adds slots: for each of `merges` (first, copies), those at `first`, `first + stride`, … are added to `first`, in
/// all `images`. `slots`: the number in an image.
#[kernel(block = 128, min_blocks = 10, hot)]
pub unsafe fn mri_nufft_merge(
    #[len(images * slot_count * cells)] slots: *mut Complex32,
    #[len(first_merge + merge_count)] merges: *const [u32; 2],
    slot_count: u32,
    cells: u32,
    first_merge: u32,
    merge_count: u32,
    stride: u32,
    images: u32,
) {
    if merge_count == 0 {
        return;
    }
    for item in thread::block_stride(merge_count * images) {
        let (image, merge) = (item / merge_count, item % merge_count);
        let [first, copies] = *merges.add((first_merge + merge) as usize);
        let first = (image as usize * slot_count as usize + first as usize) * cells as usize;
        for cell in thread::thread_stride(cells) {
            let at = slots.add(first + cell as usize);
            let mut sum = *at;
            for copy in 1..copies {
                sum += *at.add(copy as usize * stride as usize * cells as usize);
            }
            *at = sum;
        }
    }
}

/// Adds the tiles of `images` on the fine grid of `tiles_x × tiles_y × tiles_z` tiles, periodically. `slot_of_tile`
/// (z, y, x) has each tile's slot, or [`NO_SLOT`].
#[kernel(block = 128, min_blocks = 10, hot)]
#[allow(
    clippy::too_many_arguments,
    reason = "two arrays of tiles and their extents"
)]
pub unsafe fn mri_nufft_gather(
    #[len(images * tiles_x * tiles_y * tiles_z * own_cells(axes))] fine: *mut Complex32,
    #[len(images * slot_count * slot_cells(width, axes))] slots: *const Complex32,
    #[len(tiles_x * tiles_y * tiles_z)] slot_of_tile: *const u32,
    slot_count: u32,
    tiles_x: u32,
    tiles_y: u32,
    tiles_z: u32,
    width: u32,
    axes: u32,
    images: u32,
) {
    let layout = TileLayout::new(width, axes);
    let [columns, rows, slices] = [
        tiles_x * layout.own[0],
        tiles_y * layout.own[1],
        tiles_z * layout.own[2],
    ];
    if rows == 0 || slices == 0 {
        return;
    }
    for row in thread::block_stride(rows * slices * images) {
        let (y, rest) = (row % rows, row / rows);
        let (z, image) = (rest % slices, rest / slices);
        let of_image = image as usize * slot_count as usize;
        let to = fine.add(row as usize * columns as usize);
        let (along_y, along_z) = (
            Covering::new(y, layout.own[1], tiles_y, layout.padded[1]),
            Covering::new(z, layout.own[2], tiles_z, layout.padded[2]),
        );
        for x in thread::thread_stride(columns) {
            let along_x = Covering::new(x, layout.own[0], tiles_x, layout.padded[0]);
            let mut sum = Complex32::ZERO;
            for (tile_z, in_z) in along_z.places() {
                for (tile_y, in_y) in along_y.places() {
                    for (tile_x, in_x) in along_x.places() {
                        let tile = (tile_z * tiles_y + tile_y) * tiles_x + tile_x;
                        let slot = *slot_of_tile.add(tile as usize);
                        if slot < slot_count {
                            let cell = (in_z * layout.padded[1] + in_y) * layout.slot_pitch + in_x;
                            let at = (of_image + slot as usize) * layout.slot_cells();
                            sum += *slots.add(at + cell as usize);
                        }
                    }
                }
            }
            *to.add(x as usize) = sum;
        }
    }
}

/// The one or two padded tiles along an axis that contain a cell.
#[derive(Clone, Copy)]
struct Covering {
    tile: u32,
    inside: u32,
    /// The previous tile (periodically), and the position in it.
    before: u32,
    inside_before: u32,
    count: u32,
}

impl Covering {
    #[inline(always)]
    fn new(cell: u32, own: u32, tiles: u32, padded: u32) -> Self {
        // `own` is 1, 8 or 16.
        let shift = own.trailing_zeros();
        let (tile, inside) = (cell >> shift, cell & (own - 1));
        Self {
            tile,
            inside,
            before: if tile == 0 { tiles - 1 } else { tile - 1 },
            inside_before: inside + own,
            count: if inside + own < padded { 2 } else { 1 },
        }
    }

    /// Tile, and position in it.
    #[inline(always)]
    fn places(self) -> impl Iterator<Item = (u32, u32)> {
        (0..self.count).map(move |back| {
            if back == 0 {
                (self.tile, self.inside)
            } else {
                (self.before, self.inside_before)
            }
        })
    }
}
