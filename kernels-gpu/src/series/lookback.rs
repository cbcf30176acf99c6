//! Number of buckets in the tiles before one, passed from block to block during the launch (decoupled look-back).
//!
//! A block that needs the number of buckets before its tile adds the groups of 64 tiles since its previous tile and
//! the tiles before its own in the group, and loads all of them at once; it waits for blocks that have not published
//! yet. Tiles are taken in order, and a block publishes a tile before it waits for earlier ones, so every block waits
//! only for running blocks. The counts are integers: the result does not depend on the order in which blocks publish.
//!
//! The words of a launch must be zero when it begins. The scratch memory has two halves that launches use
//! alternately: a launch zeroes the other half, which is unused, for the next launch. A bit of the tickets states
//! which half is in use; the block that takes the last ticket flips it.

use super::tile::tiles;
use warpstride_device::prelude::*;

/// Tiles in a group.
const GROUP: u32 = 2 * warp::SIZE;
/// In a group's word: the unit in which published tiles are counted. The bits below count their buckets; a tile has
/// less than 2¹¹.
const PUBLISHED: u32 = 1 << 24;
/// In a ticket: the launch uses the second half.
const SECOND: u32 = 1 << 31;

/// Elements of scratch memory that this many points need at least: the next ticket, then two halves with words for
/// groups and tiles.
#[inline(always)]
#[must_use]
pub const fn progress_len(points: usize) -> usize {
    let tiles = tiles(points);
    1 + 2 * (tiles.div_ceil(GROUP as usize) + tiles)
}

/// Assigns tiles to blocks in order.
#[derive(Clone, Copy)]
pub(super) struct Tickets {
    next: *mut u32,
    /// Words in a half.
    half: u32,
}

impl Tickets {
    /// Tickets in `progress`, which has `capacity` elements.
    #[inline(always)]
    pub(super) fn new(progress: *mut u32, capacity: u32) -> Self {
        Self {
            next: progress,
            half: (capacity - 1) / 2,
        }
    }

    /// The last ticket that is taken: each block takes tickets up to and including the first one beyond the tiles.
    #[inline(always)]
    pub(super) fn last(tiles: u32) -> u32 {
        tiles + thread::grid_dim_x() - 1
    }

    /// The next ticket; `last` is [`Tickets::last`].
    ///
    /// # Safety
    ///
    /// One thread of a block may call this.
    #[inline(always)]
    pub(super) unsafe fn take(self, last: u32) -> u32 {
        // SAFETY: blocks access the word of the tickets only here. No ticket is taken after the last one: the store
        // is the launch's last access, and launches that share scratch memory follow one another.
        unsafe {
            let ticket = atomic::fetch_add_u32(self.next, 1);
            if Self::number(ticket) == last {
                thread::device_fence();
                *self.next = !ticket & SECOND;
            }
            ticket
        }
    }

    /// Index of a ticket, from 0.
    #[inline(always)]
    pub(super) fn number(ticket: u32) -> u32 {
        ticket & !SECOND
    }

    /// Index of this launch's first word; every ticket of the launch states it.
    #[inline(always)]
    pub(super) fn words(self, ticket: u32) -> u32 {
        1 + if ticket < SECOND { 0 } else { self.half }
    }

    /// Zeroes the block's part of the half that this launch does not use, for the next launch.
    ///
    /// # Safety
    ///
    /// All threads of the block call this together with a ticket of this launch, and no other launch is using the
    /// memory.
    #[inline(always)]
    pub(super) unsafe fn make_ready(self, ticket: u32) {
        let other = self.words(ticket ^ SECOND);
        for place in thread::grid_stride(self.half as usize) {
            // SAFETY: a word of the half.
            unsafe { *self.next.add(other as usize + place) = 0 };
        }
    }
}

/// The words of all tiles.
#[derive(Clone, Copy)]
pub(super) struct TilePrefix {
    groups: *mut u32,
    tiles: *mut u32,
}

/// The tiles that a block has added up so far.
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

impl TilePrefix {
    /// The words in `progress` from `words` on, for `tiles` tiles.
    #[inline(always)]
    pub(super) fn new(progress: *mut u32, words: u32, tiles: u32) -> Self {
        let groups = progress.wrapping_add(words as usize);
        Self {
            groups,
            tiles: groups.wrapping_add(tiles.div_ceil(GROUP) as usize),
        }
    }

    /// Publishes the number of buckets in a tile.
    ///
    /// # Safety
    ///
    /// One thread calls this once for each tile.
    #[inline(always)]
    pub(super) unsafe fn publish(self, tile: u32, count: u32) {
        // SAFETY: the words of the tile and of its group.
        unsafe {
            atomic::or_u32(self.tiles.add(tile as usize), count + 1);
            atomic::add_u32(self.groups.add((tile / GROUP) as usize), PUBLISHED | count);
        }
    }

    /// The number of buckets in the tiles before `tile`, in every lane. `tile` must not precede what was added.
    ///
    /// # Safety
    ///
    /// All lanes of the warp call this together, and a block has taken each of the earlier tiles.
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    #[inline(always)]
    pub(super) unsafe fn before(self, tile: u32, added: &mut Added) -> u32 {
        let lane = warp::lane_id();
        let first = tile / GROUP * GROUP;
        loop {
            let mut incomplete = false;
            let mut near = 0;
            // SAFETY: the groups and tiles before the tile have words.
            let words = unsafe {
                let other = |tile: u32, before: u32| {
                    if tile < before {
                        atomic::load_u32(self.tiles.add(tile as usize))
                    } else {
                        1
                    }
                };
                let group = added.groups + lane;
                let mut of_group = GROUP * PUBLISHED;
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
                incomplete |= *word == 0;
                near += word.wrapping_sub(1);
            }
            incomplete |= words[2] / PUBLISHED != GROUP;
            // SAFETY: all lanes take part.
            if unsafe { warp::any(warp::FULL, incomplete) } {
                continue;
            }
            // SAFETY: as above.
            added.buckets += unsafe { warp::sum_u32(warp::FULL, words[2] % PUBLISHED) };
            added.groups = (added.groups + warp::SIZE).min(tile / GROUP);
            if added.groups == tile / GROUP {
                // SAFETY: as above.
                return added.buckets + unsafe { warp::sum_u32(warp::FULL, near) };
            }
        }
    }
}
