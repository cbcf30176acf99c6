//! How much light a pixel would have, and the pixels that have far less.

use crate::checks::diagnosis::listed::{HARDLY, NEVER};
use ndarray::Array2;

/// Largest part of the light that says how much a pixel would have, of one that is dead.
pub(super) const FAR: f64 = 1.0 / 30.0;
/// Fewest counts, in all frames together, that a dead pixel would have. Chance does not leave a
/// thirtieth of them: that is less by more than six standard deviations.
pub(super) const EXPECTED: f64 = 50.0;
/// A pixel that has more than so many times the counts of the next one says no more than that.
const STEEPEST: f64 = 5.0;
/// Length of an edge relative to the lit length inside of it, of a straight one: that of a round
/// pattern differs by more.
pub(super) const AS_LONG: f64 = 0.75;
/// Distance inside of an edge at which the lit length is taken.
pub(super) const INSIDE: usize = 3;

/// Pixels (row, column) that count far less than the light around says.
pub(crate) struct Dark {
    /// Those that are dead.
    pub(crate) dead: Array2<bool>,
    /// Those in the middle of the light that may as well be the shadow of a central stop in the
    /// illumination.
    pub(crate) doubtful: Array2<bool>,
    /// Whether any of them has counts.
    pub(super) any_counts: bool,
}

impl Dark {
    /// What these pixels do, as a list of them says it.
    pub(crate) fn what(&self) -> [&'static str; 2] {
        if self.any_counts { HARDLY } else { NEVER }
    }
}

/// Counts so many pixels beyond a pixel, from its own and those of the one before it: amplitudes
/// change in proportion to the distance, as they do at the zeros of a wave, and do not grow.
pub(super) fn extrapolated(here: f64, before: f64, pixels: f64) -> f64 {
    let here = here.min(STEEPEST * before);
    let amplitude = (1.0 + pixels) * here.sqrt() - pixels * before.sqrt();
    here.min(amplitude.max(0.0).powi(2))
}

/// The pixels on the four sides of one, each with the next one in the same direction.
pub(super) fn sides(
    [row, column]: [usize; 2],
    (rows, columns): (usize, usize),
) -> impl Iterator<Item = ([usize; 2], Option<[usize; 2]>)> {
    let steps = [[0, 1], [0, -1], [1, 0], [-1, 0]];
    let at = move |[r, c]: [isize; 2], times: isize| {
        let row = row.checked_add_signed(r * times).filter(|row| *row < rows);
        let column = (column.checked_add_signed(c * times)).filter(|column| *column < columns);
        Some([row?, column?])
    };
    (steps.into_iter()).filter_map(move |step| at(step, 1).map(|first| (first, at(step, 2))))
}
