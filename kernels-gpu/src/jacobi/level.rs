//! The pipeline of sweeps: rows of the field enter at the top, and rows of the field several sweeps later leave at
//! the bottom.
//!
//! A level is one sweep. It holds the last row that entered and that row's sum of east, west and north; the next row
//! is the south that completes it. So a level is one row behind the one above it, and needs only two vectors of
//! registers (three with a source, which passes through the levels beside the rows). Levels are nested pairs and not
//! an array, because an array with a variable index would be placed in local memory.

use super::cells::Cells;
use super::window::{INNER, PERIODIC, Window};
use warpstride_device::prelude::*;

/// Computes no norm.
pub(super) const NO_NORM: u8 = 0;
/// Computes the norm of every level.
pub(super) const EVERY_NORM: u8 = 1;
/// Computes the norm of the levels in [`Step::counting`].
pub(super) const SOME_NORMS: u8 = 2;

/// The data of a step that all levels need.
#[derive(Clone, Copy)]
pub(super) struct Step<'a> {
    pub(super) window: &'a Window,
    /// The row that enters.
    pub(super) y: i32,
    /// Rows below the first number and from the second on are not changed.
    pub(super) held: (i32, i32),
    /// Levels whose norm is requested and whose row is one of the strip's own, the first in bit 0.
    pub(super) counting: u32,
}

/// The source of a row, or none.
pub(super) trait Source<C: Cells>: Copy {
    const GIVEN: bool;
    fn zero() -> Self;
    fn of(cells: C) -> Self;
    fn cells(self) -> Option<C>;
}

/// No source; it takes no registers.
#[derive(Clone, Copy)]
pub(super) struct Absent;

impl<C: Cells> Source<C> for Absent {
    const GIVEN: bool = false;

    #[inline(always)]
    fn zero() -> Self {
        Self
    }

    #[inline(always)]
    fn of(_cells: C) -> Self {
        Self
    }

    #[inline(always)]
    fn cells(self) -> Option<C> {
        None
    }
}

impl<C: Cells> Source<C> for C {
    const GIVEN: bool = true;

    #[inline(always)]
    fn zero() -> Self {
        <C as Cells>::zero()
    }

    #[inline(always)]
    fn of(cells: C) -> Self {
        cells
    }

    #[inline(always)]
    fn cells(self) -> Option<C> {
        Some(self)
    }
}

/// One sweep.
#[derive(Clone, Copy)]
pub(super) struct Level<C, S> {
    row: C,
    partial: C,
    source: S,
    sum: f64,
}

/// Several sweeps, one after the other.
pub(super) trait Levels<C: Cells, S: Source<C>>: Copy {
    const DEPTH: u32;
    fn start() -> Self;
    /// Takes a row and its source; returns the row `DEPTH` above it, `DEPTH` sweeps later. `above` levels precede
    /// this one. `beside`: [`Window::beside`], for a single level.
    unsafe fn advance<const KIND: u8, const NORM: u8>(
        &mut self,
        row: C,
        beside: C::Value,
        source: S,
        above: u32,
        step: &Step<'_>,
    ) -> C;
    /// Calls `write` with each level's number (from 0) and its sum of squared changes.
    unsafe fn sums(&self, above: u32, write: &impl Fn(u32, f64));
}

impl<C: Cells, S: Source<C>> Levels<C, S> for () {
    const DEPTH: u32 = 0;

    #[inline(always)]
    fn start() -> Self {}

    #[inline(always)]
    unsafe fn advance<const KIND: u8, const NORM: u8>(
        &mut self,
        row: C,
        _beside: C::Value,
        _source: S,
        _above: u32,
        _step: &Step<'_>,
    ) -> C {
        row
    }

    #[inline(always)]
    unsafe fn sums(&self, _above: u32, _write: &impl Fn(u32, f64)) {}
}

impl<C: Cells, S: Source<C>, Below: Levels<C, S>> Levels<C, S> for (Level<C, S>, Below) {
    const DEPTH: u32 = 1 + Below::DEPTH;

    #[inline(always)]
    fn start() -> Self {
        let level = Level {
            row: C::zero(),
            partial: C::zero(),
            source: S::zero(),
            sum: 0.0,
        };
        (level, Below::start())
    }

    #[inline(always)]
    unsafe fn advance<const KIND: u8, const NORM: u8>(
        &mut self,
        row: C,
        beside: C::Value,
        source: S,
        above: u32,
        step: &Step<'_>,
    ) -> C {
        let (level, below) = self;
        let mut new = level.partial.finish(row, level.source.cells());
        let mut old = level.row;
        if KIND != INNER {
            let y = step.y - above as i32 - 1;
            let all = y < step.held.0 || y >= step.held.1;
            let bits = if all { u32::MAX } else { step.window.held };
            new = new.replaced(level.row, bits);
        }
        if KIND == PERIODIC {
            old = old.replaced(new, step.window.uncounted);
        }
        if NORM == EVERY_NORM || NORM == SOME_NORMS && step.counting >> above & 1 != 0 {
            level.sum += new.change(old);
        }
        let mut west = warp::shuffle_up(warp::FULL, row.last(), 1);
        let mut east = warp::shuffle_down(warp::FULL, row.first(), 1);
        if above == 0 && Self::DEPTH == 1 {
            let lane = warp::lane_id();
            west = if lane == 0 { beside } else { west };
            east = if lane == warp::SIZE - 1 { beside } else { east };
        }
        level.partial = row.partial(west, east, level.row);
        level.row = row;
        let its_source = level.source;
        level.source = source;
        below.advance::<KIND, NORM>(new, beside, its_source, above + 1, step)
    }

    #[inline(always)]
    unsafe fn sums(&self, above: u32, write: &impl Fn(u32, f64)) {
        write(above, self.0.sum);
        self.1.sums(above + 1, write);
    }
}
