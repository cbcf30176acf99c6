//! The neighbouring cells of a row that one thread holds, and the sweep's arithmetic on them.
//!
//! The order of the operations is the same on every device and in `host/src/jacobi/cpu`.

use warpstride_device::prelude::*;
use warpstride_device::warp::Shuffle;

/// The cells of one thread in one row, in the order of the columns.
pub(super) trait Cells: Copy {
    /// The type of a cell.
    type Value: Shuffle + mem::ReadOnly;
    /// The number of cells.
    const COUNT: u32;

    fn zero() -> Self;
    /// Loads all cells at once by the read-only path.
    unsafe fn load(address: *const Self) -> Self;
    /// Loads each cell from its offset by the read-only path.
    unsafe fn gather(row: *const Self::Value, offsets: [u32; 4]) -> Self;
    fn first(self) -> Self::Value;
    fn last(self) -> Self::Value;
    /// `(E + W) + N` of each cell, with the cells beside them.
    fn partial(self, west: Self::Value, east: Self::Value, north: Self) -> Self;
    /// `(self + S) / 4` of each cell, or `((self + S) + f) / 4`.
    fn finish(self, south: Self, source: Option<Self>) -> Self;
    /// The cells of `other` where the bit is set, the own ones elsewhere.
    fn replaced(self, other: Self, bits: u32) -> Self;
    /// Σ(self − old)² in a fixed order, in double precision.
    fn change(self, old: Self) -> f64;
}

impl Cells for F32x4 {
    type Value = f32;
    const COUNT: u32 = 4;

    #[inline(always)]
    fn zero() -> Self {
        Self([0.0; 4])
    }

    #[inline(always)]
    unsafe fn load(address: *const Self) -> Self {
        mem::load_read_only(address)
    }

    #[inline(always)]
    unsafe fn gather(row: *const f32, [a, b, c, d]: [u32; 4]) -> Self {
        let one = |offset: u32| mem::load_read_only(row.add(offset as usize));
        Self([one(a), one(b), one(c), one(d)])
    }

    #[inline(always)]
    fn first(self) -> f32 {
        self.0[0]
    }

    #[inline(always)]
    fn last(self) -> f32 {
        self.0[3]
    }

    #[inline(always)]
    fn partial(self, west: f32, east: f32, north: Self) -> Self {
        let ([a, b, c, d], [n0, n1, n2, n3]) = (self.0, north.0);
        Self([(b + west) + n0, (c + a) + n1, (d + b) + n2, (east + c) + n3])
    }

    #[inline(always)]
    fn finish(self, south: Self, source: Option<Self>) -> Self {
        let one = |i: usize| {
            let sum = self.0[i] + south.0[i];
            let sum = match source {
                Some(f) => sum + f.0[i],
                None => sum,
            };
            sum.mul_rounded(0.25)
        };
        Self([one(0), one(1), one(2), one(3)])
    }

    #[inline(always)]
    fn replaced(self, other: Self, bits: u32) -> Self {
        let one = |i: usize| {
            if bits >> i & 1 != 0 {
                other.0[i]
            } else {
                self.0[i]
            }
        };
        Self([one(0), one(1), one(2), one(3)])
    }

    #[inline(always)]
    fn change(self, old: Self) -> f64 {
        let d = |i: usize| self.0[i] - old.0[i];
        let (a, b, c, d) = (d(0), d(1), d(2), d(3));
        f64::from(d.mul_add(d, c.mul_add(c, b.mul_add(b, a.mul_rounded(a)))))
    }
}

impl Cells for F64x2 {
    type Value = f64;
    const COUNT: u32 = 2;

    #[inline(always)]
    fn zero() -> Self {
        Self([0.0; 2])
    }

    #[inline(always)]
    unsafe fn load(address: *const Self) -> Self {
        mem::load_read_only(address)
    }

    #[inline(always)]
    unsafe fn gather(row: *const f64, [a, b, ..]: [u32; 4]) -> Self {
        let one = |offset: u32| mem::load_read_only(row.add(offset as usize));
        Self([one(a), one(b)])
    }

    #[inline(always)]
    fn first(self) -> f64 {
        self.0[0]
    }

    #[inline(always)]
    fn last(self) -> f64 {
        self.0[1]
    }

    #[inline(always)]
    fn partial(self, west: f64, east: f64, north: Self) -> Self {
        let ([a, b], [n0, n1]) = (self.0, north.0);
        Self([(b + west) + n0, (east + a) + n1])
    }

    #[inline(always)]
    fn finish(self, south: Self, source: Option<Self>) -> Self {
        let one = |i: usize| {
            let sum = self.0[i] + south.0[i];
            let sum = match source {
                Some(f) => sum + f.0[i],
                None => sum,
            };
            sum.mul_rounded(0.25)
        };
        Self([one(0), one(1)])
    }

    #[inline(always)]
    fn replaced(self, other: Self, bits: u32) -> Self {
        let one = |i: usize| {
            if bits >> i & 1 != 0 {
                other.0[i]
            } else {
                self.0[i]
            }
        };
        Self([one(0), one(1)])
    }

    #[inline(always)]
    fn change(self, old: Self) -> f64 {
        let d = |i: usize| self.0[i] - old.0[i];
        let (a, b) = (d(0), d(1));
        b.mul_add(b, a.mul_rounded(a))
    }
}
