//! The largest particles that a fit can reach.

use super::{Free, split_number};
use crate::{Calculation, Tie, Ties, Vector};

/// Values (parameter) of data set `set`, from 0, of `sets`: those of `start`, with the upper bound
/// of each fitted length, and with what is tied to them. The resolution of a fit is sampled for
/// particles of this size.
#[must_use]
pub fn largest_values(
    calculation: &Calculation,
    start: &Vector,
    free: &[Free],
    (set, sets): (usize, usize),
    ties: &[Tie],
) -> Vec<f64> {
    let mut vector = start.clone();
    for free in free {
        let (name, of) = match split_number(&free.name) {
            (name, Some(number)) if sets > 1 => (name, Some(number)),
            _ => (&*free.name, None),
        };
        let mut rows = calculation.definition.rows().iter();
        if of.is_none_or(|number| number == set + 1)
            && let Some((_, high)) = free.bounds.filter(|(_, high)| high.is_finite())
            && let Some(index) = rows.position(|row| row.name == name && row.units == "Ang")
            && let Some(value) = vector.values.get_mut(index)
        {
            *value = high;
        }
    }
    if let Ok(ties) = Ties::new(calculation, ties) {
        ties.apply_or_nan(&mut vector);
    }
    vector.values
}
