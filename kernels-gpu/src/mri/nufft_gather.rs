//! NUFFT type 1, second step: the tiles' copies added up on the fine grid.
//!
//! `mri_nufft_merge` adds the copies of heaps of one tile, at most [`MERGED`] at a time, into the first;
//! a launch a level. A block does one sum of one image, a thread one cell of the tile: reads 8 bytes a
//! cell and copy, writes 8. Tiles of one heap need none of it.
//!
//! `mri_nufft_gather` writes every fine cell once: a block does a row, a thread two cells, which lie in
//! one to four (three axes: eight) padded tiles; they are added in the order of z, y, x. Reads a slot's
//! 8 bytes 1.56 (2.81) times a cell for w = 5, in runs of 16 and 4 cells; writes 8. The loads of all
//! tiles are under way together.
//!
//! Blocks of 128: rows of 256 cells and more are usual.

use super::nufft_tile::TileLayout;
#[cfg(not(target_arch = "nvptx64"))]
use super::nufft_tile::{own_cells, slot_cells};
use warpstride_device::prelude::*;

/// Copies that one merge adds up.
pub const MERGED: u32 = 16;
/// Entry of a tile without points.
pub const NO_SLOT: u32 = u32::MAX;

/// Adds up slots: those at `first`, `first + stride`, … of each of `merges` (first, copies) go into
/// `first`, in all `images`. `slots` of an image.
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

/// Adds up the tiles of `images` on the fine grid of `tiles_x × tiles_y × tiles_z` tiles, periodically.
/// `slot_of_tile` (z, y, x) names each tile's slot, [`NO_SLOT`] where it has none. What a slot's rows have
/// beyond the tile must be 0.
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
        for pair in thread::thread_stride(columns / 2) {
            let along_x = Covering::new(2 * pair, layout.own[0], tiles_x, layout.padded[0]);
            // All tables, then all tiles, then the sums: so that the loads do not wait for each other.
            let mut places = [[0; 2]; 8];
            for (n, place) in places.iter_mut().enumerate() {
                let (z, y, x) = (
                    along_z.at(n >> 2),
                    along_y.at(n >> 1 & 1),
                    along_x.at(n & 1),
                );
                let tile = (z.0 * tiles_y + y.0) * tiles_x + x.0;
                let slot = *slot_of_tile.add(tile as usize);
                let there =
                    n >> 2 < along_z.count && n >> 1 & 1 < along_y.count && n & 1 < along_x.count;
                let cell = (z.1 * layout.padded[1] + y.1) * layout.slot_pitch + x.1;
                *place = [if there { slot } else { NO_SLOT }, cell];
            }
            let mut values = [Complex32x2([Complex32::ZERO; 2]); 8];
            for (value, [slot, cell]) in values.iter_mut().zip(places) {
                if slot < slot_count {
                    let at = (of_image + slot as usize) * layout.slot_cells() + cell as usize;
                    // A slot's rows and `cell` are even, and so is a row of the fine grid.
                    *value = *slots.add(at).cast::<Complex32x2>();
                }
            }
            let mut sums = [Complex32::ZERO; 2];
            for Complex32x2(value) in values {
                sums[0] += value[0];
                sums[1] += value[1];
            }
            *to.cast::<Complex32x2>().add(pair as usize) = Complex32x2(sums);
        }
    }
}

/// The one or two padded tiles along an axis that a cell lies in.
#[derive(Clone, Copy)]
struct Covering {
    tile: u32,
    inside: u32,
    /// The tile before, which may be the last, and the place in it.
    before: u32,
    inside_before: u32,
    count: usize,
}

impl Covering {
    #[inline(always)]
    fn new(cell: u32, own: u32, tiles: u32, padded: u32) -> Self {
        // `own` is 1, 8 or 16.
        let shift = own.trailing_zeros();
        let (tile, inside) = (cell >> shift, cell & (own - 1));
        let second = inside + own < padded;
        Self {
            tile,
            inside,
            before: if tile == 0 { tiles - 1 } else { tile - 1 },
            inside_before: if second { inside + own } else { inside },
            count: if second { 2 } else { 1 },
        }
    }

    /// Tile and place in it, of the tile itself or of the one before.
    #[inline(always)]
    fn at(self, before: usize) -> (u32, u32) {
        if before == 0 {
            (self.tile, self.inside)
        } else {
            (self.before, self.inside_before)
        }
    }
}
