//! The middle of the light of a pattern.

use ndarray::Array2;

/// The middle of the light.
pub(super) struct Middle {
    /// Row and column.
    pub(super) place: [f64; 2],
    /// Number of bright pixels.
    pub(super) lit: usize,
}

impl Middle {
    /// The centre of the pixels with a tenth of the counts of the brightest ones or more; single
    /// hot pixels do not matter.
    pub(super) fn of(counts: &Array2<f64>, valid: &Array2<bool>) -> Option<Self> {
        let all = counts.iter().zip(valid).filter(|(_, valid)| **valid);
        let mut ordered: Vec<f64> = all.map(|(counts, _)| *counts).collect();
        if ordered.is_empty() {
            return None;
        }
        let hundredth = ordered.len() / 100;
        let (_, bright, _) = ordered.select_nth_unstable_by(hundredth, |a, b| b.total_cmp(a));
        let least = 0.1 * *bright;
        let (mut sums, mut lit) = ([0.0; 2], 0);
        for ((row, column), counts) in counts.indexed_iter() {
            if valid[[row, column]] && *counts > least {
                sums[0] += row as f64;
                sums[1] += column as f64;
                lit += 1;
            }
        }
        (lit > 0).then(|| Self {
            place: sums.map(|sum| sum / lit as f64),
            lit,
        })
    }

    /// The place opposite to one, if it is in the frame.
    pub(super) fn opposite(
        &self,
        [row, column]: [usize; 2],
        (rows, columns): (usize, usize),
    ) -> Option<[usize; 2]> {
        let row = (2.0 * self.place[0] - row as f64).round();
        let column = (2.0 * self.place[1] - column as f64).round();
        let inside = (0.0..rows as f64).contains(&row) && (0.0..columns as f64).contains(&column);
        inside.then_some([row as usize, column as usize])
    }
}
