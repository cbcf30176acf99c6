//! Two halves of a scan, whose reconstructions have no noise in common.

use ndarray::Array2;

/// Bits that differ between neighbouring numbers (the golden ratio, as a fraction of 2⁶⁴).
const SCRAMBLE: u64 = 0x9E37_79B9_7F4A_7C15;

/// The frames of half 1 or 2 of a scan with positions (frame, (row, column)), in their order. The
/// scan is halved again and again across its longer side, until there are pairs of neighbours; each
/// half has one frame of each pair, so that both cover the scan with twice the distance between
/// frames. If the number of frames is odd, half 1 has one more.
#[must_use]
pub fn half_of(positions: &Array2<f64>, half: usize) -> Vec<usize> {
    let mut frames: Vec<usize> = (0..positions.nrows()).collect();
    let mut pairs = Vec::new();
    split(positions, &mut frames, &mut pairs);
    let mut chosen: Vec<usize> = (pairs.iter().enumerate())
        .filter_map(|(number, pair)| {
            // Which frame of a pair comes first must not depend on the direction of the scan.
            let swapped = (number as u64).wrapping_mul(SCRAMBLE) >> 63 == 1;
            match pair {
                (only, None) => (half == 1).then_some(*only),
                (first, Some(second)) => Some(if (half == 1) == swapped {
                    *second
                } else {
                    *first
                }),
            }
        })
        .collect();
    chosen.sort_unstable();
    chosen
}

/// Puts neighbours into pairs; the last frame may have none.
fn split(positions: &Array2<f64>, frames: &mut [usize], pairs: &mut Vec<(usize, Option<usize>)>) {
    match frames {
        [] => return,
        [one] => return pairs.push((*one, None)),
        [one, other] => return pairs.push((*one.min(other), Some(*one.max(other)))),
        _ => {}
    }
    let extent = [0, 1].map(|axis| {
        let of = frames.iter().map(|frame| positions[[*frame, axis]]);
        of.clone().fold(f64::NEG_INFINITY, f64::max) - of.fold(f64::INFINITY, f64::min)
    });
    let axis = usize::from(extent[1] > extent[0]);
    frames.sort_unstable_by(|a, b| {
        let at = |axis: usize| positions[[*a, axis]].total_cmp(&positions[[*b, axis]]);
        at(axis).then(at(1 - axis)).then(a.cmp(b))
    });
    // An even number of frames on the first side, so that at most one frame of all has no
    // neighbour.
    let (first, second) = frames.split_at_mut(frames.len().div_ceil(4) * 2);
    split(positions, first, pairs);
    split(positions, second, pairs);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid(rows: usize, columns: usize) -> Array2<f64> {
        Array2::from_shape_fn((rows * columns, 2), |(frame, axis)| {
            [frame / columns, frame % columns][axis] as f64
        })
    }

    #[test]
    fn the_halves_divide_the_frames() {
        for (rows, columns) in [(1, 1), (1, 2), (1, 3), (3, 3), (7, 11), (16, 16), (1, 31)] {
            let positions = grid(rows, columns);
            let [first, second] = [1, 2].map(|half| half_of(&positions, half));
            assert!(first.len() == second.len() || first.len() == second.len() + 1);
            let mut all = [first, second].concat();
            all.sort_unstable();
            let frames: Vec<usize> = (0..rows * columns).collect();
            assert_eq!(all, frames);
        }
    }

    #[test]
    fn both_halves_cover_every_part_of_the_scan() {
        let positions = grid(12, 20);
        for half in [1, 2] {
            let frames = half_of(&positions, half);
            for (row, column) in (0..11).flat_map(|row| (0..19).map(move |column| (row, column))) {
                let near = frames.iter().filter(|frame| {
                    let at = [**frame / 20, **frame % 20];
                    at[0].abs_diff(row) <= 2 && at[1].abs_diff(column) <= 2
                });
                assert!(near.count() >= 2, "{half} {row} {column}");
            }
        }
    }

    #[test]
    fn frames_at_the_same_place_are_divided_too() {
        let positions = Array2::zeros((10, 2));
        assert_eq!(half_of(&positions, 2).len(), 5);
        assert!(half_of(&Array2::zeros((0, 2)), 1).is_empty());
    }
}
