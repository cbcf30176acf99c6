//! Sets of data that are fitted together, and the names of their parameters.

use super::Measured;
use crate::{Calculation, Points, Target, Vector};
use std::ops::Range;

/// A set of data with the calculation of the model at its points.
#[derive(Debug, Clone)]
pub struct DataSet {
    /// The calculation, with the resolution of these data.
    pub calculation: Calculation,
    /// The data.
    pub measured: Measured,
    /// Values of the parameters that are not fitted, and starts of the others.
    pub base: Vector,
}

/// A set of data, and where its numbers are among those of all sets.
#[derive(Debug, Clone)]
pub(super) struct Member {
    pub(super) calculation: Calculation,
    pub(super) measured: Measured,
    /// Its points.
    pub(super) points: Range<usize>,
    /// Its values in a vector.
    pub(super) values: Range<usize>,
    /// Its widths in a vector.
    pub(super) widths: Range<usize>,
}

impl Member {
    /// The place in the vector of all sets of a number of this one.
    pub(super) fn outer(&self, target: Target) -> Target {
        match target {
            Target::Value(at) => Target::Value(self.values.start + at),
            Target::Width(at) => Target::Width(self.widths.start + at),
        }
    }

    /// The place in this set's own vector of a number of all sets, if it is one of this set.
    pub(super) fn inner(&self, target: Target) -> Option<Target> {
        let within =
            |range: &Range<usize>, at: usize| range.contains(&at).then(|| at - range.start);
        match target {
            Target::Value(at) => within(&self.values, at).map(Target::Value),
            Target::Width(at) => within(&self.widths, at).map(Target::Width),
        }
    }

    /// This set's part of the vector of all sets.
    pub(super) fn part(&self, vector: &Vector) -> Vector {
        let of = |numbers: &[f64], range: &Range<usize>| {
            numbers.get(range.clone()).unwrap_or_default().to_vec()
        };
        Vector {
            values: of(&vector.values, &self.values),
            widths: of(&vector.widths, &self.widths),
        }
    }
}

/// A name without the number of a data set, and that number, from 1: `radius.2` is `radius` in the
/// second set.
pub fn split_number(name: &str) -> (&str, Option<usize>) {
    let split = name.rsplit_once('.');
    let numbered = split.and_then(|(name, number)| {
        let digits = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
        Some((name, number.parse().ok().filter(|_| digits)?))
    });
    numbered.map_or((name, None), |(name, number)| (name, Some(number)))
}

/// The sets one after another, and the data of all of them as one.
pub(super) fn joined(sets: Vec<DataSet>) -> (Vec<Member>, Measured, Vector) {
    let several = sets.len() > 1;
    let mut base = Vector {
        values: Vec::new(),
        widths: Vec::new(),
    };
    let mut all: Option<Measured> = None;
    let mut members = Vec::with_capacity(sets.len());
    for set in sets {
        let measured = &set.measured;
        let begin = all.as_ref().map_or(0, |all| all.intensity.len());
        let place = (base.values.len(), base.widths.len());
        base.values.extend(&set.base.values);
        base.widths.extend(&set.base.widths);
        members.push(Member {
            points: begin..begin + measured.intensity.len(),
            values: place.0..base.values.len(),
            widths: place.1..base.widths.len(),
            calculation: set.calculation,
            measured: measured.clone(),
        });
        match &mut all {
            None => {
                let mut first = measured.clone();
                if several {
                    first.points = Points::Curve(moduli(&first.points));
                    first.notes = titled(&first);
                }
                all = Some(first);
            }
            Some(all) => {
                if let Points::Curve(q) = &mut all.points {
                    q.extend(moduli(&measured.points));
                }
                all.intensity.extend(&measured.intensity);
                all.sigma.extend(&measured.sigma);
                all.known_sigma &= measured.known_sigma;
                all.title = format!("{}, {}", all.title, measured.title);
                for note in titled(measured) {
                    if !all.notes.contains(&note) {
                        all.notes.push(note);
                    }
                }
            }
        }
    }
    let all = all.unwrap_or_else(nothing);
    (members, all, base)
}

/// |q| of each point.
fn moduli(points: &Points) -> Vec<f64> {
    match points {
        Points::Curve(q) => q.clone(),
        Points::Pixels { qx, qy } => qx.iter().zip(qy).map(|(x, y)| x.hypot(*y)).collect(),
    }
}

fn titled(of: &Measured) -> Vec<String> {
    let notes = of.notes.iter();
    notes.map(|note| format!("{}: {note}", of.title)).collect()
}

/// Data without points.
fn nothing() -> Measured {
    Measured {
        points: Points::Curve(Vec::new()),
        intensity: Vec::new(),
        sigma: Vec::new(),
        known_sigma: false,
        title: String::new(),
        notes: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_may_have_the_number_of_a_data_set() {
        for (name, expected) in [
            ("radius", ("radius", None)),
            ("radius.2", ("radius", Some(2))),
            ("A_radius_pd.12", ("A_radius_pd", Some(12))),
            ("radius.", ("radius.", None)),
            ("radius.x", ("radius.x", None)),
            ("radius.+1", ("radius.+1", None)),
        ] {
            assert_eq!(split_number(name), expected);
        }
    }
}
