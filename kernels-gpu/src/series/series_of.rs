//! The series that a point belongs to.

/// Points in a tile that one block moves at a time.
pub const TILE: u32 = 4096;

/// Number of tiles for this many points.
#[inline(always)]
#[must_use]
pub const fn tiles(points: usize) -> usize {
    points.div_ceil(TILE as usize)
}

/// The series that has `point`: the last one, from `low` on and before `high`, that begins at the point or before it.
/// Series `low` must begin there, and series `high` must not.
///
/// # Safety
///
/// `offsets` must have elements `low` to `high`.
#[inline(always)]
pub(super) unsafe fn series_of(
    offsets: *const u32,
    mut low: u32,
    mut high: u32,
    point: u32,
) -> u32 {
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if *offsets.add(middle as usize) <= point {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

/// Whether a series begins with this point.
///
/// # Safety
///
/// `offsets` must have the offsets of `series` series, and `point` must belong to one of them.
#[inline(always)]
pub(super) unsafe fn begins(offsets: *const u32, series: u32, point: u32) -> bool {
    *offsets.add(series_of(offsets, 0, series, point) as usize) == point
}
