//! Far-field patterns whose zero frequency is at the first pixel, as a discrete Fourier transform
//! has it.

use ndarray::Array2;
use num_complex::Complex;
use std::f64::consts::TAU;

/// Least concentration of the light: 1 for a single row, 0 for a uniform frame, about 0.6 for a
/// disc of half the frame's width.
const CONCENTRATED: f64 = 0.25;
/// Largest distance of the middle of the light from the first pixel, as a fraction of the frame.
const NEAR: f64 = 0.1;
/// Least share of each of the four corners in the light of all of them: a beam beside the detector
/// has light in one or two.
const OF_CORNER: f64 = 0.02;

/// Whether the light of the mean pattern (row, column) is around the first pixel, if the frame is
/// continued periodically.
pub(crate) fn is_at_corner(mean: &Array2<f64>) -> bool {
    let (rows, columns) = mean.dim();
    let total = mean.sum();
    let [of_rows, of_columns] = sums(mean);
    if !(total > 0.0 && is_near_first(&of_rows) && is_near_first(&of_columns)) {
        return false;
    }
    // A quarter of the frame's width is a corner.
    let mut corners = [0.0; 4];
    for ((row, column), counts) in mean.indexed_iter() {
        let at = |n: usize, side: usize| match n {
            _ if n < side / 4 => Some(0),
            _ if n >= side - side / 4 => Some(1),
            _ => None,
        };
        if let (Some(r), Some(c)) = (at(row, rows), at(column, columns)) {
            corners[2 * r + c] += counts;
        }
    }
    let all: f64 = corners.iter().sum();
    corners.iter().all(|corner| *corner >= OF_CORNER * all)
}

/// Sums over the rows and over the columns of the mean pattern.
fn sums(mean: &Array2<f64>) -> [Vec<f64>; 2] {
    let of_rows = mean.rows().into_iter().map(|row| row.sum());
    let of_columns = mean.columns().into_iter().map(|column| column.sum());
    [of_rows.collect(), of_columns.collect()]
}

/// Whether the light is around the first row or column, if the frame is continued periodically.
fn is_near_first(sums: &[f64]) -> bool {
    let total: f64 = sums.iter().sum();
    let turn = TAU / sums.len() as f64;
    let moment: Complex<f64> = (sums.iter().enumerate())
        .map(|(n, sum)| Complex::from_polar(sum / total, turn * n as f64))
        .sum();
    moment.norm() > CONCENTRATED && moment.arg().abs() < NEAR * TAU
}

/// A sentence on light that is at both borders of one axis, and not at those of the other.
pub(crate) fn wrapped(mean: &Array2<f64>) -> Option<String> {
    let [border, by] = [
        ["the first and the last row", "row"],
        ["the first and the last column", "column"],
    ][wraps_around(mean)?];
    let (rows, columns) = mean.dim();
    Some(format!(
        "the light of all frames is around {border}, as if the frames were shifted cyclically along that axis: expected the zero frequency at {}, {}; write the frames shifted back cyclically by half of their {by}s",
        rows / 2,
        columns / 2
    ))
}

/// The axis, 0 for rows and 1 for columns, at both of whose borders the light is, and not at those
/// of the other axis.
fn wraps_around(mean: &Array2<f64>) -> Option<usize> {
    let wraps = sums(mean).map(|sums| {
        let quarter = sums.len() / 4;
        let total: f64 = sums.iter().sum();
        let first: f64 = sums[..quarter].iter().sum();
        let last: f64 = sums[sums.len() - quarter..].iter().sum();
        is_near_first(&sums) && first.min(last) >= OF_CORNER * total
    });
    match wraps {
        [true, false] => Some(0),
        [false, true] => Some(1),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A Gaussian of this radius around a place of 40 × 30 pixels, continued periodically, on a
    /// background.
    fn light(place: [f64; 2], radius: f64, background: f64) -> Array2<f64> {
        let distance = |at: usize, place: f64, side: usize| {
            let apart = (at as f64 - place).rem_euclid(side as f64);
            apart.min(side as f64 - apart)
        };
        Array2::from_shape_fn((40, 30), |(row, column)| {
            let [r, c] = [distance(row, place[0], 40), distance(column, place[1], 30)];
            background + (-(r * r + c * c) / (2.0 * radius * radius)).exp()
        })
    }

    #[test]
    fn light_at_both_borders_of_one_axis_wraps_around() {
        for radius in [0.6, 3.0, 7.0] {
            assert_eq!(wraps_around(&light([0.0, 15.0], radius, 0.0)), Some(0));
            assert_eq!(wraps_around(&light([20.0, 0.0], radius, 0.0)), Some(1));
            assert_eq!(wraps_around(&light([20.0, 15.0], radius, 0.0)), None);
            assert_eq!(wraps_around(&light([0.0, 0.0], radius, 0.0)), None);
        }
        // A beam at one border of the detector.
        let mut beside = light([0.0, 15.0], 3.0, 0.0);
        beside.slice_mut(ndarray::s![20.., ..]).fill(0.0);
        assert_eq!(wraps_around(&beside), None);
        assert_eq!(wraps_around(&Array2::ones((40, 30))), None);
        assert_eq!(wraps_around(&Array2::zeros((40, 30))), None);
    }

    #[test]
    fn only_light_around_the_first_pixel_counts() {
        for radius in [0.6, 3.0, 7.0] {
            assert!(is_at_corner(&light([0.0, 0.0], radius, 0.0)), "{radius}");
            assert!(!is_at_corner(&light([20.0, 15.0], radius, 0.0)), "{radius}");
            assert!(!is_at_corner(&light([0.0, 15.0], radius, 0.0)), "{radius}");
        }
        assert!(is_at_corner(&light([1.0, -0.5], 3.0, 0.01)));
        // Near fields, and a beam at the corner of the detector.
        assert!(!is_at_corner(&light([0.0, 0.0], 3.0, 1.0)));
        assert!(!is_at_corner(&Array2::ones((40, 30))));
        let mut beside = light([0.0, 0.0], 3.0, 0.0);
        beside.slice_mut(ndarray::s![20.., ..]).fill(0.0);
        assert!(!is_at_corner(&beside));
        assert!(!is_at_corner(&Array2::zeros((40, 30))));
    }
}
