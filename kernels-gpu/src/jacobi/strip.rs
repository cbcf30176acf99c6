//! One warp's pass over a strip: a window of columns, some rows, several sweeps.

use super::block::Block;
use super::cells::Cells;
use super::level::{EVERY_NORM, Levels, NO_NORM, SOME_NORMS, Source, Step};
use super::window::{Columns, FIXED, INNER, PERIODIC, Window, own_columns};
use warpstride_device::prelude::*;

/// Rows that are loaded while others are computed. With four, a single sweep loses more by the warps whose registers
/// no longer fit than it gains.
const AHEAD: i32 = 2;

/// The most columns: beyond them, no window's columns fit a signed number.
const MOST_COLUMNS: i32 = 1 << 30;

/// The arrays and extents of a launch.
#[derive(Clone, Copy)]
pub(super) struct Field<C: Cells> {
    pub(super) out: *mut C,
    pub(super) input: *const C,
    /// Not read if there is no source.
    pub(super) source: *const C,
    pub(super) block: Block,
    pub(super) columns: Columns,
    /// Rows below the first number and from the second on are not changed.
    pub(super) held: (i32, i32),
}

/// Sums of squared changes: `stride` numbers for each sweep of the pass, of which this launch writes those from
/// `offset` on, one a strip and window.
#[derive(Clone, Copy)]
pub(super) struct Norms {
    pub(super) out: *mut f64,
    pub(super) stride: u32,
    pub(super) offset: u32,
    /// Sweeps whose norm is requested, the first in bit 0.
    pub(super) wanted: u32,
}

/// Computes rows `first…end` in `strips` strips, all columns: a warp processes one window of one strip at a time.
#[inline(always)]
pub(super) unsafe fn pass<C: Cells, S: Source<C>, L: Levels<C, S>>(
    field: Field<C>,
    norms: Norms,
    (first, end): (u32, u32),
    strips: u32,
) {
    let sweeps = L::DEPTH;
    let reach = if field.block.wraps {
        field.block.rows
    } else {
        field.block.halo
    };
    // No extent limits these: a row has all its columns, and a block all its rows.
    let (block, nx) = (&field.block, field.columns.nx);
    let all_rows = i64::from(block.rows) + 2 * i64::from(block.halo);
    let fits = nx > 0
        && (nx as u32).div_ceil(C::COUNT) <= block.pitch
        && block.rows >= 0
        && block.halo >= 0
        && all_rows <= i64::from(i32::MAX)
        && end <= block.rows as u32;
    if !fits || nx > MOST_COLUMNS || reach < sweeps as i32 || first > end || strips == 0 {
        return;
    }
    let windows = (nx as u32).div_ceil(own_columns::<C>(sweeps));
    let warps = thread::block_threads() / warp::SIZE;
    let step = thread::grid_dim_x() as usize * warps as usize;
    let items = windows as usize * strips as usize;
    if items > u32::MAX as usize {
        return;
    }
    let mut item = thread::block_idx_x() as usize * warps as usize + warp::warp_id() as usize;
    while item < items {
        let (strip, index) = place_of(item as u32, windows, strips);
        let cut = |n: u32| {
            first as i32 + (u64::from(end - first) * u64::from(n) / u64::from(strips)) as i32
        };
        let walk = Walk::<C> {
            field: &field,
            wanted: norms.wanted,
            window: Window::new::<C>(index, sweeps, field.columns),
            own: (cut(strip), cut(strip + 1)),
        };
        let levels = walk.go::<S, L>();
        levels.sums(0, &|level, sum| {
            if norms.wanted >> level & 1 != 0 {
                let sum = reduce::warp_sum_f64(if walk.window.own { sum } else { 0.0 });
                let at = norms.offset as usize + item;
                if warp::lane_id() == 0 && at < norms.stride as usize {
                    *norms.out.add(level as usize * norms.stride as usize + at) = sum;
                }
            }
        });
        item += step;
    }
}

/// Strip and window of an item. The windows at the edges come first, because they take longer; otherwise neighbouring
/// warps have neighbouring windows, whose margins are then in the cache.
#[inline(always)]
fn place_of(item: u32, windows: u32, strips: u32) -> (u32, u32) {
    let edges = windows.min(2);
    if item < edges * strips {
        return (item % strips, item / strips * (windows - 1));
    }
    let (item, inner) = (item - edges * strips, (windows - edges).max(1));
    (item / inner, 1 + item % inner)
}

/// The path of a window down the rows of one strip.
struct Walk<'a, C: Cells> {
    field: &'a Field<C>,
    wanted: u32,
    window: Window,
    /// The strip's own rows.
    own: (i32, i32),
}

/// Rows being loaded, and the position in the strip.
struct StripPosition<C: Cells, S> {
    y: i32,
    rows: [Input<C, S>; AHEAD as usize],
}

/// The data that enter at a step.
#[derive(Clone, Copy)]
struct Input<C: Cells, S> {
    row: C,
    beside: C::Value,
    source: S,
}

impl<C: Cells> Walk<'_, C> {
    /// The pipeline fills over 2 × depth rows and then returns a row for each that enters. While it fills, and again
    /// at the end, some levels are outside of the strip's own rows; in between, the loops for the usual cases have no
    /// test.
    #[inline(always)]
    unsafe fn go<S: Source<C>, L: Levels<C, S>>(&self) -> L {
        let depth = L::DEPTH as i32;
        let (begin, end) = (self.own.0 - depth, self.own.1 + depth);
        let held = self.field.held;
        let mut levels = L::start();
        if self.window.kind == PERIODIC {
            self.all_steps::<S, L, PERIODIC>(&mut levels, begin, end);
            return levels;
        }
        if self.window.kind == FIXED || begin < held.0 || end > held.1 {
            self.all_steps::<S, L, FIXED>(&mut levels, begin, end);
            return levels;
        }
        let every = self.wanted == (1 << L::DEPTH) - 1;
        let plain = every || self.wanted == 0;
        let mut place = self.start::<S, L, INNER>(begin);
        let mut until = if plain { self.own.0 + depth } else { end };
        loop {
            while place.y < until {
                self.step::<S, L, INNER, SOME_NORMS>(&mut levels, &mut place);
            }
            if until == end {
                return levels;
            }
            until = end;
            if every {
                while place.y < self.own.1 {
                    self.two_steps::<S, L, EVERY_NORM>(&mut levels, &mut place);
                }
            } else {
                while place.y < self.own.1 {
                    self.two_steps::<S, L, NO_NORM>(&mut levels, &mut place);
                }
            }
        }
    }

    #[inline(always)]
    unsafe fn all_steps<S: Source<C>, L: Levels<C, S>, const KIND: u8>(
        &self,
        levels: &mut L,
        begin: i32,
        end: i32,
    ) {
        let mut place = self.start::<S, L, KIND>(begin);
        while place.y < end {
            self.step::<S, L, KIND, SOME_NORMS>(levels, &mut place);
        }
    }

    #[inline(always)]
    unsafe fn two_steps<S: Source<C>, L: Levels<C, S>, const NORM: u8>(
        &self,
        levels: &mut L,
        place: &mut StripPosition<C, S>,
    ) {
        self.step::<S, L, INNER, NORM>(levels, place);
        self.step::<S, L, INNER, NORM>(levels, place);
    }

    #[inline(always)]
    unsafe fn start<S: Source<C>, L: Levels<C, S>, const KIND: u8>(
        &self,
        begin: i32,
    ) -> StripPosition<C, S> {
        let rows = [
            self.input::<S, L, KIND>(begin),
            self.input::<S, L, KIND>(begin + 1),
        ];
        StripPosition { y: begin, rows }
    }

    /// Lets the next row enter and writes the row that leaves.
    #[inline(always)]
    unsafe fn step<S: Source<C>, L: Levels<C, S>, const KIND: u8, const NORM: u8>(
        &self,
        levels: &mut L,
        place: &mut StripPosition<C, S>,
    ) {
        let (y, depth) = (place.y, L::DEPTH as i32);
        // The last row that is needed replaces any beyond it.
        let next = (y + AHEAD).min(self.own.1 + depth - 1);
        let next = self.input::<S, L, KIND>(next);
        let now = place.rows[0];
        let step = Step {
            window: &self.window,
            y,
            held: self.field.held,
            counting: self.wanted & self.counting(y, L::DEPTH),
        };
        let row = levels.advance::<KIND, NORM>(now.row, now.beside, now.source, 0, &step);
        if NORM != SOME_NORMS || y >= self.own.0 + depth {
            let to = self.field.block.offset_in_halos(y - depth);
            self.window.store(self.field.out.add(to), row);
        }
        place.rows = [place.rows[1], next];
        place.y += 1;
    }

    /// Levels whose row is one of the strip's own when row `y` enters: level t (from 0) is at row y − 1 − t.
    #[inline(always)]
    fn counting(&self, y: i32, depth: u32) -> u32 {
        let all = (1_u32 << depth) - 1;
        let begun = (y - self.own.0).clamp(0, depth as i32);
        let ended = (y - self.own.1).clamp(0, depth as i32);
        (all >> (depth as i32 - begun)) & (all << ended)
    }

    #[inline(always)]
    unsafe fn input<S: Source<C>, L: Levels<C, S>, const KIND: u8>(&self, y: i32) -> Input<C, S> {
        let offset = self.field.block.offset(y);
        let row = self.field.input.add(offset);
        Input {
            row: self.window.load::<C, KIND>(row),
            beside: if L::DEPTH == 1 {
                self.window.beside(row)
            } else {
                C::zero().first()
            },
            source: if S::GIVEN {
                S::of(self.window.load::<C, KIND>(self.field.source.add(offset)))
            } else {
                S::zero()
            },
        }
    }
}
