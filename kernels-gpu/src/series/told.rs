//! How many buckets tiles have, told from block to block while they are at work.
//!
//! A block that needs the buckets before its tile adds those of the groups of 64 tiles since its last one, and those of
//! the tiles before it in its own group, all asked at once; it waits for blocks that have not told yet. Tiles are taken in
//! their order, and a block tells a tile before it waits for those before it, so whoever waits, waits for blocks that are
//! running.
//! Whole numbers: the result does not depend on who told what when.
//!
//! The words of a launch must be zero when it begins. They stand in halves of the scratch memory in turn: a launch zeroes
//! the other half, which nobody uses now, for the next. Which half it is, is a bit of the tickets; who takes the last
//! ticket turns it.

use super::tile::tiles;
use warpstride_device::prelude::*;

/// Tiles of a group.
const GROUP: u32 = 2 * warp::SIZE;
/// Of a group's word: its tiles that were told; below, their buckets, of which a tile has less than 2¹¹.
const TOLD: u32 = 1 << 24;
/// Of a ticket: the launch has the second half.
const SECOND: u32 = 1 << 31;

/// Elements of the scratch memory for so many points at least: the next ticket, then two halves of groups and tiles.
#[inline(always)]
#[must_use]
pub const fn progress_len(points: usize) -> usize {
    let tiles = tiles(points);
    1 + 2 * (tiles.div_ceil(GROUP as usize) + tiles)
}

/// Tells blocks which tile is next.
#[derive(Clone, Copy)]
pub(super) struct Tickets {
    next: *mut u32,
    /// Words of a half.
    half: u32,
}

impl Tickets {
    /// In `progress`, `room` elements.
    #[inline(always)]
    pub(super) fn new(progress: *mut u32, room: u32) -> Self {
        Self {
            next: progress,
            half: (room - 1) / 2,
        }
    }

    /// The last that is taken: each block takes them until one is beyond the tiles, and that one too.
    #[inline(always)]
    pub(super) fn last(tiles: u32) -> u32 {
        tiles + thread::grid_dim_x() - 1
    }

    /// The next; `last` is [`Tickets::last`].
    ///
    /// # Safety
    /// One thread of a block.
    #[inline(always)]
    pub(super) unsafe fn take(self, last: u32) -> u32 {
        // SAFETY: the word of tickets, which blocks touch here only. Behind the last ticket no other is taken: the store is
        // the launch's last access, and launches with one scratch memory follow one another.
        unsafe {
            let ticket = atomic::fetch_add_u32(self.next, 1);
            if Self::number(ticket) == last {
                thread::device_fence();
                *self.next = !ticket & SECOND;
            }
            ticket
        }
    }

    /// Place of a ticket, from 0.
    #[inline(always)]
    pub(super) fn number(ticket: u32) -> u32 {
        ticket & !SECOND
    }

    /// Where the words of this launch begin, as any of its tickets says.
    #[inline(always)]
    pub(super) fn words(self, ticket: u32) -> u32 {
        1 + if ticket < SECOND { 0 } else { self.half }
    }

    /// Zeroes the block's part of the half that this launch does not use, for the next one.
    ///
    /// # Safety
    /// All threads of the block are here with a ticket of this launch, and no other launch is at work with this memory.
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
    /// Those in `progress` from `words` on, for `tiles` tiles.
    #[inline(always)]
    pub(super) fn new(progress: *mut u32, words: u32, tiles: u32) -> Self {
        let groups = progress.wrapping_add(words as usize);
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
