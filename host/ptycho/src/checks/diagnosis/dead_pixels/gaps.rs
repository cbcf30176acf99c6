//! Dark pixels between lit ones of a row or a column.

use super::expected::extrapolated;
use ndarray::{Array2, ArrayView2, Axis};

/// Pixels behind an edge that are darker than it all, if that edge may be half shadowed.
const BEHIND: usize = 3;

/// What is dark.
pub(super) struct Rule {
    /// Largest part of the light of which the pixels beside speak.
    pub(super) far: f64,
    /// Least such light, counts.
    pub(super) least: f64,
    /// Whether the last lit pixel may be half shadowed, as by the edge of a beamstop.
    pub(super) half_shadowed: bool,
}

/// Pixels (row, column) that are dark against the light on two opposite sides.
pub(super) fn between(counts: &Array2<f64>, valid: &Array2<bool>, rule: &Rule) -> Array2<bool> {
    let rows = between_columns(counts.view(), valid.view(), rule);
    let columns = between_columns(counts.t(), valid.t(), rule).reversed_axes();
    rows | columns
}

fn between_columns(
    mut counts: ArrayView2<'_, f64>,
    mut valid: ArrayView2<'_, bool>,
    rule: &Rule,
) -> Array2<bool> {
    let left = behind(counts.view(), valid.view(), rule);
    counts.invert_axis(Axis(1));
    valid.invert_axis(Axis(1));
    let mut right = behind(counts, valid, rule);
    right.invert_axis(Axis(1));
    left & right
}

/// Pixels that are dark against the light before them in their rows.
fn behind(counts: ArrayView2<'_, f64>, valid: ArrayView2<'_, bool>, rule: &Rule) -> Array2<bool> {
    let mut dark = Array2::from_elem(counts.dim(), false);
    for (row, mut dark) in dark.rows_mut().into_iter().enumerate() {
        let columns: Vec<usize> = (0..counts.ncols())
            .filter(|column| valid[[row, *column]])
            .collect();
        let line: Vec<f64> = (columns.iter())
            .map(|column| counts[[row, *column]])
            .collect();
        let is_dark = |here: f64, light: f64| light >= rule.least && here < rule.far * light;
        let mut light = 0.0;
        let mut lit: Vec<usize> = Vec::new();
        for (place, here) in line.iter().enumerate() {
            if !is_dark(*here, light) && rule.half_shadowed {
                let after = line.get(place..place + BEHIND);
                if let ([.., third, second, last], Some(after)) = (&lit[..], after) {
                    let whole = extrapolated(line[*second], line[*third], 2.0);
                    if *last + 1 == place && after.iter().all(|here| is_dark(*here, whole)) {
                        light = whole;
                    }
                }
            }
            if is_dark(*here, light) {
                dark[columns[place]] = true;
                continue;
            }
            lit.push(place);
            light = match place.checked_sub(1) {
                Some(before) => extrapolated(*here, line[before], 1.0),
                None => *here,
            };
        }
    }
    dark
}
