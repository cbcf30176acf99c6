//! Overlap of neighbouring illuminations.

use ndarray::{Array2, Array3};
use num_complex::Complex;
use serde::Serialize;

/// An estimate of the linear overlap, 1 − step/width.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Overlap {
    /// 1 − step/width; negative if neighbours do not touch.
    pub linear: f64,
    /// Median distance to the nearest other position, m.
    pub step: f64,
    /// Width with which the step is compared, m.
    pub width: f64,
    /// `illumination`, or `frame` if the illumination is unknown.
    pub width_of: &'static str,
}

impl Overlap {
    /// Estimates the overlap; `None` for a single frame. Shapes: `probe` (mode, row, column),
    /// `frame` (rows, columns), `pixel` (row, column), m.
    #[must_use]
    pub fn estimate(
        positions: &Array2<f64>,
        probe: Option<&Array3<Complex<f64>>>,
        frame: [usize; 2],
        pixel: [f64; 2],
    ) -> Option<Self> {
        let step = median_nearest(positions)?;
        let (width, width_of) = match probe {
            Some(probe) => (diameter(probe, pixel), "illumination"),
            None => (
                (frame[0] as f64 * pixel[0]).min(frame[1] as f64 * pixel[1]),
                "frame",
            ),
        };
        Some(Self {
            linear: 1.0 - step / width,
            step,
            width,
            width_of,
        })
    }
}

/// Diameter, m, of a uniform disc with the probe's mean square radius about its own centre.
fn diameter(probe: &Array3<Complex<f64>>, pixel: [f64; 2]) -> f64 {
    let mut sums = [0.0; 5];
    for ((_, row, column), value) in probe.indexed_iter() {
        let (y, x, power) = (
            row as f64 * pixel[0],
            column as f64 * pixel[1],
            value.norm_sqr(),
        );
        for (sum, part) in sums.iter_mut().zip([1.0, y, x, y * y, x * x]) {
            *sum += part * power;
        }
    }
    let [power, y, x, yy, xx] = sums;
    let square = (yy + xx) / power - (y / power).powi(2) - (x / power).powi(2);
    // A single lit pixel has no variance, but is one pixel wide.
    (2.0 * (2.0 * square.max(0.0)).sqrt()).max(pixel[0].min(pixel[1]))
}

/// Median over the positions of the distance to the nearest other position, m. Positions are sorted
/// along the longer axis of the scan and searched outwards until the distance along this axis alone
/// exceeds the smallest distance found.
fn median_nearest(positions: &Array2<f64>) -> Option<f64> {
    let mut points: Vec<[f64; 2]> = positions.rows().into_iter().map(|p| [p[0], p[1]]).collect();
    if points.len() < 2 {
        return None;
    }
    let extent = |axis: usize| {
        let range = |(low, high): (f64, f64), p: &[f64; 2]| (low.min(p[axis]), high.max(p[axis]));
        let (low, high) = points
            .iter()
            .fold((f64::INFINITY, f64::NEG_INFINITY), range);
        high - low
    };
    // In a scan along one axis all positions share the other coordinate.
    if extent(1) > extent(0) {
        points.iter_mut().for_each(|p| p.swap(0, 1));
    }
    points.sort_by(|a, b| a[0].total_cmp(&b[0]));
    let nearest = |i: usize| {
        let here = points[i];
        let mut best = f64::INFINITY;
        let mut closer = |other: &[f64; 2]| {
            if (other[0] - here[0]).abs() >= best {
                return false;
            }
            best = best.min((other[0] - here[0]).hypot(other[1] - here[1]));
            true
        };
        for other in &points[i + 1..] {
            if !closer(other) {
                break;
            }
        }
        for other in points[..i].iter().rev() {
            if !closer(other) {
                break;
            }
        }
        best
    };
    let mut distances: Vec<f64> = (0..points.len()).map(nearest).collect();
    let middle = distances.len() / 2;
    Some(*distances.select_nth_unstable_by(middle, f64::total_cmp).1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn the_nearest_neighbour_agrees_with_an_exhaustive_search() {
        let positions = Array2::from_shape_fn((60, 2), |(i, axis)| {
            ((i * (7 + 12 * axis)) as f64 * 0.618_034).fract()
        });
        let mut all: Vec<f64> = (0..60)
            .map(|i| {
                let distance = |j: usize| {
                    let d = [0, 1].map(|a| positions[[i, a]] - positions[[j, a]]);
                    d[0].hypot(d[1])
                };
                (0..60)
                    .filter(|j| *j != i)
                    .map(distance)
                    .fold(f64::INFINITY, f64::min)
            })
            .collect();
        all.sort_by(f64::total_cmp);
        assert_eq!(median_nearest(&positions), Some(all[30]));
    }

    #[test]
    fn a_line_along_either_axis_takes_linear_time() {
        // Sorting along the wrong axis would compare 10^10 pairs.
        for axis in 0..2 {
            let mut line = Array2::zeros((100_000, 2));
            for (i, coordinate) in line.column_mut(axis).iter_mut().enumerate() {
                *coordinate = (i * 2) as f64;
            }
            assert_eq!(median_nearest(&line), Some(2.0));
        }
    }

    #[test]
    fn a_step_of_half_the_diameter_is_half_an_overlap() {
        let radius = 20.0;
        let probe = Array3::from_shape_fn((1, 64, 64), |(_, r, c)| {
            let lit = (r as f64 - 30.0).hypot(c as f64 - 33.0) <= radius;
            Complex::new(if lit { 3.0 } else { 0.0 }, 0.0)
        });
        let positions = array![[0.0, 0.0], [0.0, 2e-7]];
        let found = Overlap::estimate(&positions, Some(&probe), [64, 64], [1e-8, 1e-8]).unwrap();
        // The edge of the 40-pixel disc is known to one pixel.
        assert!((found.linear - 0.5).abs() < 0.02, "{found:?}");
        let wide = Overlap::estimate(&positions, None, [64, 40], [1e-8, 1e-8]).unwrap();
        assert_eq!(
            (wide.width_of, (wide.linear * 100.0).round()),
            ("frame", 50.0)
        );
        let single = array![[0.0, 0.0]];
        assert_eq!(Overlap::estimate(&single, None, [8, 8], [1.0, 1.0]), None);
    }
}
