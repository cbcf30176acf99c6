//! A note on an earlier result that was reconstructed with another orientation of the positions.

use crate::data::Reconstruction;
use crate::{Orientation, Problem, ReadOptions, Recipe};

/// Largest difference of the elements of two maps of positions that have the same orientation:
/// refined maps differ by less.
const SAME: f64 = 0.2;

type Matrix = [[f64; 2]; 2];

impl Problem {
    /// Adds a note if the recipe stored in `result` has another orientation of the positions than
    /// `recipe`, or cannot be read.
    pub(super) fn note_orientation(&mut self, result: &Reconstruction, recipe: &Recipe) {
        let note = match Recipe::from_toml(&result.recipe) {
            Err(_) => "the recipe stored in the result cannot be read; its object must have the orientation of this run's positions".to_owned(),
            Ok(earlier) if differ(map(&earlier.data), map(&recipe.data)) => format!(
                "the result was reconstructed with another orientation of the positions ({}; in this run {}), which its object does not have here",
                named(&earlier.data),
                named(&recipe.data)
            ),
            Ok(_) => return,
        };
        self.notes.push(format!("start: {note}"));
    }
}

/// The map of positions (row, column) in the options of a scan file.
fn map(options: &ReadOptions) -> Matrix {
    let last = Orientation::of(options).matrix();
    let first = options.affine.unwrap_or([[1.0, 0.0], [0.0, 1.0]]);
    let element = |row: usize, column: usize| {
        last[row][0] * first[0][column] + last[row][1] * first[1][column]
    };
    [0, 1].map(|row| [0, 1].map(|column| element(row, column)))
}

/// Whether the maps have different orientations: whether what takes positions of the one to the
/// other is far from 1 times a factor.
fn differ(from: Matrix, to: Matrix) -> bool {
    let [[a, b], [c, d]] = from;
    let determinant = a * d - b * c;
    let inverse = [[d, -b], [-c, a]].map(|row| row.map(|v| v / determinant));
    let element = |row: usize, column: usize| {
        to[row][0] * inverse[0][column] + to[row][1] * inverse[1][column]
    };
    let scale = (element(0, 0) + element(1, 1)) / 2.0;
    let near = |found: f64, expected: f64| (found - expected).abs() <= SAME * scale;
    !(near(element(0, 0), scale)
        && near(element(1, 1), scale)
        && near(element(0, 1), 0.0)
        && near(element(1, 0), 0.0))
}

/// The map as `--transform-positions` takes it.
fn named(options: &ReadOptions) -> String {
    let orientation = Orientation::of(options);
    let Some([[a, b], [c, d]]) = options.affine else {
        return orientation.to_string();
    };
    match orientation == Orientation::default() {
        true => format!("affine=[{a},{b},{c},{d}]"),
        false => format!("affine=[{a},{b},{c},{d}],{orientation}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_of_one_orientation_differ_by_little_or_a_factor() {
        let one = [[1.0, 0.0], [0.0, 1.0]];
        let swap = [[0.0, 1.0], [1.0, 0.0]];
        let (sine, cosine) = 30_f64.to_radians().sin_cos();
        for (from, to, expected) in [
            (one, one, false),
            (swap, swap, false),
            (one, [[1.02, 0.01], [-0.01, 0.97]], false),
            (one, [[1e-6, 0.0], [0.0, 1e-6]], false),
            (one, swap, true),
            (swap, one, true),
            (one, [[-1.0, 0.0], [0.0, 1.0]], true),
            (one, [[-1.0, 0.0], [0.0, -1.0]], true),
            (one, [[cosine, -sine], [sine, cosine]], true),
            ([[0.0; 2]; 2], one, true),
        ] {
            assert_eq!(differ(from, to), expected, "{from:?} {to:?}");
        }
    }
}
