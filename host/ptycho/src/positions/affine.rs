//! The affine map that takes one set of positions to another, fitted robustly.
//!
//! The least-squares fit of the displacements by a shift and a 2 × 2 matrix is repeated with
//! weights that depend on how far each frame is from the map (iteratively re-weighted least
//! squares; Huber and Ronchetti, Robust Statistics, 2nd ed. (2009), chapter 7): first Huber's,
//! which converge from any start, then Tukey's biweight, which leaves gross outliers out. The scale
//! of the distances is their median. The number of rounds is fixed, so that the result depends on
//! the positions only.

use serde::Serialize;
use std::fmt;
use warpstride_core::text::length;

type Point = [f64; 2];

/// Rounds with Huber's weights, then with Tukey's.
const ROUNDS: [usize; 2] = [10, 10];
/// Distance, in standard deviations, from which Huber's weight falls.
const HUBER: f64 = 1.345;
/// Distance, in standard deviations, from which Tukey's weight is 0.
const TUKEY: f64 = 4.685;
/// Median of a distance in the plane, in standard deviations of one axis: √(2 ln 2).
const MEDIAN_DISTANCE: f64 = 1.177_410_022_515_474_7;
/// Smallest ratio of the variances of the positions along and across their longest extent for which
/// a matrix is fitted.
const FLATTEST: f64 = 1e-6;
/// Part of the extent of the positions below which distances are rounding errors.
const ROUNDING: f64 = 1e-9;

/// An affine map of positions (row, column): p ↦ centre + matrix · (p − centre) + translation.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct AffineFit {
    /// The linear part, row by row.
    pub matrix: [[f64; 2]; 2],
    /// By how much the centre moves, in the unit of the positions.
    pub translation: [f64; 2],
    /// Mean of the positions that are mapped, in their unit.
    pub centre: [f64; 2],
    /// Factors on rows and columns. With shear and rotation θ (from rows to columns) the matrix is
    /// [cos θ, −sin θ; sin θ, cos θ] · [1, shear; 0, 1] · diag(scale).
    pub scale: [f64; 2],
    /// Rotation from the row axis to the column axis, degrees: counterclockwise where rows are
    /// drawn downwards and columns to the right.
    pub rotation: f64,
    /// By how much of its length the column axis leans towards the row axis.
    pub shear: f64,
}

impl AffineFit {
    /// The map that takes `from` to `to`. With fewer than three positions, or if they lie on a
    /// line, it is a translation. `None` without positions, or if their numbers differ or not all
    /// are finite.
    #[must_use]
    pub fn fit(from: &[Point], to: &[Point]) -> Option<Self> {
        let finite = |p: &Point| p.iter().all(|v| v.is_finite());
        if from.is_empty() || from.len() != to.len() || !from.iter().chain(to).all(finite) {
            return None;
        }
        let count = from.len() as f64;
        let centre = [0, 1].map(|axis| from.iter().map(|p| p[axis]).sum::<f64>() / count);
        let pairs: Vec<[Point; 2]> = from
            .iter()
            .zip(to)
            .map(|(a, b)| [difference(a, &centre), difference(b, a)])
            .collect();
        let fitted = Displacement::robust(&pairs)?;
        let [[a, b], [c, d]] = fitted.matrix;
        Some(Self::new(
            [[1.0 + a, b], [c, 1.0 + d]],
            fitted.shift,
            centre,
        ))
    }

    fn new(matrix: [[f64; 2]; 2], translation: Point, centre: Point) -> Self {
        let [[a, b], [c, d]] = matrix;
        let rows = a.hypot(c);
        let columns = (a * d - b * c) / rows;
        Self {
            matrix,
            translation,
            centre,
            scale: [rows, columns],
            rotation: c.atan2(a).to_degrees(),
            shear: (a * b + c * d) / (rows * columns),
        }
    }

    /// Where the map takes `position`.
    #[must_use]
    pub fn at(&self, position: Point) -> Point {
        let offset = difference(&position, &self.centre);
        [0, 1].map(|axis| {
            let linear = self.matrix[axis][0] * offset[0] + self.matrix[axis][1] * offset[1];
            self.centre[axis] + linear + self.translation[axis]
        })
    }
}

/// `scale 1.00210 (rows), 0.99850 (columns), rotation 0.0412°, shear 0.00031, translation 1.2 nm, -3.4
/// nm`, of positions in metres.
impl fmt::Display for AffineFit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Adding zero makes −0 positive.
        let rounded = |v: f64, power: f64| (v * power).round() / power + 0.0;
        let [rows, columns] = self.scale;
        // A picometre is below any specimen's resolution; less is a rounding error.
        let [down, right] = self.translation.map(|v| length(rounded(v, 1e12), 3));
        write!(
            f,
            "scale {rows:.5} (rows), {columns:.5} (columns), rotation {:.4}°, shear {:.5}, translation {down}, {right}",
            rounded(self.rotation, 1e4),
            rounded(self.shear, 1e5),
        )
    }
}

/// Distance of a point from a map that corresponds to one standard deviation on each axis, from the
/// distances of all points.
pub(crate) fn standard_deviation(distances: &[f64]) -> f64 {
    let mut sorted = distances.to_vec();
    let middle = sorted.len() / 2;
    match sorted.get(middle) {
        None => 0.0,
        Some(_) => *sorted.select_nth_unstable_by(middle, f64::total_cmp).1 / MEDIAN_DISTANCE,
    }
}

fn difference(a: &Point, b: &Point) -> Point {
    [a[0] - b[0], a[1] - b[1]]
}

/// A linear model of displacements: matrix · offset + shift.
#[derive(Clone, Copy)]
struct Displacement {
    matrix: [[f64; 2]; 2],
    shift: Point,
}

impl Displacement {
    /// Fits pairs (offset from the centre, displacement).
    fn robust(pairs: &[[Point; 2]]) -> Option<Self> {
        let count = pairs.len() as f64;
        let extent = pairs.iter().map(|[o, _]| o[0] * o[0] + o[1] * o[1]);
        let smallest = ROUNDING * (extent.sum::<f64>() / count).sqrt();
        let mut weights = vec![1.0; pairs.len()];
        let linear = pairs.len() >= 3 && Self::weighted(pairs, &weights, true).is_some();
        let mut fitted = Self::weighted(pairs, &weights, linear)?;
        for round in 0..ROUNDS[0] + ROUNDS[1] {
            let distances: Vec<f64> = pairs.iter().map(|pair| fitted.distance(pair)).collect();
            let sigma = standard_deviation(&distances)
                .max(smallest)
                .max(f64::MIN_POSITIVE);
            for (weight, distance) in weights.iter_mut().zip(&distances) {
                let relative = distance / sigma;
                *weight = if round < ROUNDS[0] {
                    (HUBER / relative).min(1.0)
                } else {
                    (1.0 - (relative / TUKEY).powi(2)).max(0.0).powi(2)
                };
            }
            // None if the frames with weight lie on a line.
            let Some(next) = Self::weighted(pairs, &weights, linear) else {
                break;
            };
            fitted = next;
        }
        Some(fitted)
    }

    /// The weighted least-squares fit; without a matrix unless `linear`. `None` if it is not
    /// unique.
    fn weighted(pairs: &[[Point; 2]], weights: &[f64], linear: bool) -> Option<Self> {
        let total: f64 = weights.iter().sum();
        if total.is_nan() || total <= 0.0 {
            return None;
        }
        let mut means = [[0.0; 2]; 2];
        for (pair, weight) in pairs.iter().zip(weights) {
            for n in 0..4 {
                means[n / 2][n % 2] += weight * pair[n / 2][n % 2] / total;
            }
        }
        let [offset, displacement] = means;
        if !linear {
            return Some(Self {
                matrix: [[0.0; 2]; 2],
                shift: displacement,
            });
        }
        // Offset by offset (rows², rows·columns, columns²), and displacement by offset.
        let mut square = [0.0; 3];
        let mut cross = [[0.0; 2]; 2];
        for ([o, d], weight) in pairs.iter().zip(weights) {
            let (o, d) = (difference(o, &offset), difference(d, &displacement));
            square[0] += weight * o[0] * o[0];
            square[1] += weight * o[0] * o[1];
            square[2] += weight * o[1] * o[1];
            for n in 0..4 {
                cross[n / 2][n % 2] += weight * d[n / 2] * o[n % 2];
            }
        }
        let determinant = square[0] * square[2] - square[1] * square[1];
        let trace = square[0] + square[2];
        if determinant.is_nan() || determinant <= FLATTEST * trace * trace {
            return None;
        }
        let matrix = cross.map(|[r, c]| {
            [
                (r * square[2] - c * square[1]) / determinant,
                (c * square[0] - r * square[1]) / determinant,
            ]
        });
        let shift = [0, 1].map(|axis| {
            displacement[axis] - matrix[axis][0] * offset[0] - matrix[axis][1] * offset[1]
        });
        Some(Self { matrix, shift })
    }

    fn distance(&self, [offset, displacement]: &[Point; 2]) -> f64 {
        let rest = |axis: usize| {
            let linear = self.matrix[axis][0] * offset[0] + self.matrix[axis][1] * offset[1];
            displacement[axis] - linear - self.shift[axis]
        };
        rest(0).hypot(rest(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64Mcg;

    fn scan(count: usize) -> Vec<Point> {
        let mut random = Pcg64Mcg::seed_from_u64(4);
        (0..count)
            .map(|_| {
                [
                    300.0 * random.random::<f64>(),
                    200.0 * random.random::<f64>(),
                ]
            })
            .collect()
    }

    fn mapped(from: &[Point], by: &AffineFit) -> Vec<Point> {
        from.iter().map(|p| by.at(*p)).collect()
    }

    fn known() -> AffineFit {
        AffineFit::new([[1.02, 0.012], [-0.02, 0.97]], [0.3, -0.2], [140.0, 110.0])
    }

    fn farthest(a: &[Point], b: &[Point]) -> f64 {
        let distance = |(a, b): (&Point, &Point)| (a[0] - b[0]).hypot(a[1] - b[1]);
        a.iter().zip(b).map(distance).fold(0.0, f64::max)
    }

    /// Without outliers the fit is exact; a tenth of the frames anywhere, even all in one
    /// direction, does not change it.
    #[test]
    fn a_known_map_is_recovered_with_a_tenth_of_gross_outliers() {
        let from = scan(150);
        let truth = mapped(&from, &known());
        let mut to = truth.clone();
        let exact = AffineFit::fit(&from, &to).unwrap();
        assert!(farthest(&mapped(&from, &exact), &truth) < 1e-10);
        for place in to.iter_mut().step_by(10) {
            *place = [place[0] + 20.0, place[1] - 35.0];
        }
        let found = AffineFit::fit(&from, &to).unwrap();
        assert!(farthest(&mapped(&from, &found), &truth) < 1e-6);
        assert_eq!(AffineFit::fit(&from, &to), Some(found));
    }

    /// With noise, the error of the fit is that of least squares on the good frames: of the order
    /// of σ √(6/2n).
    #[test]
    fn noise_and_outliers_together_leave_the_error_of_the_noise() {
        let from = scan(200);
        let truth = mapped(&from, &known());
        let mut random = Pcg64Mcg::seed_from_u64(9);
        let mut to = truth.clone();
        for (frame, place) in to.iter_mut().enumerate() {
            let size = if frame % 10 == 3 { 80.0 } else { 0.5 };
            *place = place.map(|v| v + size * (random.random::<f64>() - 0.5));
        }
        let found = AffineFit::fit(&from, &to).unwrap();
        let error = farthest(&mapped(&from, &found), &truth);
        assert!(error < 0.1, "{error}");
    }

    #[test]
    fn the_parts_make_up_the_matrix() {
        let map = known();
        let (sin, cos) = map.rotation.to_radians().sin_cos();
        let [rows, columns] = map.scale;
        let upper = [[rows, map.shear * columns], [0.0, columns]];
        let product = [
            [cos * upper[0][0], cos * upper[0][1] - sin * upper[1][1]],
            [sin * upper[0][0], sin * upper[0][1] + cos * upper[1][1]],
        ];
        for n in 0..4 {
            let (found, expected) = (product[n / 2][n % 2], map.matrix[n / 2][n % 2]);
            assert!((found - expected).abs() < 1e-12, "{product:?}");
        }
        let turn = AffineFit::new([[0.0, -1.0], [1.0, 0.0]], [0.0; 2], [0.0; 2]);
        assert!((turn.rotation - 90.0).abs() < 1e-12);
        assert_eq!(
            AffineFit::new([[1.0, -0.0], [-1e-9, 1.0]], [0.0; 2], [0.0; 2]).to_string(),
            "scale 1.00000 (rows), 1.00000 (columns), rotation 0.0000°, shear 0.00000, translation 0 pm, 0 pm"
        );
    }

    #[test]
    fn degenerate_scans_are_only_translated() {
        let shifted = |from: &[Point]| -> Vec<Point> {
            from.iter().map(|p| [p[0] + 1.5, p[1] - 0.5]).collect()
        };
        let line: Vec<Point> = (0..40)
            .map(|i| [0.3 * f64::from(i), 7.0 * f64::from(i)])
            .collect();
        for from in [
            vec![[3.0, 4.0]],
            vec![[3.0, 4.0], [10.0, -2.0]],
            vec![[5.0, 5.0]; 9],
            line.clone(),
        ] {
            let found = AffineFit::fit(&from, &shifted(&from)).unwrap();
            assert_eq!(found.matrix, [[1.0, 0.0], [0.0, 1.0]]);
            assert!(farthest(&mapped(&from, &found), &shifted(&from)) < 1e-9);
        }
        // The translation is robust too.
        let mut to = shifted(&line);
        to[3] = [900.0, -900.0];
        let found = AffineFit::fit(&line, &to).unwrap();
        assert!((found.translation[0] - 1.5).abs() < 1e-6, "{found:?}");
    }

    #[test]
    fn nothing_is_fitted_to_nothing_or_to_infinite_positions() {
        assert_eq!(AffineFit::fit(&[], &[]), None);
        assert_eq!(AffineFit::fit(&[[1.0, 2.0]], &[]), None);
        assert_eq!(AffineFit::fit(&[[1.0, 2.0]], &[[f64::NAN, 0.0]]), None);
    }
}
