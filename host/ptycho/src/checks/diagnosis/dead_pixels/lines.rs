//! Whole rows that are dark between lit ones.

use super::expected::{AS_LONG, FAR, INSIDE};
use ndarray::{ArrayView2, Axis};
use std::ops::Range;

/// Fewest counts that the pixels of a dead row would have together.
const OF_LINE: f64 = 100.0;
/// Most rows through the middle of the light that are dead and no gap between the parts of a pupil.
const NARROW: usize = 3;
/// Distance, in rows, within which places are opposite to each other.
const OPPOSITE: f64 = 1.5;
/// Part of the light beside it that a row has at a zero of a wave.
const DIM: f64 = 0.2;
/// Fewest counts of the rows beside one without any that are more than chance leaves at a zero of a
/// wave, which has about a hundredth of them in a pixel.
const MANY: f64 = 1000.0;
/// Light that rises towards dark rows does so by this factor and so many standard deviations.
const RISES: (f64, f64) = (1.1, 3.0);

/// Rows that are dead, and those that may as well be the dark between the parts of a pupil.
#[derive(Default)]
pub(super) struct Lines {
    pub(super) dead: Vec<usize>,
    pub(super) doubtful: Vec<usize>,
}

/// Finds dark rows in the counts; `middle` is the row in the middle of the light.
pub(super) fn dead(counts: ArrayView2<'_, f64>, valid: ArrayView2<'_, bool>, middle: f64) -> Lines {
    let valid_counts = ndarray::Zip::from(counts)
        .and(valid)
        .map_collect(|counts, valid| if *valid { *counts } else { 0.0 });
    let sums = valid_counts.sum_axis(Axis(1)).to_vec();
    let mut gaps = Vec::new();
    let mut row = 1;
    while row < sums.len() {
        let before = sums[row - 1];
        let dark = (sums[row..].iter())
            .take_while(|sum| before >= OF_LINE && **sum < FAR * before)
            .count();
        let gap = row..row + dark;
        row = gap.end + 1;
        if dark == 0 || gap.end == sums.len() {
            continue;
        }
        let both: f64 = (valid_counts.row(gap.start - 1).iter())
            .zip(valid_counts.row(gap.end))
            .map(|(one, other)| one.min(*other))
            .sum();
        let largest = |rows: &[f64]| rows.iter().copied().fold(0.0, f64::max);
        let inside = [
            largest(&sums[gap.start.saturating_sub(1 + INSIDE)..gap.start]),
            largest(&sums[gap.end..sums.len().min(gap.end + 1 + INSIDE)]),
        ];
        // The light of round parts of a pupil, and that around the zeros of a wave, falls towards
        // the dark. So may that of a part that the border cuts.
        let cut = [gap.start <= INSIDE, sums.len() - gap.end <= INSIDE];
        let falls = [
            cut[0] || before < AS_LONG * inside[0],
            cut[1] || sums[gap.end] < AS_LONG * inside[1],
        ];
        let dark = sums[gap.clone()].iter().all(|sum| *sum < FAR * both);
        if both >= OF_LINE && dark && falls.contains(&false) {
            gaps.push((gap, falls));
        }
    }
    let mut lines = Lines::default();
    for (gap, falls) in &gaps {
        let opposite = [gap.end - 1, gap.start].map(|row| 2.0 * middle - row as f64);
        let twin = gaps.iter().map(|(other, _)| other).find(|other| {
            (other.start as f64 - opposite[0]).abs() <= OPPOSITE
                && ((other.end - 1) as f64 - opposite[1]).abs() <= OPPOSITE
        });
        match judged(&sums, gap, *falls, (middle, twin)) {
            Some(true) => lines.dead.extend(gap.clone()),
            Some(false) => lines.doubtful.extend(gap.clone()),
            None => {}
        }
    }
    lines
}

/// Whether dark rows are dead (`true`) or doubtful (`false`), if they are either. The light before
/// and after them `falls` towards them or does not; `twin` lies opposite to them, about `middle`.
fn judged(
    sums: &[f64],
    gap: &Range<usize>,
    falls: [bool; 2],
    (middle, twin): (f64, Option<&Range<usize>>),
) -> Option<bool> {
    // A zero of a wave is as narrow, and another one lies opposite to it, on whose side the light
    // falls.
    if gap.len() == 1 && twin != Some(gap) {
        let inner = falls[usize::from(middle > gap.start as f64)];
        let dim = |row: usize| {
            let beside = [row.wrapping_sub(1), row + 1].map(|row| sums.get(row).copied());
            let most = beside.into_iter().flatten().fold(0.0, f64::max);
            row != gap.start && sums[row] < DIM * most
        };
        let opposite = 2.0 * middle - gap.start as f64;
        let twins = (0..sums.len())
            .filter(|row| (*row as f64 - opposite).abs() <= OPPOSITE)
            .filter(|row| dim(*row));
        let twins: Vec<f64> = twins.map(|row| sums[row]).collect();
        // A zero of a wave has some counts where it lies between so many.
        let beside = sums[gap.start - 1].min(sums[gap.end]);
        let never = sums[gap.start] == 0.0 && beside >= MANY;
        let is_dead = never && twins.iter().all(|sum| *sum > 0.0);
        return Some(twins.is_empty() || !inner || is_dead);
    }
    let Some(twin) = twin else {
        return Some(true);
    };
    if twin == gap {
        let rises = |edge: Option<&f64>, inside: Option<&f64>| match (edge, inside) {
            (Some(edge), Some(inside)) => {
                edge - RISES.0 * inside > RISES.1 * (edge + inside).sqrt()
            }
            _ => false,
        };
        let before = |rows: usize| gap.start.checked_sub(rows).and_then(|row| sums.get(row));
        let both = rises(before(1), before(2)) && rises(sums.get(gap.end), sums.get(gap.end + 1));
        return Some(gap.len() <= NARROW || both);
    }
    let between = match twin.start >= gap.end {
        true => twin.start - gap.end,
        false => gap.start - twin.end,
    };
    // What is wider than the light between is the dark between spots.
    let ratio = sums[gap.end] / sums[gap.start - 1];
    (gap.len() < between).then(|| !(AS_LONG..1.0 / AS_LONG).contains(&ratio))
}
