//! Points at which intensities are computed: evenly and logarithmically spaced q, squares of pixels, and the grid of an
//! image.

use super::SasError;
use crate::data::ScatteringImage;

/// The points at which intensities are computed.
#[derive(Debug, Clone, PartialEq)]
pub enum Points {
    /// |q| of a curve, 1/Å.
    Curve(Vec<f64>),
    /// Pixels (qx, qy), 1/Å.
    Pixels {
        /// qx of each pixel.
        qx: Vec<f64>,
        /// qy of each pixel.
        qy: Vec<f64>,
    },
}

impl Points {
    /// Number of points.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Curve(q) => q.len(),
            Self::Pixels { qx, .. } => qx.len(),
        }
    }

    /// Whether there are no points.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Maximum number of points.
const MAX_POINTS: usize = 1 << 26;

fn check(what: &str, n: usize, ends: [f64; 2]) -> Result<(), SasError> {
    let [a, b] = ends;
    if !(1..=MAX_POINTS).contains(&n) {
        return Err(SasError::Refused(format!(
            "{what}: expected 1 to {MAX_POINTS} points, found {n}"
        )));
    }
    if !(a.is_finite() && b.is_finite()) {
        return Err(SasError::Refused(format!(
            "{what}: expected finite numbers, found {a} to {b}"
        )));
    }
    Ok(())
}

/// `n` values from `first` to `last`, both included, evenly spaced; for n = 1 the first.
fn spaced(first: f64, last: f64, n: usize) -> impl Iterator<Item = f64> {
    let step = if n > 1 {
        (last - first) / (n - 1) as f64
    } else {
        0.0
    };
    (0..n).map(move |i| {
        if i > 0 && i + 1 == n {
            last
        } else {
            first + i as f64 * step
        }
    })
}

/// `n` wave vectors from `first` to `last` (1/Å, both included), evenly spaced.
///
/// # Errors
/// No points, too many points, or ends that are not positive and finite.
pub fn linear(first: f64, last: f64, n: usize) -> Result<Points, SasError> {
    positive(first, last, n)?;
    Ok(Points::Curve(spaced(first, last, n).collect()))
}

/// `n` wave vectors from `first` to `last` (1/Å, both included), with the same ratio between
/// neighbours.
///
/// # Errors
/// No points, too many points, or ends that are not positive and finite.
pub fn logarithmic(first: f64, last: f64, n: usize) -> Result<Points, SasError> {
    positive(first, last, n)?;
    let logarithms = spaced(first.ln(), last.ln(), n).enumerate();
    let q = logarithms.map(|(i, l)| match i {
        0 => first,
        i if i + 1 == n => last,
        _ => l.exp(),
    });
    Ok(Points::Curve(q.collect()))
}

fn positive(first: f64, last: f64, n: usize) -> Result<(), SasError> {
    check("q", n, [first, last])?;
    if first > 0.0 && last > 0.0 {
        return Ok(());
    }
    Err(SasError::Refused(format!(
        "q: expected positive numbers, found {first} to {last}"
    )))
}

/// The given points.
///
/// # Errors
/// No points, or points that are not positive and finite.
pub fn listed(q: Vec<f64>) -> Result<Points, SasError> {
    check("q", q.len(), [0.0; 2])?;
    match q.iter().position(|q| !(q.is_finite() && *q > 0.0)) {
        None => Ok(Points::Curve(q)),
        Some(i) => Err(SasError::Refused(format!(
            "q of point {}: expected a positive number, found {}",
            i + 1,
            q[i]
        ))),
    }
}

/// `n` × `n` pixels from −`extent` to `extent` (1/Å, both included) in qx and qy; qx varies faster.
///
/// # Errors
/// No pixels, too many pixels, or an extent that is not positive and finite.
pub fn square(extent: f64, n: usize) -> Result<Points, SasError> {
    let pixels = n.saturating_mul(n);
    check("qx and qy", pixels, [extent; 2])?;
    if extent <= 0.0 || extent.is_nan() {
        return Err(SasError::Refused(format!(
            "qx and qy: expected a positive extent, found {extent}"
        )));
    }
    let axis: Vec<f64> = spaced(-extent, extent, n).collect();
    let (mut qx, mut qy) = (Vec::with_capacity(pixels), Vec::with_capacity(pixels));
    for y in &axis {
        qx.extend_from_slice(&axis);
        qy.extend(std::iter::repeat_n(*y, n));
    }
    Ok(Points::Pixels { qx, qy })
}

/// A regular grid of pixels.
#[derive(Debug, Clone, PartialEq)]
pub struct Grid {
    /// qx of the columns, ascending, 1/Å.
    pub qx: Vec<f64>,
    /// qy of the rows, ascending, 1/Å.
    pub qy: Vec<f64>,
    /// Cell (row · columns + column) of each pixel; cells are unique.
    pub cells: Vec<u32>,
}

/// Values that differ by less than this share of their range are equal.
const SAME_VALUE: f64 = 1e-6;

/// Distinct values, ascending, or `None` if there are more than `most`.
fn distinct(values: &[f64], most: usize) -> Option<Vec<f64>> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let range = sorted.last()? - sorted.first()?;
    let mut found: Vec<f64> = Vec::new();
    for value in sorted {
        if found
            .last()
            .is_none_or(|last| value - last > SAME_VALUE * range)
        {
            if found.len() == most {
                return None;
            }
            found.push(value);
        }
    }
    Some(found)
}

fn nearest(axis: &[f64], value: f64) -> usize {
    let above = axis.partition_point(|a| *a < value);
    let distance = |i: usize| axis.get(i).map_or(f64::INFINITY, |a| (a - value).abs());
    let below = above.saturating_sub(1);
    if distance(below) <= distance(above) {
        below
    } else {
        above
    }
}

/// The grid of an image, in which pixels may be missing; `None` if its points do not form one.
#[must_use]
pub fn grid(image: &ScatteringImage) -> Option<Grid> {
    let n = image.qx.len();
    if n == 0 || image.qy.len() != n {
        return None;
    }
    let (qx, qy) = (distinct(&image.qx, n)?, distinct(&image.qy, n)?);
    let cells = qx.len().checked_mul(qy.len())?;
    // At least a quarter of the cells must have a pixel; otherwise every point could form its own
    // row.
    if cells > n.checked_mul(4)? || u32::try_from(cells).is_err() {
        return None;
    }
    let mut occupied = vec![false; cells];
    let mut of_pixels = Vec::with_capacity(n);
    for (x, y) in image.qx.iter().zip(&image.qy) {
        let cell = nearest(&qy, *y) * qx.len() + nearest(&qx, *x);
        if std::mem::replace(&mut occupied[cell], true) {
            return None;
        }
        of_pixels.push(cell as u32);
    }
    Some(Grid {
        qx,
        qy,
        cells: of_pixels,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(points: Result<Points, SasError>) -> Vec<f64> {
        match points.unwrap() {
            Points::Curve(q) => q,
            Points::Pixels { .. } => panic!("pixels"),
        }
    }

    #[test]
    fn ends_are_exact_and_steps_are_even() {
        let q = curve(linear(0.001, 0.5, 200));
        assert_eq!((q.len(), q[0], q[199]), (200, 0.001, 0.5));
        assert!((q[100] - (0.001 + 0.499 * 100.0 / 199.0)).abs() < 1e-16);
        let q = curve(logarithmic(0.001, 0.5, 200));
        assert_eq!((q.len(), q[0], q[199]), (200, 0.001, 0.5));
        for pair in q.windows(2) {
            assert!((pair[1] / pair[0] - 500_f64.powf(1.0 / 199.0)).abs() < 1e-12);
        }
        assert_eq!(curve(linear(0.1, 0.2, 1)), [0.1]);
        assert_eq!(curve(listed(vec![0.2, 0.1])), [0.2, 0.1]);
    }

    #[test]
    fn invalid_ranges_are_refused() {
        let message = |p: Result<Points, SasError>| p.unwrap_err().to_string();
        for (points, word) in [
            (linear(0.0, 0.1, 5), "positive"),
            (logarithmic(-0.1, 0.1, 5), "positive"),
            (linear(f64::NAN, 0.1, 5), "finite"),
            (linear(0.1, f64::INFINITY, 5), "finite"),
            (linear(0.1, 0.2, 0), "points, found 0"),
            (linear(0.1, 0.2, usize::MAX), "points"),
            (square(0.2, usize::MAX), "points"),
            (square(-0.2, 4), "positive"),
            (listed(vec![0.1, f64::NAN]), "point 2"),
            (listed(Vec::new()), "points, found 0"),
        ] {
            let text = message(points);
            assert!(text.contains(word), "{text}");
        }
    }

    fn image(points: Points) -> ScatteringImage {
        let Points::Pixels { qx, qy } = points else {
            panic!("a curve")
        };
        ScatteringImage {
            intensity: vec![1.0; qx.len()],
            qx,
            qy,
            sigma: None,
            resolution: None,
            title: String::new(),
            notes: Vec::new(),
        }
    }

    #[test]
    fn a_square_is_a_grid_whose_qx_varies_faster() {
        let made = image(square(0.2, 5).unwrap());
        for (found, expected) in made.qx.iter().zip([-0.2, -0.1, 0.0, 0.1, 0.2, -0.2]) {
            assert!((found - expected).abs() < 1e-16);
        }
        assert_eq!(made.qy[..6], [-0.2, -0.2, -0.2, -0.2, -0.2, -0.1]);
        let found = grid(&made).unwrap();
        assert_eq!(found.qx, found.qy);
        assert_eq!(found.cells, (0..25).collect::<Vec<u32>>());
    }

    #[test]
    fn grids_tolerate_missing_pixels_and_rounding_but_not_two_pixels_in_a_cell() {
        let mut made = image(square(0.2, 5).unwrap());
        for column in [&mut made.qx, &mut made.qy, &mut made.intensity] {
            column.remove(12);
            column.iter_mut().for_each(|v| *v += 1e-9);
        }
        made.qx[0] += 2e-9;
        let found = grid(&made).unwrap();
        assert_eq!((found.qx.len(), found.qy.len()), (5, 5));
        assert!(!found.cells.contains(&12));
        made.qx[1] = made.qx[0];
        assert_eq!(grid(&made), None);
        let mut round = image(square(0.2, 5).unwrap());
        for (i, (x, y)) in round.qx.iter_mut().zip(&mut round.qy).enumerate() {
            (*x, *y) = (f64::from(i as u32).cos(), f64::from(i as u32).sin());
        }
        assert_eq!(grid(&round), None);
    }
}
