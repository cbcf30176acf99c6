//! One sweep over a part of one row.

use crate::Real;

/// `new[i] = (((E + W) + N) + S) / 4` for the cells `first + i` of `row`, with a source
/// `((((E + W) + N) + S) + f) / 4`. `north`, `row`, `south` and `source` are rows of one length,
/// which has one more cell at each end.
#[inline(always)]
pub(super) fn relax<T: Real>(
    [north, row, south]: [&[T]; 3],
    source: Option<&[T]>,
    first: usize,
    new: &mut [T],
) {
    let cells = new.len();
    let quarter = T::nearest(0.25);
    let (east, west) = (&row[first + 1..][..cells], &row[first - 1..][..cells]);
    let (north, south) = (&north[first..][..cells], &south[first..][..cells]);
    match source {
        None => {
            for i in 0..cells {
                new[i] = (((east[i] + west[i]) + north[i]) + south[i]) * quarter;
            }
        }
        Some(source) => {
            let source = &source[first..][..cells];
            for i in 0..cells {
                new[i] = ((((east[i] + west[i]) + north[i]) + south[i]) + source[i]) * quarter;
            }
        }
    }
}
