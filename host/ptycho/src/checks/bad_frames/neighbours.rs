//! The frames around each frame.

use crate::positions::overlap::Overlap;
use ndarray::Array2;
use std::collections::HashMap;

/// Most neighbours of a frame.
pub(super) const MOST: usize = 8;
/// Distance of a neighbour, in median distances of nearest frames.
const REACH: f64 = 2.5;
/// Most frames of a cell that are looked at.
const MOST_IN_CELL: usize = 64;

/// Neighbours of each frame: the nearest ones or, where most positions are those of other frames,
/// those before and after.
pub(super) struct Neighbours(Vec<Vec<usize>>);

impl Neighbours {
    /// Those at positions (frame, (row, column)) of the frames that are `judged`.
    pub(super) fn of(positions: &Array2<f64>, judged: &[usize]) -> Self {
        let of_all = Overlap::estimate(positions, None, [1, 1], [1.0, 1.0]);
        let reach = of_all.map_or(0.0, |overlap| REACH * overlap.step);
        let mut all = vec![Vec::new(); positions.nrows()];
        if !(reach.is_finite() && reach > 0.0) {
            for (place, frame) in judged.iter().enumerate() {
                let first = place.saturating_sub(MOST / 2);
                let around = judged[first..].iter().take(MOST + 1);
                all[*frame] = around.copied().filter(|other| other != frame).collect();
            }
            return Self(all);
        }
        let cell =
            |frame: usize| [0, 1].map(|axis| (positions[[frame, axis]] / reach).floor() as i64);
        let mut cells: HashMap<[i64; 2], Vec<usize>> = HashMap::new();
        for frame in judged {
            cells.entry(cell(*frame)).or_default().push(*frame);
        }
        for frame in judged {
            let [row, column] = cell(*frame);
            let mut near: Vec<(f64, usize)> = Vec::new();
            for down in -1..=1 {
                for right in -1..=1 {
                    let at = [row.saturating_add(down), column.saturating_add(right)];
                    for other in cells.get(&at).into_iter().flatten().take(MOST_IN_CELL) {
                        let apart = [0, 1]
                            .map(|axis| positions[[*other, axis]] - positions[[*frame, axis]]);
                        let apart = apart[0].hypot(apart[1]);
                        if other != frame && apart <= reach {
                            near.push((apart, *other));
                        }
                    }
                }
            }
            near.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            near.truncate(MOST);
            all[*frame] = near.into_iter().map(|(_, other)| other).collect();
        }
        Self(all)
    }

    pub(super) fn of_frame(&self, frame: usize) -> &[usize] {
        self.0.get(frame).map_or(&[], Vec::as_slice)
    }

    /// Groups of neighbours among some frames.
    pub(super) fn groups(&self, frames: &[usize]) -> Vec<Vec<usize>> {
        let mut left: std::collections::BTreeSet<usize> = frames.iter().copied().collect();
        let mut groups = Vec::new();
        while let Some(first) = left.pop_first() {
            let mut group = vec![first];
            let mut next = 0;
            while let Some(frame) = group.get(next).copied() {
                let joined = self
                    .of_frame(frame)
                    .iter()
                    .filter(|other| left.remove(other));
                let joined: Vec<usize> = joined.copied().collect();
                group.extend(joined);
                next += 1;
            }
            group.sort_unstable();
            groups.push(group);
        }
        groups
    }
}
