//! Which series a point belongs to.

/// Points that a block does at a time where it moves them.
pub const TILE: u32 = 4096;

/// Tiles of so many points.
#[inline(always)]
#[must_use]
pub const fn tiles(points: usize) -> usize {
    points.div_ceil(TILE as usize)
}

/// The last series from `low` on and before `high` that begins at `point` or before: the one that has it. Series `low`
/// begins there, series `high` does not.
///
/// # Safety
/// `offsets` has places `low` to `high`.
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
/// `offsets` are those of `series` series, and `point` is a point of one.
#[inline(always)]
pub(super) unsafe fn begins(offsets: *const u32, series: u32, point: u32) -> bool {
    *offsets.add(series_of(offsets, 0, series, point) as usize) == point
}
