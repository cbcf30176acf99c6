//! How many buckets tiles have, told from block to block while they are at work.
//!
//! A block that needs the buckets before its tile adds those of the groups of 64 tiles since its last one, and those of
//! the tiles before it in its own group, all asked at once; it waits for blocks that have not told yet. Tiles are taken in
//! their order, and a block tells a tile before it asks for its next, so whoever waits, waits for blocks that are running.
//! Whole numbers: the result does not depend on who told what when.

use super::tile::tiles;
use warpstride_device::prelude::*;

/// Tiles of a group.
const GROUP: u32 = 2 * warp::SIZE;
/// Of a group's word: its tiles that were told; below, their buckets, of which a tile has less than 2¹¹.
const TOLD: u32 = 1 << 24;

/// Elements of the scratch memory for so many points: the next tile, then groups, then tiles.
#[inline(always)]
#[must_use]
pub const fn progress_len(points: usize) -> usize {
    let tiles = tiles(points);
    1 + tiles.div_ceil(GROUP as usize) + tiles
}

/// The words of all tiles.
#[derive(Clone, Copy)]
pub(super) struct Told {
    groups: *mut u32,
    tiles: *mut u32,
}

/// What a block has added.
#[derive(Clone, Copy)]
pub(super) struct Added {
    groups: u32,
    buckets: u32,
}

impl Added {
    pub(super) const NOTHING: Self = Self {
        groups: 0,
        buckets: 0,
    };
}

impl Told {
    /// Those in `progress`, [`progress_len`] elements, zero before the launch, for `tiles` tiles.
    #[inline(always)]
    pub(super) fn new(progress: *mut u32, tiles: u32) -> Self {
        let groups = progress.wrapping_add(1);
        Self {
            groups,
            tiles: groups.wrapping_add(tiles.div_ceil(GROUP) as usize),
        }
    }

    /// Tells the buckets of a tile.
    ///
    /// # Safety
    /// Called once a tile, by one thread.
    #[inline(always)]
    pub(super) unsafe fn tell(self, tile: u32, count: u32) {
        // SAFETY: the tile's word, and its group's.
        unsafe {
            atomic::or_u32(self.tiles.add(tile as usize), count + 1);
            atomic::add_u32(self.groups.add((tile / GROUP) as usize), TOLD | count);
        }
    }

    /// Buckets of the tiles before `tile`, to every lane; none of them is before what was added.
    ///
    /// # Safety
    /// All lanes of the warp are here, and each of the tiles was taken by a block.
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    #[inline(always)]
    pub(super) unsafe fn before(self, tile: u32, added: &mut Added) -> u32 {
        let lane = warp::lane_id();
        let first = tile / GROUP * GROUP;
        loop {
            let mut silent = false;
            let mut near = 0;
            // SAFETY: groups and tiles before the tile.
            let words = unsafe {
                let other = |tile: u32, before: u32| {
                    if tile < before {
                        atomic::load_u32(self.tiles.add(tile as usize))
                    } else {
                        1
                    }
                };
                let group = added.groups + lane;
                let mut of_group = GROUP * TOLD;
                if group < tile / GROUP {
                    of_group = atomic::load_u32(self.groups.add(group as usize));
                }
                [
                    other(first + lane, tile),
                    other(first + lane + warp::SIZE, tile),
                    of_group,
                ]
            };
            for word in &words[..2] {
                silent |= *word == 0;
                near += word.wrapping_sub(1);
            }
            silent |= words[2] / TOLD != GROUP;
            // SAFETY: all lanes are here.
            if unsafe { warp::any(warp::FULL, silent) } {
                continue;
            }
            // SAFETY: as above.
            added.buckets += unsafe { warp::sum_u32(warp::FULL, words[2] % TOLD) };
            added.groups = (added.groups + warp::SIZE).min(tile / GROUP);
            if added.groups == tile / GROUP {
                // SAFETY: as above.
                return added.buckets + unsafe { warp::sum_u32(warp::FULL, near) };
            }
        }
    }
}
