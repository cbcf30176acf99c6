//! Groups of frames that do not overlap: their phases and positions are not connected.

use super::listed::listed;
use crate::data::Scan;
use crate::positions::overlap::Overlap;
use ndarray::Array2;
use std::collections::HashMap;

/// A sentence on frames that overlap no others, if most do.
pub(super) fn separate(scan: &Scan, overlap: &Overlap) -> Option<String> {
    let positions = scan.positions();
    let groups = groups(positions, overlap.width);
    // In a scan of many groups the neighbours do not overlap either, which is said elsewhere.
    if groups.len() < 2 || 2 * groups.len() > positions.nrows() {
        return None;
    }
    let alone: Vec<usize> = groups[1..].iter().flatten().copied().collect();
    if groups[1].len() == 1 {
        let what = format!(
            "so far from all others that its {} overlaps none of them",
            overlap.width_of
        );
        return listed(&alone, ["frame", "frames"], &what);
    }
    let sizes: Vec<String> = groups.iter().map(|g| g.len().to_string()).collect();
    Some(format!(
        "the scan consists of {} groups of frames that do not overlap (frames in each: {}): expected one, as the phases of separate groups are independent",
        groups.len(),
        sizes.join(", ")
    ))
}

/// The frames whose positions are connected by steps shorter than `width`, m; the largest group
/// first.
fn groups(positions: &Array2<f64>, width: f64) -> Vec<Vec<usize>> {
    // All positions in a cell of half the width are closer to each other than the width.
    let side = width / 2.0;
    let mut cells: HashMap<[i64; 2], Vec<usize>> = HashMap::new();
    for (frame, position) in positions.rows().into_iter().enumerate() {
        let cell = [position[0], position[1]].map(|v| (v / side).floor() as i64);
        cells.entry(cell).or_default().push(frame);
    }
    let near = |a: usize, b: usize| {
        let [y, x] = [0, 1].map(|axis| positions[[a, axis]] - positions[[b, axis]]);
        y.hypot(x) < width
    };
    let mut left: std::collections::BTreeSet<[i64; 2]> = cells.keys().copied().collect();
    let mut groups = Vec::new();
    while let Some(first) = left.pop_first() {
        let mut reached = vec![first];
        let mut group = Vec::new();
        while let Some(cell) = reached.pop() {
            for other in around(cell) {
                let joins = |a: &usize| cells[&other].iter().any(|b| near(*a, *b));
                if left.contains(&other) && cells[&cell].iter().any(joins) {
                    left.remove(&other);
                    reached.push(other);
                }
            }
            group.extend(&cells[&cell]);
        }
        group.sort_unstable();
        groups.push(group);
    }
    groups.sort_by_key(|group| (std::cmp::Reverse(group.len()), group[0]));
    groups
}

/// The cells whose positions may be closer than two sides of a cell to those of `cell`.
fn around([row, column]: [i64; 2]) -> impl Iterator<Item = [i64; 2]> {
    (-2..=2).flat_map(move |down| {
        (-2..=2).map(move |right| [row.saturating_add(down), column.saturating_add(right)])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_connected_by_steps_shorter_than_the_width() {
        // Three frames in a row with steps of 0.9 widths, one 1.1 widths further, two 5 further.
        let rows = [0.0, 0.9, 1.8, 2.9, 7.9, 7.95];
        let positions = Array2::from_shape_fn((6, 2), |(i, axis)| [rows[i], 1e-3][axis]);
        assert_eq!(
            groups(&positions, 1.0),
            [vec![0, 1, 2], vec![4, 5], vec![3]]
        );
        assert_eq!(groups(&positions, 6.0).len(), 1);
        assert_eq!(groups(&positions, 1e-3).len(), 6);
    }
}
