//! Frames in which a part of the detector is missing.
//!
//! A specimen moves light from one part of the detector to others: where a part is dark in some
//! frames, it is dim in others. A part that in each frame has either the counts that the light of
//! the frame predicts or none at all was not read in some.

use super::light::Light;
use super::median;
use ndarray::ArrayView2;
use std::ops::Range;

/// Rows, and columns, of the smallest cells. All cells have about the same light in the mean of all
/// frames.
pub(super) const CELLS: usize = 16;
/// Rows of the cells of each size.
const SIZES: [usize; 4] = [8, 4, 2, CELLS];
/// The number of all parts of up to a 64th of the light, which come first, and place of the
/// smallest cells.
const COARSE: usize = 8 * 8 + 4 * 4 + 2 * 2;
/// Fewest frames in which smaller parts, single rows, and single columns are judged: in fewer, a
/// part may be as dark by chance.
const MANY: usize = 32;
/// Counts that a part would have without which it is missing: chance leaves none of them with a
/// probability of 10⁻²².
const COMPLETE: f64 = 50.0;
/// Part of the counts that it would have up to which they are stray ones.
const STRAY: f64 = 0.002;
/// Part of the counts that it would have below which a part is dim, and how many times as many
/// frames must lack all of its counts.
const DIM: f64 = 0.25;
const TIMES: usize = 20;
/// Largest part of the frames that lack counts somewhere.
const RARE: f64 = 0.9;

/// The counts of a frame in parts of the detector: in cells of several sizes, from 64ths of the
/// light on, in rows, and in columns.
pub(super) fn in_parts(
    frame: ArrayView2<'_, f32>,
    rows: &[Range<usize>; CELLS],
    columns: &[Range<usize>; CELLS],
) -> Vec<f32> {
    let mut cells = [0.0_f64; CELLS * CELLS];
    let mut of_rows = vec![0.0_f32; frame.nrows()];
    let mut of_columns = vec![0.0_f32; frame.ncols()];
    for (down, rows) in rows.iter().enumerate() {
        let mut sums = vec![0.0_f32; frame.ncols()];
        for row in rows.clone() {
            let counts = frame.row(row);
            let copied;
            let counts = match counts.as_slice() {
                Some(counts) => counts,
                None => {
                    copied = counts.to_vec();
                    &copied
                }
            };
            of_rows[row] = summed(counts) as f32;
            (sums.iter_mut().zip(counts)).for_each(|(sum, count)| *sum += count);
        }
        for (right, columns) in columns.iter().enumerate() {
            cells[down * CELLS + right] = summed(&sums[columns.clone()]);
        }
        (of_columns.iter_mut().zip(sums)).for_each(|(sum, of_cells)| *sum += of_cells);
    }
    let mut all = Vec::with_capacity(COARSE + cells.len() + of_rows.len() + of_columns.len());
    for side in SIZES {
        let first = all.len();
        all.resize(first + side * side, 0.0);
        let mut sums = vec![0.0; side * side];
        for (cell, counts) in cells.iter().enumerate() {
            let [row, column] = [cell / CELLS, cell % CELLS].map(|place| place * side / CELLS);
            sums[row * side + column] += counts;
        }
        (all[first..].iter_mut().zip(sums)).for_each(|(to, sum)| *to = sum as f32);
    }
    all.extend(of_rows);
    all.extend(of_columns);
    all
}

/// Parts of a side that have about the same light.
pub(super) fn parts(light: &[f64]) -> [Range<usize>; CELLS] {
    let whole: f64 = light.iter().sum();
    let mut ends = [light.len(); CELLS];
    let (mut sum, mut part) = (0.0, 0);
    for (place, of_place) in light.iter().enumerate() {
        sum += of_place;
        while part + 1 < CELLS && sum * CELLS as f64 >= whole * (part + 1) as f64 {
            ends[part] = place + 1;
            part += 1;
        }
    }
    std::array::from_fn(|part| match part {
        0 => 0..ends[0],
        _ => ends[part - 1]..ends[part],
    })
}

/// The sum of counts, of which eight are added at once.
fn summed(counts: &[f32]) -> f64 {
    let (groups, rest) = counts.as_chunks::<8>();
    let mut sums = [0.0_f32; 8];
    let mut whole = 0.0;
    for (number, group) in groups.iter().enumerate() {
        sums.iter_mut()
            .zip(group)
            .for_each(|(sum, count)| *sum += count);
        if number % 64 == 63 {
            whole += sums.iter().map(|sum| f64::from(*sum)).sum::<f64>();
            sums = [0.0; 8];
        }
    }
    whole
        + sums
            .iter()
            .chain(rest)
            .map(|count| f64::from(*count))
            .sum::<f64>()
}

/// Frames with hardly any counts in a part of the detector that has, in all other frames with
/// counts there, about as many of them as their light says. `of_frames` has the counts of
/// [`in_parts`], NaN where they are not known. Frames that are `bad` are not judged, and those that
/// are `unlike` the others are not compared with.
pub(super) fn find(
    of_frames: &[Vec<f32>],
    light: &Light,
    (bad, unlike): (&[bool], &[bool]),
) -> Vec<usize> {
    let judged: Vec<usize> = (light.judged.iter().copied())
        .filter(|frame| !bad[*frame])
        .collect();
    let all = of_frames.first().map_or(0, Vec::len);
    let parts = if judged.len() < MANY { COARSE } else { all };
    let missing = |part: usize| -> Vec<usize> {
        let counts = |frame: usize| f64::from(of_frames[frame][part]);
        let compared = || {
            let compared = judged.iter().copied().filter(|frame| !unlike[*frame]);
            compared.filter(|frame| counts(*frame) > 0.0)
        };
        let lit = |share: f64| {
            let lit = move |frame: &usize| counts(*frame) > STRAY * share * light.levels[*frame];
            let [sum, of_light] = (compared().filter(lit))
                .fold([0.0; 2], |[sum, of_light], frame| {
                    [sum + counts(frame), of_light + light.levels[frame]]
                });
            sum / of_light.max(1e-300)
        };
        // Of frames with counts at first, and then of those with more than stray ones.
        let share = lit(lit(0.0));
        let expected = |frame: usize| share * light.levels[frame];
        // Few frames that have too much there do not say what the others lack.
        let shares = compared().map(|frame| counts(frame) / light.levels[frame]);
        let usual = median(shares.collect());
        let usual = |frame: usize| usual.min(share) * light.levels[frame];
        let is_empty = |frame: usize| counts(frame) <= STRAY * usual(frame);
        let empty = judged.iter().copied().filter(|frame| is_empty(*frame));
        let mut empty: Vec<usize> = empty.filter(|frame| usual(*frame) >= COMPLETE).collect();
        let is_dim = |frame: &usize| counts(*frame) < DIM * expected(*frame) && !is_empty(*frame);
        if compared().filter(is_dim).count() * TIMES > empty.len() {
            empty.clear();
        }
        empty
    };
    let mut found: Vec<usize> = (0..parts).flat_map(missing).collect();
    found.sort_unstable();
    found.dedup();
    // Where almost every frame lacks counts somewhere, counts are rare.
    if found.len() as f64 > RARE * judged.len() as f64 {
        found.clear();
    }
    found
}
